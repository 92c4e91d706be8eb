"""Search of the site: tasks, suites, runs, teams, topics and documents visible to a viewer."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import islice
from typing import Annotated, Any

from sqlalchemy import ColumnElement, Select, and_, exists, func, or_, select
from sqlalchemy.orm import Session, aliased

from leaderboard.core import phase_rules, policy, shown_names
from leaderboard.core.phase_rules import PhaseRule
from leaderboard.core.policy import Viewer
from leaderboard.core.shown_names import ShownNames
from leaderboard.db.tables import Run, RunWord, Task, Team, TeamWord, Topic, TopicWord
from leaderboard.db.words import begins
from leaderboard.errors import Invalid, Problem
from leaderboard.scoring.ops import collections
from leaderboard.tables.record import Files, Place, Shown, Table, columns_from
from leaderboard.tasks import slots
from leaderboard.tasks.ops import entries

READ = 5
"""Rows read for each topic to be shown: a topic has one for each of its words that begin like the longest."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundTopic:
    """A topic whose id or title has the words."""

    topic_id: str
    title: str
    task: str
    slug: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundDocument:
    """A document stored on the site whose id is the query."""

    docno: str
    title: str
    task: str
    slug: str


def topics(session: Session, tasks: Mapping[int, Any], words: Sequence[str], most: int) -> list[FoundTopic]:
    """Topics of the tasks that have every word, newest task first, then in task order; one statement.

    They are read in the order of an index, by the longest word.
    """
    driver, *others = sorted(words, key=len, reverse=True)
    selected = (
        select(Topic.task_id, Topic.position, Topic.topic_id, Topic.title)
        .join(TopicWord, TopicWord.topic_id == Topic.id)
        .where(begins(TopicWord.word, driver), Topic.task_id.in_(tasks))
        .order_by(TopicWord.word, TopicWord.topic_id.desc())
        .limit(READ * most)
    )
    for word in others:
        other = aliased(TopicWord)
        of_topic = exists().where(other.topic_id == Topic.id, begins(other.word, word))
        selected = selected.where(of_topic.correlate(Topic))
    rows = sorted(set(session.execute(selected)), key=lambda row: (-row.task_id, row.position))
    return [
        FoundTopic(
            topic_id=row.topic_id, title=row.title, task=tasks[row.task_id].name, slug=tasks[row.task_id].slug
        )
        for row in rows[:most]
    ]


def documents(session: Session, tasks: Mapping[int, Any], docno: str) -> Iterator[FoundDocument]:
    """The document of that id in the collection of each of the tasks, newest task first; one statement."""
    titles = collections.titles_of(session, {task.collection_id for task in tasks.values()}, docno)
    for task in tasks.values():
        if (title := titles.get(task.collection_id)) is not None:
            yield FoundDocument(docno=docno, title=title, task=task.name, slug=task.slug)


LEAST, MOST = 2, 100
"""Minimum and maximum length of a query."""
USUAL, AT_MOST = 20, 1000
"""Default and maximum number of rows of each kind."""
KINDS = ("tasks", "suites", "runs", "teams", "topics", "documents")
"""Kinds of results, in the order of the page."""
PARTS = 20
"""Maximum additional reads to find visible runs."""
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

    run_id: Annotated[int, Shown(shown=Place.DATA)]
    name: Annotated[str, Shown(key="run")]
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
    """The results of each kind: tasks, newest first, suites by title, others by task, teams by name."""

    query: str
    tasks: tuple[FoundTask, ...] = ()
    suites: tuple[FoundSuite, ...] = ()
    runs: tuple[FoundRun, ...] = ()
    teams: tuple[FoundTeam, ...] = ()
    topics: tuple[FoundTopic, ...] = ()
    documents: tuple[FoundDocument, ...] = ()
    more: tuple[str, ...] = ()
    """The kinds with more results than shown."""

    @property
    def found(self) -> int:
        """The total number of results shown."""
        return sum(len(getattr(self, kind)) for kind in KINDS)


@dataclass(frozen=True, slots=True, eq=False)
class _Searched:
    """The search scope of a viewer.

    tasks: by id, newest first. masked: those of them that call some team by a pseudonym, with their names.
    phases: the ids of the phases of all tasks whose runs the viewer may know of.
    """

    words: tuple[str, ...]
    tasks: Mapping[int, Any]
    rules: Mapping[int, tuple[PhaseRule, ...]]
    masked: Mapping[int, ShownNames]
    phases: frozenset[int]
    details: frozenset[int]
    """The tasks whose runs' tags the viewer may read."""

    def may_be_shown(self, viewer: Viewer) -> ColumnElement[bool]:
        """The runs of tasks without pseudonyms that the viewer may know of, without withdrawn ones."""
        is_known = or_(Run.phase_id.in_(self.phases), Run.team_id.in_(viewer.team_ids))
        of_tasks = Run.task_id.in_(self.tasks.keys() - self.masked.keys())
        return and_(of_tasks, is_known, Run.withdrawn_at.is_(None))


def search_page(session: Session, viewer: Viewer, query: str, most: int = USUAL) -> SearchPage:
    """The results that contain all words of a query, up to a maximum per kind; an empty page for an empty
    query.

    A run, team or topic is found by the beginnings of the words of its texts, in any case; a document by its
    id alone, exactly as typed. Raises Invalid for a query that is too short or too long. Hidden data is never
    searched: a run of a team with a pseudonym is found by the pseudonym. A token for one task finds its
    contents only, not suites of several. At most twelve statements, and three for all tasks that mask names,
    whose runs are scanned.
    """
    text = " ".join(query.split())
    if not text:
        return SearchPage(query="")
    if not LEAST <= len(text) <= MOST:
        rule = f"must have {LEAST} to {MOST} characters."
        raise Invalid(f"The search text {rule}", [Problem(rule, field="q", value=text[:40])])
    searched = _searched(session, viewer, tuple(text.casefold().split()))
    by_kind = {
        "tasks": _tasks(searched),
        "suites": _suites(session, viewer, searched.words),
        "runs": _runs(session, viewer, searched, most + 1),
        "teams": _teams(session, viewer, searched, most + 1),
        "topics": topics(session, searched.tasks, searched.words, most + 1),
        "documents": documents(session, searched.tasks, text),
    }
    results = {kind: tuple(islice(rows, most + 1)) for kind, rows in by_kind.items()}
    more = sorted(kind for kind, rows in results.items() if len(rows) > most)
    shown: dict[str, Any] = {kind: rows[:most] for kind, rows in results.items()}
    return SearchPage(query=text, more=tuple(more), **shown)


def facts(page: SearchPage) -> dict[str, Any]:
    """The results, as plain values."""
    results = {kind: [asdict(row) for row in getattr(page, kind)] for kind in KINDS}
    return {"query": page.query, **results, "more": list(page.more)}


def runs_table(page: SearchPage) -> Table[FoundRun]:
    """The runs that were found."""
    return Table(
        "runs",
        f"Runs found under “{page.query}”.",
        columns_from(FoundRun, "name run_id team kind task"),
        page.runs,
    )


FILES = Files(facts=facts, tables={"runs": runs_table})


def _searched(session: Session, viewer: Viewer, words: tuple[str, ...]) -> _Searched:
    columns = (
        Task.id,
        Task.slug,
        Task.name,
        Task.description,
        Task.collection_id,
        Task.published_at,
        Task.archived_at,
        Task.naming,
    )
    rows = session.execute(select(*columns).order_by(Task.created_at.desc(), Task.id.desc()))
    tasks = {
        row.id: row
        for row in rows
        if (row.published_at is not None or policy.knows(viewer, row.id))
        and viewer.only_task in (None, row.id)
    }
    rules = phase_rules.rules_of_all(session)
    naming = [task_id for task_id, task in tasks.items() if task.naming != "names"]
    masking = session.scalars(select(Task).where(Task.id.in_(naming))).all() if naming else ()
    names = shown_names.shown_names_of(session, viewer, masking) if masking else {}
    masked = {
        task_id: of_task
        for task_id, of_task in names.items()
        if any(team.masked for team in of_task.teams.values())
    }
    phases, details = set[int](), set[int]()
    for task_id in tasks:
        hidden = phase_rules.hidden(session, rules[task_id])
        if policy.reads(viewer, task_id) or not hidden:
            details.add(task_id)
        phases |= {phase.id for phase in rules[task_id] if policy.shows_means(viewer, task_id, phase, hidden)}
    return _Searched(words, tasks, rules, masked, frozenset(phases), frozenset(details))


def _tasks(searched: _Searched) -> Iterator[FoundTask]:
    for row in searched.tasks.values():
        if _has(searched.words, row.name, row.slug, row.description):
            yield FoundTask(row.slug, row.name, row.published_at is None, row.archived_at is not None)


def _suites(session: Session, viewer: Viewer, words: Sequence[str]) -> Iterator[FoundSuite]:
    """The suites with a member visible to the viewer, by title."""
    for suites_of in slots.SUITES if viewer.only_task is None else ():
        for suite in suites_of(session, viewer):
            if _has(words, suite.title, suite.slug, suite.description):
                yield FoundSuite(suite.slug, suite.title)


def _runs(session: Session, viewer: Viewer, searched: _Searched, most: int) -> list[FoundRun]:
    """Runs visible to the viewer, up to a maximum, without withdrawn ones, by task and name."""
    teams = {word: session.scalars(_teams_of(word)).all() for word in searched.words}
    runs = {run.run_id: run for run in _masked_runs(session, viewer, searched)}
    for named in (False, True):
        if len(runs) < most:
            runs |= _named_runs(session, viewer, searched, teams, most, by_team=named)
    place = {task.slug: at for at, task in enumerate(searched.tasks.values())}
    return sorted(runs.values(), key=lambda run: (place[run.slug], run.name, run.run_id))[:most]


def _teams_of(word: str) -> Select[int]:
    return select(TeamWord.team_id).where(begins(TeamWord.word, word)).distinct()


def _named_runs(
    session: Session,
    viewer: Viewer,
    searched: _Searched,
    teams: Mapping[str, Sequence[int]],
    most: int,
    *,
    by_team: bool,
) -> dict[int, FoundRun]:
    """Runs of tasks that mask no names, by a word of theirs or of their team: the longest, and all others.

    They are read in the order of an index and no further than needed, a part at a time: the viewer may not
    know all matches in some of them.
    """
    driver, *others = sorted(searched.words, key=len, reverse=True)
    selected = select(*SEARCHED, Team.name.label("team")).join(Team, Team.id == Run.team_id)
    if by_team:
        if not teams[driver]:
            return {}
        selected = selected.where(Run.team_id.in_(teams[driver])).order_by(Run.id)
    else:
        selected = selected.join(RunWord, RunWord.run_id == Run.id).where(begins(RunWord.word, driver))
        selected = selected.order_by(RunWord.word, RunWord.run_id)
    for word in others:
        other = aliased(RunWord)
        of_run = exists().where(other.run_id == Run.id, begins(other.word, word)).correlate(Run)
        selected = selected.where(or_(of_run, Run.team_id.in_(teams[word])) if teams[word] else of_run)
    selected = selected.where(searched.may_be_shown(viewer))
    runs: dict[int, FoundRun] = {}
    for part in range(PARTS):
        rows = session.execute(selected.limit(2 * most).offset(2 * most * part)).all()
        for row in rows:
            texts = row.description, row.tag if row.task_id in searched.details else ""
            if _has(searched.words, row.name, row.team, *texts):
                runs[row.id] = _found(searched, row, row.name, row.team)
        if len(runs) >= most or len(rows) < 2 * most:
            break
    return runs


def _masked_runs(session: Session, viewer: Viewer, searched: _Searched) -> Iterator[FoundRun]:
    """The runs of tasks with any pseudonym, all of which are checked."""
    if not searched.masked:
        return
    of_tasks = select(*SEARCHED).where(Run.task_id.in_(searched.masked), Run.withdrawn_at.is_(None))
    for row in session.execute(of_tasks):
        names = searched.masked[row.task_id]
        name, team = names.run(row.id, row.name), names.team(row.team_id)
        texts = row.description, row.tag if row.task_id in searched.details else ""
        is_known = row.phase_id in searched.phases or policy.owns(viewer, row.team_id)
        if is_known and _has(searched.words, name, team, *(() if names.is_masked(row.team_id) else texts)):
            yield _found(searched, row, name, team)


def _found(searched: _Searched, run: Any, name: str, team: str) -> FoundRun:
    task = searched.tasks[run.task_id]
    return FoundRun(run_id=run.id, name=name, team=team, kind=run.kind, task=task.name, slug=task.slug)


def _teams(session: Session, viewer: Viewer, searched: _Searched, most: int) -> list[FoundTeam]:
    """Teams visible to the viewer by name through a run, up to a maximum, by name."""
    runs = select(func.count()).where(
        Run.team_id == Team.id, searched.may_be_shown(viewer), _is_agreed(viewer)
    )
    of_masked = _teams_in_masked(session, viewer, searched)
    counted = runs.correlate(Team).scalar_subquery()
    named = and_(*(Team.id.in_(_teams_of(word)) for word in searched.words))
    rows = session.execute(
        select(Team.id, Team.name, counted.label("runs"))
        .where(named, or_(counted > 0, Team.id.in_(of_masked)))
        .order_by(func.lower(Team.name))
        .limit(most)
    )
    return [FoundTeam(row.id, row.name, row.runs + of_masked[row.id]) for row in rows]


def _is_agreed(viewer: Viewer) -> ColumnElement[bool]:
    """Whether a run counts as its team's: one that organisers filed does once the team has agreed."""
    return or_(entries.is_agreed(), Run.team_id.in_(viewer.team_ids))


def _teams_in_masked(session: Session, viewer: Viewer, searched: _Searched) -> Counter[int]:
    """Team id -> how many of its runs the viewer knows by its name in tasks that mask others."""
    counts: Counter[int] = Counter()
    if not searched.masked:
        return counts
    rows = session.execute(
        select(Run.task_id, Run.team_id, Run.phase_id, func.count())
        .where(Run.task_id.in_(searched.masked), Run.withdrawn_at.is_(None), _is_agreed(viewer))
        .group_by(Run.task_id, Run.team_id, Run.phase_id)
    )
    for task_id, team_id, phase_id, count in rows:
        is_known = phase_id in searched.phases or policy.owns(viewer, team_id)
        if is_known and not searched.masked[task_id].is_masked(team_id):
            counts[team_id] += count
    return counts


def _has(words: Sequence[str], *texts: str) -> bool:
    """Whether the texts have all words, as the filter of a board has it."""
    text = "\n".join(texts).casefold()
    return all(word in text for word in words)
