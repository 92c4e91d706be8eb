"""How much damage `leaderboard db check` finds: single bits turned over in a copy of a site.

    python -m benchmarks.damage DATA [--flips 1000] [--seed 1]

DATA is the folder of a site on SQLite; nothing in it changes. Each flip takes a kind of stored bytes, one of
its rows and one of its bits at random, asks the check of that kind about that place, and puts the bit back;
then the same with a plain number of editions, evaluations, their means and comparisons.
Exit code 1 where one is not found.
"""

import random
import sqlite3
import struct
import sys
import tempfile
from argparse import ArgumentParser
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from sqlalchemy import LargeBinary, RowMapping, Table, select, text, type_coerce, update

from leaderboard.db.engine import Database
from leaderboard.db.tables import metadata
from leaderboard.settings import DATABASE_FILE
from leaderboard.site.ops.checks import all_checks

OF_EVALUATIONS = ("revision_id", "run_id", "dialect")


class Kind(NamedTuple):
    """A column of bytes, the check that looks at it, and the columns that name the place it looks at."""

    table: str
    column: str
    check: str
    place: tuple[str, ...]


KINDS = (
    Kind("upload_chunk", "body", "submitted files", ("upload_id",)),
    Kind("run", "sketch", "rankings", ("id",)),
    Kind("ranking_index", "body", "rankings", ("run_id",)),
    Kind("ranking_block", "body", "rankings", ("run_id",)),
    Kind("qrels_revision", "packed", "judgments", ("id",)),
    Kind("qrels_revision", "distractors", "judgments", ("id",)),
    Kind("qrels_revision", "left_out", "judgments", ("id",)),
    Kind("alignment", "body", "scores and hits", OF_EVALUATIONS),
    Kind("evaluation", "scores", "scores and hits", OF_EVALUATIONS),
    Kind("evaluation", "parts", "scores and hits", OF_EVALUATIONS),
    Kind("snapshot", "body", "snapshots", ("id",)),
    Kind("statistic", "result", "comparisons", ("id",)),
    Kind("document_block", "body", "documents", ("id",)),
    Kind("collection", "known_docnos", "known docnos", ("id",)),
    Kind("pool_topic", "body", "pools", ("pool_id", "topic_id")),
    Kind("answer", "body", "answers", ("run_id", "topic_id")),
    Kind("judge_board", "body", "boards of judges", ("run_id",)),
    Kind("click_log", "body", "query logs", ("id",)),
    Kind("task_picture", "body", "pictures", ("id",)),
)
SECRETS = {
    *(("task", "click_key"), ("labelling_round", "secret"), ("idempotency_key", "body")),
    *(("signing_key", "public"), ("signing_key", "private")),
}
"""Columns of bytes without a checksum: random bits, keys (which fail if one bit is wrong), and answers of
the API, which are kept for a day only."""


PLAIN = {
    "edition": ("editions", ("task_id", "number", "revision_id", "dialect")),
    "evaluation": ("scores and hits", ("run_id", "revision_id", "measure_version", "dialect")),
    "evaluation_mean": ("scores and hits", ("evaluation_id", "topic_set_id", "mean", "topics")),
    "statistic": ("comparisons", ("edition_id", "progress")),
}
"""Table -> the check that looks at it, and its columns of plain numbers."""


class Number(NamedTuple):
    """A plain number of which one bit is turned over."""

    table: str
    column: str
    row: int
    was: float
    is_now: float


@contextmanager
def turned_number(database: Database, chance: random.Random) -> Iterator[Number]:
    """One bit of a plain number in SQLite, at random, turned over until the end.

    Changes that the database itself refuses, such as two rows of one key, are skipped.
    """
    while (place := _one_number(database, chance)) is None or not _put(database, place, place.is_now):
        pass
    try:
        yield place
    finally:
        assert _put(database, place, place.was)


def _one_number(database: Database, chance: random.Random) -> Number | None:
    table = chance.choice(sorted(PLAIN))
    column = chance.choice(PLAIN[table][1])
    with database.read() as session:
        rows = session.execute(text(f"SELECT rowid, {column} FROM {table} WHERE {column} IS NOT NULL")).all()
    if not rows:
        return None
    row, was = chance.choice(rows)
    bit = chance.randrange(63)
    if isinstance(was, int):
        return Number(table, column, row, was, was ^ 1 << bit)
    return Number(table, column, row, was, *struct.unpack("<d", turned(struct.pack("<d", was), bit)))


def _put(database: Database, place: Number, value: float) -> bool:
    """Write a number as a disk would, past references; whether the database takes it."""
    with closing(sqlite3.connect(database.engine.url.database or "")) as connection:
        try:
            connection.execute(
                f"UPDATE {place.table} SET {place.column} = ? WHERE rowid = ?", (value, place.row)
            )
            connection.commit()
        except sqlite3.IntegrityError:
            return False
    return True


def is_number_found(database: Database, place: Number) -> bool:
    """Whether the checks that belong to a number find anything now."""
    names = PLAIN[place.table][0], "references"
    asked = [check for check in all_checks() if check.name in names]
    return any(check.damage(database, one) for check in asked for one in check.places(database))


def turned(body: bytes, bit: int) -> bytes:
    """The bytes with one bit turned over."""
    changed = bytearray(body)
    changed[bit // 8] ^= 1 << bit % 8
    return bytes(changed)


@contextmanager
def damaged(database: Database, table: Table, column: str, row: RowMapping, body: bytes) -> Iterator[None]:
    """Another body in a row, past the type of its column, until it is put back."""
    here = [key == row[key.name] for key in table.primary_key]

    def put(stored: bytes) -> None:
        value = type_coerce(stored, LargeBinary)
        with database.write() as session:
            session.execute(update(table).where(*here).values({column: value}))

    put(body)
    try:
        yield
    finally:
        put(row["stored_bytes"])


def rows_of(database: Database, kind: Kind) -> list[RowMapping]:
    """The rows of a kind that have bytes, with their keys, places and bytes."""
    table = metadata.tables[kind.table]
    body = type_coerce(table.c[kind.column], LargeBinary).label("stored_bytes")
    names = dict.fromkeys([key.name for key in table.primary_key] + list(kind.place))
    with database.read() as session:
        query = select(*(table.c[name] for name in names), body).where(body.is_not(None))
        return list(session.execute(query).mappings())


def is_found(database: Database, kind: Kind, row: RowMapping, bit: int) -> bool:
    """Whether the check of the kind says something about its place while a bit is turned over."""
    check = next(check for check in all_checks() if check.name == kind.check)
    parts: tuple[Any, ...] = tuple(row[name] for name in kind.place)
    table, changed = metadata.tables[kind.table], turned(row["stored_bytes"], bit)
    with damaged(database, table, kind.column, row, changed):
        places = check.places(database)
        place = parts if len(parts) > 1 else parts[0]
        assert place in places, f"{check.name} does not look at {place}"
        return bool(check.damage(database, place))


def main() -> int:
    """Turn bits over and count what was found, kind by kind."""
    parser = ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("data", type=Path)
    parser.add_argument("--flips", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    chance = random.Random(given.seed)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / DATABASE_FILE
        with (
            closing(sqlite3.connect(given.data / DATABASE_FILE)) as site,
            closing(sqlite3.connect(path)) as copy,
        ):
            site.backup(copy)
        tried, found = _turn(Database(f"sqlite:///{path}"), given.flips, chance)
    for name in tried:
        print(f"{name:24} {found[name]:5} of {tried[name]:5}")
    print(f"{'all':24} {found.total():5} of {tried.total():5}")
    return int(found != tried)


def _turn(database: Database, flips: int, chance: random.Random) -> tuple[Counter[str], Counter[str]]:
    rows = {kind: rows_of(database, kind) for kind in KINDS}
    kinds = [kind for kind in KINDS if rows[kind]]
    tried, found = Counter[str](), Counter[str]()
    for _ in range(flips):
        kind = chance.choice(kinds)
        row = chance.choice(rows[kind])
        name = f"{kind.table}.{kind.column}"
        tried[name] += 1
        found[name] += is_found(database, kind, row, chance.randrange(8 * len(row["stored_bytes"])))
        with turned_number(database, chance) as place:
            name = f"{place.table}.{place.column}"
            tried[name] += 1
            found[name] += is_number_found(database, place)
    database.dispose()
    return tried, found


if __name__ == "__main__":
    sys.exit(main())
