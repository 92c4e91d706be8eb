"""The judges' board: judges ranked by how well they agree with the reference.

Two numbers that must not be confused. The agreement of the boards describes these topics and runs; judges
are told apart by their agreement topic by topic alone, as runs are by their scores.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from leaderboard.services.judges.agreements import AgreementPlan, JudgeAgreement, seed_of
from leaderboard.services.statistics.sentences import too_few_topics
from leaderboard.stats.judges.certainty import ceiling
from leaderboard.stats.pairs.methods import all_pairs
from leaderboard.stats.standing.standing import Verdicts, topics_to_decide, verdicts, widest_pair
from leaderboard.trec.boards.align import FEWEST_RUNS, FloatArray, Reference

RankBy = Literal["tau_b", "tau_ap_b", "rho", "rbo", "accuracy", "topics"]
"""By a coefficient of the boards, or by the mean agreement by topic."""
RANKED_BY: tuple[RankBy, ...] = get_args(RankBy)


@dataclass(frozen=True, slots=True, eq=False)
class JudgeRow:
    """A judge on the board: value is what it is ranked by; rank None where it has none, with a sentence why.

    place: its place in the board's verdicts, None where it is not among those judges.
    """

    agreement: JudgeAgreement
    value: float | None
    rank: int | None
    why: str
    place: int | None


@dataclass(frozen=True, slots=True, eq=False)
class JudgesBoard:
    """Judges, best first, those without a rank last.

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
    """That the topics are too few to order the ranked judges; empty where they are not."""
    topics: int
    differing: tuple[tuple[str, str], ...]


def judges_board(
    reference: Reference, agreements: Sequence[JudgeAgreement], plan: AgreementPlan, rank_by: RankBy = "tau_b"
) -> JudgesBoard:
    """The board of judges that were held against a reference by a plan.

    A judge has no rank where it lacks a run, where its measure was not chosen beforehand, or where what it
    would be ranked by is undefined.
    """
    values = [value_of(agreement, rank_by) for agreement in agreements]
    whys = [_why(agreement, value, plan) for agreement, value in zip(agreements, values, strict=True)]
    ranked = [at for at, why in enumerate(whys) if not why]
    tested = [at for at in ranked if agreements[at].topic_mean is not None]
    table = _shared(agreements, tested)
    found, too_few = None, ""
    if len(tested) > 1 and table.shape[1] > 1:
        compared = all_pairs(table, plan.method, seed=seed_of("judges", table))
        found = verdicts(compared)
        if found.too_few:
            needed = topics_to_decide(compared, found, table.shape[1], widest_pair(compared))
            too_few = too_few_topics(f"{len(tested):,} judges", table.shape[1], needed)
    rows = [
        JudgeRow(
            agreement,
            values[at],
            None if whys[at] else 1 + sum(_value(values, other) > _value(values, at) for other in ranked),
            whys[at],
            tested.index(at) if found and at in tested else None,
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
        verdicts=found,
        too_few=too_few,
        topics=table.shape[1],
        differing=_differing([agreements[at] for at in tested], [_value(values, at) for at in tested], table),
    )


def value_of(agreement: JudgeAgreement, rank_by: RankBy) -> float | None:
    """What a judge is ranked by; None where it is undefined."""
    if rank_by == "topics":
        return agreement.topic_mean
    value: float | None = getattr(agreement.boards, rank_by, None)
    return value


def _value(values: Sequence[float | None], at: int) -> float:
    value = values[at]
    return -np.inf if value is None else value


def _why(agreement: JudgeAgreement, value: float | None, plan: AgreementPlan) -> str:
    """Why a judge has no rank; empty where it has one."""
    if agreement.boards is None:
        return f"Fewer than {FEWEST_RUNS} common runs: nothing is computed."
    if agreement.missing and not plan.missing:
        return f"No rank: {len(agreement.missing)} of the reference's runs are missing."
    if not agreement.is_chosen:
        return f"No rank: best of {agreement.measures} measures (not chosen beforehand)."
    return "" if value is not None else "No rank: a side ties all runs."


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
        (agreements[one].judge, agreements[two].judge)
        for one in range(len(values))
        for two in range(len(values))
        if values[one] > values[two] and means[one] < means[two]
    )
