"""The features of the site, from low to high: application, API, commands and kinds of run come from them.

A feature that none above imports comes out with its folder, its templates and its two lines here.
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from leaderboard.accounts.feature import FEATURE as ACCOUNTS
from leaderboard.answers.feature import FEATURE as ANSWERS
from leaderboard.boards.feature import FEATURE as BOARDS
from leaderboard.bundles.feature import FEATURE as BUNDLES
from leaderboard.comparisons.feature import FEATURE as COMPARISONS
from leaderboard.core.feature import KINDS
from leaderboard.gate.feature import FEATURE as GATE
from leaderboard.judges.feature import FEATURE as JUDGES
from leaderboard.judging.feature import FEATURE as JUDGING
from leaderboard.notify.feature import FEATURE as NOTIFY
from leaderboard.qrels.feature import FEATURE as QRELS
from leaderboard.reproductions.feature import FEATURE as REPRODUCTIONS
from leaderboard.runs.feature import FEATURE as RUNS
from leaderboard.scoring.feature import FEATURE as SCORING
from leaderboard.signatures.feature import FEATURE as SIGNATURES
from leaderboard.site.feature import FEATURE as SITE
from leaderboard.suites.feature import FEATURE as SUITES
from leaderboard.tasks.feature import FEATURE as TASKS

if TYPE_CHECKING:
    from leaderboard.core.kinds import RunKind

FEATURES = (
    ACCOUNTS,
    SIGNATURES,
    NOTIFY,
    SCORING,
    BOARDS,
    ANSWERS,
    QRELS,
    TASKS,
    RUNS,
    JUDGES,
    JUDGING,
    COMPARISONS,
    GATE,
    REPRODUCTIONS,
    SUITES,
    BUNDLES,
    SITE,
)


def register() -> None:
    """Make the kinds of run known and fill the slots; a process does so before it opens a site."""
    for feature in FEATURES:
        KINDS.update(feature.kinds)
        feature.fill()


def parts_at(place: str) -> list[str]:
    """The templates that features add to another one in a place that it names."""
    return [feature.parts[place] for feature in FEATURES if place in feature.parts]


def with_tabs(
    room: str, tabs: Iterable[tuple[str, str, bool]], kind: "RunKind", details: bool
) -> list[tuple[str, str, bool]]:
    """The tabs of a room of a task (name, endpoint, whether it is shown) with those that features add.

    details: whether added tabs may be shown to the reader at all.
    """
    found = list(tabs)
    for tab in (tab for feature in FEATURES for tab in feature.tabs if tab.room == room):
        place = 1 + next(at for at, (name, _, _) in enumerate(found) if name == tab.after)
        found.insert(place, (tab.name, tab.endpoint, details and tab.is_shown(kind)))
    return found
