"""Run files that the upload form sends in pieces."""

import io
import zipfile
from typing import Any

import pytest
from flask.testing import FlaskClient
from sqlalchemy import func, select
from werkzeug.test import TestResponse

from leaderboard.db.tables import PartialUpload, Run, Upload
from leaderboard.web.runs.pieces import PIECE
from tests.make import pages
from tests.make.worlds import BAD_RUN, RUN
from tests.web.conftest import Site

SUBMIT = "/tasks/robots/submit"
PIECES = "/tasks/robots/pieces"
BODY = RUN.replace("d2 2 2.0", "d5 2 2.0").encode()


def _begin(client: FlaskClient, size: int, **more: str) -> TestResponse:
    said = {**pages.form(client.get(SUBMIT), SUBMIT), "file_name": "mine.run", "bytes": str(size), **more}
    return client.post(PIECES, data=said)


def _append(client: FlaskClient, at: str, offset: int, body: bytes, kind: str = PIECE) -> TestResponse:
    return client.patch(at, data=body, content_type=kind, headers={"Upload-Offset": str(offset)})


def _whole(client: FlaskClient, body: bytes, **more: str) -> str:
    """The id of a file that came in two pieces."""
    made: dict[str, Any] = _begin(client, len(body), **more).get_json()
    assert _append(client, made["address"], 0, body[:30]).get_json()["offset"] == 30
    assert client.get(made["address"]).get_json()["offset"] == 30
    assert _append(client, made["address"], 30, body[30:]).get_json()["offset"] == len(body)
    return str(made["id"])


def _count(site: Site, table: type[Any]) -> int:
    with site.database.read() as session:
        return session.scalar(select(func.count()).select_from(table)) or 0


def _send(client: FlaskClient, *pieces: str, **more: str) -> TestResponse:
    fields = {**pages.form(client.get(SUBMIT), SUBMIT), **more}
    return client.post(
        SUBMIT,
        data={**fields, "file": (io.BytesIO(), ""), "piece": list(pieces)},
        content_type="multipart/form-data",
    )


def test_the_form_sends_what_came_in_pieces(site: Site) -> None:
    """As if it had brought the file itself; nothing is left of the pieces, which make no second run."""
    client = site.browser("Berta")
    piece = _whole(client, BODY)
    assert f'value="{piece}"' in client.get(SUBMIT).text
    sent = _send(client, piece, description="By pieces.", kind="unofficial")
    assert sent.status_code == 303, sent.text
    with site.database.read() as session:
        run = session.scalars(select(Run).order_by(Run.id.desc())).first()
        assert run is not None
        assert (run.name, run.kind, run.description) == ("tag", "unofficial", "By pieces.")
        assert session.get_one(Upload, run.upload_id).bytes == len(BODY)
    assert _count(site, PartialUpload) == 0
    assert list((site.settings.data / "partial").iterdir()) == []
    assert _send(client, piece).status_code == 404


def test_a_refused_form_keeps_the_pieces(site: Site) -> None:
    """The page that comes back has the file marked, and the form is sent again without it."""
    client = site.browser("Berta")
    piece = _whole(client, BODY)
    refused = _send(client, piece, team="")
    assert (refused.status_code, f'value="{piece}" checked' in refused.text) == (422, True)
    assert _send(client, piece).status_code == 303


def test_a_bad_file_is_reported_as_any_other(site: Site) -> None:
    """The upload has its report; the pieces are gone."""
    client = site.browser("Berta")
    sent = _send(client, _whole(client, BAD_RUN.encode()))
    assert client.get(f"{sent.headers['Location']}.json").get_json()["state"] == "rejected"
    assert _count(site, PartialUpload) == 0


def test_several_and_archives_are_a_batch(site: Site) -> None:
    """Files in pieces beside a zip of others: one table of verdicts."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("two.run", BODY.replace(b"3.0", b"4.0"))
    client = site.browser("Berta")
    pieces = (_whole(client, BODY), _whole(client, packed.getvalue(), file_name="packed.zip"))
    sent = _send(client, *pieces)
    assert (sent.status_code, sent.headers["Location"]) == (303, "/batches/1")
    table = client.get("/batches/1.json").get_json()
    assert sorted(row["file"] for row in table["files"]) == ["mine.run", "two.run"], table
    assert _count(site, PartialUpload) == 0


def test_what_is_wrong_is_said_before_a_byte_comes(site: Site) -> None:
    """Each fault by its status; nothing is begun."""
    client = site.browser("Berta")
    cases = {
        "no file": (_begin(client, 9, file_name=""), 422),
        "no size": (_begin(client, 0), 422),
        "no number": (_begin(client, 9, bytes="x"), 422),
        "too large": (_begin(client, site.settings.upload_bytes + 1), 413),
        "name": (_begin(client, 9, name="a b"), 422),
        "kind": (_begin(client, 9, kind="best"), 422),
        "team of others": (_begin(client, 9, team=str(site.world.bears)), 404),
        "a list": (_begin(client, 9, team="list"), 422),
    }
    assert {name: answer.status_code for name, (answer, _) in cases.items()} == {
        name: status for name, (_, status) in cases.items()
    }
    assert _count(site, PartialUpload) == 0


def test_what_breaks_off_is_refused_until_it_is_whole(site: Site) -> None:
    """Wrong offsets, content and lengths change nothing; half a file is no run, and can be discarded."""
    client = site.browser("Berta")
    made = _begin(client, len(BODY)).get_json()
    at = made["address"]
    assert _append(client, at, 0, BODY[:9]).status_code == 200
    refused = [
        _append(client, at, 0, BODY).status_code,
        _append(client, at, 9, BODY).status_code,
        _append(client, at, 9, b"x", "text/plain").status_code,
        client.patch(at, data=b"x", content_type=PIECE).status_code,
    ]
    assert refused == [409, 413, 415, 422]
    half = _send(client, made["id"])
    assert (half.status_code, "9 of" in half.text and "Choose the file again" in half.text) == (422, True)
    assert client.post(f"{at}/drop").status_code == 303
    assert client.get(at).status_code == 404
    assert list((site.settings.data / "partial").iterdir()) == []


@pytest.mark.parametrize("name", ["Carl", "Anna"])
def test_nobody_else_has_it(site: Site, name: str) -> None:
    """Members of other teams and of the same one: as if it were not there."""
    piece = _whole(site.browser("Berta"), BODY)
    other = site.browser(name)
    at = f"{PIECES}/{piece}"
    answers = [other.get(at), _append(other, at, 0, b"x"), other.post(f"{at}/drop"), _send(other, piece)]
    assert [answer.status_code for answer in answers] == [404, 404, 404, 404]
    assert piece not in other.get(SUBMIT).text
