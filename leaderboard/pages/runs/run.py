"""One run as a reader first sees it: what it is, what it got by the board's measures, where that puts it."""

from dataclasses import asdict, dataclass, replace
from datetime import datetime
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from leaderboard.db.tables import Topic, Upload
from leaderboard.errors import Problem
from leaderboard.pages.boards import circular
from leaderboard.pages.reproductions.mentions import RunMentions, mentions
from leaderboard.pages.runs.actions import RunActions, actions_of
from leaderboard.pages.runs.head import RunHead, SeenRun, caption, head_facts, seen_run
from leaderboard.pages.runs.scores import MeasureValue, RivalRun, RunStanding, explained, stand
from leaderboard.pages.scores.fields import chosen
from leaderboard.services import policy, shown_names
from leaderboard.services.boards.rows import place_facts
from leaderboard.services.evaluations.choices import is_over
from leaderboard.services.jobs import queue
from leaderboard.services.jobs.queue import RunState
from leaderboard.services.nuggets import basis as answers_basis
from leaderboard.services.policy import Viewer
from leaderboard.services.runs import facts as run_facts
from leaderboard.services.runs.facts import COST_OF, Fact, header_of
from leaderboard.services.statistics.standings import Place
from leaderboard.services.suites import parts
from leaderboard.stats.pairs.methods import method
from leaderboard.tables.record import Column, Table
from leaderboard.tables.record import Place as Where
from leaderboard.trec.facts.fields import FIELD_OF
from leaderboard.trec.runs.reports import Report


@dataclass(frozen=True, slots=True, kw_only=True)
class SuitePart:
    """A suite run that a run is part of: which, and of which suite."""

    slug: str
    title: str
    suite_run_id: int
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RunPage(RunHead):
    """A run's first page; measures are empty where scores are held back, not there yet or withdrawn."""

    description: str
    facts: tuple[Fact, ...]
    """What is known of how it was made and what it cost."""
    header: dict[str, Any]
    """The header of its file, nested as it was written."""
    late: str
    """Why its organisers let it count though it came after the close; empty where it did not."""
    withdrawn_at: datetime | None
    withdrawn_why: str
    state: RunState
    by: str
    """Key of the measure that its headline and place are of: the one asked for, else the board's first."""
    measures: tuple[MeasureValue, ...]
    warnings: tuple[Problem, ...]
    upload_id: int | None
    is_own: bool
    actions: RunActions
    pseudonym: str
    """What others know the run by, for its team and organisers; empty where that is its name."""
    place: Place | None
    """Among the ranked runs by that measure; None where that cannot be said."""
    interval: tuple[float, float] | None
    """Of its mean by that measure, at 95%; None where place is, and where its score never varies."""
    comparison: str
    """The test and correction of place, in words."""
    leader: RivalRun | None
    """The run that is ranked first, where that is another one."""
    first_answer: str | None = None
    """Of a run of answers the first topic, where the reader may read them."""
    shares_models: str = ""
    """The families of models that it states and that made the judgments of its answers, in words."""
    suites: tuple[SuitePart, ...] = ()
    """The suite runs that it is part of."""
    reproductions: RunMentions = RunMentions()

    @property
    def headline(self) -> MeasureValue | None:
        """What it got by that measure; None where it has no value."""
        found = (row for row in self.measures if row.column.key == self.by and row.value is not None)
        return next(found, None)

    @property
    def is_scored(self) -> bool:
        """Whether there is a value by some measure."""
        return any(row.value is not None for row in self.measures)


def run_page(session: Session, viewer: Viewer, run_id: int, measure: str | None = None) -> RunPage:
    """The run's page, by a measure (the board's primary one unless said otherwise).

    Raises NotFound where there is none or the viewer may not know of it, UnknownMeasure for a measure that
    its board does not show or that has no better and worse.
    """
    seen = seen_run(session, viewer, run_id)
    run, is_own = seen.run, seen.is_own
    by = _measure(seen, measure)
    standing = stand(session, seen, by)
    return RunPage(
        **seen.head(by_topic=_is_scored_by_topic(seen, standing)),
        description="" if seen.masked else run.description,
        facts=known_facts(run.details, seen.masked) if seen.is_told else (),
        header=header_of(run.details) if seen.is_told and not seen.masked else {},
        late=_late(session, seen),
        withdrawn_at=run.withdrawn_at,
        withdrawn_why="" if seen.masked else run.withdrawn_why,
        state=_state(session, seen),
        by=by,
        measures=standing.measures,
        warnings=_warnings(session, seen) if is_own else (),
        upload_id=run.upload_id if is_own else None,
        is_own=is_own,
        actions=_actions(session, seen),
        pseudonym=_pseudonym(session, seen) if is_own else "",
        place=standing.place,
        interval=standing.interval,
        comparison=method(seen.task.comparison).title if standing.place else "",
        leader=standing.leader,
        first_answer=_first_answer(session, seen),
        shares_models=_shares_models(session, seen),
        suites=_suites(session, seen),
        reproductions=mentions(session, viewer, run, seen.task, seen.sight, seen.names),
    )


def _late(session: Session, seen: SeenRun) -> str:
    reason = seen.sight.links.late
    # A reason may name the team.
    return "the reason is shown with the team's name." if reason and seen.masked else reason


def _suites(session: Session, seen: SeenRun) -> tuple[SuitePart, ...]:
    """Where a suite may tell whose a run is, or what it got, it is not named."""
    if seen.masked or seen.run.withdrawn_at is not None or not (seen.sight.details or seen.is_own):
        return ()
    if not seen.sight.links.in_suites:
        return ()
    return tuple(
        SuitePart(slug=suite.slug, title=suite.title, suite_run_id=made.id, name=made.name)
        for suite, made in parts.suite_run_of(session, seen.run.id)
    )


def _shares_models(session: Session, seen: SeenRun) -> str:
    if answers_basis.KIND not in seen.shown.kinds:
        return ""
    return circular.of_run(answers_basis.of_edition(session, seen.shown, seen.sight), seen.run.details)


def _first_answer(session: Session, seen: SeenRun) -> str | None:
    if seen.task.kind != "answers" or not (seen.sight.details or policy.owns(seen.viewer, seen.run.team_id)):
        return None
    first = select(Topic.topic_id).where(Topic.task_id == seen.task.id).order_by(Topic.position).limit(1)
    return session.scalar(first)


def _measure(seen: SeenRun, measure: str | None) -> str:
    """Key of the measure asked for, else of the primary one; of a run without scores none is asked for."""
    edition = seen.shown.edition
    primary = edition.primary_measure if edition is not None else seen.task.primary_measure
    return chosen(seen.columns, primary, measure).key if measure and seen.columns else primary


def known_facts(details: dict[str, Any], masked: bool) -> tuple[Fact, ...]:
    """The facts that forms ask for, without those that tell whose run it is where that is masked."""
    if not details:
        return ()
    asked = tuple(fact for fact in run_facts.facts(details) if fact.key in FIELD_OF or fact.key in COST_OF)
    return run_facts.nameless(asked) if masked else asked


def facts(page: RunPage) -> dict[str, Any]:
    """The page as plain values at full precision."""
    return {
        **head_facts(page),
        "state": page.state.state,
        "marked": page.actions.is_marked,
        **({"late": page.late} if page.late else {}),
        "position": page.state.position,
        "message": page.state.message,
        "scores": {row.column.key: row.value for row in page.measures},
        **place_facts(page.place),
        **({"shares_models": page.shares_models} if page.shares_models else {}),
        **_reproduction_facts(page.reproductions),
        "interval": page.interval,
        "ranks": {row.column.key: row.rank for row in page.measures},
        "field": {row.column.key: asdict(row.spread) for row in page.measures if row.spread},
        "facts": {fact.key: fact.value for fact in page.facts},
        "metadata": page.header,
    }


def _reproduction_facts(said: RunMentions) -> dict[str, Any]:
    """Numbers of runs; nothing where nothing is said."""
    by = [one.run_id for one in said.reproduced_by]
    reproduces = {"reproduces": said.reproduces.run_id} if said.reproduces else {}
    return {**reproduces, **({"reproduced_by": by} if by else {})}


def table(page: RunPage) -> Table[MeasureValue]:
    """The run's place among the ranked runs by every measure of the board."""
    return Table(
        f"{page.name}-measures",
        caption(page, "Place among the ranked runs"),
        [
            Column("measure", lambda row: row.column.key, "Measure"),
            Column(
                "score", lambda row: row.value, page.name, words=lambda row: row.shown(row.value), digits=4
            ),
            Column("rank", lambda row: row.rank, "Rank", words=_rank, digits=0),
            Column("ranked", lambda row: row.ranked or None, shown=Where.DATA),
            _end("best", 0, Where.EVERYWHERE),
            Column("strip", lambda row: row.spread, "In the field", shown=Where.PAGE),
            _end("upper", 1),
            _end("median", 2, Where.EVERYWHERE),
            _end("lower", 3),
            _end("worst", 4),
            Column("quartiles", _quartiles, "Quartiles", words=_quartiles, digits=4, shown=Where.PAGE),
            Column("title", lambda row: explained(row.column), "What it is", shown=Where.PAGE),
        ],
        page.measures,
    )


def _end(key: str, at: int, where: Where = ~Where.PAGE) -> Column[MeasureValue]:
    """One of the five numbers of the ranked runs, from the best to the worst."""
    return Column(
        key,
        lambda row: row.reaches[at],
        key.title(),
        words=lambda row: row.shown(row.reaches[at]),
        digits=4,
        shown=where,
    )


def _quartiles(row: MeasureValue) -> str | None:
    spread = row.spread
    return None if spread is None else f"{row.shown(spread.lower)}–{row.shown(spread.upper)}"


def _rank(row: MeasureValue) -> str | None:
    return f"{row.rank} of {row.ranked}" if row.rank else None


def _is_scored_by_topic(seen: SeenRun, standing: RunStanding) -> bool:
    """Whether the reader sees scores by topic, which are there as soon as all means are."""
    source = seen.shown.source
    all_there = bool(standing.measures) and all(row.value is not None for row in standing.measures)
    return seen.sight.details and source is not None and bool(source.topics) and all_there


def _actions(session: Session, seen: SeenRun) -> RunActions:
    """What the reader may do with the run; others than its own people only read of its mark."""
    task, run = seen.task, seen.run
    if seen.is_own:
        closed = {run.phase_id} if is_over(session, run.phase_id) else ()
        return actions_of(session, seen.viewer, [run], {task.id: task}, closed)[run.id]
    is_told = run.final_at is not None and (task.final_runs is None or is_over(session, run.phase_id))
    return RunActions(
        run_id=run.id, slug=task.slug, is_own=False, is_marked=is_told, final_runs=task.final_runs
    )


def _pseudonym(session: Session, seen: SeenRun) -> str:
    if seen.task.naming == "names":
        return ""
    return shown_names.shown_names(session, policy.ANONYMOUS, seen.task).run(seen.run.id, "")


def _state(session: Session, seen: SeenRun) -> RunState:
    """Where the run is on its way to scores; no more than that it is valid while all scores are held back."""
    if not seen.sight.means and seen.run.withdrawn_at is None:
        return RunState("valid")
    state = queue.run_state(session, seen.run)
    # Why a run was withdrawn is its team's own words.
    return replace(state, message="") if seen.masked and seen.run.withdrawn_at is not None else state


def _warnings(session: Session, seen: SeenRun) -> tuple[Problem, ...]:
    report = session.get_one(Upload, seen.run.upload_id).report
    return Report.from_json(report).warnings if report is not None else ()
