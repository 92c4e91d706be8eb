"""A line of judgments held against those that a board rests on, as a judge is held against a reference."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from leaderboard.services.judges import field
from leaderboard.services.judges.agreements import AgreementPlan, JudgeAgreement
from leaderboard.trec.boards.align import FEWEST_RUNS, FloatArray, reference_from
from leaderboard.trec.boards.board_files import BoardFile
from leaderboard.trec.boards.packing import KeptBoard, KeptReference

BY_TOPIC = "TopicAccuracy"
"""Scores of nuggets tie many runs on a topic; by pairwise accuracy a tie is half right."""
Scores = Mapping[int, FloatArray]
"""Run id -> scores on the topics of its side, more is better, none of them nan."""


@dataclass(frozen=True, slots=True, eq=False)
class LineAgreement:
    """How a line agrees with the board, and how that was worked out; run_ids: in the order of its runs."""

    found: JudgeAgreement
    plan: AgreementPlan
    run_ids: tuple[int, ...]


def line_agreement(
    board: tuple[Scores, Sequence[str]], line: tuple[Scores, Sequence[str]], measure: str, comparison: str
) -> LineAgreement | None:
    """The agreement of two sides, each with its topics, by the test of the task's boards where that is quick.

    Of the runs that both sides have, on topics of the board; None of fewer than three. RBO takes tied runs in
    the order in which they were sent.
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
    plan = field.plan_of(comparison, BY_TOPIC, reference)
    found = field.agreement_of(KeptReference(reference, ""), KeptBoard(by_line, measure), plan)
    return LineAgreement(found, plan, tuple(common[place] for place in found.places.tolist()))
