"""The answer page: segments, citations and documents as text, what was cut, where to go on, and as files."""

import io
import json
import zipfile
from pathlib import Path

import pytest
from flask.testing import FlaskClient

from leaderboard.db.engine import Database
from tests.make import answered, build, pages, people
from tests.web.conftest import SignIn


def _sent(path: Path) -> tuple[io.BytesIO, str]:
    return io.BytesIO(path.read_bytes()), path.name


def _cited(database: Database, folder: Path, **options: object) -> int:
    answered.task(database, folder, rules={"limit": 7, "unit": "words", "over": "cut"}, **options)
    return answered.run(database, folder)


def test_an_answer_is_shown_as_text_with_its_citations(
    database: Database, client: FlaskClient, tmp_path: Path
) -> None:
    """Markup in it is text; citations are named; numbers are those of what counts."""
    run_id = _cited(database, tmp_path)
    assert pages.parsed(client.get(f"/runs/{run_id}")).find("a", href=f"/runs/{run_id}/answers/1")
    shown = client.get(f"/runs/{run_id}/answers/1")
    page = pages.parsed(shown)
    assert "<b>blue</b>" in page.find(class_="answer-text").text
    assert page.find(class_="answer-text").find("b") is None
    numbers = [tag.text for tag in page.find("ul", class_="figures").find_all("b")]
    assert numbers == ["5", "1", "2", "0"]
    assert "It always did." in page.find(id="cut").find_next("ol").text
    cited = page.find("ol", class_="answer")
    assert [code.text for code in cited.find_all("code")] == ["d4", "d9"]
    # The task has no collection: there is no document to lead to.
    assert cited.find_all("a") == []


def test_rankings_of_answers_lead_to_the_answer(
    database: Database, client: FlaskClient, tmp_path: Path
) -> None:
    """Page and files; a topic that is not there stays unknown, and a run of rankings has no answers."""
    run_id = _cited(database, tmp_path)
    build.task(database, tmp_path, measures=("AP",))
    ranked = build.run(database, tmp_path, {"1": ["a"]}, "ranked")
    for suffix in ("", ".json"):
        moved = client.get(f"/runs/{run_id}/topics/1{suffix}")
        assert (moved.status_code, moved.headers["Location"]) == (302, f"/runs/{run_id}/answers/1{suffix}")
    for path in (f"{run_id}/topics/77", f"{run_id}/answers/77", f"{ranked}/answers/1", "99/answers/1"):
        assert client.get(f"/runs/{path}").status_code == 404


def test_the_files_say_the_same(database: Database, client: FlaskClient, tmp_path: Path) -> None:
    """JSON has segments with citations and what was cut off; CSV a row a citation."""
    run_id = _cited(database, tmp_path)
    facts = json.loads(client.get(f"/runs/{run_id}/answers/1.json").data)
    assert [one["docno"] for one in facts["segments"][0]["citations"]] == ["d4", "d9"]
    assert facts["cut_off"] == [{"text": "It always did.", "borne_out": None, "citations": []}]
    assert (facts["length"], facts["length_as_sent"], facts["limit"]) == (5, 8, 7)
    rows = client.get(f"/runs/{run_id}/answers/1.csv").text.splitlines()
    assert rows[0] == "segment,text,citation,docno,confidence,support,counts"
    assert len(rows) == 4


def test_topics_and_runs_are_walked_in_order(database: Database, client: FlaskClient, tmp_path: Path) -> None:
    """The next topic of the run, and the next run that answers the topic."""
    first = answered.run(database, tmp_path) if answered.task(database, tmp_path) else 0
    second = answered.run(database, tmp_path, {"1": answered.TEXTS["1"]}, "but-one", team_name="Other")
    page = pages.parsed(client.get(f"/runs/{first}/answers/1"))
    assert [(link["rel"], link["href"]) for link in page.find_all("a", rel=True)] == [
        (["next"], f"/runs/{first}/answers/2"),
        (["next"], f"/runs/{second}/answers/1"),
    ]
    page = pages.parsed(client.get(f"/runs/{second}/answers/2"))
    assert "This run has no answer for this topic." in page.text


def test_a_cited_document_is_opened_beside_the_answer(
    database: Database, client: FlaskClient, tmp_path: Path
) -> None:
    """Only documents that the answer cites, as text."""
    texts = (("d4", "On light", "Blue <i>is</i> scattered."), ("d9", "", "More."), ("d0", "Not cited", "No."))
    corpus = tmp_path / "corpus.jsonl"
    records = [{"_id": docno, "title": title, "text": text} for docno, title, text in texts]
    corpus.write_text("".join(json.dumps(record) + "\n" for record in records))
    run_id = _cited(database, tmp_path, documents=corpus)
    page = pages.parsed(client.get(f"/runs/{run_id}/answers/1?docno=d4"))
    assert page.find(id="document").find("pre").text == "Blue <i>is</i> scattered."
    assert page.find("ol", class_="answer").find("a")["href"] == f"/runs/{run_id}/answers/1?docno=d4#document"
    for other in ("d0", "nothing"):
        assert pages.parsed(client.get(f"/runs/{run_id}/answers/1?docno={other}")).find(id="document") is None


@pytest.mark.parametrize("visibility", ["blind", "sealed"])
def test_answers_are_held_back_as_rankings_are(
    visibility: str, database: Database, client: FlaskClient, sign_in: SignIn, tmp_path: Path
) -> None:
    """Of others nothing is shown and no neighbour named; a team reads its own."""
    ann = sign_in(client, "Ann")
    people.team(database, "Owls", ann)
    answered.task(database, tmp_path, visibility=visibility)
    own = answered.run(database, tmp_path, name="own", team_name="Owls")
    others = answered.run(database, tmp_path, {**answered.TEXTS, "3": []}, "others", team_name="Team")
    assert client.get(f"/runs/{others}/answers/1").status_code == 404
    assert client.get(f"/runs/{others}/topics/1").status_code == 404
    assert "/answers/1" in client.get(f"/runs/{own}").text
    assert "/answers/1" not in client.get(f"/runs/{others}").text
    page = client.get(f"/runs/{own}/answers/1")
    assert page.status_code == 200
    assert "others" not in page.text


def test_a_file_is_sent_by_the_form_and_checked_without_being_sent(
    database: Database, client: FlaskClient, sign_in: SignIn, tmp_path: Path
) -> None:
    """The pages of rankings take answers: rules, report and run."""
    team = people.team(database, "Owls", sign_in(client, "Ann"))
    answered.task(database, tmp_path, rules={"limit": 7, "unit": "words", "over": "refuse"})
    assert "one JSON object per line" in client.get("/tasks/answers/submit").text
    path = answered.run_file(tmp_path)
    checked = client.post("/tasks/answers/check", data={"file": _sent(path)})
    assert "at most 7 are allowed" in checked.text
    assert "would be rejected" in checked.text
    data = {"file": _sent(path), "team": team, "kind": "official"}
    rejected = client.post("/tasks/answers/submit", data=data, follow_redirects=True)
    assert "at most 7 are allowed" in rejected.text
    good = answered.run_file(tmp_path, {**answered.TEXTS, "1": answered.TEXTS["1"][:1]}, "good")
    data = {"file": _sent(good), "team": team, "kind": "official"}
    accepted = client.post("/tasks/answers/submit", data=data)
    assert accepted.status_code == 303
    run = accepted.headers["Location"]
    assert client.get(run).status_code == 200
    assert client.get(f"{run}/file").data == good.read_bytes()
    assert client.get(f"{run}/answers/2").status_code == 200


def test_an_evaluator_checks_what_was_kept_for_it(
    database: Database, client: FlaskClient, sign_in: SignIn, tmp_path: Path
) -> None:
    """Files that come together are checked by a job, from the stored pieces."""
    team = people.team(database, "Owls", sign_in(client, "Ann"))
    answered.task(database, tmp_path)
    files = [answered.run_file(tmp_path, name=name) for name in ("one", "two")]
    data = {"file": [_sent(path) for path in files], "team": team, "kind": "official"}
    assert client.post("/tasks/answers/submit", data=data).status_code == 303
    build.drain(database)
    shown = [client.get(f"/runs/{run_id}/answers/1") for run_id in (1, 2)]
    assert [page.status_code for page in shown] == [200, 200]


def test_longevals_zip_is_one_run_by_the_form(
    database: Database, client: FlaskClient, sign_in: SignIn, tmp_path: Path
) -> None:
    """Alone it is a run with the facts of its metadata; beside others it stays one, in a batch."""
    team = people.team(database, "Owls", sign_in(client, "Ann"))
    answered.task(database, tmp_path)
    path = answered.longeval_zip(tmp_path / "owls.zip")
    data = {"file": _sent(path), "team": team, "kind": "official"}
    accepted = client.post("/tasks/answers/submit", data=data, follow_redirects=True)
    assert accepted.status_code == 200, pages.main(accepted)
    assert client.get("/runs/1/file").data == path.read_bytes()
    assert "64 GB RAM" in client.get("/runs/1").text
    assert client.get("/runs/1/answers/2").status_code == 200
    two, three = answered.longeval_zip(tmp_path / "two.zip"), answered.run_file(tmp_path, name="three")
    both = {**data, "file": [_sent(two), _sent(three)]}
    assert client.post("/tasks/answers/submit", data=both).status_code == 303
    build.drain(database)
    assert [client.get(f"/runs/{run}.json").get_json()["run"] for run in (2, 3)] == ["two", "three"]


def test_other_zips_are_many_runs(
    database: Database, client: FlaskClient, sign_in: SignIn, tmp_path: Path
) -> None:
    """A zip of files of answers is a batch, as one of rankings is; a damaged one is refused."""
    team = people.team(database, "Owls", sign_in(client, "Ann"))
    answered.task(database, tmp_path)
    many = tmp_path / "many.zip"
    with zipfile.ZipFile(many, "w") as archive:
        for name in ("one", "two"):
            archive.write(answered.run_file(tmp_path, name=name), f"{name}.jsonl")
    data = {"file": _sent(many), "team": team, "kind": "official"}
    assert "/batches/" in client.post("/tasks/answers/submit", data=data).headers["Location"]
    build.drain(database)
    assert [client.get(f"/runs/{run_id}/answers/1").status_code for run_id in (1, 2)] == [200, 200]
    cut = tmp_path / "cut.zip"
    cut.write_bytes(answered.longeval_zip(tmp_path / "whole.zip").read_bytes()[:-30])
    refused = client.post("/tasks/answers/submit", data={**data, "file": _sent(cut)})
    assert "The zip archive is cut off" in pages.main(refused)
