"""Operations on tasks: which there are, what to know of one, its board, what a team may still send."""

from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from math import ceil
from typing import Annotated

import msgspec
from msgspec import Meta

from leaderboard import fields
from leaderboard.pages.tasks import landing, phases
from leaderboard.pages.tasks.landing import LandingRow
from leaderboard.pages.tasks.leaders import LeaderOfTask
from leaderboard.pages.tasks.phases import PhaseRow
from leaderboard.services.boards import board as boards
from leaderboard.services.boards.board import Board
from leaderboard.services.boards.rows import place_facts
from leaderboard.services.runs import limits
from leaderboard.services.runs.limits import Quota
from leaderboard.web.api import lists, pictures
from leaderboard.web.api.answers import (
    BoardAnswer,
    BoardRow,
    LeaderAnswer,
    PhaseAnswer,
    QuotaAnswer,
    TaskAnswer,
    TaskDetails,
    TaskList,
)
from leaderboard.web.api.operations import LOOK, Reply, operation
from leaderboard.web.rules import SIGNED_IN, Rule
from leaderboard.web.session import reading, settings, viewer
from leaderboard.zones import Moment

TASKS = 20
"""Tasks in an answer that is not asked for more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BoardQuery:
    """Which board: its measure, phase, edition or moment; one run a team, or those of a group."""

    measure: str | None = None
    phase: str | None = None
    edition: int | None = None
    at: Moment | None = None
    group: str | None = None
    one_per_team: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class QuotaQuery:
    """Of which team, and in which phase where the task has several."""

    team_id: int
    phase: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class TasksQuery:
    """How many tasks, and from where on: the cursor of the answer before."""

    limit: Annotated[int, Meta(ge=1, le=lists.MOST)] = TASKS
    cursor: Annotated[str, Meta(pattern="^[A-Za-z0-9_-]*$")] = ""


@operation("GET", "/tasks", TaskList, query=TasksQuery)
def tasks(query: TasksQuery) -> Reply:
    """The tasks that you may know of

    Published ones, and drafts in which you have a role; newest first, 20 at a time unless asked for more.
    """
    known = [task.id for task in landing.known_tasks(reading(), viewer())]
    cut = lists.cut_of(known, query.limit, query.cursor)
    rows = landing.landing(reading(), viewer(), known[cut.start : cut.end])
    answer = TaskList(tasks=tuple(map(_listed, rows)), total=len(known), next=cut.next)
    return Reply(answer=answer, status=200, headers=cut.headers)


@operation("GET", "/tasks/<slug>", TaskDetails)
def task(slug: str) -> TaskDetails:
    """What to know of a task before sending runs

    Its rules, measures and phases. Dates are in UTC.
    """
    about = landing.about(reading(), viewer(), slug)
    page = phases.phases_page(reading(), viewer(), slug)
    return TaskDetails(
        task=about.slug,
        name=about.task,
        description=about.of.description,
        organisers=about.of.organisers,
        logo=pictures.answer(about.slug, about.logo),
        picture=pictures.answer(about.slug, about.picture),
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
    """The board of a task

    As you may see it: what is held back of a blind or sealed phase is missing, and `why` says until when.
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


@operation("GET", "/tasks/<slug>/quota", QuotaAnswer, query=QuotaQuery, rule=Rule(SIGNED_IN), scopes=LOOK)
def quota(slug: str, query: QuotaQuery) -> Reply:
    """What a team of yours may still send

    Accepted runs count, withdrawn ones too, and files that wait for their check; rejected files do not.
    """
    left = limits.admission_quota(reading(), viewer(), slug, query.team_id, query.phase)
    rejections = limits.rejections_left(reading(), viewer().account_id)
    whose = {"team": query.team_id, "team_id": query.team_id, "rejections_left": rejections}
    answer = asdict(left) | whose
    return Reply(answer=answer, status=200, headers=rate_limit(left, datetime.now(UTC)))


OPERATIONS = (tasks, task, board, quota)


def rate_limit(left: Quota, at: datetime) -> dict[str, str]:
    """The limit of a day in the fields of draft-ietf-httpapi-ratelimit-headers-09; none without a limit."""
    if left.per_day is None:
        return {}
    seconds = max(0, ceil((left.next_at - at).total_seconds()))
    return {
        "RateLimit-Policy": f'"runs-of-a-day";q={left.per_day};w=86400',
        "RateLimit": f'"runs-of-a-day";r={left.left_today};t={seconds}',
    }


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
    said = {"state": row.state, "topics": row.topics, "visibility": row.visibility}
    said |= {"largest_bytes": min(row.plan.largest_bytes or most, most)}
    return msgspec.convert(fields.values(row.plan) | said, PhaseAnswer)


def _board(shown: Board) -> BoardAnswer:
    basis = shown.basis
    keys = [measure.key for measure in shown.measures]
    return BoardAnswer(
        task=shown.slug,
        phase=shown.sight.phase,
        edition=basis.edition if basis else None,
        revision=basis.revision if basis else None,
        revision_sha256=(basis.revision_sha256 or None) if basis else None,
        topics=basis.topics if basis else None,
        primary=shown.primary,
        sorted_by=shown.sorted_by,
        measure_versions={measure.key: measure.version for measure in shown.measures},
        sentences=shown.sentences,
        why=shown.sight.why,
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
