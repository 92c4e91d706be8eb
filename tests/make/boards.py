"""Boards of made-up judges, in which all can be worked out."""

import numpy as np
from numpy.typing import NDArray

from leaderboard.scoring.ops.agreements import AgreementPlan, JudgeAgreement, judge_agreement
from leaderboard.trec.boards.align import Reference, reference_of
from leaderboard.trec.boards.board_files import BoardFile

FloatArray = NDArray[np.float64]
RUNS, TOPICS = 8, 12
RUN, TOPIC = np.arange(RUNS)[:, None], np.arange(TOPICS)[None, :]
NAMES = [f"run{run}" for run in range(RUNS)]
SCORES = RUN / 16 + (7 * RUN * RUN + 5 * TOPIC * RUN + 3 * TOPIC) % 13 / 40
GOOD = SCORES + (3 * RUN * RUN + 2 * TOPIC * RUN + 9 * TOPIC) % 11 / 200
ERRATIC = SCORES + np.where(TOPIC % 2, 1, -1) * ((11 * RUN * RUN + 3 * RUN) % 7 / 5)
"""Errs much within each topic, one way and the other, so that its means are right."""


def file_of(name: str, scores: FloatArray, measure: str = "M", **more: FloatArray) -> BoardFile:
    """A board file of these scores, (runs, topics), and of other measures."""
    tables = {measure: scores, **more}
    return BoardFile(
        name=name,
        order="tot",
        values={
            key: {
                NAMES[run]: {f"t{topic}": float(value) for topic, value in enumerate(row)}
                for run, row in enumerate(table)
            }
            for key, table in tables.items()
        },
        totals={},
        unusable=(),
        runs=tuple(NAMES[: len(scores)]),
        topics=tuple(f"t{topic}" for topic in range(scores.shape[1])),
        warnings=(),
    )


def reference() -> Reference:
    """Eight runs on twelve topics."""
    return reference_of(file_of("reference", SCORES))


def held(name: str, scores: FloatArray, plan: AgreementPlan | None = None) -> JudgeAgreement:
    """A judge of these scores against that reference."""
    return judge_agreement(file_of(name, scores), "M", reference(), plan or AgreementPlan())
