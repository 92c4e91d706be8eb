"""The board as page, JSON and CSV: rows, order, links, editions, and its refreshing while it is rescored."""

import csv
import io
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from flask.testing import FlaskClient
from sqlalchemy import event

from leaderboard.boards.ops import board as service
from leaderboard.boards.web import boards
from leaderboard.core.jobs import queue
from leaderboard.core.policy import ANONYMOUS, OPERATOR
from leaderboard.db.engine import Database
from leaderboard.runs.ops import withdrawals
from leaderboard.runs.ops.limits import RunRequest
from leaderboard.settings import Settings
from leaderboard.tasks.ops import announcements
from leaderboard.tasks.ops.announcements import AnnouncementBody
from tests.make import build
from tests.make.copies import built_once
from tests.make.pages import main, parsed, table

BEST = {"1": ["a", "c"], "2": ["d"], "3": ["e", "f"]}
HALF = {"1": ["x", "a"], "2": ["x", "d"], "3": ["x", "e"]}
THIRD = {"1": ["x", "y", "a"], "2": ["x", "y", "d"], "3": ["x", "y", "e"]}
NONE = {"1": ["x"], "2": ["x"], "3": ["x"]}
KEYS = ("task", "revision", "topics", "primary", "measures", "rows")
ROW_KEYS = ("rank", "run", "team", "scores", "state")
MOST_STATEMENTS = 6


@pytest.fixture
@built_once
def rescoring(database: Database, tmp_path: Path) -> None:
    """A board of three runs while a second revision is scored."""
    build.task(database, tmp_path, measures=("RR", "AP"))
    for number in range(3):
        build.run(database, tmp_path, HALF, f"run-{number}")
    build.drain(database)
    build.revise(database, tmp_path, {"1": {"a": 1}})


@pytest.mark.usefixtures("rescoring")
def test_a_board_that_refreshes_itself_stays_as_it_was_asked_for(client: FlaskClient) -> None:
    """Polling asks for the same order again, and says how far the scoring is."""
    state = parsed(client.get("/tasks/t?measure=AP")).find(id="rescoring")
    assert state is not None
    assert state["hx-get"] == "/tasks/t?measure=AP"
    assert "revision 2: 0 of 3 done" in " ".join(state.get_text().split())
    assert "Until then the board shows revision 1" in " ".join(state.get_text().split())


@pytest.mark.usefixtures("rescoring")
def test_a_long_board_is_cut_and_stays_whole_once_asked_for(
    client: FlaskClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first rows and a link to all; the links that sort keep all, and the files always have all."""
    monkeypatch.setattr(boards, "ROWS_AT_FIRST", 2)
    cut = parsed(client.get("/tasks/t?measure=AP"))
    assert len(cut.find_all("tr")) == 1 + 2
    (everything,) = cut.find_all("a", string="All 3 runs")
    whole = parsed(client.get(str(everything["href"])))
    assert len(whole.find_all("tr")) == 1 + 3
    assert whole.find("a", string="All 3 runs") is None
    head = whole.find("a", string="RR")
    assert head is not None
    assert len(parsed(client.get(str(head["href"]))).find_all("tr")) == 1 + 3
    assert len(client.get("/tasks/t.json").get_json()["rows"]) == 3


@pytest.fixture
@built_once
def full(database: Database, tmp_path: Path) -> None:
    """A board with a tie, every kind of run, a withdrawn run and one that is not scored yet."""
    build.task(database, tmp_path, measures=("RR", "AP", "NumRet"))
    for name, rankings, kind in (
        ("worst", NONE, "official"),
        ("twin-b", HALF, "official"),
        ("twin-a", HALF, "official"),
        ("top", BEST, "official"),
        ("base", BEST, "baseline"),
        ("tardy", THIRD, "late"),
        ("aside", THIRD, "unofficial"),
        ("gone", BEST, "official"),
    ):
        build.run(
            database, tmp_path, rankings, name, run_request=RunRequest(name, kind), team_name=f"Team {name}"
        )
    build.drain(database)
    with database.write() as session:
        run_id = next(row.run_id for row in service.board(session, OPERATOR, "t").rows if row.run == "gone")
        withdrawals.withdraw(session, OPERATOR, run_id, "a mistake")
    build.run(database, tmp_path, BEST, "fresh", team_name="Team fresh")


MEANS = [f"{mean}, 95% interval {mean} to {mean}" for mean in ("1.0000", "0.5000", "0.0000")]
"""What the drawings of the means say: on all topics these runs score the same."""


@pytest.mark.usefixtures("full")
def test_every_kind_of_run_has_its_place(client: FlaskClient) -> None:
    """Baselines stand above; ties share a rank and stand by name; others have none; the unscored are last."""
    assert table(client.get("/tasks/t"), "Ranked by mean RR") == [
        ["", "", "base baseline Team base", "1.0000", "", "", "0%", "1.0000", "5"],
        ["1", "1–1", "top ● Team top", "1.0000", MEANS[0], "3 · 0 · 0", "0%", "1.0000", "5"],
        ["2", "2–3", "twin-a Team twin-a", "0.5000", MEANS[1], "1 · 1 · 1", "50%", "0.3333", "6"],
        ["2", "2–3", "twin-b Team twin-b", "0.5000", MEANS[1], "1 · 1 · 1", "50%", "0.3333", "6"],
        ["", "", "aside unofficial Team aside", "0.3333", "", "", "67%", "0.2222", "9"],
        ["", "", "tardy late Team tardy", "0.3333", "", "", "67%", "0.2222", "9"],
        ["4", "4–4", "worst Team worst", "0.0000", MEANS[2], "0 · 0 · 3", "100%", "0.0000", "3"],
        ["", "", "fresh Team fresh", "queued"],
    ]


@pytest.mark.usefixtures("full")
def test_the_json_is_what_was_promised_in_the_services_doubles(
    database: Database, client: FlaskClient
) -> None:
    """Its promised keys come first; every score is the stored double, and the CSV's is the same."""
    found = client.get("/tasks/t.json").get_json()
    assert set(KEYS) <= found.keys()
    assert [found[key] for key in KEYS[:5]] == ["t", 1, 3, "RR", ["RR", "AP", "NumRet"]]
    assert all(set(ROW_KEYS) <= row.keys() for row in found["rows"])
    with database.read() as session:
        ordered = service.board(session, ANONYMOUS, "t").rows
    # A page pins baselines on top.
    rows = sorted(ordered, key=lambda row: row.kind != "baseline")
    assert [[row[key] for key in ROW_KEYS] for row in found["rows"]] == [
        [row.rank, row.run, row.team, row.scores, row.state] for row in rows
    ]
    lines = list(csv.DictReader(io.StringIO(client.get("/tasks/t.csv").get_data(as_text=True))))
    for line, row in zip(lines, rows, strict=True):
        assert (line["rank"], line["run"]) == ("" if row.rank is None else str(row.rank), row.run)
        assert {key: float(line[key]) if line[key] else None for key in found["measures"]} == row.scores


@pytest.mark.usefixtures("full")
@pytest.mark.parametrize("name", ["AP", "map"])
def test_every_form_sorts_by_a_measure_of_either_name(client: FlaskClient, name: str) -> None:
    """The grammar's name and trec_eval's choose the same column in page, JSON and CSV."""
    found = client.get(f"/tasks/t.json?measure={name}").get_json()
    assert (found["sorted_by"], found["primary"]) == ("AP", "RR")
    runs = [row["run"] for row in found["rows"]]
    page = client.get(f"/tasks/t?measure={name}")
    assert [row[2].split()[0] for row in table(page, "Ranked by mean AP")] == runs
    text = client.get(f"/tasks/t.csv?measure={name}").get_data(as_text=True)
    assert [row["run"] for row in csv.DictReader(io.StringIO(text))] == runs
    assert [head.get_text(strip=True) for head in parsed(page).find_all("th", attrs={"aria-sort": True})] == [
        "AP"
    ]


@pytest.mark.usefixtures("full")
@pytest.mark.parametrize("suffix", ["", ".json", ".csv"])
def test_what_cannot_rank_is_refused_in_words(client: FlaskClient, suffix: str) -> None:
    """A count has no direction: its head does not sort, and a request for it is refused with a reason."""
    refused = client.get(f"/tasks/t{suffix}?measure=NumRet")
    assert refused.status_code == 422
    assert "NumRet has no direction" in refused.get_data(as_text=True)
    assert client.get(f"/tasks/t{suffix}?measure=%00").status_code == 400
    assert client.get(f"/tasks/t{suffix}?measure=").status_code == 422
    heads = {head.get_text(strip=True): head for head in parsed(client.get("/tasks/t")).select("thead th")}
    assert heads["NumRet"].select('a[href^="/tasks/"]') == []
    assert len(heads["AP"].select('a[href^="/tasks/"]')) == 1


@pytest.mark.parametrize("edition", ["2", "0", "-1", "x", "1.0", "", "99999999999999999999", "\u0661"])
def test_an_unknown_edition_is_not_found(
    database: Database, client: FlaskClient, tmp_path: Path, edition: str
) -> None:
    """Whatever is no number of an edition that was shown is 404 in every form, one being built too."""
    build.task(database, tmp_path)
    build.run(database, tmp_path, HALF)
    build.drain(database)
    build.revise(database, tmp_path, {"1": {"a": 1}})
    for suffix in ("", ".json", ".csv"):
        assert client.get(f"/tasks/t{suffix}", query_string={"edition": edition}).status_code == 404
    assert client.get("/tasks/t?edition=1").status_code == 200


def test_an_earlier_edition_is_read_as_it_was(
    database: Database, client: FlaskClient, tmp_path: Path
) -> None:
    """Its address keeps the numbers it had in every form, says that it is past, and keeps being sorted."""
    build.task(database, tmp_path, measures=("RR", "AP"))
    for name, rankings in (("one", HALF), ("two", BEST)):
        build.run(database, tmp_path, rankings, name)
    build.drain(database)
    before = client.get("/tasks/t.json").get_json()
    build.revise(database, tmp_path, {"1": {"x": 1}, "2": {"x": 1}})
    build.drain(database)
    now = client.get("/tasks/t.json").get_json()
    assert [(row["run"], row["scores"]["RR"]) for row in now["rows"]] == [("one", 1.0), ("two", 0.0)]
    assert client.get("/tasks/t.json?edition=1").get_json() == before
    assert client.get("/tasks/t.json?edition=2").get_json() == now
    page = client.get("/tasks/t?edition=1")
    assert "This is edition 1, as it was shown then." in main(page)
    assert "revision 1, 3 topics" in main(page)
    head = parsed(page).find("a", string="AP")
    assert head is not None
    assert "edition=1" in str(head["href"])


@pytest.mark.usefixtures("rescoring")
def test_a_failure_while_rescoring_is_said(database: Database, client: FlaskClient) -> None:
    """The notice counts done and failed runs, and the old board stays."""
    with database.write() as session:
        held = queue.claim(session, "here:1", Settings())
        assert held is not None
        queue.fail(session, held, "It broke.", again=False)
    build.drain(database)
    text = main(client.get("/tasks/t"))
    assert "revision 2: 2 of 3 done, 1 failed" in text
    assert client.get("/tasks/t.json").get_json()["revision"] == 1


@pytest.mark.usefixtures("full")
def test_a_changed_board_has_another_tag(database: Database, client: FlaskClient, tmp_path: Path) -> None:
    """An old tag gets the new board; the tag of the new one gets 304, in every form."""
    paths = ("/tasks/t", "/tasks/t.json", "/tasks/t.csv")
    old = {path: client.get(path).headers["ETag"] for path in paths}
    build.drain(database)
    for path in paths:
        changed = client.get(path, headers={"If-None-Match": old[path]})
        assert changed.status_code == 200, path
        again = client.get(path, headers={"If-None-Match": changed.headers["ETag"]})
        assert (again.status_code, again.get_data()) == (304, b"")


@contextmanager
def _statements(database: Database) -> Iterator[list[str]]:
    """The SQL statements sent while the block runs."""
    sent: list[str] = []

    def note(*arguments: object) -> None:
        if not str(arguments[2]).startswith(("BEGIN", "COMMIT", "ROLLBACK")):
            sent.append(str(arguments[2]))

    event.listen(database.engine, "before_cursor_execute", note)
    try:
        yield sent
    finally:
        event.remove(database.engine, "before_cursor_execute", note)


def _count(database: Database, client: FlaskClient, state: str = "") -> int:
    with _statements(database) as sent:
        assert client.get(f"/tasks/t{state}").status_code == 200
    return len(sent)


def _again(database: Database, client: FlaskClient, state: str = "") -> int:
    """The statements of a page that was asked for before."""
    client.get(f"/tasks/t{state}")
    return _count(database, client, state)


@pytest.mark.trial
def test_a_board_takes_as_many_statements_for_thirty_runs_as_for_three(
    database: Database, client: FlaskClient, tmp_path: Path
) -> None:
    """At most six while all runs are scored, rescoring or not, and no more per run while some wait."""
    build.task(database, tmp_path, measures=("RR",))
    counts = []
    for upto in (3, 30):
        for number in range(3 if upto == 30 else 0, upto):
            build.run(database, tmp_path, {"1": ["x", "a"]}, f"run-{number}", team_name=f"Team {number}")
        queued = _count(database, client)
        build.drain(database)
        scored = _again(database, client)
        build.revise(database, tmp_path, {"1": {"a": 1, f"new-{upto}": 1}})
        rescoring = _again(database, client, "?q=run&bounds&columns=RR&columns=unjudged&field=type")
        build.drain(database)
        counts.append((queued, scored, rescoring))
    (alone, *few), (waiting, *many) = counts
    assert few == many
    assert max(few) <= MOST_STATEMENTS
    # Once: the ranked runs' scores to compare them, the judgments and what stands beside them, the hits.
    assert waiting <= alone + 4


def test_a_warm_board_takes_six_statements_whatever_it_shows(
    database: Database, client: FlaskClient, tmp_path: Path
) -> None:
    """Runs that wait for judgments, that wait for an evaluator, that lack a measure; and news."""
    build.task(database, tmp_path, measures=("RR", "alpha_nDCG@10"), judgments=None)
    told = AnnouncementBody("Good news", "", announcements.EVERYBODY)
    with database.write() as session:
        announcements.send(session, OPERATOR, "t", told, 0, None)
    assert "Good news" in client.get("/tasks/t").text
    build.run(database, tmp_path, BEST, "best")
    assert "waiting for judgments" in client.get("/tasks/t").text
    assert _again(database, client) <= MOST_STATEMENTS
    build.revise(database, tmp_path, build.JUDGMENTS)
    build.drain(database)
    assert "has no subtopics" in client.get("/tasks/t").text
    assert _again(database, client) <= MOST_STATEMENTS
    build.run(database, tmp_path, HALF, "half")
    assert table(client.get("/tasks/t"), "Ranked by")[1][-1] == "queued"
    assert _again(database, client) <= MOST_STATEMENTS
