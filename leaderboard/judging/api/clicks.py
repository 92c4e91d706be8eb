"""Operations on the query logs of a task: import, delete, publish as a revision."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from leaderboard.judging.ops import clicks
from leaderboard.judging.ops.clicks import LARGEST_ID
from leaderboard.trec.read.bundles import base_name
from leaderboard.trec.read.lines import Limits
from leaderboard.web.api import actions, limits
from leaderboard.web.api.answers import RevisionMade
from leaderboard.web.api.limits import Filled
from leaderboard.web.api.operations import ORGANISE, operation
from leaderboard.web.rules import SIGNED_IN, Body, Rule
from leaderboard.web.session import finish_reading, reading, settings, viewer, wake, writing


@dataclass(frozen=True, slots=True, kw_only=True)
class LogQuery:
    """keep_users: whether to store users as keyed digests, so that they can be counted."""

    keep_users: bool = True
    file_name: str = ""


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
    "POST",
    "/tasks/<slug>/clicks",
    LogAnswer,
    query=LogQuery,
    rule=Rule(SIGNED_IN, Body.UPLOAD),
    scopes=ORGANISE,
    status=201,
)
def import_log(slug: str, query: LogQuery, file: Path) -> LogAnswer:
    """Import a query log

    The body is the log file.
    """
    asker = viewer()
    finish_reading()
    with writing() as session:
        rules = clicks.rules_for(session, asker, slug)
    limits = Limits(plain_bytes=settings().plain_bytes)
    name = base_name(query.file_name)
    prepared = clicks.prepare_import(file, name, rules, keep_users=query.keep_users, limits=limits)
    with writing() as session:
        log = clicks.add_import(session, asker, slug, prepared)
    return LogAnswer(
        log=log.number, sessions=log.sessions, topics=log.topics, rows=log.rows, unknown_rows=log.unknown_rows
    )


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


OPERATIONS = (import_log, *actions.operations(clicks.ACTIONS), publish_clicks)
