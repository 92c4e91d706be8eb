"""Agreement of a judge's board with the reference.

Two numbers must not be confused. The agreement of the boards describes these topics and runs. Judges are
compared for significance by their agreement by topic only, as runs are by their scores.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Literal, get_args

import numpy as np

from leaderboard.errors import Problem
from leaderboard.memory import Kept, keep
from leaderboard.scoring.ops.statistics import requests
from leaderboard.scoring.ops.statistics.standings import too_few_topics
from leaderboard.stats.judges import (
    BoardAgreement,
    Coefficient,
    DecidedPairs,
    GuaranteedRange,
    at_least,
    board_agreement,
    ceiling,
    decided_pairs,
    guaranteed_range,
    over_rated,
    topic_agreement,
)
from leaderboard.stats.orders.rank_correlation import Moves, largest_moves
from leaderboard.stats.pairs.methods import Method, all_pairs, method
from leaderboard.stats.seeds import seed
from leaderboard.stats.standing import Verdicts, topics_to_decide, verdicts, widest_pair
from leaderboard.tables.record import Place, Shown
from leaderboard.trec.boards.align import (
    FEWEST_RUNS,
    AlignedBoard,
    FloatArray,
    IntArray,
    Missing,
    Reference,
    align,
    align_as_autojudge,
)
from leaderboard.trec.boards.board_files import BoardFile
from leaderboard.trec.boards.packing import KeptBoard, KeptReference


@dataclass(frozen=True, slots=True)
class AgreementPlan:
    """Settings of the comparison of judges with a reference.

    method: decides pairs of runs; by: the coefficient within a topic; top: number of best runs also examined
    separately, 0 for none. missing: "" for the site's alignment, else autojudge-evaluate's, whose
    means may be recomputed.
    """

    method: Method = method("t+holm")
    by: Coefficient = "tau_b"
    top: int = 0
    missing: Missing = ""
    recompute: bool = False


_Compared = tuple[AlignedBoard, BoardAgreement | None]
"""A judge's board by a measure, and its agreement; None of fewer than three common runs."""


@dataclass(frozen=True, slots=True)
class MeasureAgreement:
    """τ_b of a board by one of a judge's measures, for the best and the worst measure."""

    measure: str
    tau_b: float


@dataclass(frozen=True, slots=True, eq=False)
class JudgeAgreement:
    """Agreement of a judge by one measure; undefined values are None.

    is_chosen: whether the measure was named beforehand, or is the only one. runs: runs in common. topics:
    topics that the judge has for all of them. boards: None with fewer than three common runs, and then
    nothing else is set. least: the 5th percentile of τ_b; decided, proved, by_topic, over, verdicts: None
    without topics. by_topic: (topics of the reference,), NaN where undefined or left out; over: (runs,
    topics), as over_rated gives it; verdicts: of these runs by the judge, and by the reference. best, worst:
    of all its measures, whose number is measures.
    """

    judge: str
    measure: str
    is_chosen: bool
    measures: int
    runs: tuple[str, ...]
    places: IntArray
    topics: int
    missing: tuple[str, ...]
    left_out: tuple[str, ...]
    warnings: tuple[Problem, ...]
    reference_means: FloatArray
    means: FloatArray
    boards: BoardAgreement | None
    least: Annotated[float | None, Shown(key="at_least")]
    decided: DecidedPairs | None
    proved: GuaranteedRange | None
    by_topic: FloatArray | None
    over: FloatArray | None
    verdicts: Verdicts | None
    reference_verdicts: Verdicts | None
    moves: Moves | None
    best: MeasureAgreement | None
    worst: MeasureAgreement | None

    @property
    def topic_mean(self) -> Annotated[float | None, Shown(key="by_topic")]:
        """Mean agreement over the topics where it is defined."""
        if self.by_topic is None or np.isnan(self.by_topic).all():
            return None
        return float(np.nanmean(self.by_topic))

    @property
    def undefined_topics(self) -> Annotated[int, Shown(key="undefined", shown=Place.DATA)]:
        """Number of the judge's topics on which one side ties all runs."""
        return 0 if self.by_topic is None else self.topics - int(np.count_nonzero(~np.isnan(self.by_topic)))


def judge_agreement(
    board: BoardFile, measure: str, reference: Reference, plan: AgreementPlan, *, only_ranked: bool = False
) -> JudgeAgreement:
    """Agreement of a judge's board file with a reference, by the named measure.

    Without a name and with several measures, the best of them is used and marked as not chosen beforehand.
    only_ranked: compute only what the judges' board needs, in a fraction of the time, without bounds,
    decided pairs and moves. Raises Invalid as alignment does.
    """
    compared = _by_measure(board, reference, plan)
    by_measure = _in_order(compared)
    chosen = measure or (board.measures[0] if len(board.measures) == 1 else "")
    name = chosen or (by_measure[0].measure if by_measure else board.measures[0])
    aligned, boards = compared[name] if name in compared else _compared(board, name, reference, plan)
    sides = _Sides(reference, aligned)
    has_tests = aligned.is_enough and len(aligned.topics) > 0
    is_whole = has_tests and not only_ranked
    return JudgeAgreement(
        judge=board.name,
        measure=name,
        is_chosen=bool(chosen),
        measures=len(board.measures),
        runs=sides.names,
        places=aligned.runs,
        topics=len(aligned.topics),
        missing=aligned.missing,
        left_out=aligned.left_out,
        warnings=(*board.warnings, *aligned.warnings),
        reference_means=sides.means,
        means=aligned.means,
        boards=boards,
        least=None if only_ranked else _least(sides),
        decided=decided_pairs(sides.scores, aligned.scores, plan.method, seed=sides.seed)
        if is_whole
        else None,
        proved=guaranteed_range(sides.scores, aligned.scores) if is_whole else None,
        by_topic=_by_topic(sides, plan) if has_tests else None,
        over=over_rated(sides.shared, aligned.scores) if has_tests else None,
        verdicts=verdicts_of(aligned.scores, plan, sides.seed) if is_whole else None,
        reference_verdicts=verdicts_of(sides.scores, plan, sides.seed) if is_whole else None,
        moves=largest_moves(sides.means, aligned.means) if aligned.is_enough and not only_ranked else None,
        best=by_measure[0] if by_measure else None,
        worst=by_measure[-1] if by_measure else None,
    )


def least_of(board: BoardFile, measure: str, reference: Reference) -> float | None:
    """The 5th percentile of τ_b over resamples of topics, as `judge_agreement` has it of that measure."""
    return _least(_Sides(reference, align(board, measure, reference)))


def verdicts_of(scores: FloatArray, plan: AgreementPlan, seed: int) -> Verdicts:
    """Verdicts of a score matrix (runs, topics) by the plan's method."""
    return verdicts(all_pairs(scores, plan.method, seed=seed))


def seed_of(*parts: str | FloatArray) -> int:
    """A seed from names and scores; reproducible."""
    return seed(
        *(part if isinstance(part, str) else hashlib.sha256(part.tobytes()).hexdigest() for part in parts)
    )


class _Sides:
    """The reference restricted to the common runs, to match the judge's aligned board."""

    def __init__(self, reference: Reference, aligned: AlignedBoard) -> None:
        self.reference, self.aligned = reference, aligned
        self.names = tuple(reference.runs[run] for run in aligned.runs)
        self.scores = np.ascontiguousarray(reference.scores[aligned.runs])
        self.means = reference.means[aligned.runs]
        self.seed = seed_of("judge", aligned.measure, self.scores, np.ascontiguousarray(aligned.scores))

    @property
    def shared(self) -> FloatArray:
        """The reference's scores on the judge's topics."""
        return self.scores[:, self.aligned.topics]


def _least(sides: _Sides) -> float | None:
    aligned, reference = sides.aligned, sides.reference
    if not aligned.is_enough or not len(aligned.topics) or len(reference.topics) < 2:
        return None
    return at_least(sides.scores, aligned.scores, aligned.topics, seed=sides.seed)


def _by_measure(board: BoardFile, reference: Reference, plan: AgreementPlan) -> dict[str, _Compared]:
    """Each of the judge's measures, aligned and compared with the reference."""
    return {measure: _compared(board, measure, reference, plan) for measure in board.measures}


def _compared(board: BoardFile, measure: str, reference: Reference, plan: AgreementPlan) -> _Compared:
    aligned = _aligned(board, measure, reference, plan)
    return aligned, _boards(_Sides(reference, aligned), plan) if aligned.is_enough else None


def _in_order(compared: Mapping[str, _Compared]) -> Sequence[MeasureAgreement]:
    """The judge's measures for which τ is defined, the best first."""
    agreements = [
        MeasureAgreement(measure, boards.tau_b)
        for measure, (_, boards) in compared.items()
        if boards and boards.tau_b is not None
    ]
    return sorted(agreements, key=lambda agreement: -agreement.tau_b)


def _aligned(board: BoardFile, measure: str, reference: Reference, plan: AgreementPlan) -> AlignedBoard:
    if plan.missing == "":
        return align(board, measure, reference)
    # That tool uses only common runs whenever the best k are requested.
    missing: Missing = (
        "skip" if plan.top and plan.missing == "default" and measure in board.measures else plan.missing
    )
    return align_as_autojudge(board, measure, reference, missing, recompute=plan.recompute)


def _boards(sides: _Sides, plan: AgreementPlan) -> BoardAgreement:
    is_cut = plan.missing != ""
    return board_agreement(sides.means, sides.aligned.means, sides.names, k=plan.top, cut_ties=is_cut)


def _by_topic(sides: _Sides, plan: AgreementPlan) -> FloatArray:
    by_topic = np.full(len(sides.reference.topics), np.nan)
    by_topic[sides.aligned.topics] = topic_agreement(sides.shared, sides.aligned.scores, plan.by)
    return by_topic


RankBy = Literal["tau_b", "tau_ap_b", "rho", "rbo", "accuracy", "topics"]
"""Rank by a coefficient of the boards, or by mean agreement by topic."""
RANKED_BY: tuple[RankBy, ...] = get_args(RankBy)


@dataclass(frozen=True, slots=True, eq=False)
class JudgeRow:
    """A judge on the board: ranking value, rank (None if unranked), and the reason if unranked.

    place: index in the board's verdicts, None if it is not compared.
    """

    agreement: JudgeAgreement
    value: float | None
    rank: int | None
    why: str
    place: int | None


@dataclass(frozen=True, slots=True, eq=False)
class JudgesBoard:
    """Judges, best first, unranked ones last.

    ceiling: the median τ_b of halves of the reference's topics. verdicts: of the ranked judges, over topics
    on which the agreement of all of them is defined; None where there are fewer than two of either.
    differing: pairs of judges, by name, that the ranks and the verdicts' means put in opposite orders.
    """

    reference: Reference
    plan: AgreementPlan
    rank_by: RankBy
    ceiling: float | None
    rows: tuple[JudgeRow, ...]
    verdicts: Verdicts | None
    too_few: str
    """Sentence if the topics are too few to rank the judges; otherwise empty."""
    topics: int
    differing: tuple[tuple[str, str], ...]


def judges_board(
    reference: Reference, agreements: Sequence[JudgeAgreement], plan: AgreementPlan, rank_by: RankBy = "tau_b"
) -> JudgesBoard:
    """The board of judges compared with a reference by a plan.

    A judge is unranked if it lacks a run, if its measure was not chosen beforehand, or if its ranking value
    is undefined.
    """
    values = [value_of(agreement, rank_by) for agreement in agreements]
    whys = [_why(agreement, value, plan) for agreement, value in zip(agreements, values, strict=True)]
    ranked = [at for at, why in enumerate(whys) if not why]
    tested = [at for at in ranked if agreements[at].topic_mean is not None]
    table = _shared(agreements, tested)
    judge_verdicts, too_few = None, ""
    if len(tested) > 1 and table.shape[1] > 1:
        compared = all_pairs(table, plan.method, seed=seed_of("judges", table))
        judge_verdicts = verdicts(compared)
        if judge_verdicts.too_few:
            needed = topics_to_decide(compared, judge_verdicts, table.shape[1], widest_pair(compared))
            too_few = too_few_topics(f"{len(tested):,} judges", table.shape[1], needed)
    rows = [
        JudgeRow(
            agreement,
            values[at],
            None if whys[at] else 1 + sum(_value(values, other) > _value(values, at) for other in ranked),
            whys[at],
            tested.index(at) if judge_verdicts and at in tested else None,
        )
        for at, agreement in enumerate(agreements)
    ]
    rows.sort(key=lambda row: (row.rank is None, row.rank or 0, row.agreement.judge))
    return JudgesBoard(
        reference=reference,
        plan=plan,
        rank_by=rank_by,
        ceiling=ceiling(reference.scores, seed=seed_of("reference", reference.scores)),
        rows=tuple(rows),
        verdicts=judge_verdicts,
        too_few=too_few,
        topics=table.shape[1],
        differing=_differing([agreements[at] for at in tested], [_value(values, at) for at in tested], table),
    )


def value_of(agreement: JudgeAgreement, rank_by: RankBy) -> float | None:
    """Ranking value of a judge; None if undefined."""
    if rank_by == "topics":
        return agreement.topic_mean
    value: float | None = getattr(agreement.boards, rank_by, None)
    return value


def _value(values: Sequence[float | None], at: int) -> float:
    value = values[at]
    return -np.inf if value is None else value


def _why(agreement: JudgeAgreement, value: float | None, plan: AgreementPlan) -> str:
    """Why a judge is unranked; otherwise empty."""
    if agreement.boards is None:
        return f"Not computed: fewer than {FEWEST_RUNS} runs in common."
    if agreement.missing and not plan.missing:
        return f"Unranked: missing runs of the reference: {len(agreement.missing)}."
    if not agreement.is_chosen:
        return f"Unranked: best of {agreement.measures} measures (not chosen beforehand)."
    return "" if value is not None else "Unranked: one of the two boards ties all runs."


def _shared(agreements: Sequence[JudgeAgreement], judges: Sequence[int]) -> FloatArray:
    """Agreement by topic, (judges, topics), on the topics on which all of them have one."""
    columns = [column for at in judges if (column := agreements[at].by_topic) is not None]
    if not columns:
        return np.zeros((0, 0))
    table = np.vstack(columns)
    return np.ascontiguousarray(table[:, ~np.isnan(table).any(axis=0)])


def _differing(
    agreements: Sequence[JudgeAgreement], values: Sequence[float], table: FloatArray
) -> tuple[tuple[str, str], ...]:
    if not table.size:
        return ()
    means = table.mean(axis=1).tolist()
    return tuple(
        (agreements[first].judge, agreements[second].judge)
        for first in range(len(values))
        for second in range(len(values))
        if values[first] > values[second] and means[first] < means[second]
    )


COEFFICIENTS = {
    "tau_b": "τ_b",
    "tau_ap_b": "τ_AP,b",
    "rho": "Spearman’s ρ",
    "r": "Pearson’s r",
    "rbo": "RBO (p .9)",
    "accuracy": "pairwise accuracy",
}
"""Names in files -> names for readers."""


@dataclass(frozen=True, slots=True)
class AgreedTopic:
    """A topic with the agreement of the runs on it; None if undefined."""

    topic: str
    agreement: float | None


USUAL = "t+holm"
# An agreement takes tens of milliseconds or more, mostly for resampling, and never changes.
_kept: Kept[JudgeAgreement] = Kept(__name__)


def plan_of(comparison: str, primary: str, reference: Reference) -> AgreementPlan:
    """Settings for a task's judges: the test of its boards if it is fast."""
    runs, topics = reference.scores.shape
    is_quick = requests.seconds(comparison, runs, topics) <= requests.AT_ONCE_S
    by: Coefficient = "accuracy" if primary == "TopicAccuracy" else "tau_b"
    return AgreementPlan(method=method(comparison if is_quick else USUAL), by=by)


# References and boards are shared objects for all judges and pages.
@keep
def _digest(kept: KeptReference | KeptBoard) -> str:
    return kept.sha256


def agreement_of(
    kept: KeptReference, judge: KeptBoard, plan: AgreementPlan, *, only_ranked: bool = False
) -> JudgeAgreement:
    """The agreement of a judge with the reference, by the measure it named."""
    whole = "" if only_ranked else "whole"
    key = (_digest(kept), _digest(judge), judge.board.name, plan.method.key, plan.by, whole)
    agreement = _kept.get(key)
    if agreement is None:
        agreement = judge_agreement(judge.board, judge.primary, kept.reference, plan, only_ranked=only_ranked)
        _kept.put(key, agreement)
    return agreement
