"""The commands in docs/api.md do what it says."""

import shlex
from pathlib import Path

import pytest
from sqlalchemy import select

from leaderboard.db.tables import Account
from tests.judges import make as judging
from tests.make import answered, build, people
from tests.make.documents import commands
from tests.make.worlds import QRELS, RUN
from tests.web.api.conftest import Program, Programs
from tests.web.conftest import Site

DOCS = Path(__file__).resolve().parents[3] / "docs" / "api.md"


NUGGETS = '{"qid":"1","query":"q","nuggets":[{"text":"Air scatters blue light","importance":"vital"}]}\n'
FILES = {
    "my.run": RUN,
    "qrels.txt": QRELS + "3 0 d1 2\n",
    "nuggets.jsonl": NUGGETS,
    "reference.board": judging.board_text(judging.REFERENCE),
}
FORM = "application/x-www-form-urlencoded"
"""What curl calls the data of -d and --data-binary unless a header says otherwise; -T says nothing."""


def _answer(program: Program, command: str, secrets: dict[str, str]) -> int:
    """What one curl command is answered with."""
    for name, value in secrets.items():
        command = command.replace(f"${name}", value)
    words = iter(shlex.split(command))
    assert next(words) == "curl"
    method, headers, body, address = "GET", {}, None, ""
    for word in words:
        if word == "-X":
            method = next(words)
        elif word == "-H":
            name, _, value = next(words).partition(": ")
            headers[name] = value
        elif word == "-T":
            body, method = FILES[next(words)], "PUT" if method == "GET" else method
        elif word in ("--data-binary", "-d"):
            body, method = next(words), "POST" if method == "GET" else method
            headers = {"Content-Type": FORM, **headers}
        else:
            address = word
    return program.client.open(address, method=method, headers=headers, data=body).status_code


@pytest.mark.trial
def test_every_command_of_the_page_works(site: Site, program: Programs, tmp_path: Path) -> None:
    """In order, by a member of the team that it names, and an organiser."""
    with site.database.read() as session:
        olga = session.scalars(select(Account.id).where(Account.name == "Olga")).one()
    answered.task(site.database, tmp_path, "talk", viewer=people.viewer(site.database, olga))
    judging.task(site.database, tmp_path, "judges", viewer=people.viewer(site.database, olga))
    for name in ("second", "third", "fourth"):
        build.run(site.database, tmp_path, {"1": ["d1", "d2"]}, name, slug="robots", team_name=name)
    build.drain(site.database)
    assert (site.world.owls, site.world.run) == (1, 1)
    berta = program("Berta")
    shown = commands(DOCS)
    assert len(shown) == 32
    secrets = {"TOKEN": berta.secret, "ORGANISER": program("Olga", "organise").secret, "SITE": ""}
    found = {command: _answer(berta, command, secrets) for command in shown}
    assert {command: status for command, status in found.items() if status not in (200, 201)} == {}
