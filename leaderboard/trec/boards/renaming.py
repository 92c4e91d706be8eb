"""References, boards and labels of judges with renamed runs; other names stay."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, TypeVar

from leaderboard.trec.boards.answer_labels import KeptAnswerLabels
from leaderboard.trec.boards.judge_labels import KeptLabels
from leaderboard.trec.boards.packing import KeptBoard, KeptReference
from leaderboard.trec.boards.texts import Sent
from leaderboard.trec.nuggets.sets import ArguedAnswers
from leaderboard.trec.nuggets.support import SupportLabels

Value = TypeVar("Value")
Names = Mapping[str, str]


def renamed_reference(kept: KeptReference, names: Names) -> KeptReference:
    """The reference with its runs under other names."""
    runs = tuple(names.get(run, run) for run in kept.reference.runs)
    return replace(kept, reference=replace(kept.reference, runs=runs), facts=_renamed(kept.facts, names))


def renamed(sent: Sent, names: Names, tag: str | None = None) -> Sent:
    """A judge's submission with renamed runs; tag: replaces the name in its file, None keeps it."""
    if isinstance(sent, KeptLabels):
        run = sent.labels.run if tag is None or not sent.labels.run else tag
        return KeptLabels(replace(sent.labels, run=run))
    return _labels(sent, names) if isinstance(sent, KeptAnswerLabels) else _board(sent, names)


def _board(sent: KeptBoard, names: Names) -> KeptBoard:
    board = sent.board
    renamed = replace(
        board,
        values={measure: _renamed(by_run, names) for measure, by_run in board.values.items()},
        totals={measure: _renamed(by_run, names) for measure, by_run in board.totals.items()},
        runs=tuple(names.get(run, run) for run in board.runs),
    )
    return replace(sent, board=renamed)


def _labels(sent: KeptAnswerLabels, names: Names) -> KeptAnswerLabels:
    judgments = sent.answers.judgments
    assigned = judgments.assignments
    renamed = replace(
        judgments,
        assignments=None if assigned is None else replace(assigned, cells=_cells(assigned.cells, names)),
        support=SupportLabels(_cells(judgments.support.answers, names)),
        argued=ArguedAnswers(_cells(judgments.argued.cells, names)),
    )
    return KeptAnswerLabels(replace(sent.answers, judgments=renamed))


def _renamed(rows: Mapping[str, Value], names: Names) -> dict[str, Value]:
    return {names.get(run, run): value for run, value in rows.items()}


def _cells(cells: Mapping[tuple[str, str], Any], names: Names) -> dict[tuple[str, str], Any]:
    return {(names.get(run, run), topic): cell for (run, topic), cell in cells.items()}
