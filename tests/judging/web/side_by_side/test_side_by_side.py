"""Side by side on the web: organisers ask, assessors answer without an account, everybody reads results."""

import re
from pathlib import Path

import pytest
from bs4.element import Tag
from flask.testing import FlaskClient
from sqlalchemy import select, update
from werkzeug.test import TestResponse

from leaderboard.db.engine import Database
from leaderboard.db.tables import Run, TaskRole
from tests.make import build
from tests.make.copies import built_once
from tests.make.pages import form, main, parsed, table
from tests.web.conftest import SignIn, browser

DOCUMENTS = "".join(
    f'{{"_id": "{name}", "title": "Title of {name}", "text": "{name} {"word " * words}end"}}\n'
    for name, words in (("a", 5), ("d", 5), ("e", 5), ("x", 5), ("y", 2000))
)
ONE = {"1": ["a", "x", "c"], "2": ["y", "d"], "3": ["e"]}
TWO = {"1": ["x", "a", "y"], "2": ["d"]}


@pytest.fixture
@built_once
def runs(database: Database, tmp_path: Path) -> tuple[int, int]:
    """Two scored runs of a task whose collection has some texts."""
    documents = tmp_path / "corpus.jsonl"
    documents.write_text(DOCUMENTS)
    build.task(database, tmp_path, measures=("AP",), documents=documents)
    found = tuple(
        build.run(database, tmp_path, each, name) for each, name in ((ONE, "zeppelin"), (TWO, "yacht"))
    )
    build.drain(database)
    return found  # type: ignore[return-value]


@pytest.fixture
def organiser(client: FlaskClient, database: Database, runs: tuple[int, int], sign_in: SignIn) -> FlaskClient:
    """A browser of the task's organiser."""
    account_id = sign_in(client, "Olga", is_organiser=True)
    with database.write() as session:
        task_id = session.scalars(select(Run.task_id)).first()
        session.add(TaskRole(task_id=task_id, account_id=account_id, role="organiser"))
    return client


def links(organiser: FlaskClient, names: str = "Ada\nBob") -> list[str]:
    """The personal links of new assessors."""
    response = organiser.post("/tasks/t/side-by-side/assessors", data={"names": names})
    assert response.status_code == 201
    return [row[1].removeprefix("http://localhost") for row in table(response, "One link")]


def ask(organiser: FlaskClient, runs: tuple[int, int], people: int = 1, **options: str) -> TestResponse:
    """Have the first so many assessors compare the two runs."""
    page = parsed(organiser.get("/tasks/t/side-by-side"))
    boxes = [str(each["value"]) for each in page.select("input[name=assessors]")]
    data = {"run": str(runs[0]), "others": [str(runs[1])], "assessors": boxes[:people], **options}
    return organiser.post("/tasks/t/side-by-side", data=data)


def questions(assessor: FlaskClient, link: str) -> list[str]:
    """The addresses of an assessor's questions."""
    page = parsed(assessor.get(f"{link}/side-by-side"))
    return [str(each["href"]) for each in page.select("main tbody a")]


def answer(assessor: FlaskClient, address: str, verdict: str = "left", **fields: str) -> TestResponse:
    """Send the form as a browser without scripts does."""
    untouched = form(assessor.get(address), address)
    data = {**untouched, "verdict": verdict, "left": "3", "right": "1", **fields}
    return assessor.post(address, data=data)


@pytest.mark.trial
@pytest.mark.dialect
def test_the_whole_road(organiser: FlaskClient, runs: tuple[int, int], sign_in: SignIn) -> None:
    """Assessors are made, asked and answer; the organiser sees it, then everybody, each file opens."""
    (link, _) = links(organiser)
    assert ask(organiser, runs).headers["Location"] == "/tasks/t/side-by-side"
    assert table(organiser.get("/tasks/t/side-by-side"), "Wins, ties")[0][:6] == [
        *("zeppelin", "yacht", "1", "3", "0", "3")
    ]
    assessor = browser(organiser.application)
    visitor = browser(organiser.application)
    assert "0 of 3 pairs of rankings" in main(assessor.get(link))
    address = questions(assessor, link)[0]
    compare = f"/tasks/t/compare?a={runs[0]}&b={runs[1]}"
    seen = 0
    while address:
        response = answer(assessor, address, "equal" if seen == 0 else "left")
        assert response.status_code == 303
        seen += 1
        assert "Assessor preferences" in main(organiser.get(compare))
        assert ("Assessor preferences" in main(visitor.get(compare))) == (seen == 3)
        address = response.headers["Location"] if seen < 3 else ""
    assert "You have answered all comparisons" in main(assessor.get(response.headers["Location"]))
    ((name, *_), _) = table(visitor.get(compare), "3 answers of 1 assessor")
    assert name == "Topics"
    assert [row[0] for row in table(visitor.get(compare), "Satisfaction")] == [
        *("zeppelin", "yacht", "Difference")
    ]
    files = f"/tasks/t/compare/side-by-side{{}}?a={runs[0]}&b={runs[1]}"
    facts = visitor.get(files.format(".json")).get_json()
    assert facts["by_topic"]["ties"] == 1
    assert facts["outstanding"] == 0
    assert len(visitor.get(files.format(".csv")).text.splitlines()) == 4
    assert r"\toprule" in visitor.get(files.format(".tex")).text
    assert "Ada" not in "".join(visitor.get(files.format(each)).text for each in (".json", ".csv", ".tex"))
    log = organiser.get("/tasks/t/side-by-side/answers.json").get_json()["answers"]
    assert [each["assessor"] for each in log] == ["Ada"] * 3
    assert visitor.get("/tasks/t/side-by-side/answers.json").status_code == 401
    for suffix in (".json", ".csv", ".tex"):
        assert organiser.get(f"/tasks/t/side-by-side{suffix}").status_code == 200


def test_a_question_names_no_run(organiser: FlaskClient, runs: tuple[int, int]) -> None:
    """Neither run's name, id, score or the grades of documents are on any page of the assessor."""
    (link,) = links(organiser, "Ada")
    ask(organiser, runs)
    assessor = browser(organiser.application)
    for address in (link, f"{link}/side-by-side", *questions(assessor, link)):
        response = assessor.get(address)
        assert response.status_code == 200
        assert response.headers["Cache-Control"] == "no-store"
        assert not re.search(r"zeppelin|yacht|/runs/|999\.0|1000|Grade|relevant", response.text)
    whole = f"{questions(assessor, link)[0]}/left/1"
    assert not re.search(r"zeppelin|yacht|/runs/", assessor.get(whole).text)


def test_documents_open_in_place(organiser: FlaskClient, runs: tuple[int, int]) -> None:
    """A title opens the text; a long text is cut and leads to all of it; one that is not there says so."""
    (link,) = links(organiser, "Ada")
    ask(organiser, runs, topics="2 1")
    assessor = browser(organiser.application)
    pages = [parsed(assessor.get(address)) for address in questions(assessor, link)]
    documents = [each for page in pages for each in page.select(".sides li")]
    assert len(documents) == 9
    by_title = {
        each.summary.get_text(" ", strip=True): each for each in documents if isinstance(each.summary, Tag)
    }
    long = next(each for title, each in by_title.items() if title.startswith("Title of y"))
    whole = long.find("a")
    assert isinstance(whole, Tag)
    assert "characters" in whole.get_text()
    text = main(assessor.get(str(whole["href"])))
    assert text.count("word") == 2000
    shown = long.select_one(".text")
    assert shown is not None
    assert len(shown.get_text()) < 4100
    assert "not stored here" in by_title["c"].get_text()
    assert assessor.get(str(whole["href"]).rsplit("/", 1)[0] + "/77").status_code == 404
    assert assessor.get(str(whole["href"]).rsplit("/", 2)[0] + "/middle/1").status_code == 404


def test_a_form_that_is_not_complete_comes_back(organiser: FlaskClient, runs: tuple[int, int]) -> None:
    """With what was chosen, a sentence, and nothing stored."""
    (link,) = links(organiser, "Ada")
    ask(organiser, runs)
    assessor = browser(organiser.application)
    address = questions(assessor, link)[0]
    response = answer(assessor, address, "right", left="", note="half way")
    assert response.status_code == 422
    page = parsed(response)
    assert [str(each["value"]) for each in page.select("input[name=verdict][checked]")] == ["right"]
    assert "half way" in page.select("textarea")[0].get_text()
    assert "0 answered" in main(assessor.get(address))


def test_a_second_tab_does_not_overwrite(organiser: FlaskClient, runs: tuple[int, int]) -> None:
    """The same form again changes nothing; another answer from an old page asks for a second look."""
    (link,) = links(organiser, "Ada")
    ask(organiser, runs)
    assessor = browser(organiser.application)
    address = questions(assessor, link)[0]
    old = {**form(assessor.get(address), address), "verdict": "left", "left": "3", "right": "1"}
    assert [assessor.post(address, data=old).status_code for _ in range(2)] == [303, 303]
    response = assessor.post(address, data={**old, "verdict": "right"})
    assert response.status_code == 409
    again = {**form(response, address), "verdict": "right", "left": "3", "right": "1"}
    assert assessor.post(address, data=again).status_code == 303
    log = organiser.get("/tasks/t/side-by-side/answers.json").get_json()["answers"]
    assert [(each["verdict"], each["in_force"]) for each in log] == [("left", False), ("right", True)]


def test_wrong_choices_come_back_with_the_form(organiser: FlaskClient, runs: tuple[int, int]) -> None:
    """No run, no assessor, a number that is none, a name that is taken: refused with what was sent."""
    links(organiser)
    assert ask(organiser, runs, people=0).status_code == 422
    response = ask(organiser, runs, topics="1 77", sample="2")
    assert response.status_code == 422
    assert parsed(response).select("textarea[name=topics]")[0].get_text().strip() == "1 77"
    assert ask(organiser, runs, sample="some").status_code == 422
    again = organiser.post("/tasks/t/side-by-side/assessors", data={"names": "Ada"})
    assert again.status_code == 409
    assert "Ada" in main(again)


def test_a_comparison_is_ended(organiser: FlaskClient, runs: tuple[int, int]) -> None:
    """The button ends what is outstanding; without answers the pair is gone."""
    links(organiser)
    ask(organiser, runs, people=2)
    fields = form(organiser.get("/tasks/t/side-by-side"), "/tasks/t/side-by-side/end")
    assert organiser.post("/tasks/t/side-by-side/end", data=fields).status_code == 303
    assert "No comparisons yet." in main(organiser.get("/tasks/t/side-by-side"))
    assert organiser.post("/tasks/t/side-by-side/end", data=fields).status_code == 404


@pytest.mark.dialect
def test_runs_without_scores_lead_to_files(
    organiser: FlaskClient, database: Database, runs: tuple[int, int]
) -> None:
    """A withdrawn run has no page that compares it, so its results are linked as a file."""
    (link,) = links(organiser, "Ada")
    ask(organiser, runs, topics="1")
    assessor = browser(organiser.application)
    answer(assessor, questions(assessor, link)[0])
    with database.write() as session:
        withdrawn = select(Run.created_at).where(Run.id == runs[0]).scalar_subquery()
        session.execute(update(Run).where(Run.id == runs[0]).values(withdrawn_at=withdrawn))
    page = parsed(organiser.get("/tasks/t/side-by-side"))
    (found,) = [str(each["href"]) for each in page.select("tbody a")]
    assert found.startswith("/tasks/t/compare/side-by-side.csv")
    assert organiser.get(found).status_code == 200


def test_the_organise_page_leads_here(organiser: FlaskClient, runs: tuple[int, int]) -> None:
    """A link from the organise page, and one from the page of two runs that nobody compared."""
    compare = f"/tasks/t/compare?a={runs[0]}&b={runs[1]}"
    for address in ("/tasks/t/organise", compare):
        found = {str(each["href"]) for each in parsed(organiser.get(address)).find_all("a")}
        assert "/tasks/t/side-by-side" in found
    assert "Assessor preferences" not in main(browser(organiser.application).get(compare))
