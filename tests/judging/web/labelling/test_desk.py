"""Nuggets and labels made in the browser: opened by an organiser, made by a link, decided, published."""

import json
import re
from pathlib import Path

import pytest
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from leaderboard.core.policy import OPERATOR
from leaderboard.db.engine import Database
from leaderboard.tasks.ops import roles
from tests.make import build, labelled, pages
from tests.web.conftest import SignIn, browser
from tests.web.test_crawl import faults, tree

LIST = "/tasks/t/labelling"
SECRETS = re.compile(r"zeppelin|yacht|Owls|Bears|/runs/")


@pytest.fixture
def organiser(database: Database, tmp_path: Path, client: FlaskClient, sign_in: SignIn) -> FlaskClient:
    """An organiser of a task with two runs of answers and nuggets of two topics."""
    sign_in(client, "Olga", is_organiser=True)
    labelled.task(database, tmp_path)
    labelled.nuggets(database, tmp_path)
    with database.write() as session:
        roles.give(session, OPERATOR, "t", "Olga", "organiser")
    return client


def links(organiser: FlaskClient, names: str = "Ada\nBob") -> list[str]:
    """The personal links of new assessors."""
    response = organiser.post(f"{LIST}/assessors", data={"names": names})
    assert response.status_code == 201
    return [row[1].removeprefix("http://localhost") for row in pages.table(response, "One link")]


def opened(organiser: FlaskClient, kind: str, **change: object) -> str:
    """The address of a new round by all assessors."""
    page = pages.parsed(organiser.get(LIST))
    boxes = [str(each["value"]) for each in page.select("input[name=assessor]")]
    data = {"kind": kind, "assessor": boxes, "twice": "0", **change}
    response = organiser.post(LIST, data=data)
    assert response.status_code == 303, pages.main(response)
    return response.headers["Location"]


def seen(response: TestResponse) -> str:
    """The text of a page of an assessor, which is sound, private and names no run or team."""
    assert response.status_code == 200, response.text
    assert response.headers["Cache-Control"] == "no-store"
    assert list(faults(tree(response.text))) == []
    assert not SECRETS.search(response.text)
    return pages.main(response)


def press(assessor: FlaskClient, address: str, label: str) -> TestResponse:
    """Press a label's button on the page of an address, as a browser without scripts does."""
    page = pages.parsed(assessor.get(address))
    form = page.select("form.verdict")[0]
    data = {str(each["name"]): str(each["value"]) for each in form.select("input")}
    return assessor.post(str(form["action"]), data={**data, "label": label})


@pytest.mark.trial
def test_support_from_the_round_to_the_revision(organiser: FlaskClient, database: Database) -> None:
    """Two assessors label, differ, one is decided; the file, the preview and the board."""
    one, two = links(organiser)
    show = opened(organiser, "support", twice="100", topics="1")
    ada, bob = browser(organiser.application), browser(organiser.application)
    assert "0 of 2 labels done" in seen(ada.get(one))
    assert "supports everything in the segment" in seen(ada.get(f"{one}/labels/1"))
    address = f"{one}/labels/1/1"
    text = seen(ada.get(address))
    assert "Item 1 of 2" in text
    assert "Title of d4" in text
    assert "<b>blue</b>" in text
    assert press(ada, address, "2").headers["Location"] == address
    assert "1 of 2 items labelled" in seen(ada.get(address))
    press(ada, address, "2")
    assert "This topic is done" in seen(ada.get(address))
    for label in ("2", "0"):
        press(bob, f"{two}/labels/1/1", label)
    text = pages.main(organiser.get(show))
    assert "4 of 4 labels done" in text
    (row,) = organiser.get(f"{LIST}.json").get_json()["rounds"]
    assert (row["done"], row["asked"], row["assessors"]) == (4, 4, 2)
    assert "1 item with disagreements" in text
    assert "1 item settled, 1 undecided" in text
    assert pages.table(organiser.get(show), "Agreement in round 1")[0][:4] == ["Ada", "Bob", "2", "0.500"]
    decide = f"{show}/adjudication"
    page = organiser.get(decide)
    assert list(faults(tree(page.text))) == []
    (item,) = (str(each["href"]) for each in pages.parsed(page).select("main tbody a"))
    page = organiser.get(item)
    assert list(faults(tree(page.text))) == []
    fields = {
        str(each["name"]): str(each["value"]) for each in pages.parsed(page).select("form.decide input[name]")
    }
    assert organiser.post(decide, data={**fields, "label": "1"}).status_code == 303
    assert "decided partial support" in pages.main(organiser.get(item))
    assert organiser.get(f"{LIST}.json").get_json()["rounds"][0]["done"] == 4
    made = organiser.get(f"{show}/made.jsonl")
    assert [line["run_id"] for line in _records(made)] == ["zeppelin", "yacht"]
    page = organiser.get(show)
    assert list(faults(tree(page.text))) == []
    form = pages.form(page, f"{show}/publish?rule=adjudicated")
    published = organiser.post(f"{show}/publish", data={**form, "note": ""})
    assert published.status_code == 422
    published = organiser.post(f"{show}/publish", data={**form, "note": "By people."})
    preview = published.headers["Location"]
    assert "Support labels by people" in pages.main(organiser.get(preview))
    organiser.post(preview, data=pages.form(organiser.get(preview), preview))
    build.drain(database)
    assert organiser.get("/tasks/t/revisions.json").get_json()["revisions"][0]["note"] == "By people."


def _records(response: TestResponse) -> list[dict[str, object]]:
    assert response.status_code == 200
    return [json.loads(line) for line in response.text.splitlines()]


def test_assignments_show_the_answer_and_go_on(organiser: FlaskClient) -> None:
    """The nugget and the whole answer; a label can be changed by the list, taken back and sent twice."""
    (one,) = links(organiser, "Ada")
    opened(organiser, "assignments")
    ada, address = browser(organiser.application), f"{one}/labels/1/1"
    text = seen(ada.get(address))
    assert "air scatters blue" in text
    assert "Does the answer contain the nugget?" in text
    page = pages.parsed(ada.get(address))
    data = {str(each["name"]): str(each["value"]) for each in page.select("form.verdict input")}
    for _ in range(2):
        assert ada.post(address, data={**data, "label": "1"}).status_code == 303
    assert "1 of 4 items labelled" in seen(ada.get(address))
    item = f"{address}?item={data['item']}"
    assert pages.parsed(ada.get(item)).select("button.given")[0]["value"] == "1"
    press(ada, item, "0")
    assert pages.parsed(ada.get(item)).select("button.given")[0]["value"] == "0"
    undone = ada.post(f"{address}/undo").headers["Location"]
    assert undone == item
    assert pages.parsed(ada.get(item)).select("button.given")[0]["value"] == "1"
    assert ada.post(address, data={**data, "label": "9"}).status_code == 422
    assert ada.post(address, data={**data, "item": "nothing", "label": "1"}).status_code == 404
    assert ada.get(f"{address}?item=nothing").status_code == 404


@pytest.mark.trial
def test_nuggets_are_written_and_decided(organiser: FlaskClient) -> None:
    """Two write, each alone; the organiser makes one list of both."""
    one, two = links(organiser)
    show = opened(organiser, "nuggets", twice="100", topics="1")
    browsers = [(browser(organiser.application), link) for link in (one, two)]
    for place, (assessor, link) in enumerate(browsers):
        address = f"{link}/labels/1/1"
        assert "No nuggets yet." in seen(assessor.get(address))
        for key, text in enumerate(("blue <i>light</i>", f"fact {place}")):
            sent = {"act": "write", "text": text, "importance": "okay", "key": f"k{key}"}
            assert assessor.post(address, data=sent).status_code == 303
        assert assessor.post(address, data={**sent, "text": ""}).status_code == 422
        assert assessor.post(address, data={"act": "nothing"}).status_code == 422
        text = seen(assessor.get(address))
        assert "blue <i>light</i>" in text
        assert f"fact {1 - place}" not in text
        ids = [
            str(each["value"])
            for each in pages.parsed(assessor.get(address)).select("input[type=checkbox][name=nugget]")
        ]
        assert assessor.post(address, data={"act": "out", "nugget": ids[1]}).status_code == 303
        assert "Removed" in seen(assessor.get(address))
        assert assessor.post(address, data={"act": "back", "nugget": ids[1]}).status_code == 303
        assert assessor.post(address, data={"act": "done"}).status_code == 303
        assert "This list is done." in seen(assessor.get(address))
    text = pages.main(organiser.get(show))
    assert "1 topic with disagreements" in text
    assert pages.table(organiser.get(show), "Topics of round 1 of")[0][0] == "1"
    lists = f"{show}/nuggets/1"
    for sent in ({"act": "begin"}, {"act": "done"}):
        page = organiser.get(lists)
        assert list(faults(tree(page.text))) == []
        assert organiser.post(lists, data=sent).status_code == 303
    assert "1 topic settled" in pages.main(organiser.get(show))
    (line,) = _records(organiser.get(f"{show}/made.jsonl"))
    assert isinstance(line["nuggets"], list)
    assert len(line["nuggets"]) == 3
    assert organiser.get(f"{show}/adjudication").status_code == 404


def test_nobody_sees_what_is_of_others(organiser: FlaskClient, sign_in: SignIn) -> None:
    """An assessor has the own topics alone; dead links, other rounds and visitors get nothing."""
    one, two = links(organiser)
    show = opened(organiser, "support")
    ada = browser(organiser.application)
    mine = {str(each["href"]) for each in pages.parsed(ada.get(f"{one}/labels/1")).select("main tbody a")}
    assert len(mine) == 1
    (other,) = {f"{one}/labels/1/{topic}" for topic in ("1", "2")} - mine
    for address in (other, f"{one}/labels/2", f"{one}/labels/1/77", "/judge/nonsense/labels/1"):
        assert ada.get(address).status_code == 404
    for address in (other, f"{one}/labels/1/77"):
        assert ada.post(address, data={"item": "x", "label": "2", "key": "k"}).status_code == 404
        assert ada.post(f"{address}/undo").status_code == 404
    assert ada.get(show, headers={"Accept": "application/json"}).status_code == 401
    organiser.post(f"{show}/state", data={"state": "closed"})
    (own,) = mine
    assert "This round is closed" in seen(ada.get(own))
    assert ada.post(own, data={"item": "x", "label": "2", "key": "k"}).status_code == 404
    assert two not in ada.get(one).text


def test_a_round_that_cannot_be_opened_says_why(organiser: FlaskClient) -> None:
    """The form comes back with what was chosen; files open; a task of rankings has no such page."""
    links(organiser)
    page = pages.parsed(organiser.get(LIST))
    boxes = [str(each["value"]) for each in page.select("input[name=assessor]")]
    for change in ({"twice": "x"}, {"topics": "77"}, {"assessor": []}, {"kind": ""}, {"run": "x"}):
        data = {"kind": "support", "assessor": boxes, "twice": "0", **change}
        response = organiser.post(LIST, data=data)
        assert response.status_code == 422, change
        assert list(faults(tree(response.text))) == []
    assert organiser.post(LIST, data={"kind": "support", "assessor": boxes, "topics": "3"}).status_code == 409
    assert "No labelling rounds yet." in pages.main(organiser.get(LIST))
    show = opened(organiser, "support")
    for address in (LIST, show):
        for form in ("json", "csv", "tex", "md"):
            assert organiser.get(f"{address}.{form}").status_code == 200
    assert organiser.get(f"{show}?rule=nothing").status_code == 422
    assert organiser.get(f"{LIST}/9").status_code == 404
