"""The site's front page: every task with its leader."""

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Annotated, Any

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from leaderboard.boards.page import leaders
from leaderboard.boards.page.leaders import LeaderOfTask
from leaderboard.core import kinds, phase_rules, policy
from leaderboard.core.phase_rules import PUBLIC_TOPICS
from leaderboard.core.picture_kinds import LOGO, PICTURE
from leaderboard.core.policy import TaskLogo, Viewer
from leaderboard.core.slots import Part
from leaderboard.db import tables
from leaderboard.db.engine import now
from leaderboard.db.tables import Qrels, Run, Task, TaskChange, Topic, TopicSet
from leaderboard.errors import NotFound
from leaderboard.measures.binding import BoundMeasure
from leaderboard.measures.naming import kind_of, parse
from leaderboard.scoring.ops import collections, setting_values
from leaderboard.scoring.ops.qrels import files
from leaderboard.scoring.ops.qrels.files import MAIN
from leaderboard.scoring.ops.scored_topics import NOT_JUDGED, OfTask, TaskHead, short_name
from leaderboard.tables.record import DIGITS, Column, Files, Place, Shown, Table, columns_from
from leaderboard.tasks import slots
from leaderboard.tasks.ops import phases
from leaderboard.tasks.ops.entries import RULES
from leaderboard.tasks.ops.pictures import pictures
from leaderboard.tasks.ops.pictures.pictures import PictureHead
from leaderboard.tasks.page.phases import DateRow, at_present, strip
from leaderboard.trec.qrels.packed import unpack_judgments


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskOverview(OfTask):
    """The overview for an organiser, before publishing and later."""

    collection: tables.Collection
    opens_at: datetime | None
    closes_at: datetime | None
    topics: int
    public_topics: int | None
    revision: int | None
    origin: str
    judgments: int
    read_as: tuple[str, ...]
    """Sentences on how the newest judgment file was read."""
    grades: dict[int, int]
    topics_without_judgments: tuple[str, ...]
    judged_not_topics: tuple[str, ...]
    topics_without_relevant: tuple[str, ...]
    excluded: dict[str, str]
    scores_judged: int
    """The number of topics excluded as unjudged; 0 if every topic counts."""
    not_judged: str = NOT_JUDGED


@dataclass(frozen=True, slots=True)
class TaskRow:
    """A task in a list."""

    id: int
    slug: Annotated[str, Shown(key="task", shown=Place.DATA)]
    name: Annotated[str, Shown("Task")]
    visibility: Annotated[str, Shown("Visibility", shown=~Place.PAGE)]
    published_at: datetime | None
    topics: int
    runs: int
    archived_at: datetime | None = None
    description: str = ""
    organisers: str = ""
    """The organisers, as described by themselves."""
    logo: TaskLogo | None = None


@dataclass(frozen=True, slots=True)
class KnownTask:
    """A task that a viewer may know of, before anything else is read of it."""

    id: int
    is_archived: bool


def overview(session: Session, viewer: Viewer, slug: str) -> TaskOverview:
    """Counts, grades and mismatches of a task; for its organisers."""
    task, _ = policy.visible_task(session, viewer, slug)
    policy.require(viewer, task, policy.reads)
    rows = session.execute(select(Topic.topic_id, Topic.excluded).where(Topic.task_id == task.id)).all()
    topic_ids = {row.topic_id for row in rows}
    revision = files.newest(session, task.id)
    phase = phases.of_task(session, task.id)[0]
    judgments = unpack_judgments(revision.packed) if revision and kinds.of(task.kind).ranks_documents else {}
    public = session.scalar(
        select(TopicSet).where(TopicSet.task_id == task.id, TopicSet.name == PUBLIC_TOPICS)
    )
    origin = session.scalar(select(Qrels.origin).where(Qrels.task_id == task.id, Qrels.name == MAIN))
    counted = Counter(grade for topic in judgments.values() for grade in topic.values())
    return TaskOverview(
        of=task,
        collection=session.get_one(tables.Collection, task.collection_id),
        opens_at=phase.opens_at,
        closes_at=phase.closes_at,
        topics=len(topic_ids),
        public_topics=len(public.topics) if public is not None and public.topics is not None else None,
        revision=revision.number if revision else None,
        origin=origin or "",
        judgments=revision.judgments if revision else 0,
        read_as=tuple(revision.read_as) if revision else (),
        grades=dict(sorted(counted.items())),
        topics_without_judgments=tuple(sorted(topic_ids - judgments.keys())) if revision else (),
        judged_not_topics=tuple(sorted(judgments.keys() - topic_ids)),
        topics_without_relevant=tuple(
            sorted(
                topic
                for topic, grades in judgments.items()
                if not any(grade >= task.level for grade in grades.values())
            )
        ),
        excluded={row.topic_id: row.excluded for row in rows if row.excluded},
        scores_judged=sum(row.excluded == NOT_JUDGED for row in rows),
    )


def known_tasks(session: Session, viewer: Viewer) -> tuple[KnownTask, ...]:
    """All tasks the viewer may know of, newest first: drafts only for their organisers; one statement."""
    selected = select(Task.id, Task.published_at, Task.archived_at)
    rows = session.execute(selected.order_by(Task.created_at.desc(), Task.id.desc()))
    return tuple(
        KnownTask(row.id, row.archived_at is not None)
        for row in rows
        if row.published_at is not None or policy.knows(viewer, row.id)
    )


def listing(session: Session, viewer: Viewer, only: Collection[int] | None = None) -> tuple[TaskRow, ...]:
    """All tasks the viewer may know of, or those of some ids, newest first; one statement.

    Drafts only for their organisers.
    """
    topics = select(func.count()).where(Topic.task_id == Task.id).scalar_subquery()
    runs = select(func.count()).where(Run.task_id == Task.id, Run.withdrawn_at.is_(None)).scalar_subquery()
    selected = select(
        *(Task.id, Task.slug, Task.name, Task.visibility, Task.published_at, topics, runs),
        *(Task.archived_at, Task.description, Task.organisers),
    )
    if only is not None:
        selected = selected.where(Task.id.in_(only))
    rows = session.execute(policy.with_logo(selected).order_by(Task.created_at.desc(), Task.id.desc()))
    return tuple(
        _task_row(row) for row in rows if row.published_at is not None or policy.knows(viewer, row.id)
    )


def _task_row(row: Any) -> TaskRow:
    *values, _, _ = row
    return replace(TaskRow(*values), logo=policy.logo_in_row(row))


PAGE = 12
"""Tasks per page: a screen or two, because each leader is computed from all runs of its task."""


@dataclass(frozen=True, slots=True)
class LandingRow:
    """A task on the front page; revision and leader are None without visible scores."""

    task: TaskRow
    is_open: bool
    """Whether everything is shown: the task is open, or closed."""
    revision: int | None
    leader: LeaderOfTask | None
    dates: tuple[DateRow, ...]
    stage: str
    """Stage of the task: draft, open, soon or closed."""

    @property
    def state(self) -> Annotated[str, Shown(shown=Place.DATA)]:
        """Its submission state as text, from its dates if it has any."""
        if self.task.archived_at is not None:
            return "archived"
        if self.task.published_at is None:
            return "draft"
        return "; ".join(date.text for date in self.dates) or "accepts runs"

    @property
    def runs(self) -> int | None:
        """The number of runs; None in a sealed task, where it is also hidden."""
        return self.task.runs if self.is_open or self.task.visibility == "blind" else None


@dataclass(frozen=True, slots=True)
class FrontPage:
    """One page of tasks: its number, the number of pages and of tasks."""

    rows: tuple[LandingRow, ...]
    number: int
    pages: int
    tasks: int
    parts: tuple[Part, ...]
    """The parts above the tasks."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AboutPage(TaskHead):
    """A task's description and rules."""

    logo: PictureHead | None
    picture: PictureHead | None
    collection: tables.Collection
    topics: int
    measures: tuple[BoundMeasure, ...]
    grade_names: dict[int, str]
    opens_at: datetime | None
    closes_at: datetime | None
    entering: str
    """Sentence on how teams enter; empty if the first run enters a team."""
    assesses: bool
    """Whether the viewer coordinates the task's assessors."""
    links: tuple[tuple[str, str], ...]
    """Title and address of each."""
    frames: tuple[str, ...]
    """The origins allowed to embed its board."""
    is_public: bool
    """Whether everything shown can be downloaded by everybody."""
    changes: tuple[TaskChange, ...]
    parts: tuple[Part, ...]
    """The parts below its description."""


def front_page(session: Session, viewer: Viewer, number: int = 1) -> FrontPage:
    """One page of tasks: those not archived first, each group newest first.

    Nine statements, ten where there are suites, and one more for each task shown that is blind or sealed.
    Raises NotFound for a page that does not exist.
    """
    tasks = known_tasks(session, viewer)
    ordered = [task.id for task in sorted(tasks, key=lambda task: task.is_archived)]
    pages = max(1, -(-len(ordered) // PAGE))
    if not 1 <= number <= pages:
        raise NotFound(f"There is no task page {number}; the last page is {pages}.")
    rows = landing(session, viewer, ordered[PAGE * (number - 1) : PAGE * number])
    parts = tuple(part for parts_of in slots.FRONT for part in parts_of(session, viewer))
    return FrontPage(rows, number, pages, len(ordered), parts)


def landing(session: Session, viewer: Viewer, only: Collection[int] | None = None) -> tuple[LandingRow, ...]:
    """All tasks the viewer may know of, or those of some ids, newest first.

    Seven statements, and one more for each that is blind or sealed.
    """
    rows = listing(session, viewer, only)
    rules = phase_rules.rules_of_all(session, [row.id for row in rows])
    shown = {
        row.id: phase_rules.newest(session, rules[row.id])
        for row in rows
        if not phase_rules.hidden(session, rules[row.id])
    }
    rests_on = leaders.bases(session, shown)
    leading = leaders.leaders(session, viewer, shown, rests_on)
    at = now(session)
    return tuple(
        LandingRow(
            task=row,
            is_open=row.id in shown,
            revision=rests_on[row.id].revision if row.id in rests_on else None,
            leader=leading.get(row.id),
            dates=strip(rules[row.id], at),
            stage="draft" if row.published_at is None else at_present(rules[row.id], at)[0],
        )
        for row in rows
    )


def facts(rows: tuple[LandingRow, ...]) -> dict[str, Any]:
    """The tasks as plain values at full precision."""
    return {"tasks": table(rows).facts()}


def table(rows: tuple[LandingRow, ...]) -> Table[LandingRow]:
    """The tasks, each with its leader."""
    columns = columns_from(
        LandingRow,
        "task.slug task.name",
        Column("organisers", lambda row: row.task.organisers or None, shown=Place.DATA),
        "task.visibility task.topics runs",
        Column("teams", lambda row: row.leader and row.leader.teams, shown=Place.DATA),
        "state revision",
        Column("leader", lambda row: row.leader and row.leader.run, "Leader"),
        Column("measure", lambda row: row.leader and row.leader.measure, "Measure", shown=~Place.PAGE),
        Column(
            "score",
            lambda row: row.leader and row.leader.value,
            "Score",
            words=lambda row: f"{row.leader.value:.{row.leader.digits}f}" if row.leader else None,
            digits=DIGITS,
        ),
        Column(
            "may_be_best",
            lambda row: row.leader and row.leader.place and row.leader.place.may_be_best,
            "May be the best",
            digits=0,
        ),
        Column(
            "rank_high",
            lambda row: row.leader and row.leader.place and row.leader.place.rank_high,
            shown=Place.DATA,
        ),
        Column("tied", lambda row: row.leader and row.leader.tied, shown=Place.DATA),
        Column("visibility", lambda row: row.task.visibility, "Visibility", shown=Place.PAGE),
        Column("archived", lambda row: row.task.archived_at is not None, shown=Place.DATA),
    )
    caption = "Tasks, newest first, each with the best run by its primary measure."
    return Table("tasks", caption, columns, rows)


FILES = Files(facts=facts, tables={"tasks": table})


def about(session: Session, viewer: Viewer, slug: str) -> AboutPage:
    """The description and rules of a task."""
    task, access = policy.visible_task(session, viewer, slug)
    (row,) = listing(session, viewer, (task.id,))
    phase = phases.of_task(session, task.id)[0]
    shown = pictures.heads(session, task.id)
    return AboutPage(
        of=task,
        access=access,
        logo=shown.get(LOGO.name),
        picture=shown.get(PICTURE.name),
        collection=collections.by_id(session, task.collection_id),
        topics=row.topics,
        measures=tuple(map(parse, task.measures)),
        grade_names={int(grade): str(name) for grade, name in task.grade_names.items()},
        opens_at=phase.opens_at,
        closes_at=phase.closes_at,
        entering=RULES[task.entry_rule] if task.entry_rule != "free" or task.agreement else "",
        assesses=task.id in viewer.coordinates,
        links=tuple((link["title"], link["address"]) for link in task.links),
        frames=tuple(task.frames.split()),
        is_public=task.published_at is not None and _is_open(session, viewer, slug),
        changes=setting_values.of_task(session, task.id),
        parts=tuple(part for parts_of in slots.ABOUT for part in parts_of(session, task.id)),
    )


def _is_open(session: Session, viewer: Viewer, slug: str) -> bool:
    """Whether a task, already read, hides nothing from anyone."""
    return not phase_rules.hidden(session, policy.task_context(session, viewer, slug).phases)


def measures(page: AboutPage) -> Table[BoundMeasure]:
    """The definitions of a task's measures."""
    columns = columns_from(
        BoundMeasure,
        Column("key", lambda row: row.key, "Measure"),
        Column("title", lambda row: row.measure.title, "Definition"),
        "measure.formula measure.version",
    )
    primary = page.of.primary_measure
    caption = (
        f"How each measure is computed for one topic. The board ranks by {short_name(primary)} unless you "
        f"choose another measure{kinds.of(kind_of(parse(primary).measure)).missed}."
    )
    return Table(f"{page.slug}-measures", caption, columns, page.measures)
