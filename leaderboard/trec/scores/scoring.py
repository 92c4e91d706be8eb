"""Run files scored against a qrels file, one after the other.

A command waits for what is imported here, for a small run longer than for all else: what only some measures
need is imported where it is used.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TypeVar

import numpy as np

from leaderboard.errors import Invalid, LeaderboardError, MissingInput
from leaderboard.measures.binding import BoundMeasure
from leaderboard.measures.grammar import with_level
from leaderboard.measures.judged import FloatArray, Judged
from leaderboard.measures.record import Need
from leaderboard.measures.selection import select
from leaderboard.trec.qrels.align import Aligner, CompiledJudgments
from leaderboard.trec.qrels.arrays import read_judgments
from leaderboard.trec.read.ahead import available_threads
from leaderboard.trec.read.lines import DEFAULT_LIMITS
from leaderboard.trec.read.scanning import Ahead, scan_run
from leaderboard.trec.scores.missed import missed
from leaderboard.trec.scores.report import RunScores

Read = TypeVar("Read")
QRELS, DOCUMENTS = "leaderboard.trec.qrels", "leaderboard.trec.documents"
"""Where what is imported late is."""


@dataclass(frozen=True, slots=True)
class Inputs:
    """What runs are scored against: a qrels file, and what some measures need beside it."""

    qrels: Path
    collection_size: int | None = None
    preferences: Path | None = None
    documents: Path | None = None
    dissimilarities: Path | None = None
    second: str = ""
    """What the second column of the qrels is: `subtopics`, `rounds`, or empty for what is seen in it."""


@dataclass(frozen=True, slots=True)
class Options:
    """How they are scored: names of measures, trec_eval's -l, whose dialect, and its -M, -J and -c.

    threads: how many read a large run, None for as many as there are cores, at most 2; of no influence on
    what is said of it.
    """

    names: Sequence[str]
    level: int = 1
    dialect: int = 10
    depth: int | None = None
    judged_only: bool = False
    complete: bool = True
    threads: int | None = None


def score_runs(inputs: Inputs, runs: Iterable[Path], options: Options) -> Iterator[RunScores]:
    """The scores of every run, in order; memory does not grow with the size of a run.

    A run is named by its tag, or by its file where an earlier one has the same tag. Raises Invalid
    with the file's name for one that cannot be read or has no judged topic.
    """
    compiled = _judgments(inputs)
    if not compiled.judgments.topics:
        raise Invalid(f"{inputs.qrels} holds no judgments; give a qrels file with topic, 0, docno and grade.")
    judgments = replace(compiled.judgments, collection_size=inputs.collection_size)
    compiled = replace(compiled, judgments=judgments)
    measures = _measures(options, inputs, compiled)
    unlike = _Unlikeness(inputs, measures)
    names: set[str] = set()
    for path in runs:
        tag, judged = _read(partial(_aligned, compiled, options, unlike), path)
        if not judged.retrieved.any():
            raise Invalid(f"{path} has no topic that {inputs.qrels} judges; check that both belong together.")
        name = str(path) if tag in names else tag
        names.add(name)
        yield _scores(name, judged, measures, options)


def _judgments(inputs: Inputs) -> CompiledJudgments:
    if inputs.preferences is None:
        return _read(partial(read_judgments, second=inputs.second), inputs.qrels)
    compiling, reading = import_module(f"{QRELS}.compiling"), import_module(f"{QRELS}.qrels")
    preferences = _read(import_module(f"{QRELS}.preferences").read_preferences, inputs.preferences)
    qrels = _read(partial(reading.read_qrels, second=inputs.second), inputs.qrels)
    compiled: CompiledJudgments = compiling.compile_qrels(qrels, preferences)
    return compiled


def _measures(options: Options, inputs: Inputs, compiled: CompiledJudgments) -> list[BoundMeasure]:
    judgments = compiled.judgments
    given: dict[Need, object] = {
        "collection size": judgments.collection_size,
        "subtopics": judgments.subtopics,
        "preferences": judgments.preferences,
        "documents": inputs.documents or inputs.dissimilarities,
    }
    available = [need for need, value in given.items() if value is not None]
    max_rel = max(1, int(judgments.grades.max()))
    chosen = select(options.names, options.dialect, available, max_rel)
    return list(dict.fromkeys(with_level(measure, options.level) for measure in chosen))


class _Unlikeness:
    """How unlike the top documents of rankings are, for the measures that ask; read as far as needed."""

    def __init__(self, inputs: Inputs, measures: list[BoundMeasure]) -> None:
        asking = [measure for measure in measures if "documents" in measure.measure.needs]
        self.depth = max((cutoff_of(measure) for measure in asking), default=0)
        self._documents = inputs.documents
        if asking and not (inputs.documents or inputs.dissimilarities):
            raise MissingInput(
                f"{asking[0].key} needs the documents' text (--documents) or their dissimilarities."
            )
        self._supplied = None
        if self.depth and inputs.dissimilarities is not None:
            reading = import_module(f"{DOCUMENTS}.dissimilarity").read_dissimilarities
            self._supplied = _read(reading, inputs.dissimilarities)

    def of(self, top: Mapping[str, Sequence[bytes]]) -> tuple[FloatArray, ...]:
        """The matrices of every topic's top documents."""
        unlike = import_module(f"{DOCUMENTS}.dissimilarity")
        matrices: tuple[FloatArray, ...]
        if self._supplied is not None:
            matrices = unlike.from_pairs(self._supplied, top)
            return matrices
        needed = {docno for docnos in top.values() for docno in docnos}
        assert self._documents is not None, "one of the two was given"
        matrices = unlike.from_texts(_read(partial(_texts, needed), self._documents), top)
        return matrices


def cutoff_of(measure: BoundMeasure) -> int:
    """The measure's cut-off."""
    cutoff = measure.params["cutoff"]
    assert isinstance(cutoff, int), f"{measure.key} has a cut-off"
    return cutoff


def _texts(docnos: set[bytes], path: Path) -> dict[bytes, str]:
    """The title and text of these documents; the others are skipped."""
    read_documents = import_module(f"{DOCUMENTS}.documents").read_documents
    documents = ((document.docno.encode(), document) for document in read_documents(path))
    return {docno: f"{document.title} {document.text}" for docno, document in documents if docno in docnos}


def _aligned(
    compiled: CompiledJudgments, options: Options, unlike: _Unlikeness, path: Path
) -> tuple[str, Judged]:
    """The tag of the run in a file, and what the judgments see of it."""

    def start() -> Aligner:
        return Aligner(compiled, dialect=options.dialect, depth=options.depth, top=unlike.depth)

    ahead = Ahead(lambda block: block.best(options.dialect), options.threads or available_threads())
    scanned = scan_run(path, start, strict=False, limits=DEFAULT_LIMITS, ahead=ahead)
    judged = scanned.consumer.judged()
    if unlike.depth:
        top = scanned.consumer.top
        docnos = {topic: top.get(place, []) for place, topic in enumerate(compiled.judgments.topics)}
        judged = replace(judged, dissimilarity=unlike.of(docnos))
    return scanned.tag, judged


def _scores(name: str, judged: Judged, measures: list[BoundMeasure], options: Options) -> RunScores:
    seen = judged.condensed if options.judged_only else judged
    scores = {measure: measure.compute(seen) for measure in measures}
    parts = {measure: part for measure in measures if (part := measure.parts(seen)) is not None}
    report = RunScores(name, judged.judgments.topics, scores, parts)
    if not options.complete:
        return _kept(report, judged.retrieved > 0)
    of_missed = missed(judged, scores, level=options.level, judged_only=options.judged_only)
    return replace(report, missed=of_missed)


def _kept(report: RunScores, chosen: "np.ndarray[tuple[int], np.dtype[np.bool_]]") -> RunScores:
    """The scores of the chosen topics only."""
    topics = tuple(topic for topic, keep in zip(report.topics, chosen.tolist(), strict=True) if keep)
    scores = {measure: values[chosen] for measure, values in report.scores.items()}
    parts = {measure: part[:, chosen] for measure, part in report.parts.items()}
    return RunScores(report.run, topics, scores, parts)


def _read(reader: Callable[[Path], Read], path: Path) -> Read:
    """What the reader makes of the file; its errors say which file it was."""
    try:
        return reader(path)
    except LeaderboardError as error:
        problems = error.problems if isinstance(error, Invalid) else ()
        raise Invalid(f"{path}: {error.message}", problems) from error
