"""A small site as an earlier version of this program left it, for tests of upgrades.

    python -m tests.make.released CHECKOUT [MEASURE ...]

CHECKOUT is this repository at a commit of that version, in which the programs of its environment run; for the
schema NNNN it writes tests/db/released/NNNN.sqlite3.zst and NNNN.sql.zst, the same site on both databases.
The measures are ones that the version has. Files of a schema that is released stay as they are.
"""

import os
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import zstandard
from sqlalchemy import text

from leaderboard.db.engine import Database
from tests.make import build, postgres

FOLDER = Path(__file__).resolve().parents[1] / "db" / "released"
COMMAND = "from leaderboard.cli import main; main()"
MEASURES = ("AP", "nDCG@10", "MicroP")
RUNS = {
    "plain": {"1": ["a", "b", "c"], "2": ["d", "a"], "3": ["f", "e"]},
    "other": {"1": ["c", "x", "a"], "2": ["y", "d"], "3": ["e", "f", "z"]},
    "short": {"1": ["a"], "3": ["e"]},
}
REVISED = {**build.JUDGMENTS, "1": {"a": 1, "b": 2, "x": 1}}


def released() -> list[str]:
    """The schemas of which a site is kept."""
    return sorted(path.name.removesuffix(".sql.zst") for path in FOLDER.glob("*.sql.zst"))


def put(schema: str, database: Database) -> None:
    """Put the kept site of a schema into an empty database."""
    if database.is_sqlite:
        stored = zstandard.decompress((FOLDER / f"{schema}.sqlite3.zst").read_bytes())
        Path(database.engine.url.database or "").write_bytes(stored)
        return
    script = zstandard.decompress((FOLDER / f"{schema}.sql.zst").read_bytes()).decode()
    with database.engine.connect() as connection:
        driver = connection.connection.driver_connection
        assert driver is not None
        driver.execute(script)
        driver.execute("RESET search_path")
        connection.execute(text("SELECT version_num FROM alembic_version"))
        connection.commit()


def main(checkout: Path, measures: Sequence[str] = MEASURES) -> None:
    """Make the site of a checkout's schema on both databases, and keep it."""
    with tempfile.TemporaryDirectory() as folder, postgres.server() as server:
        home = Path(folder)
        data = home / "data"
        _fill(checkout, home, measures, {"LEADERBOARD_DATA": str(data)})
        schema = _packed(data / "leaderboard.sqlite3")
        with postgres.fresh(f"{server}/any") as url:
            _fill(checkout, home, measures, {"LEADERBOARD_DATABASE_URL": url})
            _dumped(url, schema)
    print(f"kept the site of schema {schema}")


def _fill(checkout: Path, home: Path, measures: Sequence[str], settings: dict[str, str]) -> None:
    def run(*arguments: object) -> None:
        command = [sys.executable, "-c", COMMAND, *map(str, arguments)]
        environ = {**os.environ, **settings, "PYTHONPATH": str(checkout)}
        subprocess.run(command, check=True, cwd=home, env=environ, stdout=subprocess.DEVNULL)

    documents = home / "documents.jsonl"
    documents.write_text(
        "".join(f'{{"docno": "{docno}", "text": "text of {docno}"}}\n' for docno in "abcdef")
    )
    files = [build.run_file(home, rankings, name) for name, rankings in RUNS.items()]
    chosen = [part for measure in measures for part in ("-m", measure)]
    run("db", "upgrade")
    run("account", "create", "olga", "--organiser")
    first = ("--topics", build.topics_file(home), "--qrels", build.qrels_file(home))
    run("task", "create", "t", "--name", "A task", *first, "--documents", documents, *chosen)
    run("run", "add", "t", *files[:2], "--team", "Owls")
    run("worker", "--once")
    run("qrels", "add", "t", build.qrels_file(home, REVISED, "revised"), "--note", "second look")
    run("worker", "--once")
    run("run", "add", "t", files[2], "--team", "Bears")


def _packed(path: Path) -> str:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("VACUUM")
        connection.execute("PRAGMA journal_mode=DELETE")
        schema = str(connection.execute("SELECT version_num FROM alembic_version").fetchone()[0])
    (FOLDER / f"{schema}.sqlite3.zst").write_bytes(zstandard.compress(path.read_bytes(), 19))
    return schema


def _dumped(url: str, schema: str) -> None:
    found = postgres.binaries()
    assert found is not None
    address = url.replace("+psycopg", "")
    options = ["--inserts", "--no-owner", "--no-privileges", address]
    dump = subprocess.run([found / "pg_dump", *options], check=True, capture_output=True, text=True).stdout
    # Lines of psql's own are no SQL, and comments say which server it was.
    lines = [line for line in dump.splitlines() if line and not line.startswith(("\\", "--"))]
    (FOLDER / f"{schema}.sql.zst").write_bytes(zstandard.compress("\n".join(lines).encode(), 19))


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve(), sys.argv[2:] or MEASURES)
