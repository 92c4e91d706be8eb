"""Two hundred assessors at once against a real site on SQLite: no judgment lost, none doubled."""

import json
import os
import random
import time
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from threading import Barrier
from urllib.parse import urlsplit

import pytest
from sqlalchemy import select

from leaderboard.db import schema
from leaderboard.db.engine import Database
from leaderboard.db.tables import Assessment, Assessor
from tests.make import build, pools
from tests.make.sites import MANY, running_site

ASSESSORS = 200
DOCUMENTS = 4
PATIENCE_S = 180
DROPPED = 0.1
"""Share of the judgments whose answer is not waited for: they are sent again by another connection."""


@pytest.mark.trial
def test_two_hundred_assessors_at_once(tmp_path: Path) -> None:
    """Each judges four documents by a connection of their own, some of which drop; all is stored once."""
    data = tmp_path / "site"
    data.mkdir(mode=0o700)
    database = Database(f"sqlite:///{data / 'leaderboard.sqlite3'}")
    schema.upgrade(database)
    build.task(database, tmp_path)
    pools.pool(database, {"1": [f"d{number}" for number in range(DOCUMENTS)]})
    tokens = pools.judges(database, *(f"Assessor {number}" for number in range(ASSESSORS)))
    environ = {**os.environ, **MANY}
    with running_site(data, environ=environ) as site, ThreadPoolExecutor(ASSESSORS) as people:
        host, start = urlsplit(site.address).netloc, Barrier(ASSESSORS)
        sent = dict(people.map(lambda each: _work(host, each[1], each[0], start), enumerate(tokens)))
    with database.read() as session:
        rows = session.execute(
            select(Assessor.name, Assessment.key, Assessment.docno, Assessment.grade).join(
                Assessor, Assessor.id == Assessment.assessor_id
            )
        ).all()
    database.dispose()
    stored = sorted((name, key, docno, grade) for name, key, docno, grade in rows)
    assert stored == sorted((f"Assessor {number}", *each) for number in sent for each in sent[number])
    assert len(stored) == ASSESSORS * DOCUMENTS


def _work(host: str, token: str, number: int, start: Barrier) -> tuple[int, list[tuple[str, str, int]]]:
    """One assessor: judge every document, send again what was not answered."""
    chance = random.Random(number)
    line = HTTPConnection(host, timeout=PATIENCE_S)
    start.wait()
    done = []
    for place in range(DOCUMENTS):
        judgment = (f"{number}-{place}", f"d{place}", chance.randint(0, 1))
        while not _send(line, host, token, judgment, chance.random() < DROPPED):
            line.close()
            line = HTTPConnection(host, timeout=PATIENCE_S)
        done.append(judgment)
    line.close()
    return number, done


def _send(line: HTTPConnection, host: str, token: str, judgment: tuple[str, str, int], drops: bool) -> bool:
    """Whether the site said that it has the judgment."""
    key, docno, grade = judgment
    body = json.dumps({"key": key, "docno": docno, "grade": grade})
    headers = {"Content-Type": "application/json", "Origin": f"http://{host}"}
    try:
        line.request("POST", f"/api/v1/judge/{token}/pools/1/topics/1", body, headers)
        if drops:
            return False
        with line.getresponse() as answer:
            answer.read()
            if answer.status in (200, 201):
                return True
            assert answer.status in (429, 503), answer.status
    except (HTTPException, OSError):
        pass
    time.sleep(0.1)
    return False
