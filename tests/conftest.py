"""Fixtures shared by all tests."""

import gc
import os
import re
import shutil
from collections.abc import Generator, Iterator
from itertools import chain, islice
from pathlib import Path
from typing import Any
from uuid import uuid4

import hypothesis
import pytest
from _pytest.doctest import DoctestModule

from leaderboard.db import schema
from leaderboard.db.engine import Database
from leaderboard.settings import DATABASE_FILE, Settings
from leaderboard.trec.read import kernel
from tests import ROOT
from tests.make import copies, postgres, warm
from tests.make.copies import folder_of_worlds as folder_of_worlds
from tests.make.engines import share_compiled
from tests.make.leaves import LEAVES
from tests.make.memory import collect_rarely, keep_bytecode, share_routes, share_templates, use_memory
from tests.make.migrated import make_at_once
from tests.make.people import hash_cheaply
from tests.make.procedures import compute_here
from tests.make.procedures import own_process as own_process
from tests.make.sites import FEW
from tests.web.api.conftest import program as program
from tests.web.conftest import app as app
from tests.web.conftest import client as client
from tests.web.conftest import sign_in as sign_in
from tests.web.conftest import site as site
from tests.web.conftest import world_file as world_file

use_memory()
keep_bytecode()
share_templates()
share_routes()
collect_rarely()
share_compiled()
warm.keep_connections(postgres.TESTED)
compute_here()
make_at_once()
hash_cheaply()
os.environ.update(FEW)
# A busy machine is no fault of what is tested: no example has a deadline, nor is drawing it timed.
hypothesis.settings.register_profile(
    "patient", deadline=None, max_examples=50, suppress_health_check=[hypothesis.HealthCheck.too_slow]
)
hypothesis.settings.register_profile(
    "quick", hypothesis.settings.get_profile("patient"), max_examples=20, derandomize=True
)
LONGEST = (
    *("schemathesis", "two_worlds", "release", "house", "guides", "two_worlds_posts", "two_worlds_names"),
    *("serve", "outages", "memory", "packaging", "deploy", "web_processes", "crashes", "exchange_docs"),
    *("sites", "mirror_of_kinds", "mirror", "object_store", "carriers", "leaves", "two_worlds_phases"),
)
"""Tests that take a processor half a minute or more: a worker that came to them late would be waited for."""
QUICK = "not trial"
"""What is run unless `-m` asks for something else."""
ALL_TRIALS = "\npytestmark = pytest.mark.trial\n"
TRIALS = "trial or property"
"""What `.ci/run` asks for after that."""
HAS_TRIALS = re.compile(r"\b(trial|dialect|hypothesis|on_postgresql|postgres_server|some)\b")
"""Words without which a file of tests has no trial."""
SENDING = {ROOT / "tests" / "db", ROOT / "tests" / "core", *(ROOT / "tests").glob("*/ops")}
"""Where statements are written; what pages, operations and commands send is theirs."""
SERVED = {"on_postgresql", "postgres_server"}
"""Fixtures that start PostgreSQL."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--all-databases` has trials on PostgreSQL of all that operations and the database's own tests do."""
    parser.addoption(
        "--all-databases", action="store_true", help="trials on PostgreSQL not only of tests marked `dialect`"
    )


class Examples:
    """Examples in docstrings, looked for only where there are any: to look through all modules takes long."""

    @pytest.hookimpl(wrapper=True)
    def pytest_collect_file(self, file_path: Path) -> Generator[None, list[Any], list[Any]]:
        """All that is collected of a file but the examples of one that has none."""
        collectors = yield
        is_bare = file_path.suffix == ".py" and ">>>" not in file_path.read_text()
        return [one for one in collectors if not (is_bare and isinstance(one, DoctestModule))]


def pytest_configure(config: pytest.Config) -> None:
    """A hook of this module would be asked about the tests' own folder only.

    Properties are shown with a few examples, the same each time; with many new ones where trials run.
    """
    config.pluginmanager.register(Examples())
    hypothesis.settings.load_profile("quick" if config.option.markexpr == QUICK else "patient")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run tests of the database on SQLite, and as trials on PostgreSQL where the databases may differ."""
    if "database_url" in metafunc.fixturenames:
        marked = metafunc.definition.get_closest_marker
        is_wanted = metafunc.config.option.all_databases and not marked("sqlite")
        both = marked("dialect") or (is_wanted and not SENDING.isdisjoint(metafunc.definition.path.parents))
        databases = ["sqlite", pytest.param("postgresql", marks=pytest.mark.trial)]
        metafunc.parametrize("database_url", databases[: 2 if both else 1], indirect=True)


def pytest_itemcollected(item: pytest.Item) -> None:
    """What needs a server of PostgreSQL is a trial; what hypothesis draws examples for, a property."""
    if not SERVED.isdisjoint(getattr(item, "fixturenames", ())):
        item.add_marker(pytest.mark.trial)
    if hypothesis.is_hypothesis_test(getattr(item, "obj", None)):
        item.add_marker(pytest.mark.property)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Files of trials alone are imported only where trials are asked for, as is what drives a browser.

    And where nothing else is asked for, no files without any: each worker would import them all.
    """
    asked = config.option.markexpr
    if asked == QUICK and collection_path == ROOT / "tests" / "browser":
        return True
    is_test = collection_path.name.startswith("test_") and collection_path.suffix == ".py"
    if not is_test or asked not in (QUICK, TRIALS):
        return None
    text = collection_path.read_text(encoding="utf-8")
    if asked == QUICK:
        return True if ALL_TRIALS in text else None
    is_sent = "database" in text and not SENDING.isdisjoint(collection_path.parents)
    return None if is_sent or HAS_TRIALS.search(text) else True


def _cases_repeated(items: list[pytest.Item]) -> set[pytest.Item]:
    """On PostgreSQL, all cases but the first of each test that is not marked `dialect`.

    They differ in what is sent, not in the statements that it leads to; a test whose cases lead to other
    statements is marked.
    """
    met: set[str] = set()
    repeated: set[pytest.Item] = set()
    for item in items:
        cases = getattr(item, "callspec", None)
        is_there = cases is not None and cases.params.get("database_url") == "postgresql"
        if is_there and not item.get_closest_marker("dialect"):
            test = item.nodeid.partition("[")[0]
            if test in met:
                repeated.add(item)
            met.add(test)
    return repeated


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Modules with long tests come first in each worker, so that none of them is the last to be waited for.

    xdist gives each of its workers an equal stretch of the list to begin with, and what one has not begun to
    those that have nothing left. All that needs a browser goes to one worker, which starts one. Last of the
    hooks, after what was not asked for is out of the list.
    """
    if repeated := _cases_repeated(items):
        config.hook.pytest_deselected(items=[*repeated])
        items[:] = [item for item in items if item not in repeated]
    workers = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    long = {item.path for item in items if {mark.name for mark in item.iter_markers()} & {"slow", "trial"}}
    browsed = {item.path for item in items if item.get_closest_marker("browser")}
    dealt: list[list[pytest.Item]] = [
        [item for item in items if item.path in browsed],
        *([] for _ in range(1, workers)),
    ]
    first = {f"test_{name}.py": place for place, name in enumerate(LONGEST)}
    for path in sorted(long - browsed, key=lambda path: (first.get(path.name, len(first)), path)):
        min(dealt, key=len).extend(item for item in items if item.path == path)
    rest = iter([item for item in items if item.path not in long | browsed])
    count = len(items)
    shares = [count * (number + 1) // workers - count * number // workers for number in range(workers)]
    for begun, share in zip(dealt, shares, strict=True):
        begun.extend(islice(rest, max(0, share - len(begun))))
    items[:] = [*chain.from_iterable(dealt), *rest]


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector: pytest.Collector) -> Generator[None, pytest.CollectReport, Any]:
    """Tests of other features together with one that was taken out are skipped."""
    report = yield
    error = report.call.excinfo.value.__cause__ if report.failed else None
    if isinstance(error, ModuleNotFoundError) and set(LEAVES) & {*str(error.name).split(".")[1:2]}:
        report.outcome, report.longrepr = "skipped", (str(collector.path), 0, f"Skipped: no {error.name}")
    return report


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Tests that look at what builders do are not given copies of what they did."""
    copies.watch(item)


def pytest_collection_finish() -> None:
    """What was collected is looked through for garbage no more."""
    gc.collect()
    gc.freeze()


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish() -> None:
    """What outlives the last test is looked through until nothing is found, not always five times."""
    while gc.collect():
        pass
    gc.freeze()


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real runs, qrels and expected outputs; skips where it is absent."""
    folder = Path(os.environ.get("LEADERBOARD_SHARED_DATA", ROOT.parent / "shared" / "data"))
    if not folder.is_dir():
        pytest.skip(f"no real runs and qrels at {folder} (set LEADERBOARD_SHARED_DATA)")
    return folder


@pytest.fixture(scope="session")
def sqlite_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A migrated, empty SQLite file that each test copies."""
    return copies.once_a_run(tmp_path_factory, "template", _make_template) / "empty.sqlite3"


def _make_template(folder: Path) -> None:
    folder.mkdir()
    database = Database(f"sqlite:///{folder / 'empty.sqlite3'}")
    schema.upgrade(database)
    with database.engine.connect() as connection:
        connection.connection.driver_connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    database.dispose()


@pytest.fixture
def data_folder(sqlite_template: Path, tmp_path: Path) -> Path:
    """A site's data folder with the database that `leaderboard db upgrade` makes."""
    folder = tmp_path / "data"
    folder.mkdir(mode=0o700)
    shutil.copyfile(sqlite_template, folder / DATABASE_FILE)
    (folder / DATABASE_FILE).chmod(0o600)
    return folder


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[str]:
    """The URL of a PostgreSQL server with a migrated database named `empty`; skips where there is none."""
    if postgres.binaries() is None:
        pytest.skip("no PostgreSQL binaries (initdb, pg_ctl) on this machine")
    with postgres.server() as url:
        postgres.make_template(url)
        yield url
        warm.close_all()
        postgres.close_cleaner()


def _sqlite_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    path = tmp_path / "leaderboard.sqlite3"
    shutil.copyfile(request.getfixturevalue("sqlite_template"), path)
    return f"sqlite:///{path}"


def _postgres_url(request: pytest.FixtureRequest) -> str:
    url = postgres.clear(request.getfixturevalue("postgres_server"))
    # Results are kept in memory by the engine's URL: with a name of its own no test meets another's.
    return f"{url}?application_name={uuid4().hex}"


@pytest.fixture
def database_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The URL of a migrated, empty database for this test alone, on SQLite or PostgreSQL."""
    return _sqlite_url(request, tmp_path) if request.param == "sqlite" else _postgres_url(request)


@pytest.fixture
def monkeypatch() -> Iterator[pytest.MonkeyPatch]:
    """pytest's own, known to the builders of worlds."""
    with copies.patching() as patch:
        yield patch


@pytest.fixture
def database(database_url: str) -> Iterator[Database]:
    """A migrated, empty database."""
    opened = Database(database_url)
    yield opened
    opened.dispose()


@pytest.fixture
def on_postgresql(request: pytest.FixtureRequest) -> Iterator[Database]:
    """A migrated, empty database on PostgreSQL, for what SQLite's one writer cannot show."""
    opened = Database(_postgres_url(request))
    yield opened
    opened.dispose()


@pytest.fixture
def settings(tmp_path: Path, database_url: str) -> Settings:
    """Settings that point at the test's own database and folder."""
    return Settings(data=tmp_path, database_url=database_url)


@pytest.fixture(scope="module", params=["C", "numpy"])
def each_kernel(request: pytest.FixtureRequest) -> Iterator[str]:
    """Every test of the module runs with the C kernel and again with numpy alone."""
    with pytest.MonkeyPatch.context() as patch:
        if request.param == "C" and kernel.native is None:
            pytest.skip("the C kernel was not built")
        if request.param == "numpy":
            patch.setattr(kernel, "native", None)
        yield "numpy" if kernel.native is None else "C"
