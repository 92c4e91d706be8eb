"""History, snapshots and citing as pages and files, and the board as of a date."""

import csv
import hashlib
import io
import json
from datetime import timedelta
from pathlib import Path

import pytest
from flask.testing import FlaskClient
from sqlalchemy import update

from leaderboard.boards.page import snapshot
from leaderboard.boards.web import snapshots
from leaderboard.db.engine import Database, now
from leaderboard.db.tables import Edition, Run, Task
from leaderboard.runs.ops.limits import RunRequest
from tests.make import build
from tests.make.copies import built_once
from tests.make.pages import form, main, parsed, table
from tests.web.conftest import SignIn

BEST = {"1": ["a", "c"], "2": ["d"], "3": ["e", "f"]}
HALF = {"1": ["x", "a"], "2": ["x", "d"], "3": ["x", "e"]}


@pytest.fixture
@built_once
def site(database: Database, tmp_path: Path) -> None:
    """Two ranked runs, a baseline, and one that waits for its scores."""
    build.task(database, tmp_path, measures=("RR", "AP"))
    build.run(database, tmp_path, BEST, "best_one", team_name="One & only")
    build.run(database, tmp_path, HALF, "half", team_name="Two")
    build.run(database, tmp_path, HALF, "base", run_request=RunRequest("base", "baseline"))
    build.drain(database)
    build.run(database, tmp_path, HALF, "fresh", team_name="Two")


def _freeze(client: FlaskClient, slug: str = "t") -> str:
    """The address of the snapshot made by the button on the history page."""
    fields = form(client.get(f"/tasks/{slug}/history"), f"/tasks/{slug}/snapshots")
    response = client.post(f"/tasks/{slug}/snapshots", data=fields)
    assert response.status_code == 303
    return response.headers["Location"]


@pytest.mark.trial
@pytest.mark.usefixtures("site")
def test_a_snapshot_shows_what_the_board_showed(client: FlaskClient, sign_in: SignIn) -> None:
    """Ranks, runs, teams, kinds and scores with the measure's digits; then anybody may read it."""
    sign_in(client, "Nina")
    path = _freeze(client)
    client.delete_cookie("session")
    page = client.get(path)
    assert table(page, "Ranked by mean RR") == [
        ["1 1–1", "best_one ●", "One & only", "1", "0", "1.0000", "1.0000"],
        ["", "base baseline", "Team", "–", "–", "0.5000", "0.3333"],
        ["2 2–2", "half", "Two", "0", "1", "0.5000", "0.3333"],
        ["", "fresh", "Two", "–", "–", "was not scored yet", "–"],
    ]
    text = main(page)
    assert "Highest mean RR: best_one (1.0000)." in text
    assert "The current board still shows exactly the same." in text
    assert "RR (version 1), AP (version 1)" in text


@pytest.mark.usefixtures("site")
def test_the_json_has_the_digest_that_is_the_address(client: FlaskClient, sign_in: SignIn) -> None:
    """Its bytes are those to check; CSV has the same doubles, LaTeX and BibTeX name the snapshot."""
    sign_in(client, "Nina")
    path = _freeze(client)
    body = client.get(f"{path}.json").get_data()
    digest = hashlib.sha256(body).hexdigest()
    assert path == f"/snapshots/{digest[:16]}"
    assert digest in main(client.get(path))
    rows = list(csv.DictReader(io.StringIO(client.get(f"{path}.csv").text)))
    facts = json.loads(body)
    assert [float(row["AP"]) if row["AP"] else None for row in rows] == [
        row["scores"]["AP"] for row in facts["rows"]
    ]
    latex = client.get(f"{path}.tex").text
    assert r"1 & best\_one & One \& only & 1.0000 & 1.0000 \\" in latex
    assert "qrels revision 1, 3 topics" in latex
    bib = client.get(f"{path}.bib")
    assert bib.headers["Content-Disposition"] == f'attachment; filename="t-{digest[:16]}.bib"'
    assert f"url = {{http://localhost{path}}}" in bib.text
    shown = parsed(client.get(path)).find("pre", class_="bibtex")
    assert shown is not None
    assert shown.get_text() == bib.text


@pytest.mark.usefixtures("site")
def test_a_long_snapshot_is_cut_and_whole_once_asked_for(
    client: FlaskClient, sign_in: SignIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first rows and a link to all; the files always have all."""
    sign_in(client, "Nina")
    path = _freeze(client)
    monkeypatch.setattr(snapshots, "ROWS_AT_FIRST", 2)
    page = client.get(path)
    assert len(table(page, "Ranked by")) == 2
    (link,) = parsed(page).find_all("a", string="All 4 runs")
    assert len(table(client.get(str(link["href"])), "Ranked by")) == 4
    assert len(client.get(f"{path}.csv").text.splitlines()) == 1 + 4


@pytest.mark.usefixtures("site")
def test_a_snapshot_stays_while_the_board_moves_on(
    database: Database, client: FlaskClient, sign_in: SignIn
) -> None:
    """Its rows are those of then; the page says how the board differs and leads there."""
    sign_in(client, "Nina")
    path = _freeze(client)
    before = client.get(f"{path}.json").get_data()
    build.drain(database)
    text = main(client.get(path))
    assert "was not scored yet" in text
    assert "This snapshot never changes. The current board differs: 1 run has a different RR: fresh." in text
    assert client.get(f"{path}.json").get_data() == before
    assert _freeze(client) != path


@pytest.mark.usefixtures("site")
def test_a_whole_digest_leads_to_the_address_and_others_nowhere(client: FlaskClient, sign_in: SignIn) -> None:
    """What is no snapshot is 404 in every form."""
    sign_in(client, "Nina")
    path = _freeze(client)
    digest = hashlib.sha256(client.get(f"{path}.json").get_data()).hexdigest()
    assert client.get(f"/snapshots/{digest}").headers["Location"] == path
    for address in ("0" * 16, path[-8:], "x"):
        for suffix in ("", ".json", ".csv", ".tex", ".bib"):
            assert client.get(f"/snapshots/{address}{suffix}").status_code == 404


@pytest.mark.usefixtures("site")
def test_the_history_lists_editions_snapshots_and_days(
    database: Database, client: FlaskClient, sign_in: SignIn, tmp_path: Path
) -> None:
    """Newest first, each with a link to what it names."""
    assert "sign in" in main(client.get("/tasks/t/history"))
    sign_in(client, "Nina")
    path = _freeze(client)
    build.revise(database, tmp_path, {"1": {"x": 1}})
    build.drain(database)
    page = client.get("/tasks/t/history")
    newest, oldest = table(page, "Editions of the board")
    assert newest[2:] == [
        "now",
        "2",
        "1",
        "4",
        "fresh and 1 tied",
        "1.0000 RR",
        "Qrels revision 2: a note. 1 topic instead of 3.",
    ]
    assert (oldest[0], *oldest[3:8]) == ("1", "1", "3", "4", "best_one", "1.0000 RR")
    ((address, _, edition),) = table(page, "Frozen boards")
    assert (f"/snapshots/{address}", edition) == (path, "1")
    ((day, count, added, gone),) = table(page, "Days on which runs were added or withdrawn")
    assert (count, added, gone) == ("4", "best_one , half , base , fresh", "–")
    links = {str(link["href"]) for link in parsed(page).find_all("a", href=True)}
    assert {path, "/tasks/t?edition=1", f"/tasks/t?at={day}"} <= links
    facts = client.get("/tasks/t/history.json").get_json()
    assert [each["edition"] for each in facts["editions"]] == [2, 1]
    assert facts["snapshots"][0]["sha256"][:16] == address
    lines = list(csv.DictReader(io.StringIO(client.get("/tasks/t/history.csv").text)))
    assert [line["leader"] for line in lines] == ["fresh", "best_one"]
    assert r"best\_one & RR & 1.0000" in client.get("/tasks/t/history.tex").text


@pytest.mark.usefixtures("site")
@pytest.mark.dialect
def test_a_long_history_is_cut_and_says_so(
    database: Database, client: FlaskClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The last days, a few names a day, and a link to all days."""
    monkeypatch.setattr(snapshots, "DAYS_AT_FIRST", 1)
    monkeypatch.setattr(snapshots, "NAMES_AT_FIRST", 2)
    with database.write() as session:
        earlier = now(session) - timedelta(days=3)
        session.execute(update(Run).where(Run.name == "fresh").values(created_at=earlier))
    page = client.get("/tasks/t/history")
    ((_, count, added, _),) = table(page, "Days on which runs")
    assert (count, added) == ("4", "best_one , half and 1 more")
    (link,) = parsed(page).find_all("a", string="All 2 days")
    assert len(table(client.get(str(link["href"])), "Days on which runs")) == 2


@pytest.mark.dialect
def test_tasks_without_judgments_and_sealed_ones_have_empty_histories(
    database: Database, client: FlaskClient, sign_in: SignIn, tmp_path: Path
) -> None:
    """Each says why, and offers nothing to freeze; asking all the same is refused with a sentence."""
    sign_in(client, "Nina")
    build.task(database, tmp_path, "bare", judgments=None)
    build.task(database, tmp_path, "quiet")
    with database.write() as session:
        session.execute(update(Task).where(Task.slug == "quiet").values(visibility="sealed"))
    assert "the first edition is created with the first judgments" in main(client.get("/tasks/bare/history"))
    assert "The history of this board will be shown when the task closes." in main(
        client.get("/tasks/quiet/history")
    )
    for slug, why in (("bare", "no judgments yet"), ("quiet", "is sealed")):
        assert (
            parsed(client.get(f"/tasks/{slug}/history")).find_all("form", method="post", action=True)[1:]
            == []
        )
        refused = client.post(f"/tasks/{slug}/snapshots")
        assert refused.status_code == 409
        assert why in main(refused)


@pytest.mark.usefixtures("site")
@pytest.mark.dialect
def test_a_board_of_a_date_says_so_and_keeps_it_in_its_links(database: Database, client: FlaskClient) -> None:
    """Today's end is now; a day before the first edition, one to come and nonsense are sentences."""
    with database.write() as session:
        past = now(session) - timedelta(days=9)
        session.execute(update(Edition).values(shown_from=past))
        session.execute(update(Run).where(Run.name != "half").values(created_at=past))
        day = past + timedelta(days=4)
    page = client.get(f"/tasks/t?at={day:%Y-%m-%d}")
    names = {link.get_text() for link in parsed(page).select("table.board tbody th a")}
    assert {"base", "best_one", "fresh"} <= names
    assert "half" not in names
    assert f"This is the board as of {day:%Y-%m-%d} 23:59 UTC" in main(page)
    head = parsed(page).find("a", string="AP")
    assert head is not None
    assert f"at={day:%Y-%m-%d}" in str(head["href"])
    facts = client.get(f"/tasks/t.json?at={day:%Y-%m-%d}").get_json()
    assert facts["at"] == f"{day:%Y-%m-%d}T23:59:59.999999+00:00"
    assert {row["run"] for row in facts["rows"]} == {"best_one", "base", "fresh"}
    for text, status, why in (
        (
            f"{past - timedelta(days=1):%Y-%m-%d}",
            404,
            f"Task t had no board at {past - timedelta(days=1):%Y-%m-%d}",
        ),
        (f"{past + timedelta(days=11):%Y-%m-%d}", 422, "is in the future"),
        ("soon", 422, "is not a date"),
    ):
        refused = client.get("/tasks/t", query_string={"at": text})
        assert (refused.status_code, why in main(refused)) == (status, True), text
    assert client.get("/tasks/t?at=").status_code == 200


@pytest.mark.usefixtures("site")
def test_the_board_can_be_cited(client: FlaskClient) -> None:
    """BibTeX with an address that says which edition, and a form for a date."""
    page = parsed(client.get("/tasks/t?measure=AP"))
    entry = page.find("pre", class_="bibtex")
    assert entry is not None
    assert entry.get_text().startswith("@misc{t-edition-1,\n")
    assert "url = {http://localhost/tasks/t?measure=AP&edition=1}" in entry.get_text()
    field = page.find("input", attrs={"name": "at"})
    assert field is not None
    assert field["type"] == "date"


def test_what_was_frozen_before_names_all_that_beat_a_run() -> None:
    """A row of a snapshot of the first release has no `named`: its count stands as it stood."""
    place = {"beats": 1, "beaten_by": 2, "undecided": 0, "rank_low": 3, "rank_high": 3, "best_set": False}
    row = {"rank": 3, "run_id": 1, "run": "a", "team": "b", "kind": "official", "scores": {}, "scored": True}
    frozen = snapshot._row(row | place)
    assert frozen.place is not None
    assert frozen.place.named == 2
