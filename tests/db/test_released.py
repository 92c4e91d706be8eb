"""Sites of every released schema, as the program of those days left them, come to the newest one whole."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy import select

from leaderboard.core.policy import OPERATOR
from leaderboard.db import schema
from leaderboard.db.engine import Database
from leaderboard.db.tables import Edition, Evaluation, Run
from leaderboard.site.ops import backups
from leaderboard.site.ops.backups import CountedRows, RowTable, TableCount, rows_of, tables_of
from leaderboard.site.ops.checks import all_checks
from leaderboard.tasks.page.search import search_page
from release.places import STATED, UNRELEASED, changelog
from tests import ROOT
from tests.make import build, postgres, released


@contextmanager
def _kept(number: str, database_url: str, folder: Path) -> Iterator[Database]:
    """The kept site of a schema, on the database of the test."""
    with ExitStack() as stack:
        url = f"sqlite:///{folder / 'kept.sqlite3'}"
        if not database_url.startswith("sqlite"):
            url = stack.enter_context(postgres.fresh(database_url.split("?")[0]))
        database = Database(url)
        stack.callback(database.dispose)
        released.put(number, database)
        yield database


MOVED = frozenset({"primary_run_id", "skeleton", "ladder_step"})
GONE = {"token": {"team_id"}}


def _tables(database: Database) -> list[RowTable]:
    """The tables, without columns that are others now, as primary runs are marked, or that went."""
    with database.engine.connect() as connection:
        return [_without(table, MOVED | GONE.get(table.name, set())) for table in tables_of(connection)]


def _without(table: RowTable, names: frozenset[str]) -> RowTable:
    kept = [pair for pair in zip(table.columns, table.kinds, strict=True) if pair[0] not in names]
    return replace(table, columns=tuple(pair[0] for pair in kept), kinds=tuple(pair[1] for pair in kept))


def _counts(database: Database, tables: list[RowTable]) -> list[TableCount]:
    """Numbers and digests of rows, of the columns that the tables had."""
    counts = []
    with database.engine.connect() as connection:
        for table in tables:
            rows = CountedRows(table, rows_of(connection, table))
            assert all(len(row) == len(table.columns) for row in rows)
            counts.append(rows.count())
    return counts


def test_a_site_of_each_released_schema_is_kept() -> None:
    """Of the five from before the first version, and of each that the changelog says a version brought."""
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    versions = [each for each in changelog(text)[1] if each.name != UNRELEASED]
    named = [number for each in versions for number, _ in STATED.findall(each.body)]
    assert len(named) == len(versions)
    assert set(released.released()) >= {"0001", "0002", "0003", "0004", "0005", *named}


@pytest.mark.trial
@pytest.mark.dialect
@pytest.mark.parametrize("number", released.released())
def test_a_released_schema_comes_to_the_newest_with_all_its_rows(
    number: str, database_url: str, tmp_path: Path
) -> None:
    """Every row of every table is as it was; nothing is damaged; the next run is scored beside the others."""
    with _kept(number, database_url, tmp_path) as database:
        assert schema.current(database) == number
        tables = _tables(database)
        before = _counts(database, tables)
        schema.upgrade(database)
        schema.require_head(database)
        assert _counts(database, tables) == before
        assert sum(count.rows for count in before) > 50
        with database.read() as session:
            assert [run.name for run in search_page(session, OPERATOR, "plain").runs] == ["plain"]
        build.drain(database)
        build.run(database, tmp_path, released.RUNS["plain"], "afterwards")
        build.drain(database)
        assert _damage(database) == []
        scores = _scores(database)
        assert len(scores) == 4
        assert scores["afterwards"] == scores["plain"]


@pytest.mark.trial
@pytest.mark.dialect
@pytest.mark.parametrize("number", released.released())
def test_a_backup_of_a_released_schema_is_restored(number: str, database_url: str, tmp_path: Path) -> None:
    """A backup names its schema, and what it is restored to is brought to the newest one."""
    target = tmp_path / "restored.sqlite3"
    with _kept(number, database_url, tmp_path) as database:
        counts = backups.write(database, tmp_path / "old.backup")
    restored = backups.restore(tmp_path / "old.backup", f"sqlite:///{target}")
    assert (restored.schema, restored.counts) == (number, counts)
    with_rows = Database(f"sqlite:///{target}")
    schema.require_head(with_rows)
    build.drain(with_rows)
    assert _damage(with_rows) == []
    assert len(_scores(with_rows)) == 3
    with_rows.dispose()


def _damage(database: Database) -> list[str]:
    return [
        str(damage)
        for check in all_checks(with_scores=True)
        for place in check.places(database)
        for damage in check.damage(database, place)
    ]


def _scores(database: Database) -> dict[str, list[tuple[str, list[float]]]]:
    """Run by name -> measures and scores that the board shows."""
    with database.read() as session:
        columns = Run.name, Evaluation.measure, Evaluation.scores
        rows = session.execute(
            select(*columns)
            .join(Run, Run.id == Evaluation.run_id)
            .join(Edition, Edition.revision_id == Evaluation.revision_id)
            .where(Edition.state == "current")
            .order_by(Evaluation.measure)
        ).all()
    found: dict[str, list[tuple[str, list[float]]]] = {}
    for name, measure, scores in rows:
        found.setdefault(name, []).append((measure, scores.tolist()))
    return found
