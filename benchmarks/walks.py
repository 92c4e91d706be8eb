"""The path of one request: own modules entered and SQL statements: `python -m benchmarks.walks`.

Counts, not times, so they say the same on every machine. The site is made up, and every page is asked for
once before it is counted: what a process computes once and keeps is not a page's own work.
"""

import argparse
import io
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from benchmarks.pages import Site, counted, fill
from leaderboard.accounts.ops import accounts, sessions, teams
from leaderboard.application import create_app
from leaderboard.core.policy import Viewer
from leaderboard.db.engine import Database
from leaderboard.settings import Settings
from leaderboard.web import kept

PACKAGE = "leaderboard"
SITE = Site(runs=14, topics=20, retrieved=100, pooled=200, judged=120)
PAGES = (
    ("board", "/tasks/t"),
    ("run", "/runs/1"),
    ("ranking", "/runs/1/topics/1"),
    ("topic", "/tasks/t/topics/1"),
)


@dataclass(frozen=True, slots=True)
class Walk:
    """The modules of ours that one request entered, by name, and the statements it sent."""

    modules: tuple[str, ...]
    statements: int


@contextmanager
def entered(package: str = PACKAGE) -> Iterator[set[str]]:
    """The names of the package's modules whose code runs meanwhile in this thread.

    >>> from leaderboard.tables import text
    >>> with entered() as modules:
    ...     _ = text.cell("=1")
    >>> modules
    {'leaderboard.tables.record'}
    """
    modules: set[str] = set()

    def note(frame: FrameType, event: str, _: Any) -> None:
        name = frame.f_globals.get("__name__", "")
        if event == "call" and (name == package or name.startswith(f"{package}.")):
            modules.add(name)

    # A profiler that was there before, such as a coverage tool's, goes on afterwards.
    earlier = sys.getprofile()
    sys.setprofile(note)
    try:
        yield modules
    finally:
        sys.setprofile(earlier)


def walk(database: Database, request: Callable[[], TestResponse]) -> Walk:
    """The modules and statements of a request; ends the program if it fails."""
    with counted(database) as sent, entered() as modules:
        answer = request()
    if answer.status_code >= 400:
        raise SystemExit(f"{answer.request.path} answered {answer.status}")
    return Walk(tuple(sorted(modules)), len(sent))


def warm(database: Database, client: FlaskClient, path: str) -> Walk:
    """The modules and statements of a page that is made a second time."""
    client.get(path)
    kept.register_pages(client.application, 0)
    return walk(database, lambda: client.get(path))


def sender(database: Database, client: FlaskClient) -> int:
    """Sign a client in as an account with a team; the team's id."""
    with database.write() as session:
        name = accounts.first_organiser(session).name
        account_id = accounts.find(session, name)
        client.set_cookie("session", sessions.start(session, account_id, "127.0.0.1", "benchmark"))
        return teams.create(session, Viewer(account_id, name), "Senders")


def upload(client: FlaskClient, team_id: int, file: Path, name: str) -> TestResponse:
    """Submit a run file as the form does."""
    fields = {"team": str(team_id), "name": name, "file": (io.BytesIO(file.read_bytes()), file.name)}
    return client.post("/tasks/t/submit", data=fields, headers={"Sec-Fetch-Site": "same-origin"})


def run_file(folder: Path) -> Path:
    """A run of the made-up task that no team has sent."""
    path = folder / "sent.txt"
    lines = (
        f"{topic} Q0 T{topic:03d}-{place:05d} 0 {1 / (place + 1):.6f} sent\n"
        for topic in range(1, SITE.topics + 1)
        for place in range(SITE.retrieved)
    )
    path.write_text("".join(lines), encoding="utf-8")
    return path


def walks(folder: Path) -> Iterator[tuple[str, Walk]]:
    """Each page and an upload by name, on a site that is made in the folder."""
    url = f"sqlite:///{folder / 'site.sqlite3'}"
    database = Database(url)
    fill(database, folder, SITE)
    client = create_app(Settings(data=folder, database_url=url), database).test_client()
    for name, path in PAGES:
        yield name, warm(database, client, path)
    team_id, file = sender(database, client), run_file(folder)
    upload(client, team_id, file, "first")
    yield "upload", walk(database, lambda: upload(client, team_id, file, "second"))
    database.dispose()


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table, and with --modules the names too."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--modules", action="store_true", help="also print the modules' names")
    options = parser.parse_args(arguments)
    print("| being | modules | SQL |\n|---|---:|---:|")
    with tempfile.TemporaryDirectory() as folder:
        for name, found in walks(Path(folder)):
            print(f"| {name} | {len(found.modules)} | {found.statements} |")
            if options.modules:
                print("\n".join(found.modules))


if __name__ == "__main__":
    main()
