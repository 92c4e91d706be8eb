"""What the site writes it reads: every export that a form elsewhere takes goes back in through that form."""

from collections.abc import Callable
from typing import Any

import pytest
from werkzeug.test import TestResponse

from tests.make import build
from tests.web.api.conftest import Program, Programs
from tests.web.conftest import Site

POOL = "/tasks/robots/pools/1"
LOG = "session,topic,docno,rank,clicked\na,1,d1,1,0\na,1,d2,2,1\na,2,d3,1,1\n"


@pytest.fixture
def olga(site: Site, program: Programs) -> Program:
    """The organiser's program, in a site where the pool has labels by a person and there are clicks."""
    judge = program()
    for key, topic, docno, grade in (("k1", "1", "d1", 1), ("k2", "1", "d2", 0), ("k3", "2", "d3", 1)):
        address = f"/judge/{site.world.judge}/pools/1/topics/{topic}"
        said = judge.ask("POST", address, json={"key": key, "docno": docno, "grade": grade})
        assert said.status_code == 201, said.text
    made = program("Olga", "organise", "judge", "submit", "read")
    sent = made.ask("POST", "/tasks/robots/clicks", data=LOG.encode())
    assert sent.status_code == 201, sent.text
    build.drain(site.database)
    return made


def _new_task(olga: Program, body: bytes) -> object:
    return _done(olga.ask("PUT", "/tasks/again?name=Again", data=body))["topics"]


def _new_topics(olga: Program, body: bytes) -> object:
    _done(olga.ask("PUT", "/tasks/again?name=Again", data=b"9\tnine\n"))
    return _done(olga.ask("PUT", "/tasks/again/topics", data=body))["done"]


def _revision(holds: str) -> Callable[[Program, bytes], object]:
    def take(olga: Program, body: bytes) -> object:
        address = f"/tasks/robots/revisions/drafts?holds={holds}&note=Back"
        draft = _done(olga.ask("POST", address, data=body))
        return draft["added"], draft["changed"], draft["removed"]

    return take


def _run(olga: Program, body: bytes) -> object:
    return _done(olga.ask("POST", "/tasks/robots/check", data=body))["state"]


def _pool(olga: Program, body: bytes) -> object:
    number = _done(olga.ask("POST", "/tasks/robots/pools/import", data=body))["pool"]
    pairs = olga.ask("GET", f"/tasks/robots/pools/{number}/file").text
    assert pairs == olga.ask("GET", "/tasks/robots/pools/1/file").text
    return pairs.count("\n")


def _labels(olga: Program, body: bytes) -> object:
    found = _done(olga.ask("POST", f"{POOL}/labels?name=Bob&origin=human", data=body))
    return found["added"], found["known"], found["outside"], found["skipped"]


def _bundle(olga: Program, body: bytes) -> object:
    return _done(olga.ask("PUT", "/tasks/again/import", data=body))["is_made"]


def _done(response: TestResponse) -> dict[str, Any]:
    assert response.status_code in (200, 201), response.text
    return response.json  # type: ignore[no-any-return]


COLUMNS = "topic,iteration,docno,grade"
HEADINGS = "topic, title, judged, relevant, grade 2, grade 1, grade 0"
EXPORTS: dict[str, tuple[Callable[[Program, bytes], object], object]] = {
    "/tasks/robots/topics.csv": (
        _new_task,
        f"Comma-separated columns: id=topic, title=title. The first line is read as headings ({HEADINGS}",
    ),
    "/tasks/robots/topics.json": (_new_topics, "3 topics. JSON: id=topic, title=title."),
    "/tasks/robots/revisions/1/qrels.txt": (_revision("graded&second=rounds"), (0, 0, 0)),
    f"{POOL}/settled.qrels": (_revision("graded&second=rounds"), (0, 1, 2)),
    f"{POOL}/settled.qrels?columns=probability": (
        _revision(f"graded&second=rounds&map=columns%3D{COLUMNS},probability"),
        (0, 1, 2),
    ),
    f"{POOL}/settled.qrels?columns=both": (
        _revision(f"graded&second=rounds&map=columns%3D{COLUMNS},-,probability"),
        (0, 1, 2),
    ),
    "/tasks/robots/clicks.txt?least=1": (_revision("preference"), (1, 0, 0)),
    "/runs/1/file": (_run, "accepted"),
    f"{POOL}/documents.txt": (_pool, 4),
    f"{POOL}/documents.csv": (_pool, 4),
    f"{POOL}/documents.jsonl": (_pool, 4),
    f"{POOL}/assessments.csv": (_labels, (3, 0, 0, 0)),
    f"{POOL}/assessments.jsonl": (_labels, (3, 0, 0, 0)),
    "/tasks/robots/task.zip": (_bundle, True),
}
"""Export -> the form that takes its kind, and what comes of it there."""


@pytest.mark.parametrize("address", EXPORTS)
def test_what_the_site_writes_it_reads(address: str, site: Site, olga: Program) -> None:
    """The file goes back as it came, and everything in it is there."""
    take, expected = EXPORTS[address]
    written = site.browser("Olga").get(address)
    assert written.status_code == 200, written.text
    found = take(olga, written.data)
    if isinstance(found, str) and isinstance(expected, str):
        assert found[: len(expected)] == expected
    else:
        assert found == expected
