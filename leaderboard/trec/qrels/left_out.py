"""Documents left out by topic: out of every ranking before ranks are counted, and out of the ideal ranking.

For topics made from a document, as in BRIGHT, and for residual rounds, as in TREC-COVID, which leave out
all documents judged in earlier rounds.
"""

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Generic, TypeVar

from leaderboard.errors import Invalid, Problem
from leaderboard.measures.judged import UNJUDGED
from leaderboard.trec.qrels.align import CompiledJudgments, DocumentsByTopic, compile_judgments, remaining
from leaderboard.trec.qrels.qrels import Qrels
from leaderboard.trec.read.entries import id_bytes, unfit_text
from leaderboard.trec.read.kernel import Block, Consumer
from leaderboard.trec.read.lines import DEFAULT_LIMITS, Limits, Problems, bytes_of, raw_lines, shown, text_of

NONE = b"N/A"
"""BRIGHT's word for no document."""
PLAIN, JUDGED = 2, 4
"""Columns of a list, and of judgments, which are all left out."""

C = TypeVar("C", bound=Consumer)


@dataclass(frozen=True, eq=False)
class LeftOut:
    """Documents left out: topic -> docnos. is_residual: they are those that were judged before.

    repeated: how many lines named a document of a topic once more; rounds: the numbers of the revisions that
    judged them, where they are a site's.
    """

    by_topic: Mapping[str, frozenset[bytes]]
    is_residual: bool = False
    repeated: int = 0
    rounds: tuple[int, ...] = ()

    def count(self, topics: Sequence[str]) -> int:
        """Number of documents of these topics that are left out."""
        return sum(len(self.by_topic.get(topic, ())) for topic in topics)

    def sentence(self, topics: Sequence[str]) -> str:
        """The sentence of boards on it.

        >>> LeftOut({"1": frozenset([b"a"]), "2": frozenset([b"a", b"b"])}, True).sentence(["1", "2", "3"])
        'residual, 3 documents left out'
        """
        return sentence(self.count(topics), self.is_residual)


NOTHING = LeftOut({})


def sentence(documents: int | None, is_residual: bool) -> str:
    """The sentence of boards on documents left out; without their number if that is None.

    >>> sentence(1, False), sentence(3124, True), sentence(None, True)
    ('1 document left out', 'residual, 3,124 documents left out', 'residual, documents left out')
    """
    what = "documents" if documents is None else f"{documents:,} document{'' if documents == 1 else 's'}"
    return f"residual, {what} left out" if is_residual else f"{what} left out"


def read_left_out(
    paths: Sequence[Path], renamed: Mapping[bytes, bytes] | None = None, limits: Limits = DEFAULT_LIMITS
) -> LeftOut:
    """The documents left out by all of the files together.

    A file has lines `topic docno`, where the docno N/A means none; or lines of qrels, where every judged
    document is left out regardless of its grade; or lines of JSON with id and excluded_ids, as BRIGHT's
    topics. renamed maps docnos in the files to those of today. Raises Invalid with up to 25 problems.
    """
    by_topic: dict[bytes, set[bytes]] = {}
    is_residual, repeated = False, 0
    for path in paths:
        reader = _Reader(by_topic, renamed or {})
        reader.read(path, limits)
        is_residual |= reader.columns == JUDGED
        repeated += reader.repeated
    named = {text_of(topic): frozenset(docnos) for topic, docnos in by_topic.items()}
    return LeftOut(named, is_residual, repeated)


def with_queries(left_out: LeftOut, topics: Iterable[str]) -> LeftOut:
    """The same, and of each topic the document that has its id: the query itself, as in BEIR's ArguAna.

    >>> with_queries(LeftOut({"1": frozenset([b"a"])}), ["1"]).count(["1"])
    2
    """
    queries = {topic: left_out.by_topic.get(topic, frozenset()) | {bytes_of(topic)} for topic in topics}
    return replace(left_out, by_topic={**left_out.by_topic, **queries})


def read_renamed(path: Path, limits: Limits = DEFAULT_LIMITS) -> dict[bytes, bytes]:
    """Docnos that changed: old -> what it is today, from lines `old new`.

    A document that changed more than once is followed to its last docno. Raises Invalid with up to 25
    problems, also where renamed docnos form a cycle.
    """
    problems, pairs = Problems("list of changed docnos"), dict[bytes, bytes]()
    for number, line in raw_lines(path, limits):
        fields = line.split()
        if not fields or line.startswith(b"#"):
            continue
        if problem := unfit_text(number, line):
            problems.add(problem)
        elif len(fields) != 2:
            problems.add(Problem("A line is an old docno and a new one.", "", number, "", shown(line)))
        elif pairs.setdefault(fields[0], fields[1]) != fields[1]:
            rule = "The docno changed into two different ones."
            problems.add(Problem(rule, "Keep one of the lines.", number, "docno", shown(fields[0])))
    problems.stop()
    return {old: _last(old, pairs) for old in pairs}


def without(qrels: Qrels, left_out: LeftOut) -> Qrels:
    """The judgments without the documents left out; a topic that has no other keeps one that no run can have.

    Raises Invalid with up to 25 problems where one of them is judged relevant, and where no topic is judged.

    >>> judged = Qrels({"1": {b"a": 0, b"b": 1}}, "graded")
    >>> without(judged, LeftOut({"1": frozenset([b"a"])})).judgments
    {'1': {b'b': 1}}
    """
    if not left_out.by_topic.keys() & qrels.judgments.keys() and left_out.by_topic:
        raise Invalid(
            "Documents are left out of topics that are not judged; check that both files belong together."
        )
    _require_none_relevant(qrels, left_out)
    kept = {topic: _kept(grades, left_out.by_topic.get(topic)) for topic, grades in qrels.judgments.items()}
    subtopics = {
        topic: {
            name: {docno: grade for docno, grade in grades.items() if docno in kept[topic]}
            for name, grades in by_name.items()
        }
        for topic, by_name in qrels.subtopics.items()
    }
    # No docno is empty, so no run finds what represents a topic whose documents are all left out.
    judgments = {topic: grades or {b"": UNJUDGED} for topic, grades in kept.items()}
    return replace(qrels, judgments=judgments, subtopics=subtopics)


def lines_naming(
    path: Path, documents: Collection[tuple[str, bytes]], renamed: Mapping[bytes, bytes]
) -> dict[tuple[str, bytes], int]:
    """(topic, docno) -> the first line of a list that names the document; renamed as in `read_left_out`."""
    asked, lines = {(bytes_of(topic), docno) for topic, docno in documents}, dict[tuple[str, bytes], int]()
    for number, line in raw_lines(path, DEFAULT_LIMITS):
        by_topic = dict[bytes, set[bytes]]()
        reader = _Reader(by_topic, renamed)
        reader.take(number, line)
        named = {(topic, docno) for topic, docnos in by_topic.items() for docno in docnos}
        for topic, docno in named & asked:
            lines.setdefault((text_of(topic), docno), number)
    return lines


class Leaving(Generic[C]):
    """Passes the rest of a run's blocks to a consumer: ranks close up."""

    def __init__(self, consumer: C, left_out: DocumentsByTopic) -> None:
        self.consumer = consumer
        self._left_out = left_out

    def add(self, block: Block) -> None:
        """Take a block."""
        self.consumer.add(remaining(block, self._left_out))


def compiled_left_out(left_out: LeftOut) -> DocumentsByTopic:
    """The documents left out, ready to be found in any number of runs."""
    by_topic = {topic: dict.fromkeys(docnos, 0) for topic, docnos in left_out.by_topic.items()}
    compiled = compile_judgments(by_topic)
    return DocumentsByTopic(compiled.index, compiled.documents)


def without_relevant(compiled: CompiledJudgments, level: int = 1) -> list[str]:
    """The topics without relevant documents, which score 0 for any run.

    >>> without_relevant(compile_judgments({"1": {b"a": 1}, "2": {b"a": 0}}))
    ['2']
    """
    counts = compiled.judgments.relevant(level).tolist()
    return [topic for topic, count in zip(compiled.judgments.topics, counts, strict=True) if not count]


class _Reader:
    """Reads one file into the documents left out by topic."""

    def __init__(self, by_topic: dict[bytes, set[bytes]], renamed: Mapping[bytes, bytes]) -> None:
        self.columns = 0
        self.repeated = 0
        self._by_topic = by_topic
        self._renamed = renamed
        self._problems = Problems("list of documents left out")

    def read(self, path: Path, limits: Limits) -> None:
        """Read all lines of the file; raises Invalid with its name and up to 25 problems."""
        try:
            for number, line in raw_lines(path, limits):
                self.take(number, line)
            if not self._by_topic and not self._problems.found:
                self._problems.add(Problem("The file has no lines.", "Write one `topic docno` per line."))
            self._problems.stop()
        except Invalid as error:
            raise Invalid(f"{path}: {error.message}", error.problems) from error

    def take(self, number: int, line: bytes) -> None:
        """Read a line; problems are collected until all are read."""
        if not line.strip() or line.startswith(b"#"):
            return
        if problem := unfit_text(number, line):
            self._problems.add(problem)
            return
        if line.lstrip().startswith(b"{"):
            self._take_json(number, line)
            return
        fields = line.split()
        self.columns = self.columns or (len(fields) if len(fields) in (PLAIN, JUDGED) else 0)
        if len(fields) != self.columns or max(map(len, fields)) > id_bytes(True):
            rule = "All lines must be `topic docno`, or all `topic iteration docno grade`."
            remedy = "Write the topic, blank, the docno."
            self._problems.add(Problem(rule, remedy, number, "", shown(line.strip())))
            return
        self._add(fields[0], fields[1 if self.columns == PLAIN else 2])

    def _take_json(self, number: int, line: bytes) -> None:
        """A topic as BRIGHT has it."""
        try:
            topic = json.loads(line)
            docnos = [docno.encode() for docno in topic["excluded_ids"]]
            name = str(topic["id"]).encode()
        except (ValueError, KeyError, TypeError, AttributeError):
            rule = "A line of JSON has `id`, and `excluded_ids`, a list of docnos."
            self._problems.add(Problem(rule, "", number, "", shown(line)))
            return
        for docno in docnos or [NONE]:
            self._add(name, docno)

    def _add(self, topic: bytes, docno: bytes) -> None:
        docnos = self._by_topic.setdefault(topic, set())
        if docno != NONE:
            before = len(docnos)
            docnos.add(self._renamed.get(docno, docno))
            self.repeated += len(docnos) == before


def _kept(grades: Mapping[bytes, int], left_out: frozenset[bytes] | None) -> dict[bytes, int]:
    return {docno: grade for docno, grade in grades.items() if docno not in (left_out or ())}


def _require_none_relevant(qrels: Qrels, left_out: LeftOut) -> None:
    problems = Problems("list of documents left out")
    for topic, docnos in left_out.by_topic.items():
        grades = qrels.judgments.get(topic, {})
        for docno in sorted(docno for docno in docnos if grades.get(docno, 0) > 0):
            rule = f"It is left out of topic {shown(bytes_of(topic))} and judged relevant to it."
            remedy = "Remove it from the list, or score by the judgments of this round only."
            problems.add(Problem(rule, remedy, None, "docno", shown(docno)))
    problems.stop()


def _last(docno: bytes, pairs: Mapping[bytes, bytes]) -> bytes:
    """End of a docno's chain of changes; raises Invalid for a cycle."""
    seen = {docno}
    while (following := pairs.get(docno)) is not None and following != docno:
        if following in seen:
            raise Invalid(f"The changes of docno {shown(docno)} form a cycle; keep only the last one.")
        seen.add(following)
        docno = following
    return docno
