"""One run as a reader first sees it: what it is, what it got by the board's measures, where that puts it."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from typing import Any

import numpy as np
from sqlalchemy import ColumnElement, Select, and_, bindparam, select
from sqlalchemy.orm import Session

from leaderboard.answers.ops.nuggets import line_scores as answers_basis
from leaderboard.boards.ops.rows import place_facts
from leaderboard.boards.page import view
from leaderboard.boards.page.cards import NO_SCORES, CardPage, _range, rests_on
from leaderboard.boards.page.scores.table import chosen
from leaderboard.core import policy, shown_names
from leaderboard.core.jobs import queue
from leaderboard.core.jobs.queue import RunState
from leaderboard.core.policy import ANONYMOUS, Viewer
from leaderboard.core.slots import Part
from leaderboard.db.tables import Edition, Evaluation, EvaluationMean, Run, Topic, Upload
from leaderboard.errors import Problem
from leaderboard.measures.judged import FloatArray
from leaderboard.measures.record import COMPARED_AGGREGATES
from leaderboard.runs import slots
from leaderboard.runs.page.head import RunActions, RunHead, SeenRun, actions_of, caption, head_facts, seen_run
from leaderboard.scoring.ops import run_facts
from leaderboard.scoring.ops.evaluations import shown
from leaderboard.scoring.ops.evaluations.shown import MEANS, whole_means
from leaderboard.scoring.ops.run_facts import COST_OF, Fact, header_of
from leaderboard.scoring.ops.scored_topics import RANKED_KIND, MeasureColumn, is_over
from leaderboard.scoring.ops.statistics import standings
from leaderboard.scoring.ops.statistics.standings import Place, RankedRun, Standing
from leaderboard.stats.pairs.methods import method
from leaderboard.tables.record import Column, Table
from leaderboard.tables.record import Place as Where
from leaderboard.trec.facts import FIELD_OF
from leaderboard.trec.runs.check import Report


@dataclass(frozen=True, slots=True)
class FieldSpread:
    """The distribution of a measure over the ranked runs: minimum, quartiles, maximum."""

    low: float
    lower: float
    median: float
    upper: float
    high: float


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasureValue:
    """A measure, the run's aggregate, its place among the ranked runs, and how these spread."""

    column: MeasureColumn
    value: float | None
    rank: int | None
    ranked: int
    best: float | None
    spread: FieldSpread | None
    """None if the measure has no direction, or no run is ranked."""
    digits: int
    """Decimals of its values for readers."""

    def shown(self, value: float | None) -> str | None:
        """A value by the measure as readers get it."""
        return None if value is None else f"{value:.{self.digits}f}".replace("-", "−")

    @property
    def reaches(self) -> tuple[float | None, ...]:
        """The spread from the best end to the worst."""
        spread = self.spread
        if spread is None:
            return (None,) * 5
        ends = spread.high, spread.upper, spread.median, spread.lower, spread.low
        return ends[::-1] if self.column.lower_is_better else ends


@dataclass(frozen=True, slots=True, kw_only=True)
class RivalRun:
    """A scored run, or the run of the page itself; values are as the reader sees them, by measure."""

    run_id: int
    name: str
    ranking_sha256: str
    is_ranked: bool
    values: Mapping[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunStanding:
    """The standing of a run: its scores, its position by one measure, and the leader by it.

    place and interval, of its mean by that measure, are None if unavailable; leader is None if it is the run
    itself or no run is ranked.
    """

    measures: tuple[MeasureValue, ...]
    place: Place | None
    interval: tuple[float, float] | None
    leader: RivalRun | None


def stand(session: Session, seen: SeenRun, key: str) -> RunStanding:
    """The standing of a run among the ranked runs by a measure, by the board's own rule; one statement."""
    edition, columns = seen.shown.edition, seen.columns
    rivals = _rivals(session, seen, edition if columns else None)
    by = next((column for column in columns if column.key == key), None)
    ranked = _ranked(rivals, by) if by else []
    standing = _standing(session, seen, by, ranked) if by else None
    return RunStanding(
        measures=tuple(_value(rivals, column, seen) for column in columns),
        place=standing.places.get(seen.run.id) if standing else None,
        interval=_interval(seen.run.id, standing, by, ranked) if standing and by else None,
        leader=ranked[0] if ranked and ranked[0].run_id != seen.run.id else None,
    )


def spread_of(values: FloatArray) -> FieldSpread:
    """The five numbers of at least one value; quartiles between two values are interpolated.

    >>> spread_of(np.array([0.4, 0.1, 0.2, 0.3, 0.9]))
    FieldSpread(low=0.1, lower=0.2, median=0.3, upper=0.4, high=0.9)
    """
    return FieldSpread(*np.percentile(values, (0, 25, 50, 75, 100)).tolist())


def _with_means(*of_phase: ColumnElement[bool]) -> Select[Any]:
    """A run, and the runs that can be ranked, with their means under an edition; runs without any stay."""
    is_score = (
        (Evaluation.run_id == Run.id)
        & (Evaluation.revision_id == bindparam("revision"))
        & (Evaluation.dialect == bindparam("dialect"))
        & Evaluation.measure.in_(bindparam("keys", expanding=True))
    )
    is_mean = (EvaluationMean.evaluation_id == Evaluation.id) & (
        EvaluationMean.topic_set_id == bindparam("set")
    )
    ranked = and_(Run.kind == RANKED_KIND, Run.withdrawn_at.is_(None), *of_phase)
    return (
        select(Run.id, Run.name, Run.kind, Run.ranking_sha256, *MEANS)
        .outerjoin(Evaluation, is_score)
        .outerjoin(EvaluationMean, is_mean)
        .where(Run.task_id == bindparam("task"), (Run.id == bindparam("run")) | ranked)
    )


# Built once: building them took a twentieth of a page.
_RIVALS, _RIVALS_OF_PHASE = _with_means(), _with_means(Run.phase_id == bindparam("phase"))


def _rivals(session: Session, seen: SeenRun, edition: Edition | None) -> list[RivalRun]:
    """The run, and the runs that can be ranked under the edition.

    Values are rounded before ordering, so that the order reveals no more.
    """
    if edition is None:
        return []
    # A set that the edition does not know has no means: no set has the id 0.
    asked = {
        "task": seen.task.id,
        "run": seen.run.id,
        "phase": seen.access.phase_id,
        "revision": edition.revision_id,
        "dialect": edition.dialect,
        "keys": [measure["key"] for measure in edition.measures],
        "set": edition.topic_sets.get(seen.access.topic_set, {"id": 0})["id"],
    }
    statement = _RIVALS if seen.access.phase_id is None else _RIVALS_OF_PHASE
    rows = session.execute(statement, asked).all()
    versions = {measure["key"]: measure["version"] for measure in edition.measures}
    needed = shown.needed_topics(edition, seen.access.topic_set)
    decimals = seen.access.decimals
    values: dict[int, dict[str, float]] = {row.id: {} for row in rows}
    for row, mean, topics in whole_means(session, rows):
        if versions[row.measure] == row.measure_version and shown.is_whole(needed, row.measure, topics):
            values[row.id][row.measure] = mean if decimals is None else round(mean, decimals)
    one_each = {row.id: row for row in rows}
    return [_rival(row, values[row.id], seen) for row in one_each.values()]


def _rival(row: Any, values: Mapping[str, float], seen: SeenRun) -> RivalRun:
    may_rank = seen.access.is_ranked and row.id not in seen.left_out
    return RivalRun(
        run_id=row.id,
        name=seen.names.run(row.id, row.name),
        ranking_sha256=row.ranking_sha256,
        is_ranked=may_rank and row.kind == RANKED_KIND,
        values=values,
    )


def _ranked(rivals: Sequence[RivalRun], by: MeasureColumn) -> list[RivalRun]:
    """The ranked runs by a measure, the best first, equal ones by name."""
    ranked = [rival for rival in rivals if rival.is_ranked and by.key in rival.values]
    return sorted(ranked, key=lambda rival: (-by.sign * rival.values[by.key], rival.name))


def explained(column: MeasureColumn) -> str:
    """The definition of a measure, and how it aggregates topic scores if not by the mean."""
    return f"{column.title}, summed over topics" if column.aggregate == "sum" else column.title


def _value(rivals: Sequence[RivalRun], column: MeasureColumn, seen: SeenRun) -> MeasureValue:
    mine = next(rival for rival in rivals if rival.run_id == seen.run.id)
    value = mine.values.get(column.key)
    ordered = _ranked(rivals, column) if column.direction != "none" else []
    values = np.array([rival.values[column.key] for rival in ordered])
    place = None
    if value is not None and mine.is_ranked and ordered:
        place = 1 + int(np.count_nonzero(column.sign * values > column.sign * value))
    return MeasureValue(
        column=column,
        value=value,
        rank=place,
        ranked=len(ordered),
        best=float(values[0]) if ordered else None,
        spread=spread_of(values) if ordered else None,
        digits=seen.access.decimals or column.digits,
    )


def _standing(
    session: Session, seen: SeenRun, by: MeasureColumn, ranked: Sequence[RivalRun]
) -> Standing | None:
    """The board's standing of the ranked runs; None if it gives none, or none yet."""
    source = seen.shown.source
    is_compared = by.direction != "none" and by.aggregate in COMPARED_AGGREGATES
    if source is None or not seen.access.details or not is_compared or not ranked:
        return None
    runs = [RankedRun(run.run_id, run.ranking_sha256, run.name, run.values[by.key]) for run in ranked]
    compared = method(seen.task.comparison)
    standing = standings.of_runs(session, source, (by.key, by.version), by.sign, runs, compared)
    return standing if isinstance(standing, Standing) else None


def _interval(
    run_id: int, standing: Standing, by: MeasureColumn, ranked: Sequence[RivalRun]
) -> tuple[float, float] | None:
    """The 95% interval of a ranked run's mean, as the board draws it; of a sum that of the sum."""
    value = next((run.values[by.key] for run in ranked if run.run_id == run_id), None)
    half = standing.half_widths.get(run_id)
    if value is None or half is None:
        return None
    reach = half * (standing.topics if by.aggregate == "sum" else 1)
    return value - reach, value + reach


@dataclass(frozen=True, slots=True, kw_only=True)
class RunPage(RunHead):
    """A run's first page; measures are empty if scores are hidden, not computed yet or withdrawn."""

    description: str
    facts: tuple[Fact, ...]
    """The known facts on method and cost."""
    header: dict[str, Any]
    """The header of its file, nested as written."""
    late: str
    """The organisers' reason to count it after the deadline; empty if it was in time."""
    withdrawn_at: datetime | None
    withdrawn_why: str
    state: RunState
    by: str
    """Key of the measure of its headline and place: the requested one, else the board's first."""
    measures: tuple[MeasureValue, ...]
    warnings: tuple[Problem, ...]
    upload_id: int | None
    is_own: bool
    actions: RunActions
    pseudonym: str
    """The pseudonym shown to others, for its team and organisers; empty if its name is shown."""
    place: Place | None
    """Position among the ranked runs by that measure; None if unavailable."""
    interval: tuple[float, float] | None
    """95% confidence interval of its mean by that measure; None if place is, or if its score never varies."""
    comparison: str
    """The test and correction of place, as text."""
    leader: RivalRun | None
    """The run ranked first, if it is another run."""
    first_answer: str | None = None
    """The first topic of a run of answers, if the reader can see the answers."""
    shares_models: str = ""
    """The model families that it states and that also judged its answers, as text."""
    wholes: tuple[Part, ...] = ()
    """The suite runs that contain it."""
    mentions: tuple[Part, ...] = ()
    """Links between it and other runs."""

    @property
    def headline(self) -> MeasureValue | None:
        """Its score by that measure; None if it has none."""
        values = (row for row in self.measures if row.column.key == self.by and row.value is not None)
        return next(values, None)

    @property
    def is_scored(self) -> bool:
        """Whether there is a value by some measure."""
        return any(row.value is not None for row in self.measures)


def run_page(session: Session, viewer: Viewer, run_id: int, measure: str | None = None) -> RunPage:
    """The run's page, by a measure (by default the board's primary one).

    Raises NotFound if absent or the viewer may not know of it, UnknownMeasure for a measure that
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
        header=header_of(run.details) if run.details and seen.is_told and not seen.masked else {},
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
        wholes=_wholes(session, seen),
        mentions=tuple(
            part
            for parts_of in slots.MENTIONS
            for part in parts_of(session, viewer, run, seen.task, seen.access, seen.names)
        ),
    )


def _late(session: Session, seen: SeenRun) -> str:
    reason = seen.access.links.late
    # A reason may name the team.
    return "the reason is shown with the team's name." if reason and seen.masked else reason


def _wholes(session: Session, seen: SeenRun) -> tuple[Part, ...]:
    """The suite is not named if it could reveal the run's team or its scores."""
    if seen.masked or seen.run.withdrawn_at is not None or not (seen.access.details or seen.is_own):
        return ()
    if not seen.access.links.in_suites:
        return ()
    return tuple(part for parts in slots.WHOLES for part in parts(session, seen.run.id))


def _shares_models(session: Session, seen: SeenRun) -> str:
    if answers_basis.KIND not in seen.shown.kinds:
        return ""
    return view.of_run(answers_basis.of_edition(session, seen.shown, seen.access), seen.run.details)


def _first_answer(session: Session, seen: SeenRun) -> str | None:
    if seen.task.kind != "answers" or not (seen.access.details or policy.owns(seen.viewer, seen.run.team_id)):
        return None
    first = select(Topic.topic_id).where(Topic.task_id == seen.task.id).order_by(Topic.position).limit(1)
    return session.scalar(first)


def _measure(seen: SeenRun, measure: str | None) -> str:
    """Key of the requested measure, else of the primary one; a run without scores needs none."""
    edition = seen.shown.edition
    primary = edition.primary_measure if edition is not None else seen.task.primary_measure
    return chosen(seen.columns, primary, measure).key if measure and seen.columns else primary


def known_facts(details: dict[str, Any], masked: bool) -> tuple[Fact, ...]:
    """The known facts, without those that would reveal a masked team."""
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
        **{name: value for part in page.mentions for name, value in part.facts.items()},
        "interval": page.interval,
        "ranks": {row.column.key: row.rank for row in page.measures},
        "field": {row.column.key: asdict(row.spread) for row in page.measures if row.spread},
        "facts": {fact.key: fact.value for fact in page.facts},
        "metadata": page.header,
    }


def table(page: RunPage) -> Table[MeasureValue]:
    """The run's place among the ranked runs by every measure of the board."""
    return Table(
        f"{page.name}-measures",
        caption(page, "Position among the ranked runs"),
        [
            Column("measure", lambda row: row.column.key, "Measure"),
            Column(
                "score", lambda row: row.value, page.name, words=lambda row: row.shown(row.value), digits=4
            ),
            Column("rank", lambda row: row.rank, "Rank", words=_rank, digits=0),
            Column("ranked", lambda row: row.ranked or None, shown=Where.DATA),
            _end("best", 0, Where.EVERYWHERE),
            Column("strip", lambda row: row.spread, "Distribution", shown=Where.PAGE),
            _end("upper", 1),
            _end("median", 2, Where.EVERYWHERE),
            _end("lower", 3),
            _end("worst", 4),
            Column("quartiles", _quartiles, "Quartiles", words=_quartiles, digits=4, shown=Where.PAGE),
            Column("title", lambda row: explained(row.column), "Definition", shown=Where.PAGE),
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
    return seen.access.details and source is not None and bool(source.topics) and all_there


def _actions(session: Session, seen: SeenRun) -> RunActions:
    """The reader's allowed actions on the run; outsiders can only see its mark."""
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
    """The run's scoring state; only whether it is valid while all scores are hidden."""
    if not seen.access.means and seen.run.withdrawn_at is None:
        return RunState("valid")
    state = queue.run_state(session, seen.run)
    # Why a run was withdrawn is its team's own words.
    return replace(state, message="") if seen.masked and seen.run.withdrawn_at is not None else state


def _warnings(session: Session, seen: SeenRun) -> tuple[Problem, ...]:
    report = session.get_one(Upload, seen.run.upload_id).report
    return Report.from_json(report).warnings if report is not None else ()


def of_run(session: Session, run_id: int) -> CardPage:
    """A run; raises NotFound where a visitor may not know of it."""
    return of_run_page(run_page(session, ANONYMOUS, run_id))


def of_run_page(page: RunPage) -> CardPage:
    """The run of a page that a visitor was given."""
    is_scored = page.headline is not None
    return CardPage(
        kind="run",
        name=page.name,
        task=page.task,
        slug=page.slug,
        address=str(page.id),
        facts=_of_run(page),
        basis=rests_on(page.basis) if is_scored else "",
    )


def _of_run(page: RunPage) -> tuple[str, ...]:
    if page.withdrawn_at is not None:
        return ("withdrawn",)
    best = page.headline
    if best is None:
        return (NO_SCORES,)
    score = f"{page.by} {best.shown(best.value)}"
    if best.rank is None:
        return (page.kind, score) if page.kind != "official" else (score,)
    return (f"rank {_range(page.place, best.rank)} of {best.ranked:,}", score)
