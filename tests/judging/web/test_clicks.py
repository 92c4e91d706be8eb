"""The page of query logs: import, preview, files, publishing, for organisers alone."""

import csv
import io
from pathlib import Path

from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from leaderboard.db.tables import ClickLog, QrelsRevision, Task
from leaderboard.trec.clicks.sessions import unpack_sessions
from leaderboard.trec.qrels.preferences import read_preferences
from tests.make import build
from tests.make.pages import main, parsed, table
from tests.web.conftest import Site
from tests.web.test_crawl import faults, tree

ADDRESS = "/tasks/robots/clicks"
SESSIONS = [
    *[(f"Ann Smith {place % 6}", "first topic", ("d1", "d2"), (0, 1)) for place in range(7)],
    ("Bob", "1", ("d2", "d1"), (0, 1)),
    ("Bob", "=unheard of", ("d1", "d2"), (1, 0)),
]


def send(client: FlaskClient, path: Path, address: str = ADDRESS, **fields: str) -> TestResponse:
    """Send a log as the form does."""
    with path.open("rb") as file:
        sent = {"keep_users": "on", **fields}
        return client.post(
            address, data={"log": (file, path.name), **{name: value for name, value in sent.items() if value}}
        )


def imported(site: Site, folder: Path) -> FlaskClient:
    """The organiser's browser, after a log was imported."""
    client = site.browser("Olga")
    answered = send(client, build.click_log(folder, SESSIONS))
    assert (answered.status_code, answered.location) == (303, ADDRESS)
    return client


def test_the_page_is_reached_from_the_organisers_desk(site: Site) -> None:
    """A link leads there; without a log the page says so and takes one."""
    client = site.browser("Olga")
    assert parsed(client.get("/tasks/robots/organise")).find("a", href=ADDRESS) is not None
    page = client.get(ADDRESS)
    assert "No query logs yet." in main(page)
    assert parsed(page).find("form", action=ADDRESS, method="post") is not None


def test_a_log_is_shown_with_the_preferences_of_its_clicks(site: Site, tmp_path: Path) -> None:
    """Counts by topic, both ways, the sign test, and what matched no topic."""
    page = imported(site, tmp_path).get(ADDRESS)
    assert table(page, "Sessions and preferences") == [["1", "first topic", "8", "8", "8", "1", "1", "1"]]
    assert table(page, "1 preference with at least 5 sessions") == [["1", "d2", "d1", "7", "1", "0.0703"]]
    (row,) = table(page, "Imported logs")
    assert row[:4] == ["1", "clicks.csv", "8", "2"]
    assert "=unheard of" in main(page)
    assert "2026-05-31 to 2026-05-31, 7 users" in main(page)
    assert list(faults(tree(page.text))) == []


def test_the_choice_is_in_the_address(site: Site, tmp_path: Path) -> None:
    """Rule, evidence, counting, ways and p; the form shows what was chosen."""
    client = imported(site, tmp_path)
    page = client.get(f"{ADDRESS}?rule=every-non-click&least=1&keep=both&count=users&p=")
    rows = table(page, "2 preferences with at least 1 user")
    assert rows == [["1", "d2", "d1", "6", "1", "0.1250"], ["1", "d1", "d2", "1", "6", "0.1250"]]
    chosen = [each["value"] for each in parsed(page).select("form.choices option[selected]")]
    assert chosen == ["every-non-click", "users", "both"]
    assert "at least 5 sessions and p of at most 0.05" in main(client.get(f"{ADDRESS}?p=0.05"))
    assert client.get(f"{ADDRESS}?rule=guess").status_code == 422
    assert client.get(f"{ADDRESS}?log=9").status_code == 404


def test_the_files_hold_the_same(site: Site, tmp_path: Path) -> None:
    """JSON, CSV and a preference file that reads back."""
    client = imported(site, tmp_path)
    facts = client.get(f"{ADDRESS}.json?least=2").get_json()
    assert facts["preferences"] == [
        {"topic": "1", "better": "d2", "worse": "d1", "count": 7, "against": 1, "p": 0.0703125}
    ]
    assert (facts["rule"], facts["least"], facts["users"], facts["from"]) == (
        "skip-above",
        2,
        7,
        "2026-05-31",
    )
    rows = list(csv.reader(io.StringIO(client.get(f"{ADDRESS}.csv?least=2").text)))
    assert rows == [
        ["topic", "better", "worse", "sessions", "against", "p"],
        ["1", "d2", "d1", "7", "1", "0.0703125"],
    ]
    path = tmp_path / "preferences.txt"
    path.write_bytes(client.get(f"{ADDRESS}.txt").data)
    assert read_preferences(path).pairs == {"1": {"": {(b"d2", b"d1"): 7.0}}}


def test_no_user_is_on_any_page_or_in_any_file(site: Site, tmp_path: Path) -> None:
    """Neither names nor hashes nor the key, also not where a log is refused."""
    client = imported(site, tmp_path)
    answers = [client.get(f"{ADDRESS}{rest}?least=1&count=users") for rest in ("", ".json", ".csv", ".txt")]
    answers += [client.get("/tasks/robots/organise"), client.get("/tasks/robots/history.json")]
    bad = tmp_path / "bad.csv"
    bad.write_text(
        "user,query,document,rank,clicked,time\nAnn Smith,first topic,d1,Ann Smith,Ann Smith,Ann Smith\n"
        "Ann Smith,first topic,d1\n"
    )
    refused = send(client, bad)
    assert refused.status_code == 422
    assert "The rank cannot be read." in main(refused)
    answers += [refused, client.post(ADDRESS, data={"log": (bad.open("rb"), "x")}, headers=JSON)]
    with site.database.read() as session:
        (hashed, *_) = unpack_sessions(session.query(ClickLog.body).one()[0]).users
        key = session.query(Task.click_key).filter(Task.slug == "robots").one()[0]
    for answer in answers:
        for secret in ("Ann Smith", "Bob", hashed.hex(), key.hex()):
            assert secret not in answer.text
            assert secret not in str(answer.headers)


JSON = {"Accept": "application/json"}


def test_users_are_dropped_where_the_box_is_ticked(site: Site, tmp_path: Path) -> None:
    """Nothing is kept of them."""
    client = site.browser("Olga")
    assert send(client, build.click_log(tmp_path, SESSIONS), keep_users="").status_code == 303
    with site.database.read() as session:
        assert unpack_sessions(session.query(ClickLog.body).one()[0]).users == ()
    assert "users" not in [each.strip(",") for each in table_caption(client).split()]


def table_caption(client: FlaskClient) -> str:
    """The caption of the table by topic."""
    found = parsed(client.get(ADDRESS)).find("caption")
    assert found is not None
    return found.get_text()


def test_what_cannot_be_imported_is_said_on_the_page(site: Site, tmp_path: Path) -> None:
    """No file, the same file again, a log of other topics: each with its sentence and status."""
    client = imported(site, tmp_path)
    empty = client.post(ADDRESS, data={})
    assert (empty.status_code, "Choose a query log." in main(empty)) == (422, True)
    again = send(client, build.click_log(tmp_path, SESSIONS))
    assert (again.status_code, "already imported as log 1" in main(again)) == (409, True)
    other = send(client, build.click_log(tmp_path, [("u", "9", ("a",), (1,))], "other"))
    assert (other.status_code, "matches a topic" in main(other)) == (422, True)


def test_a_log_can_be_deleted(site: Site, tmp_path: Path) -> None:
    """Its sessions are gone."""
    client = imported(site, tmp_path)
    assert client.post(f"{ADDRESS}/1/delete").status_code == 303
    assert "No query logs yet." in main(client.get(ADDRESS))
    assert client.post(f"{ADDRESS}/1/delete").status_code == 404


def test_preferences_are_published_as_they_are_previewed(site: Site, tmp_path: Path) -> None:
    """The form carries the choice; without a note it comes back; the revision says clicks."""
    client = imported(site, tmp_path)
    page = parsed(client.get(f"{ADDRESS}?least=2&keep=both"))
    form = next(each for each in page.find_all("form") if "/publish" in str(each["action"]))
    assert "least=2" in str(form["action"])
    assert "keep=both" in str(form["action"])
    refused = client.post(str(form["action"]), data={"note": ""})
    assert (refused.status_code, "needs a note" in main(refused)) == (422, True)
    assert client.post(str(form["action"]), data={"note": "Clicks of May."}).status_code == 303
    with site.database.read() as session:
        notes = [note for (note,) in session.query(QrelsRevision.note)]
    assert "Clicks of May." in notes
