"""Runs and judgments as people have them in Python: paths, files, dictionaries, tables, named tuples."""

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import IO, Any, Protocol, TypeAlias

import numpy as np

from leaderboard.errors import Invalid, LeaderboardError, Problem
from leaderboard.interface import columns as tables
from leaderboard.interface.blocks import blocks_of, gathered_columns, invalid, once
from leaderboard.trec.qrels.align import CompiledJudgments
from leaderboard.trec.qrels.arrays import in_byte_order, read_judgments
from leaderboard.trec.read import kernel
from leaderboard.trec.read.forms import Asked
from leaderboard.trec.read.kernel import Block
from leaderboard.trec.read.lines import DEFAULT_LIMITS, text_of
from leaderboard.trec.read.scanning import scan_run
from leaderboard.trec.read.scattered import Scattered
from leaderboard.trec.scores.in_memory import HeldFile, HeldQrels, HeldRun, NamedFile
from leaderboard.trec.scores.scoring import Judging, Ranked


class DataFrame(Protocol):
    """A data frame of pandas or polars, or any object with columns by name."""

    @property
    def columns(self) -> Any:
        """The names of the columns."""

    def __getitem__(self, name: Any, /) -> Any:
        """A column."""


File: TypeAlias = str | os.PathLike[str] | IO[bytes] | IO[str]
Columns: TypeAlias = Mapping[str, Any] | tuple[Any, Any, Any] | np.ndarray[Any, Any]
"""Arrays by the names of columns, in the order topic, docno, number, or as one structured array."""


@dataclass(frozen=True, eq=False, slots=True)
class Run:
    """A run that was read once and can be scored many times."""

    name: str
    blocks: tuple[Block, ...]

    @property
    def topics(self) -> tuple[str, ...]:
        """The topics, in the order of the run."""
        return tuple(text_of(topic) for block in self.blocks for topic in block.topics)

    def __len__(self) -> int:
        """Number of documents for all topics."""
        return sum(len(block.columns.at) for block in self.blocks)

    def __repr__(self) -> str:
        """The name and the size."""
        return f"<Run {self.name!r}: {len(self.topics)} topics, {len(self)} documents>"

    def to_dict(self) -> dict[str, dict[str, float]]:
        """Topic -> docno -> score, in the order of the run."""
        return dict(_by_topic(self.blocks))


@dataclass(frozen=True, eq=False, slots=True)
class Qrels:
    """Judgments that were read once and can be used many times."""

    compiled: CompiledJudgments
    name: str = "qrels"

    @property
    def topics(self) -> tuple[str, ...]:
        """The judged topics, in the order of their bytes."""
        return self.compiled.judgments.topics

    def __len__(self) -> int:
        """Number of judged documents for all topics."""
        return len(self.compiled.judgments.grades)

    def __repr__(self) -> str:
        """The name and the size."""
        return f"<Qrels {self.name!r}: {len(self.topics)} topics, {len(self)} judgments>"

    def to_dict(self) -> dict[str, dict[str, int]]:
        """Topic -> docno -> grade, of several subtopics the highest."""
        documents, judgments = self.compiled.documents, self.compiled.judgments
        ends = (documents.at + documents.length).tolist()
        docnos = [
            text_of(documents.letters[at:end]) for at, end in zip(documents.at.tolist(), ends, strict=True)
        ]
        grades, starts = judgments.grades.tolist(), judgments.starts.tolist()
        return {
            topic: dict(zip(docnos[start:end], grades[start:end], strict=True))
            for topic, start, end in zip(judgments.topics, starts[:-1], starts[1:], strict=True)
        }


RunInput: TypeAlias = File | Run | Mapping[str, Mapping[str, float]] | DataFrame | Columns | Iterable[Any]
QrelsInput: TypeAlias = File | Qrels | Mapping[str, Mapping[str, int]] | DataFrame | Columns | Iterable[Any]


def read_run(run: RunInput, *, name: str = "", dialect: int = 10) -> Run:
    """Read a run once, to score it many times.

    run: a path or an open file in any form that `leaderboard evaluate` reads, also compressed, or whatever
    else `evaluate` takes. name: what it is called, by default its tag or its file's name. Raises Invalid with
    line, value, rule and remedy.
    """
    given = run_from(run, name)
    if isinstance(given, HeldRun):
        return Run(given.name, tuple(given.blocks()))
    try:
        scanned = scan_run(given, _Keeper, strict=False, limits=DEFAULT_LIMITS, dialect=dialect)
    except LeaderboardError as error:
        raise _of_file(given, error) from error
    return Run(name or scanned.tag or given.stem, tuple(scanned.consumer.blocks))


def read_qrels(qrels: QrelsInput, *, second_column: str = "", dialect: int = 10) -> Qrels:
    """Read judgments once, to use them many times.

    qrels: a path or an open file in any form that `leaderboard evaluate` reads, also compressed, or whatever
    else `evaluate` takes. second_column: `subtopics` or `rounds`, where the file does not show which.
    Raises Invalid with line, value, rule and remedy.
    """
    given = qrels_from(qrels)
    if isinstance(given, HeldQrels):
        return Qrels(given.compiled, given.name)
    try:
        return Qrels(read_judgments(given, second=second_column, asked=Asked(dialect)), str(given))
    except LeaderboardError as error:
        raise _of_file(given, error) from error


def run_from(given: RunInput, name: str = "") -> Ranked:
    """A run in any form, ready to be scored."""
    if isinstance(given, Run):
        return HeldRun(name or given.name, lambda: given.blocks)
    if (file := _file(given)) is not None:
        return NamedFile(file, name) if name else file
    if (table := _table(given, tables.SCORE, "run")) is None:
        assert isinstance(given, Mapping), "everything else is a table"
        return HeldRun(name or "run", partial(blocks_of, given))
    blocks = list(_blocks_of_table(table))
    return HeldRun(name or "run", lambda: blocks)


def qrels_from(given: QrelsInput) -> Judging:
    """Judgments in any form, ready for scoring runs."""
    if isinstance(given, Qrels):
        return HeldQrels(given.compiled, given.name)
    if (file := _file(given)) is not None:
        return file
    if (table := _table(given, tables.GRADE, "qrels table")) is not None:
        return HeldQrels(_judgments_of_table(table))
    assert isinstance(given, Mapping), "everything else is a table"
    scattered = Scattered()
    for block in blocks_of({topic: documents for topic, documents in given.items() if documents}):
        _require_grades(block)
        scattered.add(block.body, block.columns, block.topics, block.lines)
    return HeldQrels(_compiled(scattered))


def _file(given: object) -> Path | HeldFile | None:
    if isinstance(given, str | os.PathLike):
        return Path(given)
    if not hasattr(given, "read"):
        return None
    content = given.read()
    name = getattr(given, "name", None)
    name = Path(name).name if isinstance(name, str) else "file"
    return HeldFile(content.encode("utf-8", "surrogateescape") if isinstance(content, str) else content, name)


def _of_file(origin: Path | HeldFile | NamedFile, error: LeaderboardError) -> Invalid:
    """The same error, which says which file it was."""
    return Invalid(f"{origin}: {error.message}", error.problems if isinstance(error, Invalid) else ())


def _table(given: object, number: tuple[str, ...], what: str) -> tables.Table | None:
    """The columns of a table; None for a dictionary of dictionaries."""
    if isinstance(given, tuple) and len(given) == 3 and not hasattr(given, "_fields"):
        return dict(zip((tables.TOPIC[0], tables.DOCNO[0], number[0]), given, strict=True))
    table = tables.table_of(given)
    if table is not None or isinstance(given, Mapping):
        return table
    if not isinstance(given, Iterable):
        rule = f"A {what} cannot be of type {type(given).__name__}."
        raise invalid(rule, "Give a path, a file, a dictionary, a table or named tuples.", "", given)
    return tables.table_of_rows(given, what)


def _entries(
    table: tables.Table, names: tuple[str, ...], what: str, number: str
) -> tuple[list[bytes], list[bytes], np.ndarray[Any, np.dtype[np.float64]]]:
    topics = tables.ids(tables.column(table, tables.TOPIC, what), "topic")
    docnos = tables.ids(tables.column(table, tables.DOCNO, what), "docno")
    values = tables.numbers(tables.column(table, names, what), number, whole=number == "grade")
    tables.require_equal_lengths(topics, docnos, values)
    return topics, docnos, values


def _blocks_of_table(table: tables.Table) -> Iterator[Block]:
    if table:
        scattered = gathered_columns(*_entries(table, tables.SCORE, "run", "score"))
        for whole in scattered.together():
            yield once(Block(*whole))


def _judgments_of_table(table: tables.Table) -> CompiledJudgments:
    if not table:
        return _compiled(Scattered())
    topics, docnos, grades = _entries(table, tables.GRADE, "qrels table", "grade")
    if tables.has(table, tables.ITERATION):
        second = tables.ids(tables.column(table, tables.ITERATION, "qrels table"), "subtopic")
        if len(set(second)) > 1:
            return _with_subtopics(topics, second, docnos, grades.astype(np.int64).tolist())
    return _compiled(gathered_columns(topics, docnos, grades))


def _with_subtopics(
    topics: list[bytes], second: list[bytes], docnos: list[bytes], grades: list[int]
) -> CompiledJudgments:
    """Judgments whose second column may name subtopics: it does where a document of a topic has several."""
    from leaderboard.trec.qrels.compiling import compile_qrels
    from leaderboard.trec.qrels.qrels import Qrels as Read

    parts: dict[str, dict[str, dict[bytes, int]]] = {}
    highest: dict[str, dict[bytes, int]] = {}
    is_several = False
    for topic, part, docno, grade in zip(topics, second, docnos, grades, strict=True):
        name = text_of(topic)
        given = parts.setdefault(name, {}).setdefault(text_of(part), {})
        if docno in given:
            rule = f"Topic {name} has this document twice under {text_of(part)}."
            raise invalid(rule, "Keep one of the two.", "docno", text_of(docno))
        given[docno] = grade
        best = highest.setdefault(name, {})
        is_several |= docno in best
        best[docno] = max(grade, best.get(docno, grade))
    if is_several:
        return compile_qrels(Read(highest, "subtopic", subtopics=parts))
    return compile_qrels(Read(highest, "graded"))


def _require_grades(block: Block) -> None:
    scores = block.columns.score
    fits = (scores == np.rint(scores)) & (abs(scores) < tables.MOST_GRADE)
    if not fits.all():
        entry = int(np.argmin(fits))
        group = int(np.searchsorted(block.columns.group_start, entry, side="right")) - 1
        place = f"Topic {text_of(block.topics[group])}, document {text_of(block.docno(entry))}"
        rule = f"{place}: a grade is a whole number of at most 9 digits."
        raise invalid(rule, "Give topic -> docno -> whole number.", "grade", float(scores[entry]))


def _compiled(scattered: Scattered) -> CompiledJudgments:
    wholes = list(scattered.together())
    if not wholes:
        rule, remedy = "There are no judgments.", "Give topic -> docno -> grade, or rows of them."
        raise Invalid(f"{rule} {remedy}", [Problem(rule, remedy)])
    for whole in wholes:
        once(Block(*whole))
    return in_byte_order(iter(wholes))


def _by_topic(blocks: Iterable[Block]) -> Iterator[tuple[str, dict[str, float]]]:
    for block in blocks:
        docnos = [text_of(block.docno(entry)) for entry in range(len(block.columns.at))]
        scores, starts = block.columns.score.tolist(), block.columns.group_start.tolist()
        for topic, start, end in zip(block.topics, starts[:-1], starts[1:], strict=True):
            yield text_of(topic), dict(zip(docnos[start:end], scores[start:end], strict=True))


class _Keeper:
    """Keeps copies of a run's blocks."""

    def __init__(self) -> None:
        self.blocks: list[Block] = []

    def add(self, block: Block) -> None:
        """Take a block."""
        given = block.columns
        letters = kernel.joined(block.body, given.at, given.length, np.arange(len(given.at), dtype=np.int32))
        copied = type(given)(**{name: part.copy() for name, part in vars(given).items()})
        copied = replace(copied, at=np.cumsum(given.length, dtype=np.int32) - given.length)
        self.blocks.append(Block(letters + bytes(kernel.SLACK), copied, block.topics, block.lines))
