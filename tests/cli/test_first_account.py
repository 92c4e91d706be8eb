"""A site that is set up by its environment alone: account, password and token out of files, once."""

import json
import os
import urllib.error
import urllib.request
from http.cookiejar import CookieJar
from pathlib import Path
from urllib.parse import urlencode

import pytest
from click.testing import CliRunner
from sqlalchemy import select

from leaderboard.accounts.ops import accounts, tokens
from leaderboard.cli import main
from leaderboard.cli.serving import first
from leaderboard.db.engine import Database
from leaderboard.db.tables import Account, ApiToken, Audit
from leaderboard.errors import Invalid
from leaderboard.settings import Settings
from tests.make.sites import Site, running_site

NAME, PASSWORD = "Olga Ops", "quartz lemur envelope tundra"


@pytest.fixture
def settings_given(tmp_path: Path) -> Settings:
    """Name, password and token of a first account, the last two in files."""
    (tmp_path / "password").write_text(f"{PASSWORD}\n")
    secret = CliRunner().invoke(main, ["account", "token", "secret"]).output
    (tmp_path / "token").write_text(secret)
    return Settings(
        data=tmp_path / "site",
        first_account=NAME,
        first_password_file=str(tmp_path / "password"),
        first_token_file=str(tmp_path / "token"),
    )


def _token(settings: Settings) -> str:
    return Path(settings.first_token_file).read_text().strip()


def _sign_in(site: Site, path: str) -> tuple[int, str]:
    """The page of an address, for who signed in by the password."""
    opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(CookieJar()))
    form = urlencode({"name": NAME, "password": PASSWORD}).encode()
    opener.open(urllib.request.Request(f"{site.address}/sign-in", form, {"Origin": site.address})).close()
    with opener.open(f"{site.address}{path}") as answer:
        return answer.status, answer.read().decode()


def _api(site: Site, method: str, path: str, token: str, body: object = None) -> object:
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    sent = None if body is None else json.dumps(body).encode()
    asked = urllib.request.Request(f"{site.address}/api/v1{path}", sent, headers, method=method)
    with urllib.request.urlopen(asked) as answer:
        return json.load(answer)


@pytest.mark.trial
def test_a_site_is_set_up_by_its_environment(settings_given: Settings) -> None:
    """Its account signs in, operates and calls the API; a second start changes nothing and needs no files."""
    given, token = settings_given, _token(settings_given)
    environ = {
        **os.environ,
        "LEADERBOARD_FIRST_ACCOUNT": NAME,
        "LEADERBOARD_FIRST_PASSWORD_FILE": given.first_password_file,
        "LEADERBOARD_FIRST_TOKEN_FILE": given.first_token_file,
    }
    with running_site(given.data, environ=environ) as site:
        assert site.sign_in == ""
        assert not any(PASSWORD in line or token in line for line in site.output)
        status, page = _sign_in(site, "/site/queue")
        assert (status, "Evaluators" in page) == (200, True)
        assert _api(site, "GET", "/account", token)["account"] == NAME
        with pytest.raises(urllib.error.HTTPError, match="401") as refused:
            _api(site, "GET", "/account", tokens.made("personal"))
        refused.value.close()
    for file in (given.first_password_file, given.first_token_file):
        Path(file).unlink()
    with running_site(given.data, environ=environ) as site:
        assert _sign_in(site, "/account")[0] == 200
    database = Database(given.url)
    with database.read() as session:
        assert [(row.name, row.is_organiser) for row in session.scalars(select(Account))] == [(NAME, True)]
    database.dispose()


@pytest.mark.dialect
def test_it_is_made_once_and_never_beside_others(database: Database, settings_given: Settings) -> None:
    """With a token of all scopes, on record without a secret; where there is an account, nothing is made."""
    for _ in range(2):
        first.set_up(database, settings_given)
    with database.read() as session:
        [account], [token] = session.scalars(select(Account)).all(), session.scalars(select(ApiToken)).all()
        acts = [row.action for row in session.scalars(select(Audit).order_by(Audit.id))]
    assert (account.name, account.is_organiser, token.account_id) == (NAME, True, account.id)
    assert (token.expires_at, set(token.scopes)) == (None, {"read", "submit", "organise", "judge"})
    assert acts == ["account.create", "token.make"]


@pytest.mark.dialect
def test_a_site_with_an_account_is_left_alone(database: Database, settings_given: Settings) -> None:
    """Whoever it is: who can set the environment later on does not become an organiser by it."""
    with database.write() as session:
        accounts.create(session, "Somebody")
    first.set_up(database, settings_given)
    with database.read() as session:
        assert [row.name for row in session.scalars(select(Account))] == ["Somebody"]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"first_account": NAME}, "FIRST_ACCOUNT needs LEADERBOARD_FIRST_PASSWORD_FILE"),
        ({"first_password_file": "x"}, "FIRST_PASSWORD_FILE needs LEADERBOARD_FIRST_ACCOUNT"),
        ({"first_token_file": "x"}, "FIRST_TOKEN_FILE needs LEADERBOARD_FIRST_ACCOUNT"),
    ],
)
def test_half_a_set_up_is_refused(given: dict[str, str], message: str) -> None:
    """On every start, whether the site is empty or not."""
    with pytest.raises(Invalid, match=message):
        first.require_whole(Settings(**given))


def test_serve_refuses_it_in_one_sentence(tmp_path: Path) -> None:
    """Exit code 1, before anything is made."""
    environ = {"LEADERBOARD_FIRST_ACCOUNT": NAME}
    result = CliRunner().invoke(main, ["serve", "--data", str(tmp_path / "site")], env=environ)
    assert (result.exit_code, "Set it to a file with the password" in result.stderr) == (1, True)
    assert not (tmp_path / "site").exists()


@pytest.mark.parametrize(
    ("file", "text", "message"),
    [
        ("password", None, "of LEADERBOARD_FIRST_PASSWORD_FILE cannot be read"),
        ("password", "password1234", "password"),
        ("password", "short", "12 to 256 characters"),
        ("token", None, "of LEADERBOARD_FIRST_TOKEN_FILE cannot be read"),
        ("token", "lb_pnonsense", "not a valid token"),
        ("token", "a runner's", "not a valid token"),
    ],
)
def test_what_will_not_do_makes_nothing(
    database: Database, settings_given: Settings, file: str, text: str | None, message: str
) -> None:
    """A weak password, a token cut off, a file that is not there: the next start tries again."""
    path = Path(getattr(settings_given, f"first_{file}_file"))
    text = tokens.made("runner") if text == "a runner's" else text
    path.unlink() if text is None else path.write_text(text)
    with pytest.raises(Invalid, match=message):
        first.set_up(database, settings_given)
    with database.read() as session:
        assert accounts.is_empty(session)
