"""References, boards and labels of judges as one JSON text each, as files carry them to other sites.

Read back, no value is believed: what follows trusts what is stored.
"""

import json
import math
import re
from collections.abc import Collection, Iterator
from typing import Any

from leaderboard.trec.boards import judge_labels, packing
from leaderboard.trec.boards.align import FEWEST_RUNS
from leaderboard.trec.boards.answer_labels import KeptAnswerLabels
from leaderboard.trec.boards.judge_labels import MOST, KeptLabels
from leaderboard.trec.boards.packing import ForeignOrigin, KeptBoard, KeptReference
from leaderboard.trec.nuggets import packing as nuggets
from leaderboard.trec.nuggets.texts import of_text as answers_of
from leaderboard.trec.read.entries import LOOSE_ID_BYTES
from leaderboard.trec.read.lines import bytes_of

Sent = KeptBoard | KeptLabels | KeptAnswerLabels
"""Kinds of files that a judge may submit."""
FAULTS = (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError)
"""Exceptions for a text that no site has written."""
LONGEST_TEXT = 10_000
ORIGINS = ("rankings", "answers")
DIALECTS = (9, 10)
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
_SHA256 = re.compile("[0-9a-f]{64}")


def text_of(kept: KeptReference | Sent) -> bytes:
    """All that a reference or a judge says, as one JSON text; of a reference without ids of this site."""
    if isinstance(kept, KeptLabels):
        return judge_labels.text(kept)
    if isinstance(kept, KeptAnswerLabels):
        return nuggets.text(kept.answers)
    return packing.text(kept)


def reference_of(text: bytes) -> KeptReference:
    """The reference in a text; raises one of FAULTS for one that no site has written."""
    record = _object(text)
    if "origin" in record:
        raise ValueError("A text must not contain ids of a site.")
    reference = packing.reference_in(record)
    if not all(_sound_reference(reference)):
        raise ValueError("The reference has invalid values.")
    return reference


def sent_of(text: bytes) -> Sent:
    """The board or the labels in a text; raises as `reference_of`."""
    record = _object(text)
    if "body" in record:
        return _answer_labels(text)
    if "labels" in record:
        sent = judge_labels.labels_in(record)
        if not all(_sound_labels(sent)):
            raise ValueError("The labels have invalid values.")
        return sent
    board = packing.board_in(record, "")
    if not all(_sound_board(board)):
        raise ValueError("The board has invalid values.")
    return board


def _answer_labels(text: bytes) -> KeptAnswerLabels:
    kept = KeptAnswerLabels(answers_of(text))
    judgments = kept.answers.judgments
    assigned, argued = judgments.assignments is not None, bool(judgments.argued.cells)
    # Both label nuggets, so a judge sends one of them; support labels come alone or with either.
    are_of_a_judge = assigned != argued or (not assigned and bool(judgments.support.cells))
    are_alone = not kept.answers.notes and not kept.answers.made_by and not kept.answers.leaves_out
    names = {*_names(kept.labelled("answers")), *judgments.nuggets.topics}
    if not are_of_a_judge or not are_alone or not all(map(_is_word, names)):
        raise ValueError("The labels are not those of a judge.")
    return kept


def _names(cells: Collection[tuple[str, str]]) -> set[str]:
    return {name for cell in cells for name in cell}


def _object(text: bytes) -> dict[str, Any]:
    record = json.loads(text)
    if not isinstance(record, dict):
        raise TypeError("The text is not a JSON object.")
    return record


def _sound_reference(of: KeptReference) -> Iterator[bool]:
    reference = of.reference
    yield _are_words(reference.runs) and _are_words(reference.topics) and _is_word(reference.measure)
    yield len(reference.runs) >= FEWEST_RUNS and len(reference.topics) > 0
    yield all(map(math.isfinite, reference.scores.ravel().tolist()))
    yield _is_text(of.source) and isinstance(of.is_machine, bool)
    yield of.facts.keys() <= set(reference.runs)
    for declared in of.facts.values():
        yield all(map(_is_text, (declared.team, declared.llm, declared.reranker)))
        yield isinstance(declared.saw_reference, bool)
    if of.elsewhere is not None:
        yield from _sound_origin(of.elsewhere, len(reference.runs))


def _sound_origin(of: ForeignOrigin, runs: int) -> Iterator[bool]:
    yield _is_word(of.slug) and of.kind in ORIGINS and of.dialect in DIALECTS
    yield of.size is None or (type(of.size) is int and of.size >= 0)
    yield len(of.runs) == runs
    yield all(
        isinstance(sha256, str) and _SHA256.fullmatch(sha256) is not None
        for sha256 in (*of.runs, of.judgments)
    )


def _sound_board(of: KeptBoard) -> Iterator[bool]:
    board = of.board
    runs, topics = set(board.runs), set(board.topics)
    yield _are_words(board.runs) and _are_words(board.topics)
    yield all(map(_is_word, (*board.values, *board.totals, *board.unusable)))
    yield of.primary in board.measures
    for by_run in board.values.values():
        yield by_run.keys() <= runs
        for row in by_run.values():
            yield row.keys() <= topics and all(map(_is_number, row.values()))
    for totals in board.totals.values():
        yield totals.keys() <= runs and all(map(_is_number, totals.values()))


def _sound_labels(of: KeptLabels) -> Iterator[bool]:
    given = of.labels
    yield isinstance(given.run, str) and (not given.run or _is_id(given.run))
    yield len(given.judgments) > 0 and all(map(_is_word, given.judgments))
    for grades in given.judgments.values():
        yield len(grades) > 0 and all(_is_bytes_id(docno) for docno in grades)
        yield all(type(grade) is int and abs(grade) <= MOST for grade in grades.values())
    for row in given.confidence.values():
        yield all(map(_is_number, row.values()))


def _are_words(names: Collection[object]) -> bool:
    return all(map(_is_word, names)) and len(set(names)) == len(names)


def _is_word(name: object) -> bool:
    """Whether a value is a name that can be stored and shown."""
    return _is_text(name) and bool(name) and len(str(name).encode()) <= LOOSE_ID_BYTES


def _is_text(text: object) -> bool:
    return isinstance(text, str) and len(text) <= LONGEST_TEXT and not _UNSTORABLE.search(text)


def _is_id(name: str) -> bool:
    return _is_bytes_id(bytes_of(name))


def _is_bytes_id(name: bytes) -> bool:
    return len(name.split()) == 1 and len(name) <= LOOSE_ID_BYTES and b"\0" not in name


def _is_number(value: object) -> bool:
    return type(value) is float and math.isfinite(value)
