"""What runs state of themselves, as columns of a board and as something to filter it by."""

import json
from collections.abc import Iterable
from dataclasses import dataclass

from leaderboard.memory import keep
from leaderboard.services.boards.rows import Row
from leaderboard.services.runs.facts import LONGEST_CHOICE, MOST_VALUES, Fact, facts, nameless
from leaderboard.trec.facts.fields import FIELDS

MOST_OFFERED = 60
"""Facts that are offered for choice: a header may hold any number of them."""
_NOTHING = ("", "{}", "null")


@dataclass(frozen=True, slots=True)
class FieldChoice:
    """A fact that some runs state; values are those to filter by, none where words do not tell runs apart."""

    key: str
    title: str
    values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class FactColumn:
    """A fact as a column: what each run states, by its id."""

    key: str
    title: str
    is_number: bool
    values: dict[int, Fact]


def of_row(row: Row) -> dict[str, Fact]:
    """Key -> fact that the run states; empty for whom its metadata is not shown."""
    return {} if row.details in _NOTHING else _read(row.details, row.masked)


def matches(row: Row, key: str, value: str) -> bool:
    """Whether the run states the fact, and this value of it where one is given."""
    fact = of_row(row).get(key)
    return fact is not None and (not value or fact.text.casefold() == value.casefold())


def choices_of(rows: Iterable[Row]) -> tuple[FieldChoice, ...]:
    """The facts that any of the runs states: those that people are asked for first, then by title."""
    stated = frozenset((row.details, row.masked) for row in rows if row.details not in _NOTHING)
    return _choices(stated) if stated else ()


def columns_of(rows: Iterable[Row], keys: Iterable[str]) -> tuple[FactColumn, ...]:
    """A column for each of the keys that any run states, in their order."""
    columns: dict[str, dict[int, Fact]] = {key: {} for key in keys}
    if not columns:
        return ()
    for row in rows:
        stated = of_row(row)
        for key in columns.keys() & stated.keys():
            columns[key][row.run_id] = stated[key]
    return tuple(_column(key, values) for key, values in columns.items() if values)


def _column(key: str, values: dict[int, Fact]) -> FactColumn:
    first = next(iter(values.values()))
    are_numbers = all(
        isinstance(fact.value, int | float) and not isinstance(fact.value, bool) for fact in values.values()
    )
    return FactColumn(key, first.title, are_numbers, values)


# What is kept in memory is under the very text that it was read from, so it is the same for every reader.


@keep
def _read(details: str, masked: bool) -> dict[str, Fact]:
    """The facts in a run's metadata as it is stored; of a masked run those that do not tell whose it is."""
    stated = facts(json.loads(details))
    return {fact.key: fact for fact in (nameless(stated) if masked else stated)}


@keep
def _choices(stated: frozenset[tuple[str, bool]]) -> tuple[FieldChoice, ...]:
    titles: dict[str, str] = {}
    values: dict[str, set[str]] = {}
    for details, masked in stated:
        for key, fact in _read(details, masked).items():
            titles.setdefault(key, fact.title)
            words = values.setdefault(key, set())
            if fact.href is None and not fact.unit and len(fact.text) <= LONGEST_CHOICE:
                words.add(fact.text)
    asked_for = {field.key: place for place, field in enumerate(FIELDS)}
    ordered = sorted(titles, key=lambda key: (asked_for.get(key, len(FIELDS)), titles[key].casefold(), key))
    few = {key: tuple(sorted(words)) for key, words in values.items() if len(words) <= MOST_VALUES}
    return tuple(FieldChoice(key, titles[key], few.get(key, ())) for key in ordered[:MOST_OFFERED])
