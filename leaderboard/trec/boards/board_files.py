"""Board files to values by measure, run and topic, for any order of their columns."""

import json
import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from leaderboard.errors import Invalid, Problem
from leaderboard.trec.read.lines import DEFAULT_LIMITS, Limits, Problems, numbered_lines, shown

ALL = "all"
"""The topic of a run's aggregate."""

ORDERS: dict[str, tuple[str, ...]] = {
    "ir_measures": ("run", "topic", "measure", "value"),
    "tot": ("run", "measure", "topic", "value"),
    "topic_first": ("topic", "run", "measure", "value"),
    "one_run": ("measure", "topic", "value"),
    "ranked": ("topic", "", "run", "", "value", "measure"),
    "jsonl": ("run", "topic", "measure", "value"),
}
"""Name -> what each column holds, "" where it says nothing; a file of `one_run` is named by its run."""

NAMES: dict[str, tuple[str, ...]] = {
    "run": ("run", "run_id", "runid", "run_tag"),
    "topic": ("topic", "topic_id", "query", "query_id", "qid", "request_id", "narrative_id"),
    "measure": ("measure", "metric"),
    "value": ("value", "score"),
}
"""Content of a column -> its names in headings and as keys of JSON."""

_HOLDS = {name: holds for holds, names in NAMES.items() for name in names}


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a board file: its number and its cells."""

    number: int
    cells: tuple[str, ...]


def holds(name: str) -> str:
    """The role of a heading or key: run, topic, measure or value; "" for any other.

    >>> holds("Query_ID"), holds("rank")
    ('topic', '')
    """
    return _HOLDS.get(name.strip().casefold(), "")


def heading(cells: Sequence[str]) -> tuple[str, ...]:
    """Columns named by a heading line, () if the line is not a heading.

    >>> heading(["run_id", "query_id", "measure", "value"])
    ('run', 'topic', 'measure', 'value')
    """
    columns = tuple(holds(cell) for cell in cells)
    return columns if all(columns) and len(set(columns)) == len(columns) else ()


def order_of(lines: Sequence[Line], topics: Collection[str], head: tuple[str, ...] = ()) -> str:
    """The name of the column order of the lines, all of one length.

    A column fits if more than half of its cells are known topics or `all`; where none does, if any is. One
    that fits is the topics' column; where several do or none does, the heading says. Raises Invalid where
    no order has as many columns, or where it is ambiguous: then it names the orders to choose from.

    >>> order_of([Line(1, ("oak", "NUGGETS", "t1", "0.9"))], {"t1"})
    'tot'
    """
    width = len(lines[0].cells)
    possible = [name for name, columns in ORDERS.items() if len(columns) == width and name != "jsonl"]
    if not possible:
        raise Invalid(
            f"A line of a board file has 3, 4 or 6 columns, or is a JSON object; line {lines[0].number} has "
            f"{width}."
        )
    hits = {
        name: sum(line.cells[ORDERS[name].index("topic")] in topics or _is_all(line, name) for line in lines)
        for name in possible
    }
    fitting = [name for name in possible if 2 * hits[name] > len(lines)]
    fitting = fitting or [name for name in possible if hits[name]] or possible
    if len(fitting) > 1 and head:
        fitting = [name for name in fitting if ORDERS[name] == head] or fitting
    if len(fitting) > 1:
        raise Invalid(_question(fitting, lines[0]))
    return fitting[0]


def _is_all(line: Line, order: str) -> bool:
    return line.cells[ORDERS[order].index("topic")] == ALL


def _question(fitting: Sequence[str], line: Line) -> str:
    read = "; ".join(f"{name} ({', '.join(_read(line, name))})" for name in fitting)
    what = f"The order of the columns is ambiguous: line {line.number} may be {read}."
    return f"{what} Name the order, or add a header to the file."


def _read(line: Line, order: str) -> list[str]:
    return [f"{what} {cell}" for what, cell in zip(ORDERS[order], line.cells, strict=True) if what]


Values = Mapping[str, Mapping[str, float]]
"""Run -> topic -> value."""
Cell = tuple[str, str, str]
"""Measure, run, topic."""
_TRUTH = {"true": 1.0, "false": 0.0}


@dataclass(frozen=True, slots=True)
class Known:
    """The runs and topics of the reference; nothing is known where both are empty.

    drop: unknown entries are ignored, as by autojudge-evaluate; else it is an error.
    """

    runs: Collection[str] = ()
    topics: Collection[str] = ()
    drop: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class BoardFile:
    """The values of a board file.

    order: the name of the order its columns were read in; values: measure -> run -> topic -> value;
    totals: measure -> run -> the value of its `all` line; unusable: measures with a value that is not a
    number; runs and topics in order of appearance; warnings: what looks wrong about it.
    """

    name: str
    order: str
    values: Mapping[str, Values]
    totals: Values
    unusable: tuple[str, ...]
    runs: tuple[str, ...]
    topics: tuple[str, ...]
    warnings: tuple[Problem, ...]

    @property
    def measures(self) -> tuple[str, ...]:
        """The measures that can be used, in order of appearance."""
        return tuple(dict.fromkeys((*self.values, *self.totals)))


def read_board(
    path: Path, reference: Known | None = None, order: str = "", limits: Limits = DEFAULT_LIMITS
) -> BoardFile:
    """A board file, or a folder of them; columns are in the order named, or in the one that is found.

    Blank lines, `#` comments and a heading are ignored. `True` and `False` are 1 and 0; any other value
    that is not a number makes its measure unusable, which is a warning. Raises Invalid, with up to 25
    problems, for an ambiguous order, a run or topic that is not known, and a cell with two values.
    """
    reader = _Reader(reference or Known())
    files = sorted(file for file in path.iterdir() if file.is_file()) if path.is_dir() else [path]
    for file in files:
        reader.read(file, order, limits)
    return reader.board(path)


@dataclass(slots=True)
class _Reader:
    """Collects the cells of one or more files."""

    known: Known
    problems: Problems = field(default_factory=lambda: Problems("board file"))
    cells: dict[Cell, float] = field(default_factory=dict)
    place: dict[Cell, int] = field(default_factory=dict)
    unknown: dict[tuple[str, str], list[int]] = field(default_factory=dict)
    texts: dict[str, Problem] = field(default_factory=dict)
    order: str = ""
    count: int = 0

    def read(self, path: Path, order: str, limits: Limits) -> None:
        """Read a file."""
        cells = cells_of(path, limits)
        if not cells.lines:
            return
        self.order = (
            "jsonl" if cells.is_json else order or order_of(cells.lines, self.known.topics, cells.head)
        )
        columns, run = ORDERS[self.order], _run_of(path, self.known.runs)
        for line in cells.lines:
            self.add(line, columns, run)

    def add(self, line: Line, columns: tuple[str, ...], run: str) -> None:
        """Add a line with these columns; run is that of a file whose lines do not name theirs."""
        if len(line.cells) != len(columns):
            rule = f"Lines of this file have {len(columns)} columns; this one has {len(line.cells)}."
            self.problems.add(Problem(rule, "Use the same columns on all lines.", line.number))
            return
        cell = dict(zip(columns, line.cells, strict=True))
        key = cell["measure"], cell.get("run", run), cell["topic"]
        self.count += 1
        if self._is_known(line.number, key):
            self._keep(line.number, key, cell["value"])

    def board(self, path: Path) -> BoardFile:
        """The board read; raises Invalid if there were problems, or no line at all."""
        if not self.count and not self.problems.found:
            remedy = "Write one line each: run topic measure value."
            self.problems.add(Problem("The file has no values.", remedy))
        self._add_unknown()
        self.problems.stop()
        values: dict[str, dict[str, dict[str, float]]] = {}
        totals: dict[str, dict[str, float]] = {}
        for (measure, run, topic), value in self.cells.items():
            if measure in self.texts:
                continue
            if topic == ALL:
                totals.setdefault(measure, {})[run] = value
            else:
                values.setdefault(measure, {}).setdefault(run, {})[topic] = value
        runs = dict.fromkeys(run for _, run, _ in self.cells)
        topics = dict.fromkeys(topic for _, _, topic in self.cells if topic != ALL)
        return BoardFile(
            name=_bare(path),
            order=self.order,
            values=values,
            totals=totals,
            unusable=tuple(self.texts),
            runs=tuple(runs),
            topics=tuple(topics),
            warnings=(*self.texts.values(), *warnings_of(self.cells.keys(), self.count)),
        )

    def _is_known(self, number: int, key: Cell) -> bool:
        _, run, topic = key
        for what, name, names in (("run", run, self.known.runs), ("topic", topic, self.known.topics)):
            if names and name not in names and (what, name) != ("topic", ALL):
                self.unknown.setdefault((what, name), []).append(number)
                return False
        return True

    def _keep(self, number: int, key: Cell, text: str) -> None:
        value = _number(text)
        if value is None:
            rule = f"A value of {shown(key[0])} is neither a number nor True or False, so it cannot be used."
            self.texts.setdefault(key[0], Problem(rule, "", number, "value", shown(text)))
            return
        before = self.cells.setdefault(key, value)
        line = self.place.setdefault(key, number)
        if before != value:
            measure, run, topic = map(shown, key)
            rule = f"{measure} of run {run} on topic {topic} is {before:g} on line {line} and {value:g} here."
            self.problems.add(Problem(rule, "Keep one of the two lines.", number))

    def _add_unknown(self) -> None:
        if self.known.drop:
            return
        for (what, name), lines in self.unknown.items():
            rule = f"The reference has no such {what}."
            remedy = f"Remove lines of {what}s that the reference does not have."
            self.problems.add(Problem(rule, remedy, lines[0], what, shown(name), count=len(lines)))


def _number(text: str) -> float | None:
    if (truth := _TRUTH.get(text.casefold())) is not None:
        return truth
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def _run_of(path: Path, runs: Collection[str]) -> str:
    """The run a file is named by: the longest beginning of its name that is one, else all but its form."""
    parts = path.name.split(".")
    names = [".".join(parts[:end]) for end in range(len(parts), 0, -1)]
    return next((name for name in names if name in runs), _bare(path))


def _bare(path: Path) -> str:
    """The name of a file without that of its form, and of a folder unchanged."""
    return path.name if path.is_dir() else Path(path.name.removesuffix(".gz")).stem


LEAST_LINES, LEAST_RUNS = 5, 2


def warnings_of(cells: Collection[tuple[str, str, str]], lines: int) -> tuple[Problem, ...]:
    """The warnings on a file of this number of lines whose cells are (measure, run, topic)."""
    return tuple(_found(cells, lines))


def _found(cells: Collection[tuple[str, str, str]], lines: int) -> Iterator[Problem]:
    if lines < LEAST_LINES:
        yield Problem(f"The file has fewer than {LEAST_LINES} lines: {lines}.")
    measures_of: dict[str, set[str]] = {}
    for measure, run, _ in cells:
        measures_of.setdefault(run, set()).add(measure)
    if len(measures_of) < LEAST_RUNS:
        yield Problem(f"The file has fewer than {LEAST_RUNS} runs.")
    every = set().union(*measures_of.values())
    if lacking := [run for run, measures in measures_of.items() if measures != every]:
        rule = "The run lacks a measure that others have."
        yield Problem(rule, "", None, "run", shown(lacking[0]), len(lacking))
    bare = [
        f"{run} {measure}"
        for run, measures in measures_of.items()
        for measure in sorted(measures)
        if (measure, run, ALL) not in cells
    ]
    if bare:
        rule = f"There is no `{ALL}` line for them."
        yield Problem(rule, "", None, "run and measure", shown(bare[0]), len(bare))


_WIDTHS = {len(columns) for columns in ORDERS.values()}
_REMEDY = 'Write {"run_id": ..., "topic_id": ..., "measure": ..., "value": ...}.'


@dataclass(frozen=True, slots=True)
class Cells:
    """The lines of a file but blank ones, comments and the heading.

    head: what the columns hold by the heading, () without one; cells of JSON lines are in the order `jsonl`.
    """

    lines: list[Line]
    head: tuple[str, ...]
    is_json: bool


def cells_of(path: Path, limits: Limits) -> Cells:
    """The cells of a board file; raises Invalid where a line of JSON is not an object with all four keys."""
    head: tuple[str, ...] = ()
    is_json, lines = False, list[Line]()
    for number, text in _filled(path, limits):
        if not lines:
            is_json = text.startswith("{")
            if not head and (head := heading(_parted(text))):
                continue
        lines.append(Line(number, _of_json(number, text) if is_json else _parted(text)))
    return Cells(lines, head, is_json)


def _filled(path: Path, limits: Limits) -> Iterator[tuple[int, str]]:
    for number, line in numbered_lines(path, limits):
        if (text := line.strip()) and not text.startswith("#"):
            yield number, text


def _parted(text: str) -> tuple[str, ...]:
    """The columns: between tabs where that makes as many as some order has, else between blanks."""
    by_tabs = [cell.strip() for cell in text.split("\t")]
    return tuple(by_tabs if len(by_tabs) in _WIDTHS and all(by_tabs) else text.split())


def _of_json(number: int, text: str) -> tuple[str, ...]:
    try:
        loaded = json.loads(text)
    except (ValueError, RecursionError):
        loaded = None
    if not isinstance(loaded, dict):
        raise _refused(Problem("The line is not a JSON object.", _REMEDY, number, "", shown(text)))
    by_column = {holds(str(key)): value for key, value in loaded.items()}
    missing = [column for column in ORDERS["jsonl"] if column not in by_column]
    if missing:
        raise _refused(Problem(f"The object has no {missing[0]}.", _REMEDY, number, "", shown(text)))
    return tuple(_plain(by_column[column]) for column in ORDERS["jsonl"])


def _plain(value: Any) -> str:
    return value.strip() if isinstance(value, str) else json.dumps(value)


def _refused(problem: Problem) -> Invalid:
    return Invalid(f"The board file cannot be read: {problem}", [problem])
