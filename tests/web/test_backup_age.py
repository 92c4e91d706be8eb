"""How old the last backup is: on /healthz for organisers, on the page of storage for operators."""

from pathlib import Path

from flask.testing import FlaskClient

from leaderboard.db.engine import Database
from leaderboard.site.ops import backups
from tests.make.pages import main
from tests.web.conftest import SignIn


def test_organisers_see_the_age_of_the_last_backup(
    database: Database, client: FlaskClient, sign_in: SignIn, tmp_path: Path
) -> None:
    """None before the first one, then seconds; visitors from elsewhere are told nothing of it."""
    client.environ_base["REMOTE_ADDR"] = "203.0.113.5"
    assert client.get("/healthz").get_json() == {"status": "ok"}
    sign_in(client, "organiser", is_organiser=True)
    assert client.get("/healthz").get_json()["backup_age_s"] is None
    assert "none yet" in main(client.get("/site/storage"))
    backups.back_up(database, tmp_path / "site.backup", verify=False)
    assert "seconds ago" in main(client.get("/site/storage"))
    assert client.get("/healthz").get_json()["backup_age_s"] >= 0


def test_others_read_nothing_of_backups(client: FlaskClient, sign_in: SignIn) -> None:
    """An account that organises nothing is not told how the site is kept."""
    sign_in(client, "ann")
    assert "back" not in main(client.get("/account")).lower()
