"""The readers of files from outside, and what each makes of one, in a form that can be compared."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import astuple, is_dataclass
from pathlib import Path
from typing import NamedTuple

from benchmarks.fuzz import corpus
from leaderboard.judging.ops.assessors import labels
from leaderboard.trec.clicks.logs import ClickLog
from leaderboard.trec.documents.dissimilarity import read_dissimilarities
from leaderboard.trec.documents.documents import read_documents
from leaderboard.trec.pools import read_pool
from leaderboard.trec.qrels.align import CompiledJudgments, read_distractors
from leaderboard.trec.qrels.arrays import read_judgments
from leaderboard.trec.qrels.compiling import compile_qrels
from leaderboard.trec.qrels.preferences import read_preferences
from leaderboard.trec.qrels.qrels import read_qrels
from leaderboard.trec.read.archives import DEFAULT_LIMITS, Limits
from leaderboard.trec.read.kernel import Block
from leaderboard.trec.read.plain import plain_blocks
from leaderboard.trec.read.scanning import Ahead, scan_run
from leaderboard.trec.runs.check import Rules, read_and_check
from leaderboard.trec.runs.runs import read_run
from leaderboard.trec.topics.topics import read_topics

LIMITS = (DEFAULT_LIMITS, Limits(line_bytes=60), Limits(line_bytes=400))
"""Small ones cut small files into many blocks; which one a file gets goes by its number."""

Read = Callable[[Path, Limits], object]


class Reader(NamedTuple):
    """Ways to read one kind of file; each is called with either kernel, and both must say the same.

    alike: all ways must say the same too; stored: what the first one takes goes into a database.
    """

    files: Sequence[bytes]
    ways: tuple[Read, ...]
    alike: bool = False
    stored: bool = True


def require_storable(said: object) -> None:
    """Raise ValueError if a database cannot hold a text in it: with NUL, or not in Unicode."""
    if isinstance(said, str):
        said.encode()
        if "\0" in said:
            raise ValueError("a NUL that no database holds was taken")
    elif isinstance(said, bytes):
        require_storable(said.decode())
    elif isinstance(said, Mapping):
        require_storable([*said.keys(), *said.values()])
    elif isinstance(said, Iterable):
        for part in said:
            require_storable(part)
    elif is_dataclass(said) and not isinstance(said, type):
        require_storable(astuple(said))


def _run(path: Path, limits: Limits, strict: bool) -> object:
    run = read_run(path, strict=strict, limits=limits)
    rankings = [
        (ranking.topic, ranking.docnos.tolist(), ranking.scores.tolist()) for ranking in run.rankings.values()
    ]
    return (
        rankings,
        run.tag,
        run.tags,
        run.split_topics,
        run.entries,
        repr(run.metadata),
        run.notes,
        run.first_lines,
    )


class _Ordered:
    """Takes every topic's docnos, best first, with their number of ties and first line."""

    def __init__(self) -> None:
        self.rankings: list[object] = []

    def add(self, block: Block) -> None:
        docnos = [block.docno(entry) for entry in block.best(9).tolist()]
        self.rankings.append((block.topics, block.lines, block.sizes().tolist(), docnos))


def _ahead(path: Path, limits: Limits) -> object:
    """The run read by two threads, which is with the kernel in C; numpy says what it has to be."""
    ahead = Ahead(lambda block: block.best(9), threads=2, alone=1)
    scanned = scan_run(path, _Ordered, strict=False, limits=limits, ahead=ahead)
    return vars(scanned) | {"consumer": scanned.consumer.rankings, "metadata": repr(scanned.metadata)}


def _checked(path: Path, limits: Limits) -> object:
    rules = Rules(("1", "2"), depth=5, tag_pattern="t.*", judged=("1",))
    return read_and_check(path, rules)[1].as_json()


def _judgments(compiled: CompiledJudgments) -> object:
    judgments, documents = compiled.judgments, compiled.documents
    subtopics = judgments.subtopics
    return (
        judgments.topics,
        judgments.grades.tolist(),
        judgments.starts.tolist(),
        bytes(documents.letters[: int(documents.length.sum())]),
        documents.length.tolist(),
        subtopics and (subtopics.document.tolist(), subtopics.subtopic.tolist(), subtopics.grade.tolist()),
    )


def _clicks(path: Path, limits: Limits) -> object:
    return list(ClickLog(path, limits))


READERS = {
    "runs": Reader(
        corpus.RUNS,
        (
            lambda path, limits: _run(path, limits, True),
            lambda path, limits: _run(path, limits, False),
            _checked,
            _ahead,
        ),
    ),
    "qrels": Reader(
        corpus.QRELS,
        (
            lambda path, limits: _judgments(read_judgments(path, limits)),
            lambda path, limits: _judgments(compile_qrels(read_qrels(path, limits))),
        ),
        alike=True,
    ),
    "preferences": Reader(corpus.PREFERENCES, (lambda path, limits: vars(read_preferences(path, limits)),)),
    "distractors": Reader(corpus.DISTRACTORS, (read_distractors,)),
    "dissimilarities": Reader(
        corpus.DISSIMILARITIES, (lambda path, limits: vars(read_dissimilarities(path, limits)),), stored=False
    ),
    "topics": Reader(corpus.TOPICS, (read_topics,)),
    "documents": Reader(corpus.DOCUMENTS, (lambda path, limits: list(read_documents(path, limits)),)),
    "pools": Reader(corpus.POOLS, (read_pool,)),
    "labels": Reader(corpus.QRELS, (lambda path, limits: astuple(labels.prepare(path, limits)),)),
    "clicks": Reader(corpus.CLICKS, (_clicks,)),
    "archives": Reader(
        corpus.ARCHIVES,
        (
            lambda path, limits: sum(map(len, plain_blocks(path, limits))),
            lambda path, limits: _run(path, DEFAULT_LIMITS, False),
        ),
    ),
}
