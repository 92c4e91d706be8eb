"""The pages assessors come to by their link."""

import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from flask.testing import FlaskClient
from sqlalchemy import event, select, update

from leaderboard.core.policy import OPERATOR
from leaderboard.db.engine import Database
from leaderboard.db.tables import Assessment, Collection, Pool, Task
from leaderboard.judging.ops.assessors import labels
from leaderboard.judging.ops.pools.previews import PoolDocument
from tests.make import build, pages, pools
from tests.make.copies import built_once

TEXTS = {
    "a": ("Cats sleep", "Where cats sleep, and <b>why</b>."),
    "b": ("Dogs", "Dogs do not sleep here."),
    "c": ("", "A text without a title."),
    "d": ("A title without a text", ""),
}
NAMES = {0: "no", 1: "partly", 2: "fully"}


@pytest.fixture
@built_once
def token(database: Database, tmp_path: Path) -> str:
    """The link of Ada, who judges four documents of topic 1 and one of topic 2; two runs have them all."""
    path = tmp_path / "documents.jsonl"
    path.write_text(
        "".join(
            f'{{"docno": "{docno}", "title": "{title}", "text": "{text}"}}\n'
            for docno, (title, text) in TEXTS.items()
        )
    )
    build.task(database, tmp_path, documents=path, grade_names=NAMES, level=1)
    build.run(database, tmp_path, {"1": ["d", "c", "b", "a"]}, "secretrun")
    pools.pool(
        database,
        {
            "1": [
                PoolDocument("d", 9.875),
                PoolDocument("c", 8.5),
                PoolDocument("b", 2.0),
                PoolDocument("a"),
            ],
            "2": ["e"],
        },
    )
    (made,) = pools.judges(database, "Ada")
    return made


def _judge(client: FlaskClient, token: str, grade: str, topic: str = "1") -> Any:
    """Press a button of the page as a browser without JavaScript."""
    address = f"/judge/{token}/1/{topic}"
    sent = pages.form(client.get(address), address)
    return client.post(address, data={**sent, "grade": grade}, follow_redirects=True)


def _shown(response: Any) -> list[str]:
    return [str(each["data-docno"]) for each in pages.parsed(response).select("article:not([hidden])")]


def _coming(response: Any) -> list[str]:
    return [str(each["data-docno"]) for each in pages.parsed(response).select("article[hidden]")]


def test_the_desk_lists_topics_with_progress(client: FlaskClient, token: str) -> None:
    """Who it is for, how much is left, where to begin."""
    response = client.get(f"/judge/{token}")
    assert "Ada" in pages.main(response)
    assert pages.table(response, "Your topics") == [
        ["1 title of 1", "0", "4", ""],
        ["2 title of 2", "0", "1", ""],
    ]
    link = pages.parsed(response).find("a", string="Start with topic 1")
    assert link is not None
    assert response.headers["Cache-Control"] == "no-store"


def test_a_document_with_its_topic_and_the_next_ones(client: FlaskClient, token: str) -> None:
    """By document id, whatever the priority; the next ones wait unseen on the page."""
    response = client.get(f"/judge/{token}/1/1")
    assert (_shown(response), _coming(response)) == (["a"], ["b", "c", "d"])
    page = pages.parsed(response)
    assert [each.get_text(" ", strip=True) for each in page.select("#judgment .buttons button")] == [
        *("0 no", "1 partly", "2 fully"),
        "S skip",
    ]
    assert "<b>why</b>" in pages.main(response)
    assert page.find("h1") is not None


def test_nothing_says_run_rank_or_score(client: FlaskClient, token: str) -> None:
    """Not on any page an assessor gets."""
    for rest in ("", "/1", "/1/1", "/1/1?all", "/1/1/documents?after=a"):
        # What is drawn at random, in addresses and forms, or is a time may happen to spell a word.
        drawn = re.compile(rf'{token}|(?<=")[\w-]{{16}}(?=")|(?<="shown_at" value=")[^"]*')
        text = drawn.sub("", client.get(f"/judge/{token}{rest}").text).lower()
        assert [word for word in ("secretrun", "rank", "9.875", "8.5", "team") if word in text] == []


@pytest.mark.dialect
def test_judging_with_buttons_alone(client: FlaskClient, token: str, database: Database) -> None:
    """Grade, skip, undo, look again, done: without JavaScript."""
    assert _shown(_judge(client, token, "2")) == ["b"]
    assert _shown(_judge(client, token, "skip")) == ["c"]
    undone = client.post(f"/judge/{token}/1/1/undo", follow_redirects=True)
    assert _shown(undone) == ["b"]
    for grade in ("0", "1", "skip"):
        last = _judge(client, token, grade)
    assert "1 skipped document" in pages.main(last)
    assert pages.table(last, "Your judgments") == [
        ["Cats sleep a", "2 fully", "–"],
        ["Dogs b", "0 no", "–"],
        ["c", "1 partly", "–"],
        ["A title without a text d", "skipped", "–"],
    ]
    again = client.get(f"/judge/{token}/1/1?docno=d")
    client.post(f"/judge/{token}/1/1", data={**pages.form(again, f"/judge/{token}/1/1"), "grade": "1"})
    assert "This topic is done" in pages.main(client.get(f"/judge/{token}/1/1"))
    with database.read() as session:
        columns = Assessment.docno, Assessment.grade, Assessment.undone, Assessment.seconds
        rows = session.execute(select(*columns).order_by(Assessment.id))
        found = [tuple(row) for row in rows]
    assert [row[:3] for row in found] == [
        *(("a", 2, False), ("b", None, True), ("b", 0, False)),
        *(("c", 1, False), ("d", None, False), ("d", 1, False)),
    ]
    assert all(0 <= row[3] < 60 for row in found)


@pytest.mark.dialect
def test_a_button_pressed_twice_is_one_judgment(client: FlaskClient, token: str, database: Database) -> None:
    """The same form sent again is stored once; another button of it is another judgment."""
    address = f"/judge/{token}/1/1"
    sent = pages.form(client.get(address), address)
    for grade in ("1", "1", "2"):
        assert client.post(address, data={**sent, "grade": grade}).status_code == 303
    with database.read() as session:
        assert session.scalars(select(Assessment.grade).order_by(Assessment.id)).all() == [1, 2]


@pytest.mark.dialect
def test_a_judgment_as_json(client: FlaskClient, token: str, database: Database) -> None:
    """Stored once; moments as browsers write them."""
    now = datetime.now(UTC).isoformat().replace("+00:00", "Z")
    facts = {
        "key": "k",
        "docno": "a",
        "grade": 2,
        "note": "n",
        "shown_at": now,
        "saved_at": now,
        "sent_at": now,
    }
    address = f"/api/v1/judge/{token}/pools/1/topics/1"
    first, second = (client.post(address, json=facts) for _ in range(2))
    assert (first.status_code, first.get_json()) == (201, {"done": "stored"})
    assert (second.status_code, second.get_json()) == (201, {"done": "judgment already stored"})
    assert client.post(address, json={**facts, "undone": True}).status_code == 201
    with database.read() as session:
        (row,) = session.execute(select(Assessment.note, Assessment.undone)).all()
    assert tuple(row) == ("n", True)


@pytest.mark.parametrize(
    "facts",
    [
        [],
        {"key": "k", "docno": "a"},
        {"key": "k", "docno": "a", "grade": "1"},
        {"key": "k", "docno": "a", "grade": True},
        {"key": "k", "docno": "a", "grade": 9},
        {"key": 3, "docno": "a", "grade": 1},
        {"key": "k", "docno": "a", "grade": 1, "note": "\x00"},
        {"key": "k", "docno": "a", "grade": 1, "saved_at": "yesterday"},
        {"key": "k", "docno": "a", "grade": 1, "undone": "no"},
    ],
)
def test_what_is_no_judgment_is_refused(client: FlaskClient, token: str, facts: Any) -> None:
    """With a sentence, and nothing stored."""
    response = client.post(
        f"/api/v1/judge/{token}/pools/1/topics/1", json=facts, headers={"Accept": "application/json"}
    )
    assert response.status_code == 422
    assert response.get_json()["detail"]


def test_what_comes_after(client: FlaskClient, token: str) -> None:
    """Documents without a label, after one that is shown, then from the beginning."""
    _judge(client, token, "1")
    found = client.get(f"/judge/{token}/1/1/documents?after=c")
    assert _coming(found) == ["d", "b"]
    assert "<html" not in found.text


@pytest.mark.dialect
def test_guidelines_come_before_the_first_topic(client: FlaskClient, token: str, database: Database) -> None:
    """The way to the first document leads over them, once; they stay at their address."""
    with database.write() as session:
        labels.set_text(session, OPERATOR, "t", 1, "# Be *kind*")
        example = labels.Example(topic="sleep", docno="a", grade=2, why="It says where.")
        labels.add_example(session, OPERATOR, "t", 1, example)
    response = client.get(f"/judge/{token}/1/1")
    assert response.status_code == 303
    assert response.headers["Location"] == f"/judge/{token}/1?topic=1"
    page = client.get(response.headers["Location"])
    text = pages.main(page)
    assert "Be kind" in text
    assert "Where cats sleep" in text
    assert "Grade 2, fully: It says where." in text
    link = pages.parsed(page).find("a", string="I have read this: start with topic 1")
    assert link is not None
    assert _shown(client.get(str(link["href"]))) == ["a"]
    address = f"/judge/{token}/1/1"
    sent = pages.form(client.get(str(link["href"])), address)
    client.post(address, data={**sent, "grade": "1"})
    assert _shown(client.get(address)) == ["b"]


@pytest.mark.parametrize(
    ("state", "words"), [("draft", "has not started"), ("closed", "have closed this pool")]
)
def test_a_pool_that_is_not_open(
    client: FlaskClient, token: str, database: Database, state: str, words: str
) -> None:
    """Says so, and shows no document."""
    with database.write() as session:
        session.execute(update(Pool).values(state=state))
    response = client.get(f"/judge/{token}/1/1")
    assert words in pages.main(response)
    assert _shown(response) == []
    answer = client.post(
        f"/api/v1/judge/{token}/pools/1/topics/1", json={"key": "k", "docno": "a", "grade": 1}
    )
    assert answer.status_code == 409


@pytest.mark.parametrize("rest", ["", "/1", "/1/1", "/1/1/documents"])
def test_a_dead_link_leads_nowhere(client: FlaskClient, token: str, rest: str) -> None:
    """As does another pool or topic."""
    assert client.get(f"/judge/nonsense{rest}").status_code == 404
    assert client.get(f"/judge/{token}{rest.replace('1', '7')}").status_code == (200 if not rest else 404)


def test_no_reading_page_writes_and_few_statements_are_needed(
    client: FlaskClient, token: str, database: Database
) -> None:
    """A document is shown with a dozen statements, whatever the pool's size."""
    statements: list[str] = []
    event.listen(database.engine, "before_cursor_execute", lambda *given: statements.append(given[2]))
    assert client.get(f"/judge/{token}/1/1").status_code == 200
    assert len(statements) <= 14
    assert not any(each.startswith(("INSERT", "UPDATE", "DELETE")) for each in statements)


def test_grades_without_names_are_two(client: FlaskClient, token: str, database: Database) -> None:
    """Not relevant and relevant, unless the task says more."""
    with database.write() as session:
        session.execute(update(Task).values(grade_names={}))
    page = pages.parsed(client.get(f"/judge/{token}/1/1"))
    buttons = [each.get_text(" ", strip=True) for each in page.select("#judgment .buttons button")]
    assert buttons == ["0 not relevant", "1 relevant", "S skip"]


def test_documents_whose_text_is_not_stored(client: FlaskClient, token: str, database: Database) -> None:
    """Say so; where the collection says where documents are published, there is a link."""
    address = f"/judge/{token}/1/2"
    assert "not stored here" in pages.main(client.get(address))
    with database.write() as session:
        session.execute(update(Collection).values(link_template="https://x.example/{docno}"))
    link = pages.parsed(client.get(address)).find("a", href="https://x.example/e")
    assert link is not None
    assert link["rel"] == ["noopener", "noreferrer"]
