"""Faults that others had to mend lately, each tried here under the name of its class."""

import io
import re
import threading
import zipfile
from collections.abc import Iterator
from dataclasses import fields, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import func, select, update

from leaderboard import reference
from leaderboard.accounts.ops import invitations
from leaderboard.accounts.ops.invitations import InvitationRequest
from leaderboard.accounts.ops.teams import HOME_PAGE
from leaderboard.cli.serving.serve import require_safe
from leaderboard.core import throttles
from leaderboard.db.engine import Database
from leaderboard.db.tables import Account, Mail, Run, Task, TaskRole, Team, Webhook, metadata
from leaderboard.errors import Invalid, OverQuota
from leaderboard.notify.ops import calls
from leaderboard.notify.ops.calls import NOT_SENT, WebhookRequest
from leaderboard.scoring.ops import setting_values
from leaderboard.settings import Settings
from leaderboard.site.ops import backups
from leaderboard.tables.record import Column, Table, csv_text
from leaderboard.web import filters
from leaderboard.web.http import local_path
from tests.make import people
from tests.make.apps import application
from tests.make.people import PASSWORD
from tests.notify import make as hooks
from tests.web.api.conftest import Programs, path_of, program  # noqa: F401 (a fixture)
from tests.web.conftest import Site, browser
from tests.web.matrix import DRAFTS, MATRIX

FORMULAS = ("=1+1", "+1", "-1+cmd|' /C calc'!A0", "@SUM(1)", "\t=1", "＝1", "'=1")
SCRIPTS = ("javascript:alert(1)", "data:text/html,<script>", "vbscript:x", " javascript:x", "//evil.example")
AWAY = (
    *("//evil.example", "///evil.example", "/\\evil.example", "\\\\evil.example", "/\t/evil.example"),
    *(
        "/\n/evil.example",
        "https:/evil.example",
        "https://evil.example",
        "/\x00/evil.example",
        "evil.example",
    ),
    *("/ /evil.example", "javascript:alert(1)", "\t//evil.example", "/%09/../\\evil.example"),
)
INSIDE = (
    *("127.1", "0x7f000001", "2130706433", "0177.0.0.1", "localhost", "LOCALHOST", "localhost."),
    *("[::1]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "127.0.0.1."),
)
EVALUATED = ("{{1234*5678}}", "${1234*5678}", "#{1234*5678}", "<%= 1234*5678 %>", "{%print(1234*5678)%}")


@pytest.mark.parametrize("name", ["../../slipped", "/tmp/slipped", "..\\..\\slipped", "a/../../slipped"])
def test_zip_slip_by_an_administrators_import(tmp_path: Path, name: str) -> None:
    """Who imports by a command has the machine; a bundle still writes only where it is unpacked."""
    body = io.BytesIO()
    with zipfile.ZipFile(body, "w") as archive:
        archive.writestr(name, "x")
        archive.writestr("topics.tsv", "1\tone\n")
    (tmp_path / "in").mkdir()
    path = tmp_path / "in" / "bundle.zip"
    path.write_bytes(body.getvalue())
    opening = pytest.importorskip("leaderboard.bundles.ops.opening")
    with opening.opened(path, opening.OPERATORS) as files:
        unpacked = {place.resolve() for place in files.paths.values()}
        assert len({place.parent for place in unpacked}) == 1
        assert not any("slipped" in place.name for place in unpacked)
    assert not [place for place in (tmp_path, tmp_path.parent) if list(place.glob("*slipped*"))]
    assert not Path("/tmp/slipped").exists()


def test_roles_missing_on_set_up_addresses(site: Site) -> None:
    """No address gives a visitor a right, whatever is sent along; nor is there a set-up left."""
    with site.database.read() as session:
        before = _rights(session)
    client = site.browser()
    sent = {
        **{
            "name": "Mallory",
            "password": PASSWORD,
            "is_organiser": "1",
            "operator": "1",
            "role": "organiser",
        },
        **{"account": "1", "first": "1", "kind": "runner", "scopes": "organise"},
    }
    tried = 0
    for (method, path), _ in {**MATRIX, **DRAFTS}.items():
        if method == "POST":
            tried += 1
            status = client.post(path.format(**vars(site.world)), data=sent).status_code
            assert status != 500, path
            client.delete_cookie("session")
    for path in ("/setup", "/install", "/init", "/first", "/admin", "/api/v1/setup"):
        assert client.get(path).status_code == 404
    with site.database.read() as session:
        after = _rights(session)
    assert after == before
    assert tried > 50


def _rights(session: Any) -> tuple[list[str], list[tuple[int, int, str]]]:
    organisers = session.scalars(select(Account.name).where(Account.is_organiser).order_by(Account.id))
    roles = session.execute(select(TaskRole.task_id, TaskRole.account_id, TaskRole.role))
    return list(organisers), sorted(tuple(row) for row in roles)


@pytest.mark.parametrize("code", EVALUATED)
def test_code_evaluated_from_addresses(site: Site, code: str) -> None:
    """What stands in a path or a parameter is looked up or shown, and never computed."""
    client = site.browser("Olga")
    for path in ("/tasks/{}", "/measures/{}", "/tasks/robots/topics/{}", "/snapshots/{}", "/{}"):
        assert b"7006652" not in client.get(path.format(code)).data
    for path in ("/search?q=", "/tasks/robots?measure=", "/tasks/robots/documents?docno=", "/sign-in?next="):
        page, _, name = path.removesuffix("=").partition("?")
        assert b"7006652" not in client.get(page, query_string={name: code}).data


@pytest.mark.parametrize(
    ("path", "table"),
    [
        ("/tasks/robots/settings", Task),
        ("/runs/{run}", Run),
        ("/teams/{owls}", Team),
        ("/webhooks/1", Webhook),
    ],
)
def test_mass_assignment_by_patch(site: Site, program: Programs, path: str, table: Any) -> None:  # noqa: F811
    """Columns that no form has are refused by name, and nothing is stored."""
    hooks.webhook(site.database, site.world.olga, slug="robots")
    with site.database.read() as session:
        before = session.execute(select(table.__table__)).all()
    owner = program("Olga", "read", "submit", "organise")
    for column in table.__table__.columns:
        if column.name in _PATCHED[table]:
            continue
        answer = owner.ask("PATCH", path.format(**vars(site.world)), json={column.name: None})
        assert answer.status_code in (400, 403, 404, 422), (column.name, answer.json)
    with site.database.read() as session:
        assert session.execute(select(table.__table__)).all() == before


_PATCHED: dict[Any, frozenset[str]] = {
    Task: frozenset(),
    Run: frozenset({"description"}),
    Team: frozenset({"name", "affiliation", "home_page"}),
    Webhook: frozenset(),
}
"""What a PATCH is for."""


@pytest.mark.parametrize("formula", FORMULAS)
def test_scripts_through_formulas(formula: str) -> None:
    """No cell of a CSV file begins as a spreadsheet's formula does."""
    table = Table(name="t", caption="T.", columns=[Column(key=formula, value=str)], rows=[formula])
    for line in csv_text(table).split("\r\n")[:2]:
        assert line.strip('"').startswith("'")


@pytest.mark.parametrize("link", SCRIPTS)
def test_scripts_through_links(link: str) -> None:
    """Links of tasks, pages of teams and Markdown lead to other sites by http or https alone."""
    with pytest.raises(ValueError, match="https://"):
        setting_values.links(f"Title {link}")
    assert HOME_PAGE.fullmatch(link) is None
    assert "href" not in filters.render(f"[a]({link})")


def test_an_insecure_secret_accepted_in_production(tmp_path: Path) -> None:
    """No secret has a value unless it is set, and one that may be guessed stops the start."""
    secrets = [item for item in fields(Settings) if item.metadata.get("secret")]
    assert len(secrets) >= 4
    assert {item.default for item in secrets} == {""}
    for guessed in ("changeme", "secret", "admin", "metrics"):
        with pytest.raises(Invalid, match="openssl rand"):
            require_safe(Settings(data=tmp_path / "none", metrics_token=guessed))


def test_enumeration_and_flooding_by_reset(site: Site) -> None:
    """Who asks for a link is told the same of any name, and an account gets only so many letters."""
    people.confirmed_address(site.database, site.world.nina, "nina@example.org")
    here = replace(site.settings, smtp_url="smtp://127.0.0.1:9", public_url="")
    client = browser(application(here, site.database))
    answers = {}
    for name in ("Nina", "Otto", "nobody at all"):
        # The letter is written once the answer is out.
        with client.post("/lost-password", data={"name": name}) as answer:
            answers[name] = (answer.status_code, answer.text)
    assert len(set(answers.values())) == 1
    for _ in range(30):
        with client.post("/lost-password", data={"name": "Nina"}) as answer:
            last = answer.status_code
    assert last == 429
    with site.database.read() as session:
        assert session.scalar(select(func.count()).select_from(Mail)) in range(1, 6)


@pytest.mark.parametrize("target", AWAY)
def test_redirect_validators_passed_by_backslash_tab_and_slashes(site: Site, target: str) -> None:
    """After signing in one stays on this site, whatever the address says."""
    assert local_path(target) == "/"
    client = browser(site.app)
    people_of = {"name": "Nina", "password": PASSWORD, "next": target}
    answer = client.post("/sign-in", data=people_of)
    where = answer.headers.get("Location", "/")
    assert answer.status_code in (303, 400)
    assert where.startswith("/")
    assert "evil" not in where
    assert not where.startswith(("//", "/\\"))


def _in_a_backup(database: Database, folder: Path) -> str:
    """All that a backup holds, as text."""
    path = folder / "backup.lbb"
    backups.write(database, path)
    with backups.BackupReader(path) as backup:
        return " ".join(str(row) for _, rows in backup.tables() for row in rows)


def test_an_operator_reading_secrets_back(
    site: Site, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Neither pages nor logs nor the database nor its backup have a secret that lets somebody in."""
    told = {
        "smtp_url": "smtp://user:told-smtp-secret@mail.example:587",
        "metrics_token": "told-metrics-secret-1234567890",
        "broker_url": "redis://:told-broker-secret@broker.example/0",
    }
    settings = replace(site.settings, operators="Olga", **told)
    assert "told-" not in repr(settings)
    client = site.browser("Olga")
    made = client.post("/account/tokens", data={"label": "x", "scopes": "read"}).text
    token = made[made.index("lb_p") :][:41]
    with site.database.write() as session:
        anna = people.viewer(site.database, site.world.anna)
        invited = invitations.invite(
            session, anna, InvitationRequest(kind="team", team_id=site.world.owls, note="x")
        )
    session_cookie = client.get_cookie("session")
    assert session_cookie is not None
    secrets = [token, invited, session_cookie.value, PASSWORD]
    stored = b"".join(path.read_bytes() for path in site.settings.data.glob("site.sqlite3*"))
    assert [secret for secret in secrets if secret.encode() in stored] == []
    assert [secret for secret in secrets if secret in caplog.text] == []
    told_so_far = [*secrets, *told.values(), *re.findall(r"told-[a-z-]+", " ".join(told.values()))]
    assert [secret for secret in told_so_far if secret in _in_a_backup(site.database, tmp_path)] == []
    operator = browser(application(settings, site.database))
    operator.set_cookie("session", session_cookie.value)
    asked = 0
    for method, path in (*MATRIX, *DRAFTS):
        if method == "GET":
            answer = operator.get(path.format(**vars(site.world)), buffered=True)
            asked += answer.status_code == 200
            shown = [secret for secret in told_so_far if secret.encode() in answer.data]
            assert shown == [], path
    assert asked > 100


def test_a_private_field_by_api(site: Site, program: Programs) -> None:  # noqa: F811
    """What only its owner or organiser may know is in no answer to anybody else."""
    made = hooks.webhook(site.database, site.world.anna, team_id=site.world.owls)
    private = {
        "email": "private-mail@example.org",
        "entry_code": "private-entry-code",
        "pseudonym_seed": "private-seed",
        "password_hash": "private-hash",
    }
    with site.database.write() as session:
        session.execute(
            update(Account).values(email=private["email"], password_hash=private["password_hash"])
        )
        task = {"entry_code": private["entry_code"], "pseudonym_seed": private["pseudonym_seed"]}
        session.execute(update(Task).values(task))
    known = {column.name for table in metadata.sorted_tables for column in table.columns}
    assert set(private) <= known
    asked = 0
    for name in (None, "Otto", "Carl"):
        asker = program(name, "read") if name else program()
        for address in _reads(site):
            asked += 1
            text = asker.ask("GET", address).get_data(as_text=True)
            hidden = (*private.values(), made.secret, hooks.ADDRESS)
            assert not [value for value in hidden if value in text], address
    assert asked > 60


def _reads(site: Site) -> Iterator[str]:
    """The addresses of the API that give something back, filled with what there is."""
    with site.app.app_context():
        operations = [one for one in reference.operations() if one.method == "GET"]
    for one in operations:
        yield path_of(one, site)


@pytest.mark.dialect
def test_a_race_over_the_most_attempts(database: Database) -> None:
    """Of twenty tries at the same moment as many count as may, and no more."""
    taken: list[bool] = []
    start = threading.Barrier(20)

    def attempt() -> None:
        start.wait()
        try:
            with database.write() as session:
                throttles.spend(session, "sign-in somebody", 10, timedelta(days=1))
        except OverQuota:
            taken.append(False)
        else:
            taken.append(True)

    threads = [threading.Thread(target=attempt) for _ in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(taken) == [False] * 10 + [True] * 10


@pytest.mark.parametrize("host", INSIDE)
def test_two_names_of_one_host(host: str) -> None:
    """This machine in another spelling is this machine: no webhook reaches it."""
    try:
        calls.checked_address(f"https://{host}/", ())
    except Invalid:
        return
    request = WebhookRequest(
        webhook_id=1, delivery_id=1, page="", address=f"https://{host}/", headers={}, body=b"{}", wait_s=2.0
    )
    answer = calls.post(request, ())
    assert answer.status is None
    assert answer.text == NOT_SENT or "Name or service not known" in answer.text


@pytest.mark.parametrize(
    "host", ["evil.example", "localhost@evil.example", "localhost.evil.example", "localhost, evil.example"]
)
def test_two_names_of_this_host(site: Site, host: str) -> None:
    """Nor is this site answered for under another name."""
    assert site.browser().get("/", headers={"Host": host}).status_code == 400
