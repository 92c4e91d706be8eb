"""Alignment of a run's rankings with a revision's judgments: ranks and grades of judged documents.

Distractors: documents known not to be relevant to any topic, one set per revision.

They count as judged, of grade 0, for every judged topic that does not judge them itself. They are never
written out topic by topic: one document of each topic represents all of them (see Judgments).
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from leaderboard.errors import Problem
from leaderboard.measures.judged import IntArray, Judged, Judgments
from leaderboard.trec.read import kernel
from leaderboard.trec.read.columns import Columns, Index, Int32
from leaderboard.trec.read.entries import id_bytes, unfit_text
from leaderboard.trec.read.kernel import Block
from leaderboard.trec.read.lines import DEFAULT_LIMITS, Limits, Problems, bytes_of, raw_lines, shown
from leaderboard.trec.runs.runs import Ranking, block_of


@dataclass(frozen=True, eq=False)
class DocumentsByTopic:
    """Documents of topics, ready to be found in any number of runs.

    index: topic as bytes -> its place; documents: those of each topic in that order.
    """

    index: Mapping[bytes, int]
    documents: Index

    def of(self, topic: bytes) -> frozenset[bytes]:
        """The docnos of a topic."""
        place, named = self.index.get(topic), self.documents
        if place is None:
            return frozenset()
        here = slice(*named.starts[place : place + 2].tolist())
        pairs = zip(named.at[here].tolist(), named.length[here].tolist(), strict=True)
        return frozenset(bytes(named.letters[at : at + length]) for at, length in pairs)


def remaining(block: Block, left_out: DocumentsByTopic) -> Block:
    """A block without the documents left out of its topics; a topic with nothing else is dropped."""
    columns = block.columns
    place = np.array([left_out.index.get(topic, -1) for topic in block.topics], np.int32)
    every = np.arange(len(columns.at), dtype=np.int32)
    topic, rank, _ = kernel.match(block.body, columns, every, place, left_out.documents, None)
    if not len(topic):
        return block
    group = np.full(len(left_out.index) + 1, -1, np.int64)
    group[place] = np.arange(len(place))
    keep = np.ones(len(every), dtype=np.bool_)
    keep[columns.group_start[group[topic]] + rank - 1] = False
    sizes = np.add.reduceat(keep, columns.group_start[:-1], dtype=np.int64)
    groups = np.flatnonzero(sizes)
    return Block(
        block.body,
        Columns(
            at=columns.at[keep],
            length=columns.length[keep],
            hash=columns.hash[keep],
            score=columns.score[keep],
            group_start=np.concatenate(([0], np.cumsum(sizes[groups]))).astype(np.int32),
            group_at=columns.group_at[groups],
            group_length=columns.group_length[groups],
            group_line=columns.group_line[groups],
        ),
        [block.topics[number] for number in groups.tolist()],
        [block.lines[number] for number in groups.tolist()],
    )


def ranking_without(ranking: Ranking, left_out: Collection[bytes]) -> Ranking:
    """A ranking of one topic without some documents.

    >>> ranking = Ranking("1", np.array([b"a", b"b", b"c"]), np.array([3.0, 2.0, 1.0]))
    >>> ranking_without(ranking, {b"b", b"x"}).docnos.tolist()
    [b'a', b'c']
    """
    if not left_out:
        return ranking
    keep = ~np.isin(ranking.docnos, np.array(sorted(left_out)))
    return Ranking(ranking.topic, ranking.docnos[keep], ranking.scores[keep])


@dataclass(frozen=True, eq=False)
class CompiledJudgments:
    """A revision's judgments ready to be aligned with any number of runs.

    index: topic as bytes -> its place in judgments.topics; documents: the judged documents of each
    topic in that order, docnos ascending as bytes: judgments.grades has their grades. distractors: the
    documents known not to be relevant to any topic, as one topic's; None if absent. left_out:
    documents removed from every ranking before ranks are counted; None if absent.
    """

    judgments: Judgments
    index: Mapping[bytes, int]
    documents: Index
    distractors: Index | None = None
    left_out: DocumentsByTopic | None = None


def compile_judgments(by_topic: Mapping[str, Mapping[bytes, int]]) -> CompiledJudgments:
    """The judgments (topic -> docno -> grade) with topics and docnos in byte order.

    Topics without a judgment are left out: no run is scored on them.

    >>> compile_judgments({"9": {b"a": 1}, "10": {b"c": 2, b"b": 0}, "x": {}}).judgments.grades
    array([0, 2, 1])
    """
    topics = sorted((topic for topic in by_topic if by_topic[topic]), key=bytes_of)
    pairs = [pair for topic in topics for pair in sorted(by_topic[topic].items())]
    return compiled(
        topics,
        np.array([len(by_topic[topic]) for topic in topics], np.int64),
        b"".join(docno for docno, _ in pairs),
        np.array([len(docno) for docno, _ in pairs], np.int32),
        np.array([grade for _, grade in pairs], np.int64),
    )


def compiled(
    topics: Sequence[str], counts: IntArray, docnos: bytes, length: Int32, grades: NDArray[np.integer]
) -> CompiledJudgments:
    """Judgments from arrays: topics in byte order, how many documents each has, and of every document, in
    byte order of docnos within its topic, the docno (all joined), its length and its grade."""
    starts = np.concatenate(([0], np.cumsum(counts, dtype=np.int64)))
    judgments = Judgments(tuple(topics), grades.astype(np.int64), starts)
    at = np.cumsum(length, dtype=np.int32) - length
    index = {bytes_of(topic): place for place, topic in enumerate(topics)}
    return CompiledJudgments(judgments, index, kernel.index(docnos, at, length, starts))


def order(ranking: Ranking, dialect: int) -> IntArray:
    """The places of a ranking's documents by score descending, then docno descending as bytes.

    (documents,) indices into ranking.docnos, best first. The order of the file and its rank column
    play no part; equal means equal in the precision of the dialect, 9 or 10.
    """
    return block_of([ranking]).best(dialect).astype(np.int64)


class Aligner:
    """Reduces the blocks of one run to its judged hits.

    Topics without judgments are skipped; depth keeps that many documents of each ranking, the best
    (None: all). Documents that the judgments leave out are first removed from a block, and counted in
    `left_out`. Holds the hits only, and the docnos of the best `top` documents of each topic where that is
    not 0.
    """

    def __init__(
        self, compiled: CompiledJudgments, *, dialect: int, depth: int | None = None, top: int = 0
    ) -> None:
        self.top: dict[int, list[bytes]] = {}
        self.left_out = 0
        self._compiled = compiled
        self._dialect = dialect
        self._depth = depth
        self._keep = top
        self._retrieved = np.zeros(len(compiled.judgments), dtype=np.int64)
        self._hits: list[tuple[IntArray, IntArray, IntArray]] = []

    def add(self, block: Block) -> None:
        """Take a block; raises ValueError where a topic comes again: a reader must have joined its parts."""
        index, left_out = self._compiled.index, self._compiled.left_out
        if left_out is not None:
            entries = len(block.columns.at)
            block = remaining(block, left_out)
            self.left_out += entries - len(block.columns.at)
        place = np.array([index.get(topic, -1) for topic in block.topics], np.int32)
        groups = (place >= 0).nonzero()[0]
        judged = place[groups]
        if self._retrieved[judged].any() or len(set(judged.tolist())) < len(judged):
            raise ValueError("a topic comes twice")
        sizes = block.sizes()[groups]
        self._retrieved[judged] = sizes if self._depth is None else np.minimum(sizes, self._depth)
        best = block.best(self._dialect)
        hits = kernel.match(block.body, block.columns, best, place, self._compiled.documents, self._depth)
        if self._compiled.distractors is not None:
            hits = self._with_distractors(block, best, place, hits, self._compiled.distractors)
        self._hits.append(hits)
        for group in groups.tolist() if self._keep else ():
            start, end = block.columns.group_start[group : group + 2].tolist()
            entries = best[start : min(end, start + self._keep)].tolist()
            self.top[int(place[group])] = [block.docno(entry) for entry in entries]

    def _with_distractors(
        self, block: Block, best: Int32, place: Int32, hits: tuple[IntArray, ...], distractors: Index
    ) -> tuple[IntArray, IntArray, IntArray]:
        """The hits, and as hits of what represents the distractors those that the topic does not judge."""
        columns = block.columns
        entry = kernel.among(block.body, columns.at, columns.length, columns.hash, best, distractors)
        group = np.searchsorted(columns.group_start, entry, side="right") - 1
        topic, rank = place[group].astype(np.int64), entry - columns.group_start[group] + 1
        inside = topic >= 0
        if self._depth is not None:
            inside &= rank <= self._depth
        topic, rank = topic[inside], rank[inside]
        document = self._compiled.judgments.starts[topic]
        # The topic's own judgment of a document takes precedence over the judgment for all topics.
        topics, ranks, documents = (
            np.concatenate(pair) for pair in zip(hits, (topic, rank, document), strict=True)
        )
        order = np.lexsort((np.arange(len(topics)), ranks, topics))
        first = np.ones(len(order), dtype=np.bool_)
        first[1:] = (np.diff(topics[order]) != 0) | (np.diff(ranks[order]) != 0)
        kept = order[first]
        return topics[kept], ranks[kept], documents[kept]

    def judged(self) -> Judged:
        """The judged hits of the run."""
        none = np.empty(0, np.int64)
        topic, rank, document = (
            np.concatenate([none, *(hits[part] for hits in self._hits)]) for part in range(3)
        )
        by_topic = np.argsort(topic, kind="stable")
        return Judged(
            self._compiled.judgments,
            topic[by_topic],
            rank[by_topic],
            document[by_topic],
            self._retrieved,
            self._dialect,
        )


def align(
    rankings: Iterable[Ranking], compiled: CompiledJudgments, *, dialect: int, depth: int | None = None
) -> Judged:
    """A run reduced to its judged hits, from rankings in any order of topics; see `Aligner`."""
    aligner = Aligner(compiled, dialect=dialect, depth=depth)
    for ranking in rankings:
        aligner.add(block_of([ranking]))
    return aligner.judged()


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
