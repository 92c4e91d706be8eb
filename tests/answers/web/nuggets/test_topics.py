"""A topic's nuggets by runs, the labels on answers, and runs that are judged by their like."""

from pathlib import Path

import pytest
from flask.testing import FlaskClient
from sqlalchemy import update

from leaderboard.db.engine import Database
from leaderboard.db.tables import Task
from leaderboard.trec.nuggets.packing import MadeBy
from tests.make import answered, answers, build, nuggeted, pages, people
from tests.web.conftest import SignIn
from tests.web.test_crawl import faults, tree

HOSTILE = "<script>alert(1)</script> **bold** [here](javascript:alert(1))"
OTHERS = ("2", "3", "4", "5", "6")
NUGGETS = "/tasks/t/topics/1/nuggets"


def _labels(*labels: str) -> dict[str, tuple[str, str]]:
    """Two vital nuggets and an okay one, in the order of the set: okay, vital, vital."""
    texts = ((HOSTILE, "okay"), ("all know", "vital"), ("none know", "vital"))
    return {text: (importance, label) for (text, importance), label in zip(texts, labels, strict=True)}


def _judged(database: Database, folder: Path, slug: str = "t", **options: object) -> list[int]:
    """Three runs: one of the judge's models, one not judged on topic 1, one without an answer to it."""
    answered.task(database, folder, slug, topics=("1", *OTHERS), **options)
    said = {"one": [HOSTILE], "two": ["Something."], "three": []}
    ids = [
        nuggeted.run(
            database,
            folder,
            run,
            [answers.answer("1", *((text, ["d1", "d2"]) for text in texts), run=run)] * bool(texts)
            + [answers.answer(topic, ("Else.", ["d3"]), run=run) for topic in OTHERS],
            slug=slug,
            team_name=f"Team {run}",
            llm="GPT-4o mini" if run == "one" else "Llama 3.1",
        )
        for run, texts in said.items()
    ]
    assigned = [answers.assigned("1", _labels("partial_support", "support", "not_support"), run="one")]
    assigned += [
        answers.assigned(topic, {"x": ("vital", "support")}, run=run) for topic in OTHERS for run in said
    ]
    files = nuggeted.files(folder, assignments=assigned, support=[answers.supported("1", [1], run="one")])
    makers = {"assignments": MadeBy("both", "GPT-4o"), "support": MadeBy()}
    nuggeted.revise(database, files, makers, slug=slug)  # type: ignore[arg-type]
    build.drain(database)
    return ids


def test_a_topics_nuggets_by_runs(database: Database, client: FlaskClient, tmp_path: Path) -> None:
    """Vital ones first; a run without an answer holds none, one that is not judged counts for nothing."""
    one, two, three = _judged(database, tmp_path)
    page = client.get(NUGGETS)
    assert list(faults(tree(page.text))) == []
    soup = pages.parsed(page)
    assert soup.find("script", string="alert(1)") is None
    links = {link["href"] for link in soup.find("main").find_all("a")}
    assert {client.get(link).status_code for link in links - {"/tasks/t/submit"}} == {200}
    rows = soup.find("table", class_="nuggets").find("tbody").find_all("tr")
    assert [row.find("th").text.split(" vital")[0].split(" okay")[0] for row in rows] == [
        "all know",
        "none know",
        HOSTILE,
    ]
    assert [row.find("td").text for row in rows] == ["50%", "0%", "0%"]
    words = {
        run["href"].split("/")[2]: [row.find_all("td")[at + 1].find("span")["aria-label"] for row in rows]
        for at, run in enumerate(soup.find("table", class_="nuggets").find("thead").find_all("a"))
    }
    assert words == {
        str(one): ["supported", "not supported", "partially supported"],
        str(two): ["not judged"] * 3,
        str(three): ["no answer"] * 3,
    }
    assert "○ no run" in rows[1].text
    assert "no run" not in rows[0].text + rows[2].text
    assert "nuggets by GPT-4o, edited by people · labels by GPT-4o, edited by people" in soup.text
    facts = client.get(f"{NUGGETS}.json").get_json()
    assert [(row["held"], row["held_in_part"], row["known"]) for row in facts["nuggets"]] == [
        (1, 0, 2),
        (0, 0, 2),
        (0, 1, 2),
    ]
    assert client.get(f"{NUGGETS}.csv").text.splitlines()[0] == (
        "number,nugget,importance,held,held_in_part,known,share"
    )
    assert len(client.get(f"{NUGGETS}.csv?table=labels").text.splitlines()) == 1 + 3 * 3
    assert "● all runs" in client.get("/tasks/t/topics/2/nuggets").text


def test_an_answer_shows_its_labels(database: Database, client: FlaskClient, tmp_path: Path) -> None:
    """Each citation has a shape and a word, a citation without a label too; nuggets are in two lists."""
    one, two, _ = _judged(database, tmp_path)
    page = client.get(f"/runs/{one}/answers/1")
    soup = pages.parsed(page)
    assert [small.text.strip() for small in soup.find("ol", class_="answer").find_all("small")] == [
        "◐ partial support",
        "? not judged",
    ]
    assert soup.find(class_="answer-text").text == HOSTILE
    assert soup.find("script", string="alert(1)") is None
    assert soup.find("a", href=NUGGETS)
    headings = [head.text for head in soup.find(id="nuggets").find_all_next("h3")]
    assert headings == ["Vital: 1 of 2 supported", "Other: 0 of 1 supported"]
    lists = [[item.text for item in found.find_all("li")] for found in soup.find_all("ul", class_="held")]
    assert lists == [
        ["● supported: all know", "○ not supported: none know"],
        [f"◐ partially supported: {HOSTILE}"],
    ]
    other = client.get(f"/runs/{two}/answers/1.json").get_json()
    assert {nugget["label"] for nugget in other["nuggets"]} == {"not_judged"}
    assert [cited["support"] for cited in other["segments"][0]["citations"]] == [None, None]
    rows = client.get(f"/runs/{one}/answers/1.csv").text.splitlines()
    assert "partial support" in rows[1]
    assert client.get(f"/runs/{one}/answers/1.csv?table=nuggets").text.count("\n") == 4
    revisions = pages.parsed(client.get("/tasks/t/revisions"))
    assert revisions.find("a", href=NUGGETS)
    assert pages.parsed(client.get("/tasks/t/topics/1")).find("a", href=NUGGETS)


def test_runs_of_the_judges_models_are_marked(
    database: Database, client: FlaskClient, tmp_path: Path
) -> None:
    """On the board and on their page; without them ranks and verdicts stay those of all."""
    one, two, _ = _judged(database, tmp_path)
    board = client.get("/tasks/t")
    assert board.text.count("∞ own judge</abbr>") == 1
    assert "Without runs of the judgments’ models (1)" in pages.main(board)
    assert "The median topic has 1 vital nugget," in pages.main(board)
    whole = {row["run"]: row for row in client.get("/tasks/t.json").get_json()["rows"]}
    others = client.get("/tasks/t.json?independent=").get_json()["rows"]
    assert {row["run"] for row in others} == {"two", "three"}
    assert all(row == whole[row["run"]] for row in others)
    assert whole["one"]["shares_models"] == "gpt"
    assert whole["two"]["rank"] is None
    assert "This run states a model of the family gpt" in client.get(f"/runs/{one}").text
    assert "states a model" not in client.get(f"/runs/{two}").text


@pytest.mark.parametrize("visibility", ["blind", "sealed"])
def test_nuggets_and_labels_are_held_back_until_release(
    visibility: str, database: Database, client: FlaskClient, sign_in: SignIn, tmp_path: Path
) -> None:
    """A team reads its own answer without a label; once the task is open, labels and nuggets are there."""
    people.team(database, "Team one", sign_in(client, "Ann"))
    own, *_ = _judged(database, tmp_path, visibility=visibility)
    assert [client.get(f"{NUGGETS}{end}").status_code for end in ("", ".json", ".csv")] == [404] * 3
    page = client.get(f"/runs/{own}/answers/1")
    assert page.status_code == 200
    assert "all know" not in page.text
    assert "partial support" not in page.text
    assert client.get(f"/runs/{own}/answers/1.json").get_json()["nuggets"] == []
    for address in ("/tasks/t", "/tasks/t.json", f"/runs/{own}", "/tasks/t/topics/1", "/tasks/t/revisions"):
        told = client.get(address).text
        assert "own judge" not in told
        assert "states a model" not in told
        assert "median_vital" not in told
        assert "nuggets by GPT-4o" not in told or visibility == "blind"
    with database.write() as session:
        session.execute(update(Task).values(visibility="open"))
    assert client.get(NUGGETS).status_code == 200
    assert "all know" in client.get(f"/runs/{own}/answers/1").text


def test_many_failed_labels_are_a_warning(database: Database, client: FlaskClient, tmp_path: Path) -> None:
    """Over 1% of them; their share is in the file, and a board of rankings says nothing of it."""
    nuggeted.task(database, tmp_path)
    nuggeted.run(database, tmp_path, "one", nuggeted.worked_lines())
    failed = {"v": ("vital", "failed"), "o": ("okay", "support")}
    lines = [answers.assigned(topic, failed, run="one") for topic in ("1", "2")]
    nuggeted.revise(database, nuggeted.files(tmp_path, assignments=lines))
    build.drain(database)
    warning = pages.parsed(client.get("/tasks/t")).find("p", class_="warning")
    assert warning.text == "Warning: 50.0% of all assignments failed; they count as not supported."
    assert client.get("/tasks/t.json").get_json()["failed_assignments"] == 0.5
    build.task(database, tmp_path, "ranked", measures=("RR",))
    build.run(database, tmp_path, {"1": ["a"]}, slug="ranked")
    build.drain(database)
    assert "failed_assignments" not in client.get("/tasks/ranked.json").get_json()
    assert client.get("/tasks/ranked/topics/1/nuggets").status_code == 404


def test_the_page_of_a_topic_has_every_runs_scores(
    database: Database, client: FlaskClient, tmp_path: Path
) -> None:
    """By the measure that is chosen, linked to the answers: half of the vital nuggets, none, not judged."""
    one, two, three = _judged(database, tmp_path)
    page = client.get("/tasks/t/topics/1?measure=SupportP")
    assert list(faults(tree(page.text))) == []
    assert "– means not judged" in pages.main(page)
    links = pages.parsed(page).select("table tbody a")
    assert [link["href"].partition("?")[0] for link in links] == [
        f"/runs/{run_id}/answers/1" for run_id in (one, three, two)
    ]
    assert {client.get(link["href"]).status_code for link in links} == {200}
    found = client.get("/tasks/t/topics/1.json?measure=V_strict").get_json()
    key = "NuggetRecall(set='vital',strict=1)"
    assert found["measure"] == key
    assert [
        (row["run"], row["rank"], row["scores"][key], row["scores"]["SupportP"]) for row in found["rows"]
    ] == [("one", 1, 0.5, 0.5), ("three", 2, 0.0, 0.0), ("two", None, None, None)]
    assert not {"relevant", "first"} & found["rows"][0].keys()
    of_csv = client.get("/tasks/t/topics/1.csv").text.splitlines()
    assert of_csv[0].startswith("rank,run,run_id,team,")
    assert [line.split(",")[:2] for line in of_csv[1:]] == [["1", "one"], ["2", "three"], ["", "two"]]
    assert "one" in client.get("/tasks/t/topics/1.tex").text
    assert client.get("/tasks/t/topics/1?measure=NumSegments").status_code == 422
    with database.write() as session:
        session.execute(update(Task).values(visibility="blind"))
    assert "/answers/1" not in client.get("/tasks/t/topics/1").text
    assert client.get("/tasks/t/topics/1.json").get_json()["rows"] == []
