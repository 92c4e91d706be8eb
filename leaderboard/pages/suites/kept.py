"""What a viewer sees of a suite, read once for each version of the site.

Reading asks each member's board in turn: a suite of 18 members takes more than a hundred statements, which
nobody waits for a second time while the site stays as it is. Two viewers share what is kept where neither is
in a team of the suite or has a role in its tasks.
"""

import threading
import time
from dataclasses import dataclass
from weakref import WeakKeyDictionary

from sqlalchemy import Engine, select
from sqlalchemy.orm import Session

from leaderboard.db.site_version import SiteVersion
from leaderboard.memory import Kept
from leaderboard.pages.tasks import phases
from leaderboard.services.policy import Viewer
from leaderboard.services.suites.records import KnownSuite
from leaderboard.services.suites.seen import SeenSuite, seen_suite

LONGEST_S = 60.0
"""However little happens: what boards show may depend on the clock."""

Key = tuple[tuple[int, ...], frozenset[int], frozenset[int], bool]


@dataclass(frozen=True, slots=True)
class _Kept:
    version: int
    until: float
    seen: SeenSuite


_kept: WeakKeyDictionary[Engine, Kept[_Kept]] = WeakKeyDictionary()
_lock = threading.Lock()


def kept_suite(session: Session, viewer: Viewer, known: KnownSuite) -> SeenSuite:
    """As `seen_suite`; one statement where nothing on the site changed since the last time."""
    engine = session.get_bind().engine
    # SuiteBoardRequest of the session itself: what it reads later is never of an older version.
    version = session.scalar(select(SiteVersion.number)) or 0
    key = (
        (known.suite.id, *(one.member.id for one in known.members)),
        viewer.team_ids,
        frozenset(one.task.id for one in known.members) & (viewer.organises | viewer.reads),
        viewer.is_operator,
    )
    with _lock:
        suites = _kept.setdefault(engine, Kept(__name__))
    found = suites.get(key)
    if found is not None and found.version == version and found.until > time.monotonic():
        return found.seen
    until = time.monotonic() + min(LONGEST_S, phases.seconds_to_next_date(session))
    seen = seen_suite(session, viewer, known)
    suites.put(key, _Kept(version, until, seen))
    return seen
