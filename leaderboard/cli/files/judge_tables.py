"""Tables on judges: one of all judges, and one judge by run, topic and group of runs."""

from collections.abc import Mapping, Sequence
from operator import itemgetter
from typing import Any

import numpy as np

from leaderboard.judges.ops.field import CircularAgreement, GroupRating
from leaderboard.scoring.ops.agreements import JudgeAgreement, JudgeRow, JudgesBoard
from leaderboard.stats.standing import Verdicts
from leaderboard.tables.record import Column, Place, Table

Line = Mapping[str, Any]
Heads = Mapping[str, tuple[str, int | None, Place]]
"""Key -> its name for readers, its decimals, and where it is shown."""

COEFFICIENTS = {
    "tau_b": "τ_b",
    "tau_ap_b": "τ_AP,b",
    "rho": "Spearman's ρ",
    "r": "Pearson's r",
    "rbo": "RBO (p .9)",
    "accuracy": "pairwise accuracy",
}
"""Names in files -> names for readers."""
ALL, DATA = Place.EVERYWHERE, Place.DATA

_JUDGES: Heads = {
    "rank": ("rank", 0, ALL),
    "judge": ("judge", None, ALL),
    "measure": ("measure", None, ALL),
    "tau_b": ("τ_b", 4, ALL),
    "at_least": ("at least", 4, ALL),
    "tau_b_without": ("τ_b without circular runs", 4, ALL),
    "topic_agreement": ("by topic", 4, ALL),
    "rank_low": ("rank from", 0, ALL),
    "rank_high": ("to", 0, ALL),
    "may_be_best": ("may be best", None, ALL),
    "beats": ("beats", 0, ALL),
    "runs": ("runs", 0, ALL),
    "topics": ("topics", 0, ALL),
    **{key: (head, 4, DATA) for key, head in COEFFICIENTS.items() if key != "tau_b"},
    "best_measure": ("best measure", None, DATA),
    "best_tau_b": ("its τ_b", 4, DATA),
    "worst_measure": ("worst measure", None, DATA),
    "worst_tau_b": ("its τ_b", 4, DATA),
    "measures": ("measures", 0, DATA),
    "note": ("", None, DATA),
}
_RUNS: Heads = {
    "judge": ("judge", None, DATA),
    "run": ("run", None, ALL),
    "reference": ("reference", 4, ALL),
    "judged": ("judge", 4, ALL),
    "reference_rank": ("rank", 0, ALL),
    "judged_rank": ("by judge", 0, ALL),
    "move": ("move", 0, ALL),
    "reference_range": ("rank range", None, ALL),
    "judged_range": ("range by judge", None, ALL),
    "over_rated": ("over-rated", 4, ALL),
}
_TOPICS: Heads = {
    "judge": ("judge", None, ALL),
    "topic": ("topic", None, ALL),
    "agreement": ("agreement", 4, ALL),
}
_GROUPS: Heads = {
    "judge": ("judge", None, DATA),
    "group": ("runs of", None, ALL),
    "runs": ("runs", 0, ALL),
    "over_rated": ("over-rated", 4, ALL),
    "low": ("95% from", 4, ALL),
    "high": ("to", 4, ALL),
}


def judges_table(board: JudgesBoard, circular: Sequence[CircularAgreement]) -> Table[Line]:
    """The judges, best first; circular in the order of the board's rows."""
    rows = [_judge(board, row, agreement) for row, agreement in zip(board.rows, circular, strict=True)]
    is_circular = any(row["tau_b_without"] is not None for row in rows)
    heads = {key: head for key, head in _JUDGES.items() if is_circular or key != "tau_b_without"}
    return _table("judges", "Judges by their agreement with the reference.", heads, rows)


def runs_table(agreement: JudgeAgreement) -> Table[Line]:
    """The runs by reference and judge, those that move most first."""
    over = (
        agreement.over.mean(axis=1).tolist() if agreement.over is not None and agreement.over.size else None
    )
    moves = agreement.moves
    rows = [
        {
            "judge": agreement.judge,
            "run": agreement.runs[at],
            "reference": float(agreement.reference_means[at]),
            "judged": float(agreement.means[at]),
            "reference_rank": int(moves.first_rank[at]),
            "judged_rank": int(moves.second_rank[at]),
            "move": int(moves.move[at]),
            "reference_range": _range(agreement.reference_verdicts, at),
            "judged_range": _range(agreement.verdicts, at),
            "over_rated": over[at] if over else None,
        }
        for at in (moves.order.tolist() if moves else [])
        if moves
    ]
    return _table("runs", "Runs by reference and judge, the largest moves first.", _RUNS, rows)


def topics_table(agreement: JudgeAgreement, topics: Sequence[str]) -> Table[Line]:
    """The agreement within each topic of the reference, empty where it is undefined."""
    values = [] if agreement.by_topic is None else agreement.by_topic.tolist()
    rows = [
        {"judge": agreement.judge, "topic": topic, "agreement": None if np.isnan(value) else value}
        for topic, value in zip(topics, values, strict=False)
    ]
    return _table("topics", "Agreement topic by topic.", _TOPICS, rows)


def groups_table(judge: str, groups: Sequence[GroupRating]) -> Table[Line]:
    """By how many standard deviations a judge rates groups of runs higher than the reference does."""
    rows = [
        {
            "judge": judge,
            "group": group.name,
            "runs": group.runs,
            "over_rated": group.rating.mean,
            "low": group.rating.low,
            "high": group.rating.high,
        }
        for group in groups
    ]
    return _table("groups", "Over-rating by group of runs.", _GROUPS, rows)


def joined(tables: Sequence[Table[Line]]) -> Table[Line]:
    """Tables of one kind, of several judges, as one."""
    first = tables[0]
    rows = [row for table in tables for row in table.rows]
    return Table(first.name, first.caption, first.columns, rows)


def _judge(board: JudgesBoard, row: JudgeRow, circular: CircularAgreement) -> Line:
    agreement, verdicts, place = row.agreement, board.verdicts, row.place
    facts: dict[str, Any] = {}
    if verdicts is not None and place is not None:
        facts = {
            "rank_low": int(verdicts.rank_low[place]),
            "rank_high": int(verdicts.rank_high[place]),
            "may_be_best": bool(verdicts.may_be_best[place]),
            "beats": int(verdicts.beats[place]),
        }
    return {
        **dict.fromkeys(_JUDGES),
        **{key: getattr(agreement.boards, key, None) for key in COEFFICIENTS},
        **facts,
        "rank": row.rank,
        "judge": agreement.judge,
        "measure": agreement.measure,
        "at_least": agreement.least,
        "tau_b_without": getattr(circular.without, "tau_b", None),
        "topic_agreement": agreement.topic_mean,
        "runs": len(agreement.runs),
        "topics": agreement.topics,
        "best_measure": getattr(agreement.best, "measure", None),
        "best_tau_b": getattr(agreement.best, "tau_b", None),
        "worst_measure": getattr(agreement.worst, "measure", None),
        "worst_tau_b": getattr(agreement.worst, "tau_b", None),
        "measures": agreement.measures,
        "note": row.why,
    }


def _range(verdicts: Verdicts | None, at: int) -> str | None:
    return None if verdicts is None else f"{verdicts.rank_low[at]}-{verdicts.rank_high[at]}"


def _table(name: str, caption: str, heads: Heads, rows: Sequence[Line]) -> Table[Line]:
    columns: list[Column[Line]] = [
        Column(key, itemgetter(key), head, digits=digits, shown=shown)
        for key, (head, digits, shown) in heads.items()
    ]
    return Table(name, caption, columns, rows)
