"""Agreement of a judgment series for answers with the board, on runs ranked by both."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from leaderboard.scoring.ops.agreements import AgreementPlan, JudgeAgreement, agreement_of, plan_of
from leaderboard.trec.boards.align import FEWEST_RUNS, FloatArray, reference_from
from leaderboard.trec.boards.board_files import BoardFile
from leaderboard.trec.boards.packing import KeptBoard, KeptReference

BY_TOPIC = "TopicAccuracy"
"""The coefficient by topic: nugget scores tie many runs, and pairwise accuracy counts a tie as half."""
Scores = Mapping[int, FloatArray]
"""Run id -> scores on the topics of its side, higher is better, without nan."""


@dataclass(frozen=True, slots=True, eq=False)
class LineAgreement:
    """Agreement of a judgment series with the board, with its settings; run_ids: in run order."""

    found: JudgeAgreement
    plan: AgreementPlan
    run_ids: tuple[int, ...]


def line_agreement(
    board: tuple[Scores, Sequence[str]], line: tuple[Scores, Sequence[str]], measure: str, comparison: str
) -> LineAgreement | None:
    """The agreement of two sides, each with its topics, by the task's test if it is fast.

    Covers runs of both sides on topics of the board; None with fewer than three. RBO orders tied runs by
    submission.
    """
    common = sorted(board[0].keys() & line[0].keys())
    if len(common) < FEWEST_RUNS or not board[1]:
        return None
    names = [f"{run_id:012}" for run_id in common]
    reference = reference_from(names, board[1], measure, np.array([board[0][run_id] for run_id in common]))
    rows = {
        name: dict(zip(line[1], line[0][run_id].tolist(), strict=True))
        for name, run_id in zip(names, common, strict=True)
    }
    by_line = BoardFile("", "", {measure: rows}, {}, (), tuple(rows), tuple(line[1]), ())
    plan = plan_of(comparison, BY_TOPIC, reference)
    agreement = agreement_of(KeptReference(reference, ""), KeptBoard(by_line, measure), plan)
    return LineAgreement(agreement, plan, tuple(common[place] for place in agreement.places.tolist()))
