"""Revisions in the browser: sent, looked at, published, read."""

import io
from pathlib import Path
from typing import Any

import pytest
from flask.testing import FlaskClient
from sqlalchemy import update

from leaderboard.core.policy import OPERATOR
from leaderboard.db.engine import Database
from leaderboard.db.tables import Job
from leaderboard.qrels.page.revisions import rank_changes
from leaderboard.scoring.ops.qrels import files as qrels
from leaderboard.scoring.ops.statistics import requests
from leaderboard.scoring.ops.statistics.requests import KeptResults
from leaderboard.tasks.ops import roles
from tests.make import build, pages
from tests.make.revised import revise
from tests.web.conftest import SignIn
from tests.web.test_crawl import faults, tree

FIRST = {"1": ["a", "x", "c"], "2": ["y", "d", "a"], "3": ["e", "f"]}
SECOND = {"1": ["x", "b", "a"], "2": ["a", "y"], "3": ["x", "y", "e"]}
BETTER = "1 0 x 2\n1 0 a 0\n2 0 a 1\n2 0 y 2\n3 0 e 1\n3 0 x 2\n"
LIST = "/tasks/t/revisions"


def _file(text: str, name: str = "better.txt") -> tuple[io.BytesIO, str]:
    return io.BytesIO(text.encode()), name


@pytest.fixture
def organiser(database: Database, tmp_path: Path, client: FlaskClient, sign_in: SignIn) -> FlaskClient:
    """An organiser of a task with two scored runs."""
    sign_in(client, "Olga", is_organiser=True)
    build.task(database, tmp_path, measures=("AP", "P@2"), primary="AP")
    build.run(database, tmp_path, FIRST, "first")
    build.run(database, tmp_path, SECOND, "second")
    build.drain(database)
    with database.write() as session:
        roles.give(session, OPERATOR, "t", "Olga", "organiser")
    return client


def _send(client: FlaskClient, **change: Any) -> str:
    """The address of the preview of judgments that were sent."""
    fields = pages.form(client.get(LIST), LIST)
    response = client.post(LIST, data={**fields, "qrels": _file(BETTER), "note": "Better ones.", **change})
    assert response.status_code == 303, pages.main(response)
    return response.headers["Location"]


@pytest.mark.dialect
def test_judgments_are_looked_at_published_and_read(organiser: FlaskClient, database: Database) -> None:
    """Preview, revision page while runs are scored, the switch, and the page of what became of the runs."""
    preview = _send(organiser)
    page = organiser.get(preview)
    text = pages.main(page)
    assert list(faults(tree(page.text))) == []
    assert "Publishing makes this revision 2, replacing revision 1." in text
    assert "2 of 2 ranked runs have a different rank by AP" in text
    assert [row[:5] for row in pages.table(page, "Ranks by AP")] == [
        ["1", "second", "Team", "2", "▲ 1"],
        ["2", "first", "Team", "1", "▼ 1"],
    ]
    assert pages.table(page, "Judged documents by grade")[0] == ["3", "1", "0", "−1"]
    assert organiser.get(f"{preview}.json").get_json()["changes"]["added"] == 3
    fields = pages.form(page, preview)
    done = organiser.post(preview, data=fields)
    assert done.headers["Location"] == f"{LIST}/2"
    page = organiser.get(f"{LIST}/2")
    assert "All runs are being scored under revision 2: 0 of 2 done." in pages.main(page)
    assert "revision 1" in pages.main(organiser.get("/tasks/t"))
    build.drain(database)
    page = organiser.get(f"{LIST}/2")
    assert list(faults(tree(page.text))) == []
    assert list(faults(tree(organiser.get(LIST).text))) == []
    assert "being scored" not in pages.main(page)
    assert [row[:5] for row in pages.table(page, "Ranks by AP")] == [
        ["1", "second", "Team", "2", "▲ 1"],
        ["2", "first", "Team", "1", "▼ 1"],
    ]
    assert "Kendall’s τ between the two rankings is −1.000" in pages.main(page)
    topics = pages.table(page, "Topics with changed judgments: 3 of 3")
    assert topics[0][:8] == ["1 title of 1", "3", "2", "1", "1", "2", "2", "1"]
    assert "Qrels revision 2" in pages.main(organiser.get("/tasks/t"))


def test_every_table_is_a_file_too(organiser: FlaskClient, database: Database) -> None:
    """JSON, CSV and LaTeX of the list and of one revision, and the judgments as they can be read again."""
    organiser.post(_send(organiser), data={"base": "1"})
    build.drain(database)
    assert [row["number"] for row in organiser.get(f"{LIST}.json").get_json()["revisions"]] == [2, 1]
    assert organiser.get(f"{LIST}.csv").text.splitlines()[1].startswith("2,Better ones.,6,3,better.txt,")
    assert r"\toprule" in organiser.get(f"{LIST}.tex").text
    found = organiser.get(f"{LIST}/2.json?measure=P@2").get_json()
    assert (found["ranks"]["measure"], found["editions"]) == ("P@2", [1, 2])
    assert found["revision"]["sha256"]
    lines = organiser.get(f"{LIST}/2.csv").text.splitlines()
    assert lines[0] == "run,run_id,team,kind,old_rank,new_rank,moved_up,old,new,difference"
    assert lines[1].startswith("second,2,Team,official,2,1,1,")
    topics = organiser.get(f"{LIST}/2.csv?of=topics").text.splitlines()
    assert topics[1] == "1,title of 1,3,2,1,1,2,2,1"
    assert r"\toprule" in organiser.get(f"{LIST}/2.tex").text
    assert organiser.get(f"{LIST}/2/qrels.txt").text == (
        "1 0 a 0\n1 0 x 2\n2 0 a 1\n2 0 y 2\n3 0 e 1\n3 0 x 2\n"
    )
    assert organiser.get(f"{LIST}/1/qrels.txt").text.startswith("1 0 a 2\n")
    assert organiser.get(f"{LIST}/2/distractors.txt").status_code == 404
    assert organiser.get(f"{LIST}/2/anything.txt").status_code == 404
    assert organiser.get(f"{LIST}/2?measure=RR").status_code == 422


def test_a_figure_of_the_ranks_can_be_had_alone(organiser: FlaskClient, database: Database) -> None:
    """The slope chart has an address of its own."""
    organiser.post(_send(organiser), data={"base": "1"})
    build.drain(database)
    drawn = organiser.get(f"{LIST}/2?figure=slopes")
    assert drawn.mimetype == "image/svg+xml"


@pytest.mark.parametrize(
    ("change", "status", "sentence"),
    [
        ({"note": " "}, 422, "needs a change note"),
        ({"qrels": ""}, 422, "Choose a judgment file"),
        ({"qrels": "1 0 d1\n"}, 422, "A grade is a whole number"),
        ({"qrels": "1 a\n", "holds": "preference"}, 422, "better docno"),
        ({"origin": "machine", "origin_name": "judge"}, 409, "separate judgment series"),
        ({"line": "draft x"}, 422, "cannot be named"),
        ({"distractors": "x\n"}, 422, "must not be relevant"),
        ({"distractors": "1 0 x 0\n"}, 422, "write docnos only"),
    ],
)
def test_what_cannot_be_looked_at_is_said(
    organiser: FlaskClient, change: dict[str, str], status: int, sentence: str
) -> None:
    """The form comes back with the reason, and nothing is kept."""
    given = {"qrels": BETTER, "note": "New.", **change}
    files = {name: _file(given[name], name) for name in ("qrels", "distractors") if given.get(name)}
    rest = {name: value for name, value in given.items() if name not in ("qrels", "distractors")}
    response = organiser.post(LIST, data={**rest, **files})
    assert response.status_code == status
    assert sentence in pages.main(response)


def test_nothing_new_is_refused_on_the_preview(organiser: FlaskClient) -> None:
    """The same judgments again have no button to publish them."""
    same = "".join(
        f"{topic} 0 {docno} {grade}\n"
        for topic, grades in build.JUDGMENTS.items()
        for docno, grade in grades.items()
    )
    preview = _send(organiser, qrels=_file(same))
    page = organiser.get(preview)
    assert "These judgments are identical to the newest revision." in pages.main(page)
    assert pages.parsed(page).find("form", action=preview) is None
    assert organiser.post(preview, data={"base": "1"}).status_code == 409


def test_a_draft_is_discarded(organiser: FlaskClient) -> None:
    """Once a question was opened; it is gone, and says so."""
    preview = _send(organiser)
    form = pages.parsed(organiser.get(preview)).find("form", action=f"{preview}/discard")
    assert form is not None
    assert form.parent.name == "details"
    assert "Discard these judgments?" in form.get_text()
    assert organiser.post(f"{preview}/discard").status_code == 303
    gone = organiser.get(preview)
    assert gone.status_code == 404
    assert "kept for one day" in pages.main(gone)


@pytest.mark.dialect
def test_long_work_is_done_by_an_evaluator(
    organiser: FlaskClient, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The preview offers it, waits for it and shows it."""
    monkeypatch.setattr(rank_changes, "AT_ONCE_S", 0.0)
    monkeypatch.setattr(requests, "kept", KeptResults(2**20))
    preview = _send(organiser)
    pages.form(organiser.get(preview), f"{preview}/ranks")
    assert organiser.post(f"{preview}/ranks").status_code == 303
    assert "waiting for a free evaluator" in pages.main(organiser.get(preview))
    build.drain(database)
    assert pages.table(organiser.get(preview), "Ranks by AP")[0][1] == "second"


@pytest.mark.dialect
def test_a_failed_job_blocks_the_switch_and_says_so(organiser: FlaskClient, database: Database) -> None:
    """The revision's page names the run and what an organiser can do; a visitor is told who can."""
    organiser.post(_send(organiser), data={"base": "1"})
    with database.write() as session:
        session.execute(update(Job).where(Job.state == "queued").values(state="failed", error="It broke."))
    text = pages.main(organiser.get(f"{LIST}/2"))
    assert "The board cannot switch because scoring these runs failed." in text
    assert "first: It broke." in text
    assert "withdraw them on the organisers’ page" in text
    organiser.post("/sign-out")
    assert "The organisers must fix or withdraw them." in pages.main(organiser.get(f"{LIST}/2"))
    assert pages.parsed(organiser.get(LIST)).find("form", action=LIST) is None


def test_machine_judgments_get_a_line_that_is_marked(organiser: FlaskClient) -> None:
    """They are listed apart, said to be a machine's, and no score rests on them."""
    preview = _send(organiser, line="judge-1", origin="machine", origin_name="judge-1")
    text = pages.main(organiser.get(preview))
    assert "judged by a machine (judge-1)" in text
    assert "The scores on the board do not change." in text
    done = organiser.post(preview, data={"base": "1"})
    assert done.headers["Location"] == f"{LIST}#lines"
    rows = pages.table(organiser.get(LIST), "Judge-1: judgments, judged by a machine (judge-1)")
    assert rows[0][:4] == ["1", "Better ones.", "6", "3"]


def test_rounds_are_said_and_asked_about(organiser: FlaskClient) -> None:
    """The preview says what the second column was taken for, unless the form did."""
    rounds = "1 0.5 a 1\n1 1 x 1\n2 1 a 1\n"
    preview = pages.main(organiser.get(_send(organiser, qrels=_file(rounds, "r.txt"))))
    assert "The second column holds 0.5, 1" in preview
    told = pages.main(organiser.get(_send(organiser, qrels=_file(rounds, "r.txt"), second="rounds")))
    assert "second column" not in told
    subtopics = organiser.get(_send(organiser, qrels=_file(rounds, "r.txt"), second="subtopics"))
    assert "subtopic judgments" in pages.main(subtopics)


@pytest.mark.parametrize(
    ("text", "mapping", "said"),
    [
        ("1 0 a relevant\n1 0 x no\n", "relevant=2, no=0", "Grade words were read as relevant=2, no=0."),
        ("# made by hand\n1 0 a 1\n1 0 x 0\n", "", "1 line that begins with # was skipped as comments."),
        ("query-id,corpus-id,score\n1,a,1\n1,x,0\n", "", "The first line is a heading and was skipped."),
    ],
)
def test_how_a_file_was_read_is_said_before_it_is_published(
    organiser: FlaskClient, text: str, mapping: str, said: str
) -> None:
    """On the page of the draft, by the API whenever it is asked, and still after a reload."""
    preview = _send(organiser, qrels=_file(text, "q.txt"), map=mapping)
    for _ in range(2):
        assert said in pages.main(organiser.get(preview))
    plain = _send(organiser)
    assert "How the file was read" not in pages.main(organiser.get(plain))


def test_what_stands_beside_the_judgments_is_listed(organiser: FlaskClient, database: Database) -> None:
    """Preferences, subtopics and distractors have their counts, their files and their place in the list."""
    organiser.post(
        _send(organiser, qrels=_file("1 x a 2\n", "p.txt"), holds="preference"), data={"base": "1"}
    )
    organiser.post(
        _send(organiser, qrels=_file("1 1 a 1\n1 2 x 1\n", "s.txt"), second="subtopics"), data={"base": "2"}
    )
    nothing = (io.BytesIO(b""), "")
    organiser.post(_send(organiser, qrels=nothing, distractors=_file("x\ny\n", "d.txt")), data={"base": "3"})
    build.drain(database)
    rows = pages.table(organiser.get(LIST), "Revisions of the judgments")
    assert [row[0] for row in rows] == ["4", "3", "2", "1"]
    assert rows[0][4] == "subtopic judgments 1, preferences 1, distractors"
    assert rows[0][7].replace(" ,", ",") == "qrels, subtopics, preferences, distractors"
    page = pages.main(organiser.get(f"{LIST}/4"))
    assert "2, 0 before: documents known to be irrelevant to every topic" in page
    assert "Preferences" in pages.main(organiser.get(f"{LIST}/2"))
    assert organiser.get(f"{LIST}/4/preferences.txt").text == "1 x a 2\n"
    assert organiser.get(f"{LIST}/4/distractors.txt").text == "x\ny\n"


def test_a_task_without_judgments_has_an_empty_list(
    database: Database, tmp_path: Path, client: FlaskClient
) -> None:
    """The page says that runs wait; the page of a revision is not there."""
    build.task(database, tmp_path, judgments=None)
    assert "No judgments yet" in pages.main(client.get(LIST))
    assert client.get(f"{LIST}/1").status_code == 404


def test_held_back_judgments_are_not_shown(database: Database, tmp_path: Path, client: FlaskClient) -> None:
    """A blind task's list says when it will be shown."""
    build.task(database, tmp_path, visibility="blind")
    assert "will be shown when the task closes" in pages.main(client.get(LIST))
    assert client.get(f"{LIST}.json").get_json()["revisions"] == []
    for rest in ("/1", "/1.json", "/1/qrels.txt", "/lines/1/1.txt"):
        assert client.get(LIST + rest).status_code == 404


def test_many_topics_and_runs_are_cut_with_a_link_to_all(
    organiser: FlaskClient, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The page stays small; everything is one link away."""
    monkeypatch.setattr("leaderboard.qrels.web.revisions.TOPICS_AT_FIRST", 1)
    monkeypatch.setattr("leaderboard.qrels.web.revisions.RUNS_AT_FIRST", 1)
    with database.write() as session:
        prepared = qrels.of_grades({"1": {b"x": 2}, "2": {b"y": 1}}, "q")
        revise(session, prepared)
    build.drain(database)
    assert len(pages.table(organiser.get(f"{LIST}/2"), "Topics with changed judgments")) == 1
    assert len(pages.table(organiser.get(f"{LIST}/2?all="), "Topics with changed judgments")) == 3
    assert len(pages.table(organiser.get(f"{LIST}/2?all="), "Ranks by")) == 2


def test_judgments_of_another_form_are_confirmed_before_they_are_kept(organiser: FlaskClient) -> None:
    """Grades in words come back with numbers to confirm; sent again with these, they are a draft."""
    words = "1 0 x relevant\n1 0 a nonrelevant\n2 0 a relevant\n"
    fields = {**pages.form(organiser.get(LIST), LIST), "note": "Words."}
    asked = organiser.post(LIST, data={**fields, "qrels": _file(words)})
    assert asked.status_code == 422
    said = "The file can be read with this mapping: relevant=1, nonrelevant=0."
    assert said in pages.main(asked)
    assert pages.form(asked, LIST)["map"] == "relevant=1\nnonrelevant=0"
    kept = organiser.post(LIST, data={**fields, "qrels": _file(words), "map": "relevant=2, nonrelevant=0"})
    grades = pages.table(organiser.get(kept.headers["Location"]), "Judged documents by grade")
    assert ["2", "1", "2", "+1"] in grades


def test_judgments_of_no_topic_of_the_task_are_not_kept(organiser: FlaskClient) -> None:
    """Both kinds of ids are shown, and the mapping that makes them the same; with it they are kept."""
    prefixed = BETTER.replace("1 0", "MB001 0").replace("2 0", "MB002 0").replace("3 0", "MB003 0")
    fields = {**pages.form(organiser.get(LIST), LIST), "note": "Prefixed."}
    refused = organiser.post(LIST, data={**fields, "qrels": _file(prefixed)})
    assert refused.status_code == 422
    assert (
        "No judged topic is a topic of the task: the file has MB001, MB002, MB003; the task has 1, 2, 3. The "
        "file's ids have the prefix MB00 too many: to read MB001 as 1, use the mapping topics=task "
        "(--map topics=task)."
    ) in pages.main(refused)
    assert pages.form(refused, LIST)["map"] == "topics=task"
    kept = organiser.post(LIST, data={**fields, "qrels": _file(prefixed), "map": "topics=task"})
    assert organiser.get(f"{kept.headers['Location']}.json").get_json()["changes"]["added"] == 3
