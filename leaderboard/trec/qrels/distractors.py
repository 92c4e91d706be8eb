"""Distractors: documents known not to be relevant to any topic, one set per revision.

They count as judged, of grade 0, for every judged topic that does not judge them itself. They are never
written out topic by topic: one document of each topic represents all of them (see Judgments).
"""

from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from leaderboard.checksums import compressed, plain_bytes
from leaderboard.errors import Problem
from leaderboard.measures.judged import IntArray
from leaderboard.trec.qrels.align import CompiledJudgments
from leaderboard.trec.read import kernel
from leaderboard.trec.read.columns import Index
from leaderboard.trec.read.entries import id_bytes, unfit_text
from leaderboard.trec.read.lines import DEFAULT_LIMITS, Limits, Problems, raw_lines, shown

_MAGIC = b"LBD1"
_LEVEL = 3


def read_distractors(path: Path, limits: Limits = DEFAULT_LIMITS) -> frozenset[bytes]:
    """The docnos of a file, one per line; blank lines, `#` comments and repetitions are skipped.

    Raises Invalid with up to 25 problems.
    """
    problems = Problems("list of distractors")
    docnos: set[bytes] = set()
    for number, line in raw_lines(path, limits):
        fields = line.split()
        if not fields or line.startswith(b"#"):
            continue
        if problem := unfit_text(number, line):
            problems.add(problem)
        elif len(fields) != 1 or len(fields[0]) > id_bytes(True):
            rule = f"A line is one docno of at most {id_bytes(True)} bytes."
            remedy = "A list of distractors names no topics: write docnos only."
            problems.add(Problem(rule, remedy, number, "docno", shown(line.strip())))
        else:
            docnos.add(fields[0])
    if not docnos and not problems.found:
        problems.add(Problem("The file has no docnos.", "Write one docno per line."))
    problems.stop()
    return frozenset(docnos)


def pack_distractors(docnos: Collection[bytes]) -> bytes | None:
    """The docnos as one compressed string, in byte order; None if absent.

    >>> unpack_distractors(pack_distractors({b"b", b"a"}))
    (b'a', b'b')
    """
    if not docnos:
        return None
    return compressed(_MAGIC, b"\n".join(sorted(set(docnos))), _LEVEL)


def unpack_distractors(packed: bytes | None) -> tuple[bytes, ...]:
    """The docnos in byte order; raises Damaged where the bytes are not what was packed."""
    if packed is None:
        return ()
    return tuple(plain_bytes(_MAGIC, packed, "distractors").split(b"\n"))


def with_distractors(compiled: CompiledJudgments, docnos: Collection[bytes]) -> CompiledJudgments:
    """The judgments with distractors: each topic's first document has no docno and represents all of them.

    >>> from leaderboard.trec.qrels.align import compile_judgments
    >>> made = with_distractors(compile_judgments({"1": {b"a": 1, b"x": 0}}), [b"x", b"y", b"z"])
    >>> made.judgments.grades, made.judgments.distractors, made.judgments.nonrelevant(1)
    (array([0, 1, 0]), array([2]), array([3]))
    """
    if not docnos:
        return compiled
    judgments, documents = compiled.judgments, compiled.documents
    listed = sorted(set(docnos))
    length = np.array([len(docno) for docno in listed], np.int32)
    at = np.cumsum(length, dtype=np.int32) - length
    distractors = kernel.index(b"".join(listed), at, length, np.array([0, len(listed)], np.int64))
    which = np.arange(len(judgments.grades), dtype=np.int32)
    entries = kernel.among(
        documents.letters, documents.at, documents.length, documents.hash, which, distractors
    )
    judged = np.bincount(judgments.topic[entries], minlength=len(judgments))
    first, moved = judgments.starts[:-1], judgments.topic + 1 + np.arange(len(judgments.grades))
    starts = judgments.starts + np.arange(len(judgments) + 1)
    widened = replace(
        judgments,
        grades=np.insert(judgments.grades, first, 0),
        starts=starts,
        subtopics=judgments.subtopics
        and replace(judgments.subtopics, document=moved[judgments.subtopics.document]),
        preferences=judgments.preferences
        and replace(
            judgments.preferences,
            better=moved[judgments.preferences.better],
            worse=moved[judgments.preferences.worse],
        ),
        distractors=len(listed) - judged,
    )
    return replace(
        compiled, judgments=widened, documents=_widened(documents, first, starts), distractors=distractors
    )


def among_distractors(compiled: CompiledJudgments, docnos: Sequence[bytes]) -> list[bool]:
    """Mask of the docnos that are known not to be relevant to any topic.

    >>> from leaderboard.trec.qrels.align import compile_judgments
    >>> among_distractors(with_distractors(compile_judgments({"1": {b"a": 1}}), [b"x"]), [b"a", b"x"])
    [False, True]
    """
    is_distractor = np.zeros(len(docnos), dtype=np.bool_)
    if compiled.distractors is not None and docnos:
        letters = b"".join(docnos) + bytes(kernel.SLACK)
        length = np.array([len(docno) for docno in docnos], np.int32)
        at = np.cumsum(length, dtype=np.int32) - length
        which = np.arange(len(docnos), dtype=np.int32)
        hashed = kernel.hashes(letters, at, length)
        is_distractor[kernel.among(letters, at, length, hashed, which, compiled.distractors)] = True
    return [bool(flag) for flag in is_distractor]


def _widened(documents: Index, first: IntArray, starts: IntArray) -> Index:
    """The judged documents with one without a docno before the first of each topic."""
    letters = documents.letters[: len(documents.letters) - kernel.SLACK]
    at, length = (np.insert(column, first, 0) for column in (documents.at, documents.length))
    return kernel.index(letters, at, length, starts)
