"""Runs and judgments in memory, which are scored as files are."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from io import BufferedReader, BytesIO
from pathlib import Path
from typing import Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from leaderboard.measures.binding import BoundMeasure
from leaderboard.measures.judged import FloatArray, IntArray, Judged
from leaderboard.measures.trec_families import FAMILIES
from leaderboard.measures.trec_lines import Line
from leaderboard.trec.qrels.align import CompiledJudgments
from leaderboard.trec.read.kernel import Block, Consumer

_OF_ONE_DOCUMENT = frozenset({"relstring", "utility", "rbp_resid"})
"""Of these families, version 10 puts a missed topic right under their plain names only."""


@dataclass(frozen=True, eq=False)
class Missed:
    """The values that trec_eval prints for missed topics where they differ from an empty ranking's.

    topics: (topics,) those that are missed; dialect: of trec_eval; of_one_document: for the measures of some
    families, the scores of rankings of one unjudged document; num_rel: the number printed for all topics.
    """

    topics: NDArray[np.bool_]
    dialect: int
    of_one_document: dict[BoundMeasure, FloatArray]
    num_rel: int

    @property
    def unprinted(self) -> NDArray[np.bool_]:
        """(topics,): the topics without a line of their own."""
        return self.topics if self.dialect == 9 else np.zeros_like(self.topics)

    def scores_of(self, line: Line, scores: FloatArray) -> FloatArray:
        """The scores that a line prints, given those of empty rankings, (topics,)."""
        measure = line.measure
        if measure is None or line.place[0] >= len(FAMILIES):
            return scores
        if self.dialect == 9:
            return scores if measure.measure.text else np.where(self.topics, 0.0, scores)
        return self.of_one_document.get(measure, scores) if line.has_parameters else scores


def missed(
    judged: Judged,
    measures: Iterable[BoundMeasure],
    *,
    judged_only: bool = False,
    places: IntArray | None = None,
) -> Missed:
    """trec_eval's values for the topics that a run misses.

    places: the topics that scores are of, None for all. Version 9 prints no line for missed topics and adds 0
    to every sum; version 10 scores a ranking of one unjudged document instead and puts that right under some
    names. At any level, both count documents with a grade above 0 as relevant over all topics.
    Source: trec_eval.c and m_num_rel.c of both.
    """
    chosen = np.arange(len(judged.judgments)) if places is None else places
    is_missed = judged.retrieved == 0
    others: dict[BoundMeasure, FloatArray] = {}
    if judged.dialect != 9 and is_missed[chosen].any():
        stand_in = replace(judged, retrieved=np.where(is_missed, 1, judged.retrieved))
        seen = stand_in.condensed if judged_only else stand_in
        for measure in measures:
            if any(name.text in _OF_ONE_DOCUMENT for name in measure.measure.trec_names):
                others[measure] = measure.compute(seen)[chosen]
    above_0 = judged.judgments.relevant(1)[chosen]
    return Missed(is_missed[chosen], judged.dialect, others, int(above_0.sum()))


C = TypeVar("C", bound=Consumer)


@dataclass(frozen=True, eq=False, slots=True)
class HeldRun:
    """A run: its name, and what gives its blocks of whole topics, any number of times."""

    name: str
    blocks: Callable[[], Iterable[Block]]

    def given_to(self, consumer: C) -> C:
        """The consumer, which took every block."""
        for block in self.blocks():
            consumer.add(block)
        return consumer

    def __str__(self) -> str:
        """The name."""
        return self.name


@dataclass(frozen=True, eq=False, slots=True)
class HeldQrels:
    """Judgments ready to be aligned with runs, and what messages call them."""

    compiled: CompiledJudgments
    name: str = "qrels"

    def __str__(self) -> str:
        """The name."""
        return self.name


@dataclass(frozen=True, eq=False, slots=True)
class HeldFile:
    """The bytes of a file, which may be compressed, under its name."""

    content: bytes
    name: str

    @property
    def stem(self) -> str:
        """Name of a run without a tag."""
        return self.name

    def open(self, mode: Literal["rb"]) -> BufferedReader:
        """The file from its beginning."""
        return BufferedReader(BytesIO(self.content))

    def __str__(self) -> str:
        """The name."""
        return self.name


@dataclass(frozen=True, eq=False, slots=True)
class NamedFile:
    """The file of a run that is called something else than its tag says."""

    file: Path | HeldFile
    name: str

    @property
    def stem(self) -> str:
        """Name of the run."""
        return self.name

    def open(self, mode: Literal["rb"]) -> BufferedReader:
        """The file from its beginning."""
        return self.file.open(mode)

    def __str__(self) -> str:
        """The file."""
        return str(self.file)
