"""How large forms, files and what they unpack to may be."""

import gzip
import io
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import update
from werkzeug.test import TestResponse

from leaderboard.application import create_app
from leaderboard.db.engine import Database
from leaderboard.db.tables import Phase
from leaderboard.settings import Settings
from leaderboard.worker import Evaluator
from tests.judges import make as judging
from tests.make import answers, nuggeted
from tests.web.conftest import SignIn, Site, browser, enter


def _multipart(*parts: tuple[str, str]) -> dict[str, Any]:
    """A request's body and type; the test client's own encoder leaves a file open for large ones."""
    body = "".join(
        f"--xx\r\nContent-Disposition: form-data; {head}\r\n\r\n{text}\r\n" for head, text in parts
    )
    return {"data": f"{body}--xx--\r\n".encode(), "content_type": "multipart/form-data; boundary=xx"}


def test_too_many_parts_and_too_large_forms_are_refused(site: Site) -> None:
    """10,000 parts, a field over half a megabyte and a body over the route's limit are 413."""
    client = site.browser("Berta")
    assert client.post("/tasks/robots/submit", **_multipart(*[('name="f"', "v")] * 10_000)).status_code == 413
    large = _multipart(('name="description"', "x" * 600_000))
    assert client.post("/tasks/robots/submit", **large).status_code == 413
    assert client.post("/teams", data={"name": "x" * 2**21}).status_code == 413


def test_an_upload_over_the_limit_is_refused(settings: Settings, database: Database, sign_in: SignIn) -> None:
    """A file larger than upload_bytes is refused with 413 before anything is stored."""
    client = browser(create_app(replace(settings, upload_bytes=1000), database))
    sign_in(client, "Anna")
    large = _multipart(('name="file"; filename="a.run"', "x" * 2**21))
    assert client.post("/tasks/robots/submit", **large).status_code == 413
    assert _left_behind(settings) == []


def _left_behind(settings: Settings) -> list[Path]:
    return list((settings.data / "tmp").iterdir())


def test_an_exploding_archive_is_refused(site: Site) -> None:
    """A gzip bomb is the evaluator's to reject, makes no run and leaves no file behind."""
    bomb = gzip.compress(b"1 Q0 d1 1 1.0 t\n" * 4_000_000)
    data = {"file": (io.BytesIO(bomb), "a.gz"), "team": str(site.world.owls)}
    client = site.browser("Berta")
    sent = client.post("/tasks/robots/submit", data=data, headers={"Accept": "application/json"})
    assert sent.json is not None
    Evaluator(site.database, site.settings).drain()
    report = client.get(f"/uploads/{sent.json['upload']}.json").json
    assert report is not None
    assert (report["state"], report["run"]) == ("rejected", None)
    assert _left_behind(site.settings) == []


KINDS = {
    "said": (nuggeted.task, json.dumps(answers.answer("1", ("One.", ["d1"]))) + "\n", "jsonl"),
    "judged": (judging.task, judging.board_text(judging.OAK), "txt"),
}
"""Task -> what makes it, a file for it, and how that ends."""


@pytest.mark.parametrize("slug", KINDS)
def test_files_of_answers_and_of_judges_have_limits_too(site: Site, slug: str, tmp_path: Path) -> None:
    """Of their size as sent and unpacked, and of how many come in a day: as files of rankings have."""
    make, text, ending = KINDS[slug]
    make(site.database, tmp_path, slug)
    if slug == "judged":
        judging.refer(site.database, tmp_path)
    settings = replace(site.settings, upload_bytes=2**16, plain_bytes=2**20)
    client = browser(create_app(settings, site.database))
    enter(site.database, client, "Berta")

    def send(body: bytes, name: str) -> TestResponse:
        data = {"file": (io.BytesIO(body), f"{name}.{ending}"), "team": str(site.world.owls), "name": name}
        return client.post(f"/tasks/{slug}/submit", data=data, headers={"Accept": "application/json"})

    large = _multipart((f'name="file"; filename="large.{ending}"', "x" * 2**21))
    assert client.post(f"/tasks/{slug}/submit", **large).status_code == 413
    bomb = send(gzip.compress(b" " * 2**22), "bomb").json
    assert bomb is not None
    Evaluator(site.database, settings).drain()
    report = client.get(f"/uploads/{bomb['upload']}.json").json
    assert report is not None
    assert (report["state"], report["run"]) == ("rejected", None)
    with site.database.write() as session:
        session.execute(update(Phase).values(runs_per_day=1))
    sent = send(text.encode(), "one")
    assert sent.status_code < 400, sent.text
    assert send(text.encode() + b"\n", "two").status_code == 429
    assert _left_behind(site.settings) == []
