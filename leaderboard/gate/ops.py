"""Run files held to a baseline: verdicts, and the topics that lost most with the documents that moved."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import log2
from pathlib import Path

import numpy as np

from leaderboard.errors import Invalid
from leaderboard.measures.binding import BoundMeasure
from leaderboard.measures.grammar import with_level
from leaderboard.measures.naming import parse
from leaderboard.stats.gates import Compared, Gated, gate
from leaderboard.stats.standing import ROPE
from leaderboard.trec.comparisons import ScoredFiles, rankings_of, score_files, sign_of
from leaderboard.trec.qrels.qrels import read_qrels
from leaderboard.trec.scores.in_memory import HeldQrels
from leaderboard.trec.scores.scoring import Inputs, Options

MOST_LOST, MOST_MOVED = 5, 5
"""Topics of a run, and documents of a topic, that are shown."""

Rankings = dict[str, list[bytes]]


@dataclass(frozen=True, slots=True)
class Moved:
    """A judged document whose rank changed; None where a run does not have it."""

    docno: str
    grade: int
    old: int | None
    new: int | None


@dataclass(frozen=True, slots=True)
class LostTopic:
    """A topic on which the run scores worse than the baseline, by `lost`; documents that moved most first."""

    topic: str
    baseline: float
    run: float
    lost: float
    documents: tuple[Moved, ...]


@dataclass(frozen=True, slots=True)
class Comparison:
    """One run and the baseline by one measure; topics that lost most first."""

    run: str
    measure: BoundMeasure
    found: Gated
    lost: tuple[LostTopic, ...]


@dataclass(frozen=True, slots=True)
class Report:
    """All comparisons of one gate, under one correction."""

    baseline: str
    topics: int
    dialect: int
    qrels_sha256: str
    comparisons: tuple[Comparison, ...]
    notes: tuple[str, ...]

    def fails(self, *, strict: bool) -> bool:
        """Whether any run is worse; where strict, whether any is neither better nor no worse."""
        verdicts = {comparison.found.verdict for comparison in self.comparisons}
        return bool(verdicts & ({"worse", "cannot tell"} if strict else {"worse"}))


@dataclass(frozen=True, slots=True)
class Margins:
    """The margin of every measure, and of some their own, by key."""

    usual: float
    own: Mapping[str, float]

    def of(self, measure: BoundMeasure) -> float:
        """That of a measure."""
        return self.own.get(measure.key, self.usual)


def margins(texts: Sequence[str], measures: Sequence[BoundMeasure], level: int) -> Margins:
    """Margins given as NUMBER or MEASURE=NUMBER, the last of several; 0.01 by default.

    Raises Invalid for a number that is not 0 or more, and for a measure that is not compared.
    """
    usual, own = ROPE, {}
    for text in texts:
        name, _, number = text.rpartition("=")
        try:
            margin = float(number)
        except ValueError:
            margin = -1.0
        if not 0 <= margin < float("inf"):
            raise Invalid(f"{text!r} is not a margin; use a number of at least 0, or MEASURE=NUMBER.")
        if not name:
            usual = margin
            continue
        key = with_level(parse(name), level).key
        if key not in {measure.key for measure in measures}:
            raise Invalid(f"{name} has a margin but is not compared; add it with -m.")
        own[key] = margin
    return Margins(usual, own)


def report(
    inputs: Inputs,
    baseline: Path,
    runs: Sequence[Path],
    options: Options,
    given: Sequence[str],
    name: str = "",
) -> Report:
    """Hold runs to a baseline; given: margins as texts, name: what the baseline is called, else by its tag.

    Raises Invalid for a file that cannot be read, a measure that runs cannot be compared by, and an invalid
    margin.
    """
    files = score_files(inputs, [baseline, *runs], options)
    measures = list(files.scores)
    asked = margins(given, measures, options.level)
    pairs = [(place, measure) for place in range(1, len(files.names)) for measure in measures]
    gated = gate([_compared(files, place, measure, asked.of(measure)) for place, measure in pairs])
    lost = [_lost(files, place, measure) for place, measure in pairs]
    documents = _Documents(inputs, files, {topic for topics in lost for topic, _ in topics})
    comparisons = [
        Comparison(
            run=files.names[place],
            measure=measure,
            found=each,
            lost=tuple(documents.of(place, measure, topic, amount) for topic, amount in topics),
        )
        for (place, measure), each, topics in zip(pairs, gated, lost, strict=True)
    ]
    return Report(
        baseline=name or files.names[0],
        topics=len(files.topics),
        dialect=files.dialect,
        qrels_sha256=files.qrels_sha256,
        comparisons=tuple(comparisons),
        notes=files.notes,
    )


def _compared(files: ScoredFiles, place: int, measure: BoundMeasure, margin: float) -> Compared:
    scores = files.scores[measure]
    return Compared(scores[place], scores[0], margin, sign_of(measure) < 0)


def _lost(files: ScoredFiles, place: int, measure: BoundMeasure) -> list[tuple[int, float]]:
    """The places of the topics that lost most, with what each lost."""
    scores = files.scores[measure]
    losses = sign_of(measure) * (scores[0] - scores[place])
    order = np.argsort(-losses, kind="stable")[:MOST_LOST]
    return [(int(topic), float(losses[topic])) for topic in order if losses[topic] > 0]


class _Documents:
    """The documents of the topics that lost most: grades and both rankings, read once where any lost."""

    def __init__(self, inputs: Inputs, files: ScoredFiles, places: set[int]) -> None:
        self._files = files
        topics = {files.topics[place] for place in places}
        self._grades: dict[str, dict[bytes, int]] = {}
        self._rankings: list[Rankings] = [{} for _ in files.runs]
        if topics:
            assert not isinstance(inputs.qrels, HeldQrels), "a gate reads files"
            self._grades = read_qrels(inputs.qrels, second=inputs.second, asked=inputs.asked).judgments
            self._rankings = [rankings_of(run, files.dialect, topics) for run in files.runs]

    def of(self, place: int, measure: BoundMeasure, topic: int, lost: float) -> LostTopic:
        """Loss of a run on a topic, with the documents that moved most."""
        name, scores = self._files.topics[topic], self._files.scores[measure]
        old, new = (rankings.get(name, []) for rankings in (self._rankings[0], self._rankings[place]))
        return LostTopic(
            topic=name,
            baseline=float(scores[0, topic]),
            run=float(scores[place, topic]),
            lost=lost,
            documents=tuple(moved(old, new, self._grades.get(name, {}))),
        )


def moved(old: Sequence[bytes], new: Sequence[bytes], grades: Mapping[bytes, int]) -> list[Moved]:
    """The judged documents whose rank changed most, by the change of DCG's discount 1 / log2(1 + rank).

    So a rank counts the more the nearer it is to the top; a document that a run does not have counts 0.

    >>> grades = {b"a": 1, b"b": 0, b"c": 2}
    >>> [(document.docno, document.old, document.new) for document in moved([b"a", b"b"], [b"b", b"x", b"a"], grades)]
    [('a', 1, 3), ('b', 2, 1)]
    """  # noqa: E501
    ranks = [{docno: rank for rank, docno in enumerate(run, start=1)} for run in (old, new)]
    changes = [
        (abs(_discount(before) - _discount(after)), docno, before, after)
        for docno in grades
        for before, after in [(ranks[0].get(docno), ranks[1].get(docno))]
        if before != after
    ]
    changes.sort(key=lambda change: (-change[0], change[1]))
    return [
        Moved(docno.decode("utf-8", "surrogateescape"), grades[docno], before, after)
        for _, docno, before, after in changes[:MOST_MOVED]
    ]


def _discount(rank: int | None) -> float:
    return 0.0 if rank is None else 1 / log2(1 + rank)
