"""Tables in memory as columns: data frames, arrays by name, structured arrays, named tuples."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from leaderboard.errors import Invalid, Problem
from leaderboard.interface.blocks import id_of, invalid, is_finite
from leaderboard.measures.judged import FloatArray
from leaderboard.trec.read.lines import shown

TOPIC = ("query_id", "qid", "topic", "topic_id", "q_id")
DOCNO = ("doc_id", "docno", "docid", "did", "pid")
SCORE = ("score", "sim", "similarity")
GRADE = ("relevance", "label", "rel", "grade")
ITERATION = ("iteration", "subtopic")
"""Column names that ir_measures, PyTerrier and others use; the first one present counts."""

Table = Mapping[str, Any]


def table_of(given: object) -> Table | None:
    """The columns of a data frame, a structured array or a mapping of columns by name; None for all else."""
    frame: Any = given
    if hasattr(frame, "collect_schema") and hasattr(frame, "collect"):
        # A lazy frame of polars has no values before this.
        frame = frame.collect()
    if isinstance(frame, np.ndarray):
        return None if frame.dtype.names is None else {name: frame[name] for name in frame.dtype.names}
    if isinstance(frame, Mapping):
        # The keys of a run or of qrels are topics, and what they lead to are mappings.
        is_table = has(frame, DOCNO) and not any(isinstance(each, Mapping) for each in frame.values())
        return frame if is_table else None
    # pyarrow's tables have arrays under the name that others have for the names.
    names = getattr(frame, "column_names", getattr(frame, "columns", None))
    return None if names is None else {str(name): frame[name] for name in names}


def table_of_rows(rows: Iterable[Any], what: str) -> Table:
    """The columns of named tuples; raises Invalid for invalid rows."""
    listed = list(rows)
    names = getattr(listed[0], "_fields", None) if listed else ()
    if names is None:
        rule = f"The rows of a {what} are named tuples, as ScoredDoc and Qrel of ir_measures."
        raise invalid(rule, "Give such rows, a path, a dictionary or a data frame.", "row", listed[0])
    return dict(zip(names, zip(*listed, strict=True), strict=True))


def has(table: Table, names: Sequence[str]) -> bool:
    """Whether a column has one of the names."""
    return any(name in table for name in names)


def column(table: Table, names: Sequence[str], what: str) -> Any:
    """The column that has one of the names; raises Invalid if absent."""
    for name in names:
        if name in table:
            return table[name]
    rule = f"A {what} needs a column {names[0]}; this one has {', '.join(map(shown, table)) or 'none'}."
    remedy = f"Call it {', '.join(names[:-1])} or {names[-1]}."
    raise Invalid(f"{rule} {remedy}", [Problem(rule, remedy)])


def values(given: Any) -> list[Any]:
    """A column as a list of Python's own values."""
    for name in ("to_list", "tolist", "to_pylist"):
        if hasattr(given, name):
            listed: list[Any] = getattr(given, name)()
            return listed
    return list(given)


def ids(given: Any, what: str) -> list[bytes]:
    """A column of ids as bytes; raises Invalid for a value that is not an id."""
    return [id_of(value, what) for value in values(given)]


def numbers(given: Any, what: str, *, whole: bool = False) -> FloatArray:
    """A column of numbers; raises Invalid for the first that is not finite or, if requested, not whole."""
    array = np.asarray(given)
    if array.dtype.kind == "O":
        array = np.array([float(value) if is_finite(value) else np.nan for value in array.tolist()])
    elif array.dtype.kind not in "iufb":
        array = np.full(len(array), np.nan)
    floats: FloatArray = array.astype(np.float64)
    fits = np.isfinite(floats)
    if whole:
        fits &= (floats == np.rint(floats)) & (abs(floats) < MOST_GRADE)
    if not fits.all():
        row = int(np.argmin(fits))
        kind = "a whole number of at most 9 digits" if whole else "a finite number"
        raise invalid(f"Row {row + 1}: a {what} is {kind}.", "Check the column.", what, values(given)[row])
    return floats


MOST_GRADE = 10**9


def require_equal_lengths(*columns: Sequence[Any] | FloatArray) -> None:
    """Raise Invalid where columns differ in length."""
    if len(set(map(len, columns))) > 1:
        rule = f"The columns have {', '.join(str(len(each)) for each in columns)} values."
        raise Invalid(f"{rule} Give as many of each.", [Problem(rule, "Give as many of each.")])
