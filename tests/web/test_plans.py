"""How PostgreSQL reads the tables for a page: by an index, whatever else the site holds."""

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from flask.testing import FlaskClient
from sqlalchemy import event, text

from leaderboard.db.engine import Database
from leaderboard.settings import Settings
from tests.make import worlds
from tests.make.apps import application
from tests.web.conftest import browser, enter
from tests.web.test_rules import MATRIX

Statements = dict[str, Any]
_ONE_BLOCK = text(
    "INSERT INTO document_block (collection_id, first_docno, last_docno, count, body)"
    " SELECT min(id), 'a', 'b', 2, '' FROM collection"
)
_MANY_BLOCKS = text("UPDATE pg_class SET reltuples = 100000, relpages = 1 WHERE relname = 'document_block'")
SCANS = {"Seq Scan", "Index Scan", "Index Only Scan", "Bitmap Index Scan"}
GROWING = frozenset(
    (
        *("alignment", "assessment", "audit", "entry", "evaluation", "evaluation_mean", "judgment", "mail"),
        *("pool_topic", "qrels_revision", "ranking_block", "ranking_index", "run", "statistic", "topic"),
        *("upload", "upload_chunk", "webhook_attempt", "webhook_delivery", "document_block", "edition"),
    )
)
"""Tables that no page may read as a whole: they grow with every run, revision or act of any task."""
OWN_DATA = {
    *(("audit", "account_id_1"), ("entry", "agreed_by_1")),
    *(("qrels_revision", "created_by_1"), ("run", "final_by_1")),
}
"""By these an account asks for all that is stored of it: rare, and not worth an index on every table."""


@contextmanager
def _noted(database: Database) -> Iterator[Statements]:
    """The statements that are sent meanwhile, each with the values of its last time."""
    sent: Statements = {}

    def note(*facts: Any) -> None:
        if facts[2].startswith(("SELECT", "WITH")):
            sent[facts[2]] = facts[3]

    event.listen(database.engine, "before_cursor_execute", note)
    try:
        yield sent
    finally:
        event.remove(database.engine, "before_cursor_execute", note)


def _nodes(plan: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    yield plan
    for part in plan.get("Plans", ()):
        yield from _nodes(part)


def _read_whole(database: Database, sent: Statements) -> dict[str, set[str]]:
    """Tables that have no index for what a statement asks of them, each with such statements.

    The planner is told to scan only where it must: the tables of a test are so small that it would rather.
    An index that is read from end to end, without a condition, is as long as its table.
    """
    whole: dict[str, set[str]] = defaultdict(set)
    with database.engine.connect() as connection:
        connection.execute(text("SET LOCAL enable_seqscan = off"))
        # A list of docnos counts as a hundred; of fewer blocks than that, the planner would read all.
        connection.execute(_ONE_BLOCK)
        connection.execute(_MANY_BLOCKS)
        for statement, values in sent.items():
            answer = connection.exec_driver_sql(f"EXPLAIN (FORMAT JSON) {statement}", values).scalar_one()
            for explained in json.loads(answer) if isinstance(answer, str) else answer:
                for node in _nodes(explained["Plan"]):
                    if node["Node Type"] in SCANS and "Index Cond" not in node:
                        whole[node.get("Relation Name", node.get("Index Name"))].add(statement)
    return whole


def _open_all(database: Database, client: FlaskClient, name: str, world: worlds.World) -> None:
    enter(database, client, name)
    for method, path in MATRIX:
        if method == "GET":
            client.get(path.format(**vars(world)))


@pytest.mark.trial
def test_no_page_reads_a_table_that_grows_as_a_whole(on_postgresql: Database, tmp_path: Path) -> None:
    """Every page, table and file that a visitor, a member and an organiser may open."""
    settings = Settings(data=tmp_path, database_url=str(on_postgresql.engine.url))
    world = worlds.build(on_postgresql, tmp_path)
    app = application(settings, on_postgresql)
    with _noted(on_postgresql) as sent:
        for name in ("Nina", "Berta", "Olga"):
            _open_all(on_postgresql, browser(app), name, world)
    assert len(sent) > 200
    faults = {
        f"{table}: {statement[:2000]}"
        for table, statements in _read_whole(on_postgresql, sent).items()
        if table in GROWING
        for statement in statements
        if not any(table == own and f"%({name})s" in statement for own, name in OWN_DATA)
    }
    assert not faults, "\n\n".join(sorted(faults))
