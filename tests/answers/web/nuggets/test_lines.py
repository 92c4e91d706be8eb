"""Several lines of judgments of answers: a board by each, and how far it agrees with the task's board."""

import io
import json
from pathlib import Path
from typing import Any

import pytest
from flask.testing import FlaskClient
from scipy.stats import kendalltau, pearsonr
from sqlalchemy import select, update

from benchmarks.pages import counted
from leaderboard.answers.ops.nuggets import line_scores
from leaderboard.core.policy import OPERATOR
from leaderboard.db.engine import Database
from leaderboard.db.tables import Entry, Qrels, Task
from leaderboard.tasks.ops import roles
from leaderboard.trec.nuggets.packing import MadeBy
from tests.make import answers, build, nuggeted, pages
from tests.make.copies import built_once
from tests.make.fields_of_answers import AnsweredField, assigned, build_field, generated
from tests.web.conftest import SignIn
from tests.web.test_crawl import faults, tree

KEY = "NuggetRecall(set='vital',strict=1)"
PEOPLE = {"assignments": MadeBy()}
OTHERS = {"support": "partial_support", "partial_support": "support", "not_support": "not_support"}


def _by_people(made: AnsweredField) -> dict[tuple[str, str], list[str]]:
    """Other labels of the same nuggets: people take whole for part, and judge the last topic not at all."""
    return {
        (run, topic): [OTHERS[label] for label in labels]
        for (run, topic), labels in made.labels.items()
        if topic != made.topics[-1]
    }


@pytest.fixture
@built_once
def made(database: Database, tmp_path: Path) -> AnsweredField:
    """Eight runs whose board is by a machine, and a line by people."""
    return _built(database, tmp_path)


@built_once
def _built(database: Database, folder: Path) -> AnsweredField:
    made = generated(8, 6)
    build_field(database, folder, made)
    sent = nuggeted.files(folder, assignments=assigned(made, _by_people(made)))
    nuggeted.revise(database, sent, PEOPLE, line="volunteers")
    return made


@pytest.fixture
def line_id(database: Database, made: AnsweredField) -> int:
    """The number of that line."""
    assert made.runs
    with database.read() as session:
        return session.scalars(select(Qrels.id).where(Qrels.name == "volunteers")).one()


def _vital(made: AnsweredField, labels: dict[tuple[str, str], list[str]], run: str) -> float | None:
    """V_strict of a run by labels, worked out by its formula; None where an answer is not judged."""
    topics = {topic for _, topic in labels}
    values = []
    for topic in made.topics:
        vital = [at for at, (_, one) in enumerate(made.nuggets[topic]) if one == "vital"]
        if (run, topic) not in made.texts:
            values.append(0.0)
        elif topic in topics and (run, topic) in labels:
            values.append(sum(labels[run, topic][at] == "support" for at in vital) / len(vital))
        elif topic in topics:
            return None
    return sum(values) / len(values)


def _json(client: FlaskClient, address: str) -> dict[str, Any]:
    answer = client.get(address)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.get_json()
    return found


@pytest.mark.trial
def test_the_board_by_a_line_is_what_the_formula_says(
    client: FlaskClient, made: AnsweredField, line_id: int
) -> None:
    """Every run under the line's newest revision, beside the board, with their agreement."""
    page = _json(client, f"/tasks/t/lines/{line_id}.json")
    rows = {row["run"]: row for row in page["runs"]}
    board = {row["run"]: row for row in _json(client, "/tasks/t.json")["rows"]}
    by_people = _by_people(made)
    topics = len(made.topics) - 1
    for run in made.runs:
        shown = _vital(made, by_people, run)
        assert rows[run]["board"] == board[run]["scores"][KEY]
        assert rows[run]["board_rank"] == board[run]["rank"]
        if shown is None:
            assert (rows[run]["rank"], rows[run][KEY]) == (None, None)
            assert rows[run]["partial"][KEY]["judged"] == topics - 1
        else:
            assert rows[run][KEY] == pytest.approx(shown, abs=1e-12)
    assert page["line"]["made_by"] == {"nuggets": "GPT-4.1", "assignments": "people"}
    assert page["board"]["made_by"]["assignments"] == "GPT-4.1"
    assert "support labels" not in page["line"]["made_by"]
    common = [row for row in rows.values() if row["rank"] and row["board_rank"]]
    sides = [row["board"] for row in common], [row[KEY] for row in common]
    # The line has nothing on the last topic, so the board is compared as it is, the line over the others.
    assert page["agreement"]["left_out"] == [made.topics[-1]]
    assert page["agreement"]["tau_b"] == pytest.approx(kendalltau(*sides).statistic)
    assert page["agreement"]["r"] == pytest.approx(pearsonr(*sides).statistic)
    decided = page["agreement"]["decided"]
    pairs = ("both_same", "both_opposite", "one_same", "one_opposite", "none_same", "none_opposite")
    assert sum(decided[name] for name in pairs) == len(common) * (len(common) - 1) / 2
    assert {row["move"] for row in rows.values() if row["rank"] is None} == {None}
    assert [row["topic"] for row in page["topics"]] == list(made.topics)
    assert page["topics"][-1]["agreement"] is None


@pytest.mark.trial
def test_the_pages_lead_to_each_other(client: FlaskClient, made: AnsweredField, line_id: int) -> None:
    """The board, the list of revisions and the line; each says who made what, and no link is dead."""
    address = f"/tasks/t/lines/{line_id}"
    for page, words in (
        ("/tasks/t", "Boards by other judgment series: volunteers"),
        ("/tasks/t/revisions", "with a separate board"),
        (
            address,
            "Judgment series volunteers · Revision 1 · nuggets by GPT-4.1 · assignments by people · 5 topics",
        ),
    ):
        shown = client.get(page)
        assert list(faults(tree(shown.text))) == []
        assert words in " ".join(pages.main(shown).split())
    assert f'href="{address}"' in client.get("/tasks/t").text
    soup = pages.parsed(client.get(f"{address}?measure=NuggetRecall(set='all')"))
    links = {link["href"].split("#")[0] for link in soup.find("main").find_all("a")} - {"", "/tasks/t/submit"}
    assert {client.get(link).status_code for link in links} == {200}
    assert "Agreement with the board" in soup.find("main").text
    of_csv = client.get(f"{address}.csv").text.splitlines()
    assert of_csv[0].startswith("rank,run,run_id,team,kind,")
    assert len(of_csv) == len(made.runs) + 1
    assert client.get(f"{address}.csv?table=topics").text.startswith("topic,agreement")
    assert made.runs[0] in client.get(f"{address}.tex").text
    assert made.runs[0] in client.get(f"/tasks/t/revisions/lines/{line_id}/1.txt").text
    assert client.get(f"{address}?measure=SupportP").status_code == 422
    by_api = _json(client, f"/api/v1/tasks/t/lines/{line_id}")
    assert by_api == _json(client, f"{address}.json")
    (row,) = _json(client, "/api/v1/tasks/t/lines")["rows"]
    assert (row["number"], row["line"], row["kind"], row["revision"]) == (line_id, "volunteers", "answers", 1)


def test_a_new_run_is_scored_by_the_newest_revision_of_each_line(
    client: FlaskClient, database: Database, made: AnsweredField, line_id: int, tmp_path: Path
) -> None:
    """At once by the line it has labels in; a later revision of the line moves its board alone."""
    address = f"/tasks/t/lines/{line_id}"
    before = _json(client, "/tasks/t.json")["rows"]
    _json(client, f"{address}.json")
    with counted(database) as sent:
        client.get(f"{address}?measure={KEY}")
    texts = [answers.answer(topic, ("Anew.", ["d1"]), run="late") for topic in made.topics]
    nuggeted.run(database, tmp_path, "late", texts, team_name="Late")
    build.drain(database)
    assert {row["run"]: row["rank"] for row in _json(client, f"{address}.json")["runs"]}["late"] is None
    with counted(database) as again:
        client.get(f"{address}?measure=V_strict")
    assert len(again) == len(sent)
    held = {topic: ["support" for _ in made.nuggets[topic]] for topic in made.topics[:-1]}
    labels = {**_by_people(made), **{("late", topic): given for topic, given in held.items()}}
    nuggeted.revise(
        database, nuggeted.files(tmp_path, assignments=assigned(made, labels)), PEOPLE, line="volunteers"
    )
    build.drain(database)
    page = _json(client, f"{address}.json")
    assert (page["line"]["revision"], page["board"]["edition"]) == (2, 1)
    late = next(row for row in page["runs"] if row["run"] == "late")
    assert (late["rank"], late[KEY], late["board"]) == (1, 1.0, None)
    assert [row for row in _json(client, "/tasks/t.json")["rows"] if row["run"] != "late"] == before


def test_a_line_is_made_by_the_form(
    client: FlaskClient, database: Database, made: AnsweredField, sign_in: SignIn
) -> None:
    """Its preview says that the board stays; what is sent again is refused; other lines' parts stay there."""
    sign_in(client, "Olga", is_organiser=True)
    with database.write() as session:
        roles.give(session, OPERATOR, "t", "Olga", "organiser")
    lines = "".join(f"{json.dumps(line)}\n" for line in assigned(made, made.labels)).encode()
    form = pages.form(client.get("/tasks/t/revisions"), "/tasks/t/revisions")

    def send(**change: str) -> str:
        file = {"assignments": (io.BytesIO(lines), "labels.jsonl"), "by-assignments": "machine"}
        named = {"name-assignments": "Llama", "note": "Again.", "line": "llama"}
        answer = client.post("/tasks/t/revisions", data={**form, **file, **named, **change})
        assert answer.status_code == 303, pages.main(answer)
        return str(answer.headers["Location"])

    preview = client.get(draft := send())
    text = " ".join(pages.main(preview).split())
    assert "The scores on the board do not change." in text
    assert "The board by this judgment series is computed after publishing" in text
    assert client.post(draft, data=pages.form(preview, draft)).headers["Location"].endswith("#lines")
    assert "These judgments are identical to the newest revision." in pages.main(client.get(send()))
    with database.read() as session:
        task = session.scalars(select(Task)).one()
        known = dict(line_scores.separate_series(session, task.id))
        assert list(known.values()) == ["llama", "volunteers"]
    number = next(number for number, name in known.items() if name == "llama")
    page = _json(client, f"/tasks/t/lines/{number}.json")
    assert (page["agreement"]["tau_b"], page["agreement"]["accuracy"]) == (1.0, 1.0)
    assert "support labels" not in page["line"]["made_by"]
    shown = client.get(f"/tasks/t/lines/{number}").text
    assert 'aria-label="Judgment series"' in shown


def test_what_is_held_back_is_not_told_of(
    client: FlaskClient, database: Database, made: AnsweredField, line_id: int
) -> None:
    """Neither that there is a line nor what it is called, until judgments are shown; names stay masked."""
    address = f"/tasks/t/lines/{line_id}"
    with database.read() as session:
        main = session.scalars(select(Qrels.id).where(Qrels.name == "main")).one()
    assert client.get(f"/tasks/t/lines/{main}").status_code == 404
    assert client.get("/tasks/t/lines/999").status_code == 404
    with database.write() as session:
        session.execute(update(Entry).values(pseudonym=Entry.team_id.cast(Entry.pseudonym.type)))
        session.execute(update(Task).values(naming="team"))
    assert made.runs[0] not in client.get(address).text
    for visibility in ("blind", "sealed"):
        with database.write() as session:
            session.execute(update(Task).values(visibility=visibility))
        for one in (address, "/tasks/t/lines/999"):
            answers_of = [client.get(f"{one}{form}").status_code for form in ("", ".json", ".csv", ".tex")]
            assert answers_of == [404] * 4
        assert client.get(f"/api/v1{address}").status_code == 404
        assert _json(client, "/api/v1/tasks/t/lines")["rows"] == []
        assert "volunteers" not in pages.main(client.get("/tasks/t"))


def test_more_answers_than_a_reader_waits_for_are_refused(
    client: FlaskClient, made: AnsweredField, line_id: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With how many they are and what to do; those that were scored before cost nothing."""
    topics = len(made.topics) - 1
    monkeypatch.setattr(line_scores, "MOST_ANSWERS", len(made.runs) * topics - 1)
    monkeypatch.setattr(line_scores, "VERSION", "as if nothing were kept")
    refused = client.get(f"/tasks/t/lines/{line_id}.json")
    assert refused.status_code == 422
    assert f"{len(made.runs) * topics} answers while you wait" in refused.get_json()["error"]
    monkeypatch.setattr(line_scores, "MOST_ANSWERS", len(made.runs) * topics)
    assert client.get(f"/tasks/t/lines/{line_id}").status_code == 200
    monkeypatch.setattr(line_scores, "MOST_ANSWERS", 0)
    assert client.get(f"/tasks/t/lines/{line_id}.json").status_code == 200
