"""JSON-LD of a task: what search engines ask for, files that are there, and names that cannot end it."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from flask.testing import FlaskClient
from sqlalchemy import update

from leaderboard.db.engine import Database
from leaderboard.db.tables import Phase, Task
from tests.make import blind, build
from tests.make.pages import parsed
from tests.scoring.ops.statistics.test_standings import fill
from tests.web.conftest import SignIn

REQUIRED = ("@context", "@type", "name", "description")
"""What Google's Dataset Search does not do without; the description has 50 to 5,000 characters."""


def _data(client: FlaskClient, address: str = "/tasks/t") -> dict[str, Any] | None:
    blocks = parsed(client.get(address)).find_all("script", type="application/ld+json")
    assert len(blocks) < 2
    return json.loads(blocks[0].string or "") if blocks else None


def _names(client: FlaskClient) -> set[str]:
    data = _data(client)
    assert data is not None
    return {each["name"] for each in data["distribution"]}


def test_a_task_says_what_search_engines_ask_for(
    database: Database, client: FlaskClient, tmp_path: Path
) -> None:
    """Whose it is, its licence as an address, its revision, its dates, and files that a visitor gets."""
    fill(database, tmp_path)
    with database.write() as session:
        session.execute(update(Task).values(organisers="Ann and Bob", licence="CC BY 4.0"))
        session.execute(update(Phase).values(opens_at=datetime(2026, 1, 2, tzinfo=UTC)))
    data = _data(client)
    assert data is not None
    assert all(data[name] for name in REQUIRED)
    assert 50 <= len(data["description"]) <= 5000
    assert data["creator"] == {"@type": "Organization", "name": "Ann and Bob"}
    assert data["license"] == "https://creativecommons.org/licenses/by/4.0/"
    assert (data["version"], data["temporalCoverage"]) == (1, "2026-01-02/..")
    files = {each["contentUrl"]: each["encodingFormat"] for each in data["distribution"]}
    assert "http://localhost/tasks/t/revisions/1/qrels.txt" in files
    for address, kind in files.items():
        answer = client.get(address.removeprefix("http://localhost"))
        assert (answer.status_code, answer.mimetype) == (200, kind), address


@pytest.mark.parametrize(
    ("licence", "told"),
    [
        ("https://example.org/terms", "https://example.org/terms"),
        ("CC0", "https://creativecommons.org/publicdomain/zero/1.0/"),
        ("cc-by-nc-sa 4.0", "https://creativecommons.org/licenses/by-nc-sa/4.0/"),
        ("Ask us", {"@type": "CreativeWork", "name": "Ask us"}),
        ("", None),
    ],
)
def test_licences_are_addresses_where_they_are_known(
    database: Database, client: FlaskClient, tmp_path: Path, licence: str, told: object
) -> None:
    """Others are named; none is made up."""
    build.task(database, tmp_path)
    with database.write() as session:
        session.execute(update(Task).values(licence=licence))
    data = _data(client)
    assert data is not None
    assert data.get("license") == told


def test_what_is_held_back_is_not_among_the_files(
    database: Database, client: FlaskClient, tmp_path: Path, sign_in: SignIn
) -> None:
    """A blind task has no judgments for visitors, a sealed one no board; who is signed in is told nothing."""
    blind.task(database, tmp_path)
    assert _names(client) == {"Topics", "Board"}
    blind.settle(database, visibility="sealed")
    assert _names(client) == {"Topics"}
    sign_in(client, "Ann")
    assert _data(client) is None


@pytest.mark.parametrize(
    "text", ["</script><script>alert(1)</script>", "<!--<script>", "]]>&amp;\u2028", '"\\']
)
def test_no_name_ends_the_block(database: Database, client: FlaskClient, tmp_path: Path, text: str) -> None:
    """Tags, comments and separators of lines stay text, and come out as they went in."""
    build.task(database, tmp_path)
    with database.write() as session:
        session.execute(update(Task).values(name=f"x{text}", organisers=text, licence=text))
    response = client.get("/tasks/t")
    data = _data(client)
    assert data is not None
    assert (data["name"], data["creator"]["name"], data["license"]["name"]) == (f"x{text}", text, text)
    assert "alert" not in "".join(tag.get_text() for tag in parsed(response).find_all("script", type=None))
    block = response.text.partition("ld+json")[2].partition("</script>")[0][2:]
    assert not set("<>&\u2028") & set(block)
