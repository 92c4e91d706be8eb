"""The column order of a board file, recognised by the column of topics.

Of a four-column file any of the first three may: tools write all three orders, and nothing else tells them
apart. A heading decides where topics do not.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from leaderboard.errors import Invalid

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
    """The name of the order that the lines, all as long, stand in.

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
    return f"{what} Name the order, or give the file a heading."


def _read(line: Line, order: str) -> list[str]:
    return [f"{what} {cell}" for what, cell in zip(ORDERS[order], line.cells, strict=True) if what]
