"""What is on the site under some words: tasks, suites, runs and teams that a viewer may know of."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from sqlalchemy import ColumnElement, and_, func, or_, select
from sqlalchemy.orm import Session

from leaderboard.db.base import beyond_ascii
from leaderboard.db.tables import Run, Task
from leaderboard.errors import Invalid, Problem
from leaderboard.pages.tasks import overviews
from leaderboard.services import phase_rules, policy, shown_names
from leaderboard.services.phase_rules import PhaseRule
from leaderboard.services.policy import Sight, Viewer
from leaderboard.services.shown_names import ShownNames
from leaderboard.services.suites import records
from leaderboard.services.tasks import filed
from leaderboard.tables.record import Column, Files, Table

LEAST, MOST = 2, 100
"""Characters that are searched for."""
SEARCHED = (*(Run.id, Run.name, Run.team_id, Run.task_id, Run.phase_id, Run.kind, Run.description), Run.tag)


@dataclass(frozen=True, slots=True)
class FoundTask:
    """A task whose name, address or description has the words."""

    slug: str
    name: str
    is_draft: bool
    is_archived: bool


@dataclass(frozen=True, slots=True)
class FoundSuite:
    """A suite on the site whose title, address or description has the words."""

    slug: str
    title: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundRun:
    """A run whose name, team, tag or description has the words, by the names the viewer knows."""

    run_id: int
    name: str
    team: str
    kind: str
    task: str
    slug: str


@dataclass(frozen=True, slots=True)
class FoundTeam:
    """A team whose name has the words, and how many of its runs the viewer may know of."""

    team_id: int
    name: str
    runs: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchPage:
    """What was found of each kind: tasks, newest first, suites by title, runs by task, teams by name."""

    query: str
    tasks: tuple[FoundTask, ...] = ()
    suites: tuple[FoundSuite, ...] = ()
    runs: tuple[FoundRun, ...] = ()
    teams: tuple[FoundTeam, ...] = ()

    @property
    def found(self) -> int:
        """How much there is in all."""
        return len(self.tasks) + len(self.suites) + len(self.runs) + len(self.teams)


@dataclass(frozen=True, slots=True, eq=False)
class _KnownTask:
    """A task that the viewer knows of, by what was read of it."""

    task: Task
    phases: tuple[PhaseRule, ...]
    names: ShownNames
    is_known: bool
    """Whether its teams' pages tell of it."""
    sights: dict[int, Sight]
    """By phase, as they are asked for."""


def search_page(session: Session, viewer: Viewer, query: str) -> SearchPage:
    """What has all words of a query, whatever their case; the page without any where the query is empty.

    Raises Invalid for a query that is too short or too long. What is held back is searched in no form: a run
    of a team that goes by a pseudonym is found by the pseudonym. A token for one task finds what is in it, no
    suite of several. Eight statements, and up to three for each task that masks names.
    """
    text = " ".join(query.split())
    if not text:
        return SearchPage(query="")
    if not LEAST <= len(text) <= MOST:
        rule = f"has from {LEAST} to {MOST} characters."
        raise Invalid(f"What is searched for {rule}", [Problem(rule, field="q", value=text[:40])])
    words = text.casefold().split()
    rows = [row for row in overviews.listing(session, viewer) if viewer.only_task in (None, row.id)]
    known = _known(session, viewer, [row.id for row in rows])
    return SearchPage(
        query=text,
        tasks=tuple(
            FoundTask(row.slug, row.name, row.published_at is None, row.archived_at is not None)
            for row in rows
            if _has(words, row.name, row.slug, row.description)
        ),
        suites=_suites(session, viewer, words),
        runs=tuple(_found(session, viewer, known, words)),
        teams=_teams(session, viewer, known, words),
    )


def facts(page: SearchPage) -> dict[str, Any]:
    """What was found, as plain values."""
    return {
        "query": page.query,
        "tasks": [asdict(row) for row in page.tasks],
        "suites": [asdict(row) for row in page.suites],
        "runs": [asdict(row) for row in page.runs],
        "teams": [asdict(row) for row in page.teams],
    }


def runs_table(page: SearchPage) -> Table[FoundRun]:
    """The runs that were found."""
    return Table(
        name="runs",
        caption=f"Runs found under “{page.query}”.",
        columns=[
            Column(key="run", head="Run", value=lambda row: row.name),
            Column(key="team", head="Team", value=lambda row: row.team),
            Column(key="kind", head="Kind", value=lambda row: row.kind),
            Column(key="task", head="Task", value=lambda row: row.task),
        ],
        rows=page.runs,
    )


FILES = Files(facts=facts, tables={"runs": runs_table})


def _suites(session: Session, viewer: Viewer, words: Sequence[str]) -> tuple[FoundSuite, ...]:
    """The suites on the site of which the viewer may know a member, by title."""
    if viewer.only_task is not None:
        return ()
    suites = (known.suite for known in records.visible_suites(session, viewer))
    return tuple(
        FoundSuite(suite.slug, suite.title)
        for suite in suites
        if suite.withdrawn_at is None and _has(words, suite.title, suite.slug, suite.description)
    )


def _known(session: Session, viewer: Viewer, task_ids: Sequence[int]) -> dict[int, _KnownTask]:
    """The tasks by id, in the order given, with their phases and names."""
    tasks = {task.id: task for task in session.scalars(select(Task).where(Task.id.in_(task_ids)))}
    phases = phase_rules.rules_of_all(session)
    names = shown_names.shown_names_of(session, viewer, tasks.values())
    anywhere = replace(viewer, phase="")
    return {
        task_id: _KnownTask(
            task=tasks[task_id],
            phases=phases[task_id],
            names=names[task_id],
            is_known=policy.sight_by_rules(session, anywhere, tasks[task_id], phases[task_id]).means,
            sights={},
        )
        for task_id in task_ids
    }


def _found(
    session: Session, viewer: Viewer, known: Mapping[int, _KnownTask], words: Sequence[str]
) -> Iterator[FoundRun]:
    """The runs that the viewer may know of, without withdrawn ones, by task and name."""
    rows = session.execute(
        select(*SEARCHED).where(Run.task_id.in_(known), Run.withdrawn_at.is_(None), _may_have(known, words))
    ).all()
    place = {task_id: at for at, task_id in enumerate(known)}
    for run in sorted(rows, key=lambda run: (place[run.task_id], run.name, run.id)):
        task = known[run.task_id]
        seen = _sight(session, viewer, task, run.phase_id)
        name, team = task.names.run(run.id, run.name), task.names.team(run.team_id)
        told = () if task.names.is_masked(run.team_id) else (run.description, run.tag if seen.details else "")
        if (seen.means or policy.owns(viewer, run.team_id)) and _has(words, name, team, *told):
            yield FoundRun(
                run_id=run.id, name=name, team=team, kind=run.kind, task=task.task.name, slug=task.task.slug
            )


def _may_have(known: Mapping[int, _KnownTask], words: Sequence[str]) -> ColumnElement[bool]:
    """What each run that has the words meets, and few others: a site's other runs stay in the database.

    Databases know the case of ASCII alone, and no pseudonyms: whatever else there is is looked at here.
    """
    masked = [
        task_id for task_id, task in known.items() if any(team.masked for team in task.names.teams.values())
    ]
    named = {(team_id, team.name) for task in known.values() for team_id, team in task.names.teams.items()}
    # One text for a run, as each comparison takes as long as all else of a row.
    said = Run.name + "\n" + Run.description + "\n" + Run.tag
    in_ascii = and_(
        *(
            or_(
                said.icontains(word, autoescape=True),
                Run.team_id.in_({team_id for team_id, name in named if _has([word], name)}),
            )
            for word in words
        )
    )
    return or_(in_ascii, Run.task_id.in_(masked), beyond_ascii(said))


def _teams(
    session: Session, viewer: Viewer, known: Mapping[int, _KnownTask], words: Sequence[str]
) -> tuple[FoundTeam, ...]:
    """The teams that the viewer knows by their names from some run."""
    named = {
        (task_id, team_id): team.name
        for task_id, task in known.items()
        if task.is_known
        for team_id, team in task.names.teams.items()
        if not team.masked and _has(words, team.name)
    }
    of_them = Run.team_id.in_({team_id for _, team_id in named})
    is_there = or_(filed.is_agreed(), Run.team_id.in_(viewer.team_ids))
    rows = session.execute(
        select(Run.task_id, Run.team_id, Run.phase_id, func.count())
        .where(
            Run.task_id.in_({task_id for task_id, _ in named}), Run.withdrawn_at.is_(None), of_them, is_there
        )
        .group_by(Run.task_id, Run.team_id, Run.phase_id)
    )
    counts: Counter[tuple[int, str]] = Counter()
    for task_id, team_id, phase_id, count in rows:
        seen = _sight(session, viewer, known[task_id], phase_id)
        if (task_id, team_id) in named and (seen.means or policy.owns(viewer, team_id)):
            counts[team_id, named[task_id, team_id]] += count
    return tuple(
        FoundTeam(team_id, name, count)
        for (team_id, name), count in sorted(counts.items(), key=lambda item: item[0][1].casefold())
    )


def _sight(session: Session, viewer: Viewer, task: _KnownTask, phase_id: int) -> Sight:
    if phase_id not in task.sights:
        task.sights[phase_id] = policy.sight_by_rules(session, viewer, task.task, task.phases, phase_id)
    return task.sights[phase_id]


def _has(words: Sequence[str], *texts: str) -> bool:
    """Whether the texts have all words, as the filter of a board has it."""
    text = "\n".join(texts).casefold()
    return all(word in text for word in words)
