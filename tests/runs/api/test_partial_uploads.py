"""Run files that are sent in pieces: by an existing client of tus, cut off, at once, and by who may not."""

import base64
import hashlib
import os
import random
import resource
import time
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import func, select, update
from tusclient.client import TusClient

from leaderboard.db.tables import PartialUpload, Phase, Run, Upload
from leaderboard.runs.ops import partial_uploads
from tests.make import build
from tests.make.cuts import Cutter, cutting
from tests.make.servers import HOST, served
from tests.make.worlds import BAD_RUN, RUN
from tests.web.api.conftest import Program, Programs
from tests.web.conftest import Site

TUS = {"Tus-Resumable": "1.0.0"}
PIECE = {**TUS, "Content-Type": "application/offset+octet-stream"}
UPLOADS = "/tasks/robots/uploads"
CUTS = 20
PROBLEMS = "/api/problems/"


def _metadata(**said: object) -> str:
    pairs = {"team": 1, "name": "pieces", **said}.items()
    return ",".join(f"{key} {base64.b64encode(str(value).encode()).decode()}" for key, value in pairs)


def _begin(program: Program, size: int, headers: dict[str, str] | None = None, **said: object) -> Any:
    sent = {**TUS, "Upload-Length": str(size), "Upload-Metadata": _metadata(**said), **(headers or {})}
    return program.ask("POST", UPLOADS, headers=sent)


def _begun(program: Program, size: int, **said: object) -> str:
    """The address of a new upload, below /api/v1."""
    answer = _begin(program, size, **said)
    assert answer.status_code == 201, answer.text
    return str(answer.headers["Location"]).removeprefix("/api/v1")


def _send(program: Program, where: str, offset: int, body: str | bytes, **headers: str) -> Any:
    return program.ask("PATCH", where, headers={**PIECE, "Upload-Offset": str(offset), **headers}, data=body)


def _offset(program: Program, where: str) -> int:
    return int(program.ask("HEAD", where, headers=TUS).headers["Upload-Offset"])


def test_pieces_become_the_run_that_one_put_makes(site: Site, program: Programs) -> None:
    """Begun, asked for, sent in two pieces; then it is an upload, and asking again changes nothing."""
    berta = program("Berta")
    where = _begun(berta, len(RUN), sha256=hashlib.sha256(RUN.encode()).hexdigest(), file_name="my.run")
    asked = berta.ask("HEAD", where, headers=TUS)
    assert (asked.headers["Upload-Offset"], asked.headers["Upload-Length"]) == ("0", str(len(RUN)))
    assert (asked.headers["Cache-Control"], asked.headers["Tus-Resumable"]) == ("no-store", "1.0.0")
    first = _send(berta, where, 0, RUN[:30])
    assert (first.status_code, first.headers["Upload-Offset"], first.data) == (204, "30", b"")
    assert berta.ask("GET", where).json["upload"] is None
    last = _send(berta, where, 30, RUN[30:])
    assert (last.status_code, last.headers["Upload-Offset"]) == (204, str(len(RUN)))
    upload = berta.ask("GET", last.headers["Location"].removeprefix("/api/v1")).json
    assert upload["state"] == "accepted"
    again = _send(berta, where, len(RUN), b"")
    assert (again.status_code, again.headers["Location"]) == (204, last.headers["Location"])
    (listed,) = berta.ask("GET", UPLOADS).json["uploads"]
    assert (listed["upload"], listed["offset"], listed["run"]) == (upload["upload"], len(RUN), "pieces")
    assert list((site.settings.data / "partial").iterdir()) == []
    with site.database.read() as session:
        run = session.get_one(Run, upload["run_id"])
        sent = session.get_one(Upload, upload["upload"])
        assert (run.name, sent.file_name, sent.bytes) == ("pieces", "my.run", len(RUN))
    build.drain(site.database)
    assert "pieces" in [row["run"] for row in berta.ask("GET", "/tasks/robots/board").json["rows"]]


def test_options_say_what_the_site_can_do(site: Site, program: Programs) -> None:
    """Version, extensions and the largest file."""
    answer = program("Berta").ask("OPTIONS", UPLOADS)
    told = [answer.headers[f"Tus-{name}"] for name in ("Version", "Extension", "Max-Size")]
    assert told == ["1.0.0", "creation,expiration,termination", str(site.settings.upload_bytes)]


def test_what_breaks_the_protocol_is_refused_and_changes_nothing(site: Site, program: Programs) -> None:
    """Each by its status and type, with nothing begun and not a byte more."""
    berta = program("Berta")
    where = _begun(berta, len(RUN))
    _send(berta, where, 0, RUN[:9])
    digits = {"Upload-Length": str(len(RUN))}
    cases = {
        "version": (_begin(berta, 9, {"Tus-Resumable": "0.2.2"}), 412, "wrong-version"),
        "no metadata": (_begin(berta, 9, {"Upload-Metadata": ""}), 422, "invalid"),
        "no base64": (_begin(berta, 9, {"Upload-Metadata": "team =!"}), 422, "invalid"),
        "NUL": (_begin(berta, 9, name="a\0b"), 422, "invalid"),
        "unknown key": (_begin(berta, 9, teem="1"), 422, "invalid"),
        "bad name": (_begin(berta, 9, name="a b"), 422, "invalid"),
        "bad digest": (_begin(berta, 9, sha256="abc"), 422, "invalid"),
        "bad kind": (_begin(berta, 9, kind="best"), 422, "invalid"),
        "empty file": (_begin(berta, 0), 422, "invalid"),
        "no length": (_begin(berta, 0, {"Upload-Length": "-1"}), 422, "invalid"),
        "too large": (_begin(berta, site.settings.upload_bytes + 1), 413, "too-large"),
        "team of others": (_begin(berta, 9, team=site.world.bears), 404, "not-found"),
        "unknown task": (
            berta.ask("POST", "/tasks/no/uploads", headers={**digits, "Upload-Metadata": _metadata()}),
            *(404, "unknown-task"),
        ),
        "piece of another version": (
            _send(berta, where, 9, "x", **{"Tus-Resumable": "2.0.0"}),
            *(412, "wrong-version"),
        ),
        "earlier offset": (_send(berta, where, 0, RUN), 409, "conflict"),
        "later offset": (_send(berta, where, 10, RUN[10:]), 409, "conflict"),
        "no offset": (_send(berta, where, 9, "x", **{"Upload-Offset": "x"}), 422, "invalid"),
        "other content": (
            _send(berta, where, 9, "x", **{"Content-Type": "text/plain"}),
            415,
            "wrong-content",
        ),
        "beyond the end": (_send(berta, where, 9, RUN), 413, "too-large"),
    }
    faults = [
        (name, answer.status_code, answer.text)
        for name, (answer, status, kind) in cases.items()
        if (answer.status_code, answer.json["type"]) != (status, PROBLEMS + kind)
    ]
    assert faults == []
    assert cases["version"][0].headers["Tus-Version"] == "1.0.0"
    assert _offset(berta, where) == 9
    with site.database.read() as session:
        assert session.scalar(select(func.count()).select_from(PartialUpload)) == 1


def test_only_who_began_it_knows_of_it(site: Site, program: Programs) -> None:
    """To all others, tokens for another task or team too, it looks as one that never was."""
    berta = program("Berta")
    where = _begun(berta, len(RUN))
    nothing = f"{UPLOADS}/{'0' * 32}"
    others = [program(name, "read", "submit", "organise") for name in ("Anna", "Carl", "Olga", "Nina")]
    faults = []
    for method, sent in (("GET", TUS), ("PATCH", {**PIECE, "Upload-Offset": "0"}), ("DELETE", TUS)):
        for other in others:
            real, no = (other.ask(method, path, headers=sent) for path in (where, nothing))
            if (real.status_code, real.data) != (404, no.data):
                faults.append((method, others.index(other), real.status_code))
        elsewhere = program("Berta", "read", "submit", slug="other")
        if elsewhere.ask(method, where, headers=sent).status_code != 403:
            faults.append((method, "bound to another task", 0))
        moved = berta.ask(method, where.replace("robots", "other"), headers=sent)
        if moved.status_code != 404:
            faults.append((method, "below another task", moved.status_code))
    assert faults == []
    assert [other.ask("GET", UPLOADS).json["uploads"] for other in others] == [[]] * len(others)
    assert program("Berta", "read").ask("DELETE", where).status_code == 403
    assert _offset(berta, where) == 0


def test_one_given_up_is_gone(site: Site, program: Programs) -> None:
    """Its row and its bytes; while another request has it, that is a conflict."""
    berta = program("Berta")
    where = _begun(berta, len(RUN))
    _send(berta, where, 0, RUN[:9])
    path = partial_uploads.path_of(site.settings.data, where.rsplit("/", 1)[-1])
    with partial_uploads.locked(path):
        assert berta.ask("DELETE", where, headers=TUS).status_code == 409
        assert _send(berta, where, 9, RUN[9:]).status_code == 409
    assert path.stat().st_size == 9
    assert berta.ask("DELETE", where, headers=TUS).status_code == 204
    assert berta.ask("HEAD", where, headers=TUS).status_code == 404
    assert not path.exists()


def test_another_file_than_was_announced_is_sent_anew(site: Site, program: Programs) -> None:
    """All came, but its digest is another: the offset is 0 again, and the right bytes make the run."""
    berta = program("Berta")
    where = _begun(berta, len(RUN), sha256=hashlib.sha256(RUN.encode()).hexdigest())
    answer = _send(berta, where, 0, RUN.replace("3.0", "4.0"))
    assert (answer.status_code, answer.json["problems"][0]["field"]) == (422, "sha256")
    assert _offset(berta, where) == 0
    assert "Location" in _send(berta, where, 0, RUN).headers


def test_a_rejected_file_is_an_upload_and_a_refused_one_waits(site: Site, program: Programs) -> None:
    """The check is asked for at the upload; over quota the bytes stay, and an empty piece tries again."""
    berta = program("Berta")
    bad = _begun(berta, len(BAD_RUN))
    upload = _send(berta, bad, 0, BAD_RUN).headers["Location"].removeprefix("/api/v1")
    assert berta.ask("GET", upload).json["state"] == "rejected"
    where = _begun(berta, len(RUN))
    with site.database.write() as session:
        session.execute(update(Phase).values(runs_in_all=1))
    refused = _send(berta, where, 0, RUN)
    assert (refused.status_code, refused.json["type"]) == (429, "/api/problems/over-quota")
    assert _begin(berta, 9).status_code == 429
    assert _offset(berta, where) == len(RUN)
    with site.database.write() as session:
        session.execute(update(Phase).values(runs_in_all=9))
    assert "Location" in _send(berta, where, len(RUN), b"").headers


def test_a_crash_before_the_upload_was_noted_makes_no_second_run(site: Site, program: Programs) -> None:
    """The file is there still and nothing says that it was taken: it is the same upload."""
    berta = program("Berta")
    where = _begun(berta, len(RUN))
    first = _send(berta, where, 0, RUN).headers["Location"]
    with site.database.write() as session:
        session.execute(update(PartialUpload).values(upload_id=None))
    assert _offset(berta, where) == 0
    assert _send(berta, where, 0, RUN).headers["Location"] == first


def test_an_account_has_so_many_and_they_expire(site: Site, program: Programs) -> None:
    """Eight that are not finished, a quarter of the room; after a day rows and bytes go."""
    berta = program("Berta")
    wheres = [_begun(berta, 9) for _ in range(partial_uploads.OPEN_OF_ONE)]
    _send(berta, wheres[0], 0, b"12345678")
    assert _begin(berta, 9).status_code == 429
    path = partial_uploads.path_of(site.settings.data, wheres[0].rsplit("/", 1)[-1])
    os.utime(path, (0, 0))
    data = site.settings.data
    with site.database.write() as session:
        partial_uploads.expire(session, data)
        assert path.exists()
        ended = PartialUpload.created_at - timedelta(days=1)
        session.execute(update(PartialUpload).values(expires_at=PartialUpload.created_at))
        partial_uploads.expire(session, data)
        assert session.scalars(select(PartialUpload)).all() == [], ended
    assert not path.exists()
    assert berta.ask("HEAD", wheres[0], headers=TUS).status_code == 404


def test_a_key_begins_one_upload(site: Site, program: Programs) -> None:
    """The same again is the same upload; another file under the key is refused."""
    berta, key = program("Berta"), {"Idempotency-Key": "one"}
    first, again = (_begin(berta, 9, key).headers["Location"] for _ in range(2))
    assert first == again
    assert _begin(berta, 10, key).status_code == 422


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _upload(cutter: Cutter, program: Program, path: Path, **options: Any) -> str:
    """Send a file by an existing client; the address of its upload in pieces, below /api/v1."""
    client = TusClient(
        f"http://{HOST}:{cutter.port}/api/v1{UPLOADS}", {"Authorization": f"Bearer {program.secret}"}
    )
    said = {"team": "1", "name": "cut", "sha256": _digest(path)}
    with path.open("rb") as file:
        uploader = client.uploader(file_stream=file, metadata=said, retries=200, retry_delay=0, **options)
        uploader.upload()
    return str(uploader.url).split("/api/v1", 1)[1]


def _long_run(path: Path, size: int) -> Path:
    """A run file of about so many bytes."""
    with path.open("w") as file:
        for number in range(size // 30):
            file.write(f"1 Q0 d{number:09d} {number + 1} {-number} tag\n")
    return path


@pytest.mark.trial
def test_a_client_of_tus_goes_on_after_cuts(site: Site, program: Programs, tmp_path: Path) -> None:
    """3 MB in one piece, cut at 20 random bytes: the file comes whole, and hardly a byte is sent twice."""
    berta, path = program("Berta"), _long_run(tmp_path / "long.run", 3 * 2**20)
    chance = random.Random(1)
    cuts = [chance.randrange(2_000, 150_000) for _ in range(CUTS)]
    planned = list(cuts)
    with served(site.app, site.settings) as running, cutting(running.port, cuts) as cutter:
        where = _upload(cutter, berta, path)
    assert (cutter.was_cut, cuts) == (CUTS, [])
    upload = berta.ask("GET", where).json["upload"]
    assert (
        berta.ask("GET", f"/uploads/{upload}").json["sha256"] == hashlib.sha256(path.read_bytes()).hexdigest()
    )
    # Without what came of cut pieces it would be all of them once more.
    assert cutter.sent < path.stat().st_size + 2 * sum(planned) // 3


@pytest.mark.trial
def test_memory_stays_flat_while_pieces_come(
    site: Site, program: Programs, capsys: pytest.CaptureFixture[str]
) -> None:
    """300 MB in pieces of 3 MB: peak memory before the first, before the last, at the end."""
    berta, piece = program("Berta"), random.Random(2).randbytes(3_000_000)
    where = _begun(berta, 100 * len(piece))
    sent = {**PIECE, "Authorization": f"Bearer {berta.secret}"}
    marks = []
    with served(site.app, site.settings) as running:
        for number in range(100):
            if number in (0, 99):
                marks.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)
            headers = {**sent, "Upload-Offset": str(number * len(piece))}
            assert running.status(f"/api/v1{where}", "PATCH", body=piece, headers=headers) == 204
    marks.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)
    with capsys.disabled():
        print(f"\n{marks} MiB")
    assert marks[1] - marks[0] < 60
    assert marks[2] - marks[0] < 150


@pytest.mark.trial
def test_300_megabytes_come_whole_through_twenty_cuts(
    site: Site, program: Programs, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """By an existing client, cut at 20 random bytes: what was sent, how long it took."""
    berta, path = program("Berta"), tmp_path / "large.run"
    with path.open("wb") as file:
        for _ in range(100):
            file.write(random.Random(2).randbytes(3_000_000))
    chance = random.Random(3)
    cuts = [chance.randrange(2_000, 8_000_000) for _ in range(CUTS)]
    began = time.monotonic()
    with served(site.app, site.settings) as running, cutting(running.port, cuts) as cutter:
        where = _upload(cutter, berta, path, chunk_size=2**23)
    upload = berta.ask("GET", where).json["upload"]
    sha256 = berta.ask("GET", f"/uploads/{upload}").json["sha256"]
    with capsys.disabled():
        print(
            f"\n{cutter.was_cut} cuts, {cutter.sent:,} bytes sent of {path.stat().st_size:,}, "
            f"{time.monotonic() - began:.1f} s"
        )
    assert sha256 == _digest(path)
    assert cutter.was_cut == CUTS
    assert cutter.sent < path.stat().st_size + CUTS * 2**23
