"""The site's front page: every task with who leads it."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any

from sqlalchemy.orm import Session

from leaderboard.db import tables
from leaderboard.db.engine import now
from leaderboard.db.tables import TaskChange
from leaderboard.errors import NotFound
from leaderboard.measures.binding import BoundMeasure
from leaderboard.measures.naming import kind_of, parse
from leaderboard.pages.tasks import leaders, overviews
from leaderboard.pages.tasks.leaders import LeaderOfTask
from leaderboard.pages.tasks.overviews import TaskRow
from leaderboard.pages.tasks.phases import DateRow, strip
from leaderboard.services import collections, kinds, phase_rules, policy
from leaderboard.services.evaluations.columns import short_name
from leaderboard.services.pictures import pictures
from leaderboard.services.pictures.kinds import LOGO, PICTURE
from leaderboard.services.pictures.pictures import PictureHead
from leaderboard.services.policy import Viewer
from leaderboard.services.suites import records
from leaderboard.services.tasks import changes, phases
from leaderboard.services.tasks.entries import RULES
from leaderboard.services.tasks.head import TaskHead
from leaderboard.tables.cells import DIGITS
from leaderboard.tables.record import Column, Files, Place, Shown, Table, columns_from

PAGE = 12
"""Tasks on a page: what a screen or two hold, and who leads each is read of all its runs."""


@dataclass(frozen=True, slots=True)
class LandingRow:
    """A task on the front page; revision and leader are None where there are no scores to show."""

    task: TaskRow
    is_open: bool
    """Whether everything of it is shown: an open task, or a closed one."""
    revision: int | None
    leader: LeaderOfTask | None
    dates: tuple[DateRow, ...]

    @property
    def state(self) -> Annotated[str, Shown(shown=Place.DATA)]:
        """Whether it takes runs, in words: by its dates, where it has any."""
        if self.task.archived_at is not None:
            return "archived"
        if self.task.published_at is None:
            return "draft"
        return "; ".join(date.said for date in self.dates) or "takes runs"

    @property
    def runs(self) -> int | None:
        """How many runs there are; None in a sealed task, where this is held back too."""
        return self.task.runs if self.is_open or self.task.visibility == "blind" else None


@dataclass(frozen=True, slots=True)
class SuiteLink:
    """A suite by its slug and title."""

    slug: str
    title: str


@dataclass(frozen=True, slots=True)
class FrontPage:
    """Some of all tasks: the number of the page, how many pages there are, and how many tasks."""

    rows: tuple[LandingRow, ...]
    number: int
    pages: int
    tasks: int
    suites: tuple[SuiteLink, ...]


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
    """How teams enter, in a sentence; empty where the first run does."""
    assesses: bool
    """Whether the viewer coordinates the task's assessors."""
    links: tuple[tuple[str, str], ...]
    """Title and address of each."""
    frames: tuple[str, ...]
    """The origins whose pages may show its board in a frame."""
    is_public: bool
    """Whether everybody may have all that is shown of it as files."""
    changes: tuple[TaskChange, ...]
    suites: tuple[SuiteLink, ...]
    """Of which the task is a member."""


def front_page(session: Session, viewer: Viewer, number: int = 1) -> FrontPage:
    """So many tasks with what is told of each: those that are not archived first, each newest first.

    Nine statements, ten where there are suites, and one more for each task shown that is blind or sealed.
    Raises NotFound for a page that there is not.
    """
    known = overviews.known_tasks(session, viewer)
    ordered = [task.id for task in sorted(known, key=lambda task: task.is_archived)]
    pages = max(1, -(-len(ordered) // PAGE))
    if not 1 <= number <= pages:
        raise NotFound(f"There is no page {number} of tasks; the last is {pages}.")
    rows = landing(session, viewer, ordered[PAGE * (number - 1) : PAGE * number])
    of_site = [one.suite for one in records.visible_suites(session, viewer)]
    suites = tuple(SuiteLink(one.slug, one.title) for one in of_site if one.withdrawn_at is None)
    return FrontPage(rows, number, pages, len(ordered), suites)


def landing(session: Session, viewer: Viewer, only: Collection[int] | None = None) -> tuple[LandingRow, ...]:
    """All tasks the viewer may know of, or those of some ids, newest first.

    Seven statements, and one more for each that is blind or sealed.
    """
    rows = overviews.listing(session, viewer, only)
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
        Column("visibility", lambda row: row.task.visibility, "Shown", shown=Place.PAGE),
        Column("archived", lambda row: row.task.archived_at is not None, shown=Place.DATA),
    )
    caption = "Tasks, newest first, each with the best run by its primary measure."
    return Table("tasks", caption, columns, rows)


FILES = Files(facts=facts, tables={"tasks": table})


def about(session: Session, viewer: Viewer, slug: str) -> AboutPage:
    """What a task is and by which rules it runs."""
    task, sight = policy.visible_task(session, viewer, slug)
    (row,) = overviews.listing(session, viewer, (task.id,))
    phase = phases.of_task(session, task.id)[0]
    shown = pictures.heads(session, task.id)
    return AboutPage(
        of=task,
        sight=sight,
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
        changes=changes.of_task(session, task.id),
        suites=tuple(SuiteLink(one.slug, one.title) for one in records.suites_of_task(session, task.id)),
    )


def _is_open(session: Session, viewer: Viewer, slug: str) -> bool:
    """Whether nothing of a task that was read before is held back from anybody."""
    return not phase_rules.hidden(session, policy.task_context(session, viewer, slug).phases)


def measures(page: AboutPage) -> Table[BoundMeasure]:
    """How a task's measures are defined."""
    columns = columns_from(
        BoundMeasure,
        Column("key", lambda row: row.key, "Measure"),
        Column("title", lambda row: row.measure.title, "What it is"),
        "measure.formula measure.version",
    )
    primary = page.of.primary_measure
    caption = (
        f"How each measure is computed for one topic. The board ranks by {short_name(primary)} unless "
        f"asked for another{kinds.of(kind_of(parse(primary).measure)).missed}."
    )
    return Table(f"{page.slug}-measures", caption, columns, page.measures)
