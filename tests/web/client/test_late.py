"""After the close every road refuses a run, or takes it where an organiser says why: the same rule."""

import base64
import io
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from click.testing import CliRunner
from leaderboard_submit import Client, ClientError, cli, common
from sqlalchemy import select, update

from leaderboard.cli import main
from leaderboard.db.tables import Phase, Run, Upload, UploadBatch
from tests.make import build, pages, people, worlds
from tests.web.api.conftest import Program, Programs
from tests.web.conftest import Site

pytestmark = pytest.mark.trial

TASK = "robots"
SUBMIT = f"/tasks/{TASK}/submit"
CLOSED = datetime(2026, 1, 31, 23, 59, 59, tzinfo=UTC)
WHY = "The upload failed through our fault."
ORGANISERS = (
    "Robots closed at 2026-01-31 23:59:59 UTC, so a run submitted now is late. Submit it as a late or "
    "baseline run, or give the reason why it counts (late, --late). The reason is shown with the run."
)


@dataclass(frozen=True)
class Sender:
    """Who sends, with a browser, a program and a folder, to a task that has closed."""

    name: str
    site: Site
    program: Program
    address: str
    folder: Path
    monkeypatch: pytest.MonkeyPatch

    def score(self, _: float) -> None:
        """What evaluators do while a client waits."""
        build.drain(self.site.database)


SCOPES = {"Berta": ("read", "submit"), "Olga": ("read", "submit", "organise")}
"""Of their programs: one without the last is no organiser's, whoever made it."""
Road = Callable[[Sender, str], str]
"""Sends a run with what is said of its being late; what the sender is told, '' where it is taken."""


def _in_browser(sender: Sender, late: str, *names: str) -> str:
    client = sender.site.browser(sender.name)
    fields = {"team": str(sender.site.world.owls), "kind": "official", "late": late, "names": "file"}
    files = [(io.BytesIO(worlds.RUN.encode()), name) for name in names]
    done = client.post(SUBMIT, data={**fields, "file": files}, content_type="multipart/form-data")
    if done.status_code == 303 and "/batches/" in done.headers["Location"]:
        with sender.site.database.read() as session:
            refused = [*session.scalars(select(UploadBatch.wishes).order_by(UploadBatch.id))][-1]["refused"]
        return " ".join(one["rule"] for one in refused)
    return "" if done.status_code == 303 else pages.main(done)


def _form(sender: Sender, late: str) -> str:
    return _in_browser(sender, late, "one.run")


def _batch(sender: Sender, late: str) -> str:
    return _in_browser(sender, late, "one.run", "two.run")


def _told(answer: object) -> str:
    """The detail of a problem that the API answers with."""
    status, text = getattr(answer, "status_code"), getattr(answer, "text")  # noqa: B009
    return "" if status in (200, 201, 202, 204) else str(text)


def _api(sender: Sender, late: str) -> str:
    query = {"team_id": sender.site.world.owls, "late": late}
    path = f"/tasks/{TASK}/runs/one"
    return _told(sender.program.ask("PUT", path, query_string=query, data=worlds.RUN.encode()))


def _pieces(sender: Sender, late: str) -> str:
    said = {"team_id": sender.site.world.owls, "name": "one", "late": late}
    pairs = ",".join(f"{key} {base64.b64encode(str(value).encode()).decode()}" for key, value in said.items())
    body = worlds.RUN.encode()
    headers = {"Tus-Resumable": "1.0.0", "Upload-Length": str(len(body)), "Upload-Metadata": pairs}
    begun = sender.program.ask("POST", f"/tasks/{TASK}/uploads", headers=headers)
    if begun.status_code != 201:
        return _told(begun)
    where = begun.headers["Location"].removeprefix("/api/v1")
    headers = {
        "Tus-Resumable": "1.0.0", "Upload-Offset": "0", "Content-Type": "application/offset+octet-stream"
    }  # fmt: skip
    return _told(sender.program.ask("PATCH", where, headers=headers, data=body))


def _client(sender: Sender, late: str) -> str:
    client = Client(sender.address, sender.program.secret, sleep=sender.score)
    try:
        client.submit(TASK, worlds.RUN.encode(), name="one", team=sender.site.world.owls, late=late)
    except ClientError as error:
        return f"{error} {error.remedy}"
    return ""


def _clients_command(sender: Sender, late: str) -> str:
    def made(*given: object) -> Client:
        return Client(*given, sleep=sender.score)  # type: ignore[arg-type]

    for module in (cli, common):
        sender.monkeypatch.setattr(module, "Client", made)
    sender.monkeypatch.setenv("XDG_CONFIG_HOME", str(sender.folder))
    sender.monkeypatch.setenv("LEADERBOARD_URL", sender.address)
    sender.monkeypatch.setenv("LEADERBOARD_TOKEN", sender.program.secret)
    said = ["--late", late] if late else []
    words = ["submit", TASK, _file(sender), "--team", str(sender.site.world.owls), *said]
    done = CliRunner().invoke(cli.main, words)
    return done.output if done.exit_code else ""


def _command(sender: Sender, late: str) -> str:
    sender.monkeypatch.setenv("LEADERBOARD_DATA", str(sender.site.settings.data))
    sender.monkeypatch.setenv("LEADERBOARD_DATABASE_URL", sender.site.settings.url)
    said = ["--late", late] if late else []
    done = CliRunner().invoke(main, ["run", "add", TASK, _file(sender), "--team", "Owls", *said])
    return done.output if done.exit_code else ""


def _file(sender: Sender) -> str:
    path = sender.folder / "one.run"
    path.write_text(worlds.RUN)
    return str(path)


ROADS: dict[str, Road] = {
    "form": _form,
    "batch": _batch,
    "API": _api,
    "pieces": _pieces,
    "client": _client,
    "the client's command": _clients_command,
}
OF_ORGANISERS: dict[str, Road] = {**ROADS, "command": _command}


@pytest.fixture
def closed(
    site: Site, program: Programs, address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[[str], Sender]:
    """Makes senders to a task that has closed; its organiser is in the team too."""
    people.join(site.database, site.world.owls, site.world.anna, site.world.olga)
    with site.database.write() as session:
        session.execute(update(Phase).values(opens_at=CLOSED - timedelta(days=1), closes_at=CLOSED))
    return lambda name: Sender(name, site, program(name, *SCOPES[name]), address, tmp_path, monkeypatch)


def _runs(site: Site) -> dict[str, str]:
    """Name of each run beside the first -> why it counts though it is late."""
    with site.database.read() as session:
        rows = session.execute(select(Run.name, Upload.wishes).join(Upload, Upload.id == Run.upload_id)).all()
        return {name: wishes["late"] for name, wishes in rows if name != "first"}


@pytest.mark.parametrize("road", ROADS)
def test_a_member_is_refused_whatever_it_says(road: str, closed: Callable[[str], Sender]) -> None:
    """A reason is an organiser's to give."""
    sender = closed("Berta")
    for late in ("", WHY):
        assert "closed" in ROADS[road](sender, late)
    assert _runs(sender.site) == {}


@pytest.mark.parametrize("road", OF_ORGANISERS)
def test_an_organiser_says_why_or_is_refused(road: str, closed: Callable[[str], Sender]) -> None:
    """In the same words; with a reason the run is there, and has it on record."""
    sender, take = closed("Olga"), OF_ORGANISERS[road]
    assert ORGANISERS in take(sender, "")
    assert _runs(sender.site) == {}
    assert take(sender, WHY) == ""
    build.drain(sender.site.database)
    found = _runs(sender.site)
    assert found
    assert set(found.values()) == {WHY}
