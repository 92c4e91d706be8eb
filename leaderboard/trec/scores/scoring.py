"""Runs scored against judgments, one after the other: from files or from memory.

Commands wait for the imports here, for a small run longer than for all else: what only some measures
need is imported where it is used.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from leaderboard.errors import Invalid, LeaderboardError, MissingInput, Problem
from leaderboard.measures.binding import BoundMeasure
from leaderboard.measures.grammar import with_level
from leaderboard.measures.judged import FloatArray, Judged, in_a_row
from leaderboard.measures.record import Need
from leaderboard.measures.selection import select
from leaderboard.measures.trec_lines import Line, requested
from leaderboard.trec.qrels.align import Aligner, CompiledJudgments
from leaderboard.trec.qrels.arrays import read_judgments
from leaderboard.trec.read import kernel
from leaderboard.trec.read.ahead import available_threads, in_order
from leaderboard.trec.read.forms import USUAL, Asked
from leaderboard.trec.read.kernel import Block
from leaderboard.trec.read.lines import DEFAULT_LIMITS, shown, text_of
from leaderboard.trec.read.scanning import Ahead, scan_run
from leaderboard.trec.scores.in_memory import HeldFile, HeldQrels, HeldRun, NamedFile, missed
from leaderboard.trec.scores.report import RunScores

if TYPE_CHECKING:
    from leaderboard.trec.qrels.align import DocumentsByTopic
    from leaderboard.trec.qrels.left_out import LeftOut

Read = TypeVar("Read")
Origin = TypeVar("Origin", bound=object)

Judging = Path | HeldFile | HeldQrels
"""Sources of judgments."""
Ranked = Path | HeldFile | NamedFile | HeldRun
"""Sources of a run."""
BEGUN = 4
"""Runs begun for each thread before one is scored: the threads go on meanwhile, and only hits are kept."""
TOGETHER = 2**17
"""Documents, judged or retrieved, of runs scored together: memory does not grow with runs."""


@dataclass(frozen=True, slots=True)
class Inputs:
    """The inputs of scoring: a qrels file, and further files that some measures need."""

    qrels: Judging
    collection_size: int | None = None
    preferences: Path | None = None
    documents: Path | None = None
    dissimilarities: Path | None = None
    second: str = ""
    """Meaning of the second column of the qrels: `subtopics`, `rounds`, or empty to detect it."""
    left_out: Sequence[Path] = ()
    """Lists of documents that are left out by topic."""
    changed_docnos: Path | None = None
    """Current docnos for those in the lists."""
    asked: Asked = USUAL
    """Options for grades, columns and topic ids of the qrels."""
    without_query: bool = False
    """Whether the document whose docno is the topic's id is left out, as BEIR does."""


@dataclass(frozen=True, slots=True)
class Options:
    """The options of scoring: names of measures, trec_eval's -l, dialect, -M, -J and -c.

    as_trec_eval: names are taken as trec_eval takes them after -m, and `Scorer.lines` are what it prints.
    threads: how many read a large run, None for as many as there are cores, at most 2; without influence on
    its report.
    """

    names: Sequence[str]
    level: int = 1
    dialect: int = 10
    depth: int | None = None
    judged_only: bool = False
    complete: bool = True
    threads: int | None = None
    as_trec_eval: bool = False


def score_runs(inputs: Inputs, runs: Iterable[Ranked], options: Options) -> Iterator[RunScores]:
    """The scores of every run, in order; memory does not grow with the size of a run.

    A run is named by its tag, or by its file where an earlier one has the same tag. Raises Invalid
    with the file's name for one that cannot be read or has no judged topic.
    """
    yield from Scorer(inputs, options).all(runs)


class Scorer:
    """Scores runs against one qrels file, which is read once.

    Raises Invalid for a qrels file that cannot be read or has no judgments, and for measures that it has not
    what they need for.
    """

    def __init__(self, inputs: Inputs, options: Options) -> None:
        self._inputs, self._options = inputs, options
        self.notes: list[str] = []
        """Notes on how files were read, for standard error."""
        asked = replace(inputs.asked, dialect=options.dialect)
        self.left_out = _left_out(inputs, asked)
        compiled = _judgments(inputs, self.left_out, asked, self._note_qrels)
        if not compiled.judgments.topics:
            raise Invalid(
                f"{inputs.qrels} holds no judgments; give a qrels file with topic, 0, docno and grade."
            )
        if compiled.judgments.collection_size != inputs.collection_size:
            judgments = replace(compiled.judgments, collection_size=inputs.collection_size)
            compiled = replace(compiled, judgments=judgments)
        self._compiled = compiled
        self._absent: DocumentsByTopic | None = None
        if self.left_out is not None:
            from leaderboard.trec.qrels.left_out import compiled_left_out

            self._absent = compiled_left_out(self.left_out)
        self.lines: list[Line] = []
        if options.as_trec_eval:
            self.lines, passed_over = requested(
                options.names,
                options.dialect,
                options.level,
                lambda: _selected(["all"], options, inputs, self._compiled),
            )
            self.notes += passed_over
            self.measures = [line.measure for line in self.lines if line.measure is not None]
        else:
            self.measures = _selected(options.names, options, inputs, self._compiled)
        self.measures = list(dict.fromkeys(self.measures))
        self._unlike = _Unlikeness(inputs, self.measures)

    @property
    def topics(self) -> tuple[str, ...]:
        """The judged topics, in byte order."""
        return self._compiled.judgments.topics

    @property
    def without_relevant(self) -> list[str]:
        """Topics that no document is relevant to at the level of the options."""
        from leaderboard.trec.qrels.left_out import without_relevant

        return without_relevant(self._compiled, self._options.level)

    def scores(self, run: Ranked) -> RunScores:
        """The scores of a run, named by its tag; raises Invalid where it has no judged topic."""
        return next(self._reports([run]))

    def _reports(self, runs: Sequence[Ranked]) -> Iterator[RunScores]:
        """The scores of every run, in order; a refused one raises after those before it."""
        judgments = self._compiled.judgments
        has_more = (judgments.subtopics, judgments.preferences, judgments.distractors) != (None,) * 3
        at_once = 1 if has_more or self._unlike.depth else TOGETHER // len(judgments.grades)
        waiting: list[tuple[str, Judged]] = []
        documents = 0
        seen = self._seen(runs)
        for run in runs:
            try:
                name, judged, topics = next(seen)
                if not judged.retrieved.any():
                    raise _nothing_common(run, topics, self._inputs.qrels, self.topics)
            except LeaderboardError:
                yield from _scored(waiting, self.measures, self._options)
                raise
            waiting.append((name, judged))
            documents += int(judged.retrieved.sum())
            if documents >= TOGETHER or len(waiting) >= at_once:
                yield from _scored(waiting, self.measures, self._options)
                waiting, documents = [], 0
        yield from _scored(waiting, self.measures, self._options)

    def _seen(self, runs: Sequence[Ranked]) -> "Iterator[tuple[str, Judged, list[str]]]":
        """Every run as the judgments see it, in order; the C kernel reads two runs at a time."""
        threads = self._options.threads or available_threads()
        if len(runs) == 1 or threads == 1 or kernel.native is None:
            return map(partial(_read, self._aligned), runs)
        alone = partial(self._aligned, threads=1)
        return in_order(iter(runs), partial(_read, alone), threads, alone=1, each=BEGUN)

    def scores_if_common(self, run: Ranked) -> RunScores | None:
        """The same, None where the run has no judged topic."""
        tag, judged, _ = _read(self._aligned, run)
        return _scores(tag, judged, self.measures, self._options) if judged.retrieved.any() else None

    def _note_qrels(self, problem: Problem) -> None:
        self.notes.append(f"{self._inputs.qrels}: {problem}")

    def all(self, runs: Iterable[Ranked]) -> Iterator[RunScores]:
        """The scores of every run as score_runs gives them."""
        names: set[str] = set()
        listed = list(runs)
        for run, report in zip(listed, self._reports(listed), strict=True):
            name = report.run
            if name in names:
                name = f"{name} ({len(names) + 1})" if isinstance(run, HeldRun) else str(run)
            names.add(name)
            yield replace(report, run=name)

    def left_out_facts(self) -> dict[str, object]:
        """The facts on documents left out, for files: number, whether judged before, topics that score 0."""
        if self.left_out is None:
            return {}
        return {
            "left_out": {
                "documents": self.left_out.count(self.topics),
                "residual": self.left_out.is_residual,
                "topics_without_relevant": self.without_relevant,
            }
        }

    def left_out_notes(self) -> list[str]:
        """The same as sentences; none if nothing is left out."""
        if self.left_out is None:
            return []
        notes = [f"{self.left_out.sentence(self.topics)}."]
        if names := self.without_relevant:
            notes.append(f"No document is relevant to these topics, which score 0: {', '.join(names)}.")
        return notes

    def empty(self) -> RunScores:
        """The scores of a run without a document."""
        judged = Aligner(self._compiled, dialect=self._options.dialect).judged()
        return _scores("", judged, self.measures, replace(self._options, complete=True))

    def _aligned(self, run: Ranked, threads: int | None = None) -> tuple[str, Judged, list[str]]:
        """The name of a run, what the judgments see of it, and the first of its topics."""
        options, depth = self._options, self._unlike.depth

        def aligner() -> _Aligner:
            return _Aligner(self._compiled, dialect=options.dialect, depth=options.depth, top=depth)

        if isinstance(run, HeldRun):
            name, seen = run.name, self._taking(run, aligner)
        else:
            name, seen = self._scanned(run, aligner, threads or self._options.threads)
        judged = seen.judged()
        if depth:
            docnos = {topic: seen.top.get(place, []) for place, topic in enumerate(self.topics)}
            judged = replace(judged, dissimilarity=self._unlike.of(docnos))
        return name, judged, getattr(seen, "first", [])

    def _taking(self, run: HeldRun, aligner: "Callable[[], _Aligner]") -> "_Aligner":
        if self._absent is None:
            return run.given_to(aligner())
        from leaderboard.trec.qrels.left_out import Leaving

        return run.given_to(Leaving(aligner(), self._absent)).consumer

    def _scanned(
        self, path: Path | HeldFile | NamedFile, aligner: "Callable[[], _Aligner]", threads: int | None
    ) -> "tuple[str, _Aligner]":
        """The tag of the run in a file, or the file's name, and what took its blocks."""
        options, absent = self._options, self._absent
        ahead = Ahead(lambda block: block.best(options.dialect), threads or available_threads())
        scan = partial(scan_run, path, strict=False, limits=DEFAULT_LIMITS, dialect=options.dialect)
        if absent is None:
            whole = scan(aligner, ahead=ahead)
            tag, seen, notes = whole.tag, whole.consumer, whole.notes
        else:
            from leaderboard.trec.qrels.left_out import Leaving

            # The remaining documents of a block are sorted on their own.
            part = scan(lambda: Leaving(aligner(), absent))
            tag, seen, notes = part.tag, part.consumer.consumer, part.notes
        # Fields that trec_eval ignores, such as the rank, are not reported here.
        self.notes += [f"{path}: {note}" for note in notes if not note.field]
        is_named = isinstance(path, NamedFile)
        return path.stem if is_named or not tag else tag, seen


class _Aligner(Aligner):
    """One that keeps the first topics of a run, to show them if none is judged."""

    first: list[str]

    def add(self, block: Block) -> None:
        """Take a block."""
        if not hasattr(self, "first"):
            self.first = list(map(text_of, block.topics[:EXAMPLES]))
        super().add(block)


EXAMPLES = 3


def _nothing_common(run: Ranked, topics: list[str], qrels: Judging, judged: Sequence[str]) -> Invalid:
    """The error of a run without a judged topic: ids of both, and how to make them the same."""
    from leaderboard.trec.topics.records import TopicNames

    names = TopicNames(judged)
    ids = f"the run has {', '.join(map(shown, topics))}; the qrels have {names.examples()}"
    remedy = "Check that both belong together."
    if topics and (meant := names.meant(topics[0])):
        remedy = f"The run's ids {names.difference(topics[0], meant)}"
        if isinstance(run, Path) and isinstance(qrels, Path):
            command = f"leaderboard check {run} --qrels {qrels} --fix FILE"
            remedy = f"{remedy}: `{command}` writes them as the qrels do."
        else:
            remedy = f"{remedy}: write them alike."
    return Invalid(f"{run} has no topic that {qrels} judges: {ids}. {remedy}")


def _left_out(inputs: Inputs, asked: Asked) -> "LeftOut | None":
    if not inputs.left_out and not inputs.without_query:
        if inputs.changed_docnos is not None:
            raise Invalid("Changed docnos are those of documents left out; name a list of them too.")
        return None
    if inputs.preferences is not None:
        raise Invalid("Documents are left out of graded judgments; preferences cannot be given with them.")
    from leaderboard.trec.qrels.left_out import read_left_out, read_renamed, with_queries

    changed = None if inputs.changed_docnos is None else _read(read_renamed, inputs.changed_docnos)
    left_out = read_left_out(inputs.left_out, changed)
    if inputs.without_query:
        assert not isinstance(inputs.qrels, HeldQrels), "only commands leave out queries"
        from leaderboard.trec.qrels.qrels import read_qrels

        judged = _read(partial(read_qrels, second=inputs.second, asked=asked), inputs.qrels).judgments
        left_out = with_queries(left_out, judged)
    return left_out


def _judgments(
    inputs: Inputs, left_out: "LeftOut | None", asked: Asked, say: Callable[[Problem], None]
) -> CompiledJudgments:
    if isinstance(inputs.qrels, HeldQrels):
        assert (inputs.preferences, left_out) == (None, None), "only commands give these"
        return inputs.qrels.compiled
    if inputs.preferences is None and left_out is None:
        return _read(partial(read_judgments, second=inputs.second, asked=asked, say=say), inputs.qrels)
    from leaderboard.trec.qrels.compiling import compile_qrels
    from leaderboard.trec.qrels.left_out import without
    from leaderboard.trec.qrels.preferences import read_preferences
    from leaderboard.trec.qrels.qrels import read_qrels

    qrels = _read(partial(read_qrels, second=inputs.second, asked=asked), inputs.qrels)
    for note in qrels.notes:
        say(note)
    if left_out is not None:
        qrels = without(qrels, left_out)
    preferences = None if inputs.preferences is None else _read(read_preferences, inputs.preferences)
    return compile_qrels(qrels, preferences)


def _selected(
    names: Sequence[str], options: Options, inputs: Inputs, compiled: CompiledJudgments
) -> list[BoundMeasure]:
    judgments = compiled.judgments
    given: dict[Need, object] = {
        "collection size": judgments.collection_size,
        "subtopics": judgments.subtopics,
        "preferences": judgments.preferences,
        "documents": inputs.documents or inputs.dissimilarities,
    }
    available = [need for need, value in given.items() if value is not None]
    max_rel = max(1, int(judgments.grades.max()))
    chosen = select(names, options.dialect, available, max_rel)
    return [with_level(measure, options.level) for measure in chosen]


class _Unlikeness:
    """Dissimilarities of the top documents of rankings, for the measures that need them; read on demand."""

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
            from leaderboard.trec.documents.dissimilarity import read_dissimilarities

            self._supplied = _read(read_dissimilarities, inputs.dissimilarities)

    def of(self, top: Mapping[str, Sequence[bytes]]) -> tuple[FloatArray, ...]:
        """The matrices of every topic's top documents."""
        from leaderboard.trec.documents.dissimilarity import from_pairs, from_texts

        if self._supplied is not None:
            return from_pairs(self._supplied, top)
        needed = {docno for docnos in top.values() for docno in docnos}
        assert self._documents is not None, "one of the two was given"
        return from_texts(_read(partial(_texts, needed), self._documents), top)


def cutoff_of(measure: BoundMeasure) -> int:
    """The measure's cut-off."""
    cutoff = measure.params["cutoff"]
    assert isinstance(cutoff, int), f"{measure.key} has a cut-off"
    return cutoff


def _texts(docnos: set[bytes], path: Path) -> dict[bytes, str]:
    """The title and text of these documents; the others are skipped."""
    from leaderboard.trec.documents.documents import read_documents

    documents = ((document.docno.encode(), document) for document in read_documents(path))
    return {docno: f"{document.title} {document.text}" for docno, document in documents if docno in docnos}


def _scores(name: str, judged: Judged, measures: list[BoundMeasure], options: Options) -> RunScores:
    return next(_scored([(name, judged)], measures, options))


def _scored(
    runs: Sequence[tuple[str, Judged]], measures: list[BoundMeasure], options: Options
) -> Iterator[RunScores]:
    """The scores of runs, computed together: every call of NumPy costs as much for one small run."""
    if not runs:
        return
    whole = in_a_row([judged for _, judged in runs])
    seen = whole.condensed if options.judged_only else whole
    scores = {measure: measure.compute(seen) for measure in measures}
    parts = {measure: part for measure in measures if (part := measure.parts(seen)) is not None}
    for place, (name, judged) in enumerate(runs):
        topics = judged.judgments.topics
        own = slice(place * len(topics), (place + 1) * len(topics))
        of_run = {measure: values[own] for measure, values in scores.items()}
        report = RunScores(name, topics, of_run, {measure: part[:, own] for measure, part in parts.items()})
        if options.complete:
            yield replace(report, missed=missed(judged, measures, judged_only=options.judged_only))
        else:
            yield _kept(report, judged.retrieved > 0)


def _kept(report: RunScores, chosen: "np.ndarray[tuple[int], np.dtype[np.bool_]]") -> RunScores:
    """The scores of the chosen topics only."""
    topics = tuple(topic for topic, keep in zip(report.topics, chosen.tolist(), strict=True) if keep)
    scores = {measure: values[chosen] for measure, values in report.scores.items()}
    parts = {measure: part[:, chosen] for measure, part in report.parts.items()}
    return RunScores(report.run, topics, scores, parts)


def _read(reader: Callable[[Origin], Read], origin: Origin) -> Read:
    """The result of reading a file; errors name the file."""
    try:
        return reader(origin)
    except LeaderboardError as error:
        problems = error.problems if isinstance(error, Invalid) else ()
        raise Invalid(f"{origin}: {error.message}", problems) from error
