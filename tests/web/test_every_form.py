"""Every page in every file form, on tasks that have dates, limits and everything else set."""

import csv
import io
import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select, update

from leaderboard.db.engine import UtcDateTime
from leaderboard.db.tables import Account, Phase, Task, TaskRole
from tests.make import twins, walks
from tests.make.twins import World

pytestmark = pytest.mark.trial
SET: dict[str, dict[str, Any]] = {
    "task": {
        **{name: "Said." for name in ("organisers", "contact", "licence", "agreement", "entry_code")},
        "frames": "https://example.org",
        "links": [{"title": "Overview", "url": "https://example.org/overview"}],
        "grade_names": {"0": "no", "1": "yes"},
        "agreement_version": 1,
        "final_runs": 2,
        "reproduction_thresholds": {"ktu": [0.1, 0.6], "margin": 0.05},
        "click_key": bytes(32),
    },
    "phase": {
        "runs_per_day": 5,
        "runs_in_all": 50,
        "account_runs_per_day": 6,
        "account_runs_in_all": 60,
        "agent_runs_per_day": 2,
        "largest_bytes": 2**30,
        "zone": "Europe/Berlin",
        "kinds": ["automatic"],
        "visibility": "open",
    },
}
LEFT_EMPTY = {"task": {"archived_at"}, "phase": {"topic_set_id"}}
"""An archived task refuses much; a set of topics would hide what pages say of the other topics."""
LABELS = "/assessments"
"""All labels of a pool, which are written as CSV and JSON lines."""
READERS = {"json": json.loads, "csv": lambda text: list(csv.reader(io.StringIO(text), strict=True))}


@pytest.fixture(scope="module")
def filled(sqlite_template: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """A site of tasks of every kind, whose organiser is Olga, where nothing that may be set is empty."""
    moment = datetime.now(UTC).replace(microsecond=0)
    world = twins.build(sqlite_template, tmp_path_factory.mktemp("everything"), "a", moment)
    with world.database.write() as session:
        olga = session.scalars(select(Account.id).where(Account.name == "Olga")).one()
        for task_id in session.scalars(select(Task.id)).all():
            session.merge(TaskRole(task_id=task_id, account_id=olga, role="organiser"))
        for row in (Task, Phase):
            table = row.__table__
            name = str(table.name)
            moments = {
                column.name: moment + timedelta(days=number, seconds=7)
                for number, column in enumerate(table.columns, start=-2)
                if column.nullable and isinstance(column.type, UtcDateTime)
            }
            dates = {"opens_at": moment - timedelta(days=1), "closes_at": moment + timedelta(days=1)}
            known = {**moments, **(dates if row is Phase else {"published_at": moment}), **SET[name]}
            given = {key: value for key, value in known.items() if key not in LEFT_EMPTY[name]}
            assert {column.name for column in table.columns if column.nullable} <= {*given, *LEFT_EMPTY[name]}
            session.execute(update(row).values(given))
    yield world
    world.database.dispose()


@pytest.mark.parametrize("name", [None, "Olga"])
def test_every_page_is_written_in_every_form(
    filled: World, name: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A page that is given in one form is given in all, each of which can be read; nothing is a 500."""
    twins.open_under_one_address(monkeypatch)
    ask = walks.asking(filled.browser(name))
    faults, read = [], 0
    for rule in filled.app.url_map.iter_rules():
        if "GET" not in (rule.methods or ()) or ("form" not in rule.arguments and "." not in rule.rule):
            continue
        statuses: dict[str, dict[str, int]] = {}
        for path in walks.paths(rule):
            try:
                status, _, body = ask(path)
            except Exception as error:
                faults.append(f"{path}: {error!r}")
                continue
            page, _, form = path.rpartition(".")
            statuses.setdefault(page, {})[form] = status
            if status == 200 and form in READERS:
                READERS[form](body.decode())
                read += 1
        if "form" in rule.arguments:
            faults += [
                f"{page}: {told}"
                for page, told in statuses.items()
                if 200 in told.values() and {*told.values()} != {200} and not page.endswith(LABELS)
            ]
    assert faults == []
    assert read > 300
