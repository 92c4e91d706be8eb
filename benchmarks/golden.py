"""Saved responses of sites of every kind and output of every command, compared with later ones.

    python -m benchmarks.golden save FOLDER      # before a change; after it again, into another folder
    python -m benchmarks.golden compare OLD NEW  # exit code 1 where anything differs
    python -m benchmarks.golden compare OLD NEW --data  # only where an address, a key or a value is missing

Four sites are made: the demo, a season (blind, sealed, open, answers, judges, masked teams, pools, suites),
phases, and masks. A visitor, a participant, an organiser and an operator ask each: every rule with some of
its objects, and what pages link to. Of pages the words are kept, of everything else all of it. Every example
of docs/commands.md is typed, and every command's help. Times and chance are written as such.
"""

import argparse
import logging
import re
import shlex
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import chdir
from datetime import UTC, datetime
from email.message import Message
from glob import glob
from pathlib import Path
from urllib.request import Request

import click
import pytest
from click.testing import CliRunner
from flask import Flask
from sqlalchemy import func, select

from benchmarks import answers
from benchmarks.answers import Answer, Comparison
from benchmarks.crawl import Crawler
from leaderboard.accounts.ops import accounts, teams
from leaderboard.cli import main as command_line
from leaderboard.db import schema
from leaderboard.db.engine import Database
from leaderboard.db.tables import Account, Run, Task, TaskRole
from leaderboard.notify.ops import webhooks
from leaderboard.settings import Settings
from leaderboard.site.ops.demo import loading
from tests.make import build, masked, memory, people, phased, twins, walks
from tests.make.apps import application
from tests.make.copies import Kept
from tests.make.documents import commands
from tests.make.typed import files_of_commands
from tests.web.conftest import browser, enter

MOMENT = datetime(2026, 11, 1, 12, tzinfo=UTC)
BY_EXAMPLE = Path(__file__).parent.parent / "docs" / "commands.md"
PARTICIPANT, ORGANISER, OPERATOR = "Ann", "Olga", "organiser"
OF_RULE = 3
"""Addresses of a rule that a crawl begins at."""
LIMIT, OF_FORM = 600, 2
ORIGIN = "http://localhost"
CHANCE = (
    (re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d| UTC)?"), "TIME"),
    (re.compile(r"\d{4}-\d\d-\d\d"), "DATE"),
    (re.compile(r"\d{8}T\d{6}Z"), "TIME"),
    (
        re.compile(r"\d{1,2} (Jan|Feb|Mar|Apr|May|June?|July?|Aug|Sept?|Oct|Nov|Dec)\w* \d{4}(, \d\d:\d\d)?"),
        "DATE",
    ),
    (re.compile(r"\b\d+ (second|minute|hour|day|week|month|year)s? (ago|left)"), "A WHILE"),
    (re.compile(r"\b1[6-9]\d{8}\b"), "0"),
    (re.compile(r"(lb_|msg_|whsec_)[\w-]{8,}"), "KEY"),
    (re.compile(r'"(\w*_s|seconds)": ?[\d.e-]+'), r'"\1":0'),
    (re.compile(r"\b[\d.,]+ (ms|s|MB|KB)\b"), "AMOUNT"),
    (re.compile(r"/(dev/shm|tmp)/[\w./-]+"), "FOLDER"),
)
"""What two answers of the same site may differ in, and what is kept in its place; JSON stays JSON."""


class _Inside(Crawler):
    """Asks an application of this process."""

    def __init__(self, app: Flask, database: Database, name: str | None) -> None:
        super().__init__(ORIGIN, limit=LIMIT, of_form=OF_FORM)
        self._browser = browser(app)
        if name is not None:
            enter(database, self._browser, name)

    def _ask(self, request: Request) -> tuple[int, Message, bytes]:
        answer = self._browser.get(request.full_url.removeprefix(ORIGIN))
        headers = Message()
        for key, value in answer.headers:
            headers[key] = value
        return answer.status_code, headers, answer.get_data()


def _plain(answer: Answer) -> Answer:
    title, body = answer.title, answer.body
    for pattern, word in CHANCE:
        title, body = pattern.sub(word, title), pattern.sub(word, body)
    return answer._replace(title=title, body=body)


def _starts(app: Flask, objects: Mapping[str, Sequence[object]]) -> list[str]:
    """Some addresses of every rule that answers GET, taken evenly of all its objects."""
    starts = []
    for rule in app.url_map.iter_rules():
        if "GET" in (rule.methods or ()):
            paths = walks.paths(rule, objects)
            starts += paths[:: max(1, len(paths) // OF_RULE)]
    return starts


def _crawled(
    world: str, app: Flask, database: Database, name: str | None, objects: Mapping[str, Sequence[object]]
) -> Iterator[Answer]:
    for answer in _Inside(app, database, name).crawl(["/", *_starts(app, objects)]):
        yield _plain(answer)._replace(address=f"/{world}/{name or 'visitor'}{answer.address}")


def _demo(template: Path, folder: Path) -> Database:
    database = Database(f"sqlite:///{shutil.copyfile(template, folder / 'demo.sqlite3')}")
    loading.load(database, lambda: None)
    build.drain(database)
    account_of(database, PARTICIPANT)
    with database.write() as session:
        first = session.scalars(select(func.min(Run.team_id))).one()
        teams.add_member(session, first, accounts.find(session, PARTICIPANT))
    return database


def account_of(database: Database, name: str, *, is_organiser: bool = False) -> None:
    """Make the account if it is missing."""
    with database.read() as session:
        there = session.scalar(select(Account.id).where(Account.name == name))
    if there is None:
        people.account(database, name, is_organiser=is_organiser)


def _people(database: Database) -> None:
    """Let one account organise every task, and another operate the site."""
    for name in (ORGANISER, OPERATOR):
        account_of(database, name, is_organiser=True)
    with database.write() as session:
        account_id = accounts.find(session, ORGANISER)
        known = set(session.scalars(select(TaskRole.task_id).where(TaskRole.account_id == account_id)))
        session.add_all(
            TaskRole(task_id=task_id, account_id=account_id, role="organiser")
            for task_id in session.scalars(select(Task.id))
            if task_id not in known
        )


WORLDS: dict[str, tuple[Callable[[Path, Path], Database], Mapping[str, Sequence[object]]]] = {
    "demo": (_demo, {**walks.VALUES, "slug": ("python-docs", "python-answers", "python-judges")}),
    "season": (lambda template, folder: twins.build(template, folder, "a", MOMENT).database, walks.VALUES),
    "phases": (
        lambda template, folder: phased.build(template, folder, next(iter(phased.HIDDEN)), MOMENT).database,
        phased.OBJECTS,
    ),
    "masks": (lambda template, folder: masked.build(template, folder, "a", MOMENT).database, masked.OBJECTS),
}
"""Site -> how it is made, and what its rules are filled with."""


def _answers_of_sites(folder: Path) -> Iterator[Answer]:
    template = folder / "empty.sqlite3"
    database = Database(f"sqlite:///{template}")
    schema.upgrade(database)
    database.dispose()
    for world, (made, objects) in WORLDS.items():
        (folder / world).mkdir()
        database = made(template, folder / world)
        _people(database)
        url = database.engine.url.render_as_string(False)
        settings = Settings(data=folder / world, database_url=url, metrics_token="nobody-here-knows-it")
        app = application(settings, database)
        for name in (None, PARTICIPANT, ORGANISER, OPERATOR):
            yield from _crawled(world, app, database, name, objects)
            print(f"{world}, {name or 'visitor'}", file=sys.stderr)
        database.dispose()


def _printed(folder: Path) -> Iterator[Answer]:
    """What every example of the list of commands prints, and every command's help."""
    files_of_commands(folder)
    with chdir(folder):
        for line in commands(BY_EXAMPLE):
            words = [name for word in shlex.split(line)[1:] for name in sorted(glob(word)) or [word]]
            done = CliRunner().invoke(command_line, words)
            yield _plain(Answer(f"$ {line}", done.exit_code, "text/plain", "", done.output))
    for words in _commands(command_line, ()):
        done = CliRunner().invoke(command_line, [*words, "--help"])
        yield Answer(f"$ leaderboard {' '.join(words)} --help", done.exit_code, "text/plain", "", done.output)


def _commands(command: click.Command, above: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    yield above
    if isinstance(command, click.Group):
        context = click.Context(command)
        # The client is a distribution of its own.
        for name in (name for name in command.list_commands(context) if (*above, name) != ("client",)):
            inner = command.get_command(context, name)
            if inner is not None:
                yield from _commands(inner, (*above, name))


def _without_chance(patch: pytest.MonkeyPatch) -> None:
    named = webhooks.new_message
    twins.leave_nothing_to_chance(patch)
    # Deliveries are made while a site is built, each under a name of its own; settled at its end.
    patch.setattr(webhooks, "new_message", named)
    twins.note_at_one_moment(patch)


def save(folder: Path) -> int:
    """Make the sites, ask them, type the commands, and keep all of it; how many answers there are."""
    with tempfile.TemporaryDirectory() as made, pytest.MonkeyPatch.context() as patch:
        Kept.home = Path(made) / "kept"
        Kept.home.mkdir()
        for name in ("sites", "typed", "templates"):
            (Path(made) / name).mkdir()
        patch.setenv(memory.TEMPLATES, str(Path(made) / "templates"))
        _without_chance(patch)
        printed = list(_printed(Path(made) / "typed"))
        return answers.write(folder, [*_answers_of_sites(Path(made) / "sites"), *printed])


def main(arguments: Sequence[str] | None = None) -> None:
    """Save or compare."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.golden", description=__doc__)
    parts = parser.add_subparsers(dest="command", required=True)
    parts.add_parser("save").add_argument("folder", type=Path)
    compare = parts.add_parser("compare")
    for name in ("old", "new"):
        compare.add_argument(name, type=Path)
    compare.add_argument("--data", action="store_true", help="let words differ: sentences, and pages")
    given = parser.parse_args(arguments)
    logging.disable(logging.INFO)
    if given.command == "save":
        print(f"{save(given.folder):,} answers saved")
        return
    compared = Comparison(answers.read(given.old), answers.read(given.new))
    print(compared.summary())
    print(compared.lists(sys.maxsize, text=True))
    differs = compared.missing or compared.added or any(compared.faults.values())
    sys.exit(1 if (compared.fails if given.data else differs) else 0)


if __name__ == "__main__":
    main()
