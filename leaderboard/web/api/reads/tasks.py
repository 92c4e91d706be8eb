"""Operations that read a task: its runs, news, editions, intervals; and have its statistics computed."""

from dataclasses import dataclass
from typing import Any

from flask import Response

from leaderboard.db.tables import Collection
from leaderboard.errors import NotFound
from leaderboard.pages.boards import history, intervals, tables, view
from leaderboard.pages.boards.view import BoardChoice
from leaderboard.pages.tasks import news
from leaderboard.services import collections, snapshots
from leaderboard.services.boards import board as boards
from leaderboard.services.policy import Scope
from leaderboard.services.statistics.requests import WaitingResult
from leaderboard.tables.record import Column, Table
from leaderboard.web import responses
from leaderboard.web.api.lists import ListQuery, Rows, part
from leaderboard.web.api.operations import Done, Reply, operation
from leaderboard.web.api.organise.answers import CollectionAnswer, collection_answer
from leaderboard.web.rules import PUBLIC, Rule
from leaderboard.web.session import have_computed, reading, viewer

COMPUTED = Rule(PUBLIC, is_computed=True)
ANY = (Scope.READ, Scope.SUBMIT, Scope.ORGANISE)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunsQuery(ListQuery):
    """Which runs of which board, and the columns shown: measures, facts of runs, extras.

    search: words in a run's name, team, tag or description. field and value: a fact of runs. own: of your
    teams. bounds: what unjudged documents could make of the scores. ranges: of ranks.
    """

    measure: str | None = None
    phase: str | None = None
    edition: int | None = None
    group: str | None = None
    search: str = ""
    team: str = ""
    kind: str = ""
    tag: str = ""
    field: str = ""
    value: str = ""
    own: bool = False
    columns: tuple[str, ...] = ()
    bounds: bool = False
    ranges: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasureQuery(ListQuery):
    """By which measure; none for the primary one."""

    measure: str | None = None
    phase: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StatisticsQuery:
    """Of the board by which measure, in which phase."""

    measure: str | None = None
    phase: str | None = None


@operation("GET", "/tasks/<slug>/runs", Rows, query=RunsQuery)
def runs(slug: str, query: RunsQuery) -> Reply:
    """The runs of a board that fit

    In its order, with rank, rank range, whom each beats, and scores.
    """
    shown = boards.board(
        reading(), viewer(), slug, query.measure, query.edition, one_per_team=False, group=query.group
    )
    wish = BoardChoice(
        search=query.search,
        team=query.team,
        kind=query.kind,
        tag=query.tag,
        field=query.field,
        value=query.value,
        own=query.own,
        columns=query.columns,
        in_line=True,
        bounds=query.bounds,
        ranges=query.ranges,
    )
    return part(tables.table(view.view(reading(), viewer(), shown, wish)), query, "run")


@operation("GET", "/tasks/<slug>/announcements", Rows, query=ListQuery)
def announcements(slug: str, query: ListQuery) -> Reply:
    """What was announced in a task

    The newest first.
    """
    return part(news.announced(news.news(reading(), viewer(), slug)), query, "at")


@operation("GET", "/tasks/<slug>/history", Rows, query=ListQuery)
def editions(slug: str, query: ListQuery) -> Reply:
    """The editions of a board

    Each is a board under one revision and one list of measures, which stays readable.
    """
    return part(history.table(history.history(reading(), viewer(), slug)), query, "edition")


@operation("GET", "/tasks/<slug>/snapshots", Rows, query=ListQuery)
def list_snapshots(slug: str, query: ListQuery) -> Reply:
    """List the snapshots of a task's board

    The newest first; those that show more than you may see now are not among them.
    """
    return part(history.snapshot_table(history.history(reading(), viewer(), slug)), query, "snapshot")


@operation("GET", "/snapshots/<address>", dict)
def show_snapshot(address: str) -> Response:
    """Look up a snapshot by its address

    The very bytes whose SHA-256 the address begins.
    """
    return responses.as_stored(snapshots.opened(reading(), viewer(), address).body, "application/json")


@operation("GET", "/collections", Rows, query=ListQuery)
def list_collections(query: ListQuery) -> Reply:
    """List the collections that tasks may be on

    Those that only drafts of others use are not among them.
    """
    columns: list[Column[Collection]] = [
        Column("collection", lambda row: row.name),
        Column("documents", lambda row: row.stored),
        Column("size", lambda row: row.size),
        Column("link_template", lambda row: row.link_template),
    ]
    rows = collections.seen(reading(), viewer())
    return part(Table("collections", "", columns, rows), query, "collection")


@operation("GET", "/collections/<name>", CollectionAnswer)
def show_collection(name: str) -> CollectionAnswer:
    """Look up a collection"""
    found = next((row for row in collections.seen(reading(), viewer()) if row.name == name), None)
    if found is None:
        raise NotFound(f"There is no collection {name[:100]!r}.")
    return collection_answer(found)


@operation("GET", "/tasks/<slug>/intervals", Rows, query=MeasureQuery, rule=COMPUTED)
def mean_intervals(slug: str, query: MeasureQuery) -> Reply:
    """The intervals of means and ranks on a board"""
    page = intervals.page(reading(), viewer(), slug, query.measure, one_per_team=False)
    return part(intervals.table(page), query, "run")


@operation("POST", "/tasks/<slug>/statistics", Done, query=StatisticsQuery, scopes=ANY, status=202)
def compute_statistics(slug: str, query: StatisticsQuery) -> Done:
    """Have the statistics of a board computed

    Whom each run beats, ranges of ranks, intervals: what is missing of them is computed by an evaluator.
    """
    shown = boards.board(reading(), viewer(), slug, query.measure)
    page = intervals.page(reading(), viewer(), slug, query.measure, one_per_team=False)
    waiting: list[Any] = [shown.standing] if isinstance(shown.standing, WaitingResult) else []
    waiting += page.waiting
    have_computed(waiting)
    return Done(done=f"{len(waiting)} results asked for")


OPERATIONS = (
    runs,
    announcements,
    editions,
    list_snapshots,
    show_snapshot,
    list_collections,
    show_collection,
    mean_intervals,
    compute_statistics,
)
