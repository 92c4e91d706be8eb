"""Many files in a browser, fixes by a button, and checks that send nothing."""

import io
import zipfile
from dataclasses import replace
from typing import Any

import pytest
from flask.testing import FlaskClient
from sqlalchemy import func, select
from werkzeug.test import TestResponse

from leaderboard.application import create_app
from leaderboard.db.tables import Run, Team, Throttle, Upload
from leaderboard.runs.ops import limits
from leaderboard.runs.web import batches as sending
from tests.make import build, pages
from tests.make.worlds import RUN
from tests.web.conftest import Site, browser

SUBMIT, CHECK = "/tasks/robots/submit", "/tasks/robots/check"
JSON = {"Accept": "application/json"}
TWICE = RUN + "3 Q0 d4 2 0.5 tag\n"


def _run(number: int) -> bytes:
    return RUN.replace("d1 ", f"x{number} ").encode()


def _file(name: str, body: bytes) -> tuple[io.BytesIO, str]:
    return io.BytesIO(body), name


def _zip(files: dict[str, bytes]) -> bytes:
    body = io.BytesIO()
    with zipfile.ZipFile(body, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return body.getvalue()


def _send(site: Site, name: str, *files: tuple[io.BytesIO, str], **more: Any) -> TestResponse:
    client = site.browser(name)
    sent = {**pages.form(client.get(SUBMIT), SUBMIT), "file": list(files), **more}
    return client.post(SUBMIT, data=sent)


def test_many_files_come_back_as_one_table(site: Site) -> None:
    """Files and an archive in one form: what needs somebody comes first; the page asks again until done."""
    archive = _zip({"deep/two.txt": _run(2), "in.zip": _zip({"a": RUN.encode()})})
    sent = _send(site, "Berta", _file("one.txt", _run(1)), _file("rest.zip", archive), _file("bad", b"1 2\n"))
    assert sent.status_code == 303
    address = sent.headers["Location"]
    client = site.browser("Berta")
    page = client.get(address)
    verdicts = pages.parsed(page).find(id="verdicts")
    assert verdicts is not None
    assert verdicts["hx-get"] == address
    build.drain(site.database, site.settings)
    page = client.get(address)
    rows = pages.table(page, "Submitted files and verdicts")
    assert [(row[0], row[1], row[3]) for row in rows] == [
        ("in.zip", "not taken", "–"),
        ("bad", "rejected", "bad"),
        ("one.txt", "accepted", "one"),
        ("deep/two.txt", "accepted", "two"),
    ]
    assert "hx-get" not in page.text.split('id="verdicts"')[1].split(">")[0]
    facts = client.get(f"{address}.json").json
    assert facts is not None
    assert facts["counts"] == {"accepted": 2, "not taken": 1, "rejected": 1}
    assert client.get(f"{address}.csv").text.startswith("file,verdict,says,run,team,kind,problems")
    for name, status in (("Olga", 200), ("Otto", 404), ("Nina", 404)):
        assert site.browser(name).get(address).status_code == status


def test_an_organiser_files_runs_by_a_list(site: Site) -> None:
    """A list among the files says whose they are; teams that are missing are made by a tick."""
    files = [("runs.csv", b"run,team,kind\none,Bears,\nlynx,Lynxes,baseline\n"), ("one.txt", _run(1))]
    other = ("two.txt", _run(2).replace(b"tag", b"lynx"))
    refused = _send(site, "Olga", *(_file(*each) for each in [*files, other]), team="list")
    assert refused.status_code == 422
    assert "of the teams do not exist on this site" in pages.main(refused)
    sent = _send(site, "Olga", *(_file(*each) for each in [*files, other]), team="list", make_teams="1")
    assert sent.status_code == 303
    build.drain(site.database, site.settings)
    with site.database.read() as session:
        rows = session.execute(
            select(Run.name, Team.name, Run.kind).join(Team, Team.id == Run.team_id).where(Run.id > 1)
        )
        assert sorted(map(tuple, rows)) == [("one", "Bears", "official"), ("two", "Lynxes", "baseline")]
    forbidden = _send(site, "Berta", _file("one.txt", _run(1)), team="list", list="run,team\none,Owls\n")
    assert forbidden.status_code == 403


def test_held_files_are_sent_or_dropped_by_a_button(site: Site) -> None:
    """Good files wait for a look where that was ticked."""
    for act, states in (("send", ["accepted"] * 2), ("drop", ["rejected"] * 2)):
        files = [_file(f"{act}{number}.txt", _run(number)) for number in range(2)]
        address = _send(site, "Berta", *files, hold="1").headers["Location"]
        build.drain(site.database, site.settings)
        client = site.browser("Berta")
        assert "Submit valid files (2)" in client.get(address).text
        assert client.post(f"{address}/{act}").status_code == 303
        build.drain(site.database, site.settings)
        facts = client.get(f"{address}.json").json
        assert facts is not None
        assert [row["verdict"] for row in facts["files"]] == states


def test_a_program_gets_the_batch_as_json(site: Site) -> None:
    """202 with the number of the batch and its files so far; the same form makes no second batch."""
    client = site.browser("Berta")
    form = {**pages.form(client.get(SUBMIT), SUBMIT), "names": "tag"}
    answers = []
    for _ in range(2):
        files = [_file("one", _run(1)), _file("two", _run(2).replace(b"tag", b"lynx"))]
        answers.append(client.post(SUBMIT, data={**form, "file": files}, headers=JSON))
    assert [answer.status_code for answer in answers] == [202, 202]
    assert answers[0].json == answers[1].json
    assert answers[0].json is not None
    assert [row["run"] for row in answers[0].json["files"]] == ["tag", "lynx"]


def test_too_many_files_or_senders_are_refused(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """A form has 250 parts at most, and two batches are unpacked at a time."""
    client = site.browser("Berta")
    files = [_file(f"{number}", b"x") for number in range(260)]
    assert client.post(SUBMIT, data={"team": "1", "file": files}).status_code == 413
    monkeypatch.setattr(sending._turns, "acquire", lambda blocking: False)
    busy = _send(site, "Berta", _file("one", _run(1)), _file("two", _run(2)))
    assert (busy.status_code, busy.headers["Retry-After"]) == (503, "60")


def test_a_rejected_file_is_fixed_by_a_button(site: Site) -> None:
    """The page offers what applies; the new upload tells what was fixed, and both files can be had."""
    sent = _send(site, "Berta", _file("mine.run", TWICE.replace("d1", "x1").encode()))
    client = site.browser("Berta")
    address = sent.headers["Location"]
    page = client.get(address)
    assert "Remove duplicate documents of a topic" in pages.main(page)
    fixed = client.post(f"{address}/fix", data={"fixes": "duplicates"})
    assert fixed.status_code == 303
    build.drain(site.database, site.settings)
    after = client.get(fixed.headers["Location"])
    assert "Accepted." in pages.main(after)
    assert "1 lines" in pages.main(after)
    assert client.get(f"{address}/file").text == TWICE.replace("d1", "x1")
    assert client.get(f"{fixed.headers['Location']}/file").text == RUN.replace("d1", "x1")
    assert site.browser("Carl").post(f"{address}/fix", data={"fixes": "duplicates"}).status_code == 404


def _checked(client: FlaskClient, body: bytes, name: str = "run.txt") -> TestResponse:
    return client.post(CHECK, data={"file": _file(name, body)}, headers=JSON)


def test_anybody_may_check_a_file_and_nothing_is_kept(site: Site) -> None:
    """A visitor, and a member whose team has the very run, are told the same and store nothing."""
    answers = [_checked(site.browser(name), RUN.encode()) for name in (None, "Berta", "Nina")]
    assert [answer.status_code for answer in answers] == [200] * 3
    assert answers[0].json == answers[1].json == answers[2].json
    rejected = _checked(site.browser(), TWICE.encode()).json
    assert rejected is not None
    assert (rejected["state"], rejected["fixes"]) == ("rejected", ["duplicates"])
    page = site.browser().post(CHECK, data={"file": _file("a.txt", b"1 2\n")})
    assert "a.txt would be rejected" in pages.main(page)
    assert "Topics and documents are checked once these are fixed." in pages.main(page)
    with site.database.read() as session:
        assert session.scalar(select(func.count(Upload.id))) == 2
        assert (
            session.scalar(select(func.count()).select_from(Throttle).where(Throttle.key.like("rej%"))) == 0
        )


def test_checks_are_bounded(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """No file larger than what is checked while one waits, and so many an hour from one network."""
    small = browser(create_app(replace(site.settings, inline_bytes=1000), site.database))
    large = _checked(small, RUN.encode() * 50)
    assert large.json is not None
    assert "too large to check here" in large.json["problems"][0]["rule"]
    assert _checked(small, bytes(70_000)).status_code == 413
    monkeypatch.setattr(limits, "CHECKS_AN_HOUR", 3)
    assert [_checked(site.browser(), RUN.encode()).status_code for _ in range(3)] == [200, 200, 429]
