"""Operations on tasks: list, details, board, remaining runs."""

from dataclasses import asdict, dataclass
from typing import Annotated

import msgspec
from flask import Response
from msgspec import Meta

from leaderboard import fields
from leaderboard.boards.ops import board as boards
from leaderboard.boards.ops import snapshots
from leaderboard.boards.ops.board import Board
from leaderboard.boards.ops.rows import place_facts
from leaderboard.boards.page import history, intervals, tables, view
from leaderboard.boards.page.leaders import LeaderOfTask
from leaderboard.boards.page.view import BoardChoice
from leaderboard.db.tables import Collection
from leaderboard.errors import NotFound
from leaderboard.fields import Field
from leaderboard.scoring.ops import collections
from leaderboard.scoring.ops.statistics.requests import MEASURE, computing
from leaderboard.tables.record import Column, Table
from leaderboard.tasks.api.drafts import CollectionAnswer, OwnTask, SettingsAnswer, collection_answer
from leaderboard.tasks.ops import drafts, organise
from leaderboard.tasks.ops import settings as tasks_settings
from leaderboard.tasks.ops.drafts import CreatedTask, PreparedTask
from leaderboard.tasks.ops.pictures import pictures
from leaderboard.tasks.ops.pictures.pictures import PictureHead
from leaderboard.tasks.page import landing, news, phases
from leaderboard.tasks.page import settings as settings_pages
from leaderboard.tasks.page.landing import LandingRow
from leaderboard.tasks.page.phases import PhaseRow
from leaderboard.tasks.page.search import AT_MOST, LEAST, MOST, USUAL, SearchPage, search_page
from leaderboard.web import http
from leaderboard.web.addresses import absolute
from leaderboard.web.api import actions, lists
from leaderboard.web.api.answers import (
    BoardAnswer,
    BoardRow,
    LeaderAnswer,
    PhaseAnswer,
    PictureAnswer,
    TaskAnswer,
    TaskDetails,
    TaskList,
)
from leaderboard.web.api.lists import ListQuery, MeasureQuery, Rows, part
from leaderboard.web.api.operations import Reply, operation
from leaderboard.web.rules import COMPUTED, SIGNED_IN, Rule
from leaderboard.web.session import reading, settings, viewer
from leaderboard.zones import Moment

TASKS = 20
"""Default number of tasks per answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BoardQuery:
    """Choice of a board: its measure, phase, edition or moment; one run per team, or those of a group."""

    measure: str | None = None
    phase: str | None = None
    edition: int | None = None
    at: Moment | None = None
    group: str | None = None
    one_per_team: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class TasksQuery(ListQuery):
    """The number of tasks, and the cursor from the previous answer."""

    limit: Annotated[int, Meta(ge=1, le=lists.MOST)] = TASKS


@operation("GET", "/tasks", TaskList, query=TasksQuery)
def tasks(query: TasksQuery) -> Reply:
    """List the tasks visible to you

    Published tasks, and drafts in which you have a role; newest first, 20 at a time by default.
    """
    task_ids = [task.id for task in landing.known_tasks(reading(), viewer())]
    cut = lists.cut_of(task_ids, query.limit, query.cursor)
    rows = landing.landing(reading(), viewer(), task_ids[cut.start : cut.end])
    answer = TaskList(tasks=tuple(map(_listed, rows)), total=len(task_ids), next=cut.next)
    return Reply(answer=answer, status=200, headers=cut.headers)


@operation("GET", "/tasks/<slug>", TaskDetails)
def task(slug: str) -> TaskDetails:
    """Show the details of a task for participants

    Its rules, measures and phases. Dates are in UTC.
    """
    about = landing.about(reading(), viewer(), slug)
    page = phases.phases_page(reading(), viewer(), slug)
    return TaskDetails(
        task=about.slug,
        name=about.task,
        description=about.of.description,
        organisers=about.of.organisers,
        logo=_picture(about.logo, about.slug),
        picture=_picture(about.picture, about.slug),
        collection=about.collection.name,
        topics=about.topics,
        visibility=about.of.visibility,
        depth=about.of.depth,
        measures=tuple(about.of.measures),
        primary=about.of.primary_measure,
        phases=tuple(map(_phase, page.rows)),
    )


@operation("GET", "/tasks/<slug>/board", BoardAnswer, query=BoardQuery)
def board(slug: str, query: BoardQuery) -> BoardAnswer:
    """Get the leaderboard of a task

    As visible to you: hidden parts of a blind or sealed phase are missing, and `why` says until when.
    """
    shown = boards.board(
        reading(),
        viewer(),
        slug,
        query.measure,
        query.edition,
        one_per_team=query.one_per_team,
        group=query.group,
        at=query.at,
    )
    return _board(shown)


OPERATIONS = (tasks, task, board)


def _picture(head: PictureHead | None, slug: str, **_: object) -> PictureAnswer | None:
    """A picture with its address, None for none."""
    if head is None:
        return None
    address = absolute("pictures.show", slug=slug, digest=head.address)
    return PictureAnswer(kind=head.kind, alt=head.alt, width=head.width, height=head.height, address=address)


def _listed(row: LandingRow) -> TaskAnswer:
    return TaskAnswer(
        task=row.task.slug,
        name=row.task.name,
        organisers=row.task.organisers,
        visibility=row.task.visibility,
        topics=row.task.topics,
        runs=row.runs,
        revision=row.revision,
        leader=None if row.leader is None else _leader(row.leader),
    )


def _leader(leader: LeaderOfTask) -> LeaderAnswer:
    return LeaderAnswer(
        run_id=leader.run_id,
        run=leader.run,
        measure=leader.measure,
        value=leader.value,
        tied=leader.tied,
        may_be_best=leader.place.may_be_best if leader.place else None,
        rank_high=leader.place.rank_high if leader.place else None,
    )


def _phase(row: PhaseRow) -> PhaseAnswer:
    most = settings().upload_bytes
    computed = {"state": row.state, "topics": row.topics, "visibility": row.visibility}
    computed |= {"largest_bytes": min(row.plan.largest_bytes or most, most)}
    return msgspec.convert(fields.values(row.plan) | computed, PhaseAnswer)


def _board(shown: Board) -> BoardAnswer:
    basis = shown.basis
    keys = [measure.key for measure in shown.measures]
    return BoardAnswer(
        task=shown.slug,
        phase=shown.access.phase,
        edition=basis.edition if basis else None,
        revision=basis.revision if basis else None,
        revision_sha256=(basis.revision_sha256 or None) if basis else None,
        topics=basis.topics if basis else None,
        primary=shown.primary,
        sorted_by=shown.sorted_by,
        measure_versions={measure.key: measure.version for measure in shown.measures},
        sentences=shown.sentences,
        why=shown.access.why,
        moved_since_edition=shown.before.number if shown.before else None,
        left_out=basis.left_out_facts if basis else None,
        rows=tuple(
            BoardRow(
                rank=row.rank,
                run_id=row.run_id,
                run=row.run,
                team=row.team,
                kind=row.kind,
                state=row.state,
                scores={key: row.scores.get(key) for key in keys},
                moved=shown.before.moved.get(row.run_id) if shown.before else None,
                **place_facts(shown.places.get(row.run_id)),
            )
            for row in shown.rows
        ),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class RunsQuery(MeasureQuery):
    """The runs and columns of a board: measures, run facts, extras.

    search: words in a run's name, team, tag or description. field and value: a fact of runs. own: of your
    teams. bounds: what unjudged documents could make of the scores. ranges: of ranks.
    """

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
class StatisticsQuery:
    """The measure and phase of the board."""

    measure: Annotated[str | None, MEASURE] = None
    phase: Annotated[
        str | None, Field(title="Phase", help="The name of a phase; default: the open one, or the only one.")
    ] = None


@operation("GET", "/tasks/<slug>/runs", Rows, query=RunsQuery)
def runs(slug: str, query: RunsQuery) -> Reply:
    """List the matching runs of a leaderboard

    In board order, with rank, rank range, wins and losses, and scores.
    """
    shown = boards.board(
        reading(), viewer(), slug, query.measure, query.edition, one_per_team=False, group=query.group
    )
    choice = msgspec.convert(asdict(query) | {"in_line": True}, BoardChoice)
    return part(tables.table(view.view(reading(), viewer(), shown, choice)), query, "run")


@operation("GET", "/tasks/<slug>/announcements", Rows, query=ListQuery)
def announcements(slug: str, query: ListQuery) -> Reply:
    """List the announcements of a task

    Newest first.
    """
    return part(news.announced(news.news(reading(), viewer(), slug)), query, "at")


@operation("GET", "/tasks/<slug>/history", Rows, query=ListQuery)
def editions(slug: str, query: ListQuery) -> Reply:
    """List the editions of a leaderboard

    An edition is the board under one revision and one list of measures; it stays readable.
    """
    return part(history.table(history.history(reading(), viewer(), slug)), query, "edition")


@operation("GET", "/tasks/<slug>/snapshots", Rows, query=ListQuery)
def list_snapshots(slug: str, query: ListQuery) -> Reply:
    """List the snapshots of a task's board

    Newest first, without those that show more than you can see now.
    """
    return part(history.snapshot_table(history.history(reading(), viewer(), slug)), query, "snapshot")


@operation("GET", "/snapshots/<address>", dict)
def show_snapshot(address: str) -> Response:
    """Look up a snapshot by its address

    The exact bytes; the address is the beginning of their SHA-256.
    """
    return http.as_stored(snapshots.opened(reading(), viewer(), address).body, "application/json")


@operation("GET", "/collections", Rows, query=ListQuery)
def list_collections(query: ListQuery) -> Reply:
    """List the collections available for tasks

    Without those that only other people's drafts use.
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
    collection = next((row for row in collections.seen(reading(), viewer()) if row.name == name), None)
    if collection is None:
        raise NotFound(f"There is no collection {name[:100]!r}.")
    return collection_answer(collection)


@operation("GET", "/tasks/<slug>/intervals", Rows, query=MeasureQuery, rule=COMPUTED)
def mean_intervals(slug: str, query: MeasureQuery) -> Reply:
    """Get the intervals of means and ranks on a leaderboard"""
    page = intervals.page(reading(), viewer(), slug, query.measure, one_per_team=False)
    return part(intervals.table(page), query, "run")


COMPUTE = computing(
    "compute_statistics",
    lambda session, viewer, slug, asked: [
        *boards.board(session, viewer, slug, asked.measure).waiting,
        *intervals.page(session, viewer, slug, asked.measure, one_per_team=False).waiting,
    ],
    path="/tasks/<slug>/statistics",
    summary="Start computing the statistics of a leaderboard",
    more="Wins and losses, rank ranges and intervals; an evaluator computes those that are missing.",
    record=StatisticsQuery,
)


READS = (
    runs,
    announcements,
    editions,
    list_snapshots,
    show_snapshot,
    list_collections,
    show_collection,
    mean_intervals,
    *actions.operations((COMPUTE,)),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchQuery:
    """q: words that all must begin a word of a name, tag, description or title; or the id of a document.

    limit: how many results of each kind at most.
    """

    q: Annotated[str, Meta(min_length=LEAST, max_length=MOST)]
    limit: Annotated[int, Meta(ge=1, le=AT_MOST)] = USUAL


@operation("GET", "/search", SearchPage, query=SearchQuery)
def search(query: SearchQuery) -> SearchPage:
    """Search tasks, suites, runs, teams, topics and documents

    Results visible to you, 20 of each kind by default. A token for one task finds what is
    in that task.
    """
    return search_page(reading(), viewer(), query.q, query.limit)


SEARCHES = (search,)


@operation("GET", "/tasks/<slug>/settings", SettingsAnswer, rule=Rule(SIGNED_IN))
def task_settings(slug: str) -> SettingsAnswer:
    """Show the settings of a task

    In the format of the form; for its organisers and readers.
    """
    return _settings(slug)


def _settings(slug: str, changed: tuple[str, ...] = ()) -> SettingsAnswer:
    page = settings_pages.settings_page(reading(), viewer(), slug)
    return SettingsAnswer(task=page.slug, settings=page.values, changed=changed)


def _own(_: object, slug: str) -> OwnTask:
    page = settings_pages.settings_page(reading(), viewer(), slug)
    state = "archived" if page.of.archived_at else "published" if page.of.published_at else "draft"
    return OwnTask(task=page.slug, name=page.task, state=state)


def _made(created: tuple[CreatedTask, PreparedTask], slug: str) -> OwnTask:
    return OwnTask(task=slug, name=created[1].draft.name, state="draft", topics=str(created[1].topics))


CHANGES = (
    task_settings,
    *actions.operations(
        (
            collections.ADD,
            drafts.MAKE,
            pictures.PUT,
            pictures.REMOVE,
            tasks_settings.CHANGE,
            *organise.DESK,
            *organise.LIFE,
            *organise.TOPICS,
        ),
        answers={
            "add_collection": (CollectionAnswer, lambda row, **_: collection_answer(row)),
            "make_task": (OwnTask, _made),
            "put_picture": (PictureAnswer, _picture),
            "settle_task": (SettingsAnswer, lambda result, **_: _settings(*result)),
            **dict.fromkeys(
                ("publish_task", "unpublish_task", "archive_task", "unarchive_task"), (OwnTask, _own)
            ),
            "clone_task": (
                OwnTask,
                lambda copy, slug: OwnTask(task=copy.slug, name=copy.name.strip(), state="draft"),
            ),
        },
    ),
)
