"""Operations on the query logs of a task: import, delete, publish as a revision."""

from dataclasses import dataclass

from leaderboard.judging.ops import clicks
from leaderboard.judging.ops.clicks import ImportedLog
from leaderboard.web.api import actions
from leaderboard.web.api.answers import RevisionMade


@dataclass(frozen=True, slots=True, kw_only=True)
class LogAnswer:
    """An imported query log."""

    log: int
    sessions: int
    topics: int
    rows: int
    unknown_rows: int


OPERATIONS = actions.operations(
    (*clicks.ACTIONS, clicks.PUBLISH),
    answers={
        "import_log": (LogAnswer, lambda log, **_: _answer(log)),
        "publish_clicks": (
            RevisionMade,
            lambda revision, **_: RevisionMade(line=revision.line, number=revision.number),
        ),
    },
)


def _answer(log: ImportedLog) -> LogAnswer:
    return LogAnswer(
        log=log.number, sessions=log.sessions, topics=log.topics, rows=log.rows, unknown_rows=log.unknown_rows
    )
