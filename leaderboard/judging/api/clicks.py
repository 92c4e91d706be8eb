"""Operations on the query logs of a task: import, delete, publish as a revision."""

from dataclasses import dataclass
from typing import Annotated

from leaderboard.judging.ops import clicks
from leaderboard.judging.ops.clicks import LARGEST_ID, ImportedLog
from leaderboard.web.api import actions, limits
from leaderboard.web.api.answers import RevisionMade
from leaderboard.web.api.limits import Filled
from leaderboard.web.api.operations import ORGANISE, operation
from leaderboard.web.session import reading, viewer, wake, writing


@dataclass(frozen=True, slots=True, kw_only=True)
class LogAnswer:
    """An imported query log."""

    log: int
    sessions: int
    topics: int
    rows: int
    unknown_rows: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ClickChoice:
    """A choice of preferences: the rule for clicks, the minimum count, and which direction is kept.

    Empty fields take the defaults; logs: empty for all; note: of the revision.
    """

    reading: str = ""
    least: str = ""
    keep: str = ""
    count: str = ""
    p: str = ""
    logs: tuple[Annotated[int, limits.within(1, LARGEST_ID)], ...] = ()
    note: Filled


@operation(
    "POST", "/tasks/<slug>/clicks/publish", RevisionMade, body=ClickChoice, scopes=ORGANISE, status=201
)
def publish_clicks(slug: str, body: ClickChoice) -> RevisionMade:
    """Publish the preferences from clicks as a revision"""
    asker = viewer()
    logs = list(map(str, body.logs))
    choice = clicks.preference_choice(body.reading, body.least, body.keep, body.count, body.p, logs)
    shown = clicks.find_preference(reading(), asker, slug, choice)
    with writing() as session:
        revision = clicks.publish_preferences(session, asker, slug, shown, body.note)
    wake()
    return RevisionMade(line=revision.line, number=revision.number)


OPERATIONS = (
    *actions.operations(clicks.ACTIONS, answers={"import_log": (LogAnswer, lambda log, **_: _answer(log))}),
    publish_clicks,
)


def _answer(log: ImportedLog) -> LogAnswer:
    return LogAnswer(
        log=log.number, sessions=log.sessions, topics=log.topics, rows=log.rows, unknown_rows=log.unknown_rows
    )
