"""Sending a run in a browser, and the report on it."""

import gzip
import io
import threading
from dataclasses import replace
from typing import Any

import pytest
from flask.testing import FlaskClient
from sqlalchemy import func, select, update
from werkzeug.test import TestResponse

from leaderboard.application import create_app
from leaderboard.db.tables import Job, Phase, RankingBlock, Run, Task, Upload, UploadChunk
from leaderboard.runs.ops import uploads as sending
from leaderboard.settings import Settings
from tests.make import pages
from tests.make.worlds import BAD_RUN, RUN
from tests.web.conftest import Site, browser, enter

SUBMIT = "/tasks/robots/submit"
OTHER_RUN = RUN.replace("d2 2 2.0", "d5 2 2.0")
JSON = {"Accept": "application/json"}


def _fields(
    client: FlaskClient, text: str | bytes = OTHER_RUN, file: str = "mine.run", **more: str
) -> dict[str, Any]:
    body = text if isinstance(text, bytes) else text.encode()
    return {**pages.form(client.get(SUBMIT), SUBMIT), "file": (io.BytesIO(body), file), **more}


def _send(client: FlaskClient, *args: Any, **more: str) -> TestResponse:
    return client.post(SUBMIT, data=_fields(client, *args, **more))


def _count(site: Site, table: type[Any]) -> int:
    with site.database.read() as session:
        return session.scalar(select(func.count()).select_from(table)) or 0


def test_a_good_run_is_accepted_and_queued(site: Site) -> None:
    """A good file becomes a run named after it, its evaluation is queued and evaluators are woken."""
    woken: list[bool] = []
    app = create_app(site.settings, site.database, lambda: woken.append(True))
    client = browser(app)
    enter(site.database, client, "Berta")
    response = _send(client)
    assert response.status_code == 303
    with site.database.read() as session:
        run = session.scalars(select(Run).order_by(Run.id.desc())).first()
        assert run is not None
        jobs = session.scalars(
            select(Job.state).where(Job.subject_id == run.id, Job.kind == "evaluate")
        ).all()
    assert (run.name, run.kind, run.team_id, run.entries) == ("tag", "official", site.world.owls, 4)
    assert (list(jobs), woken) == (["queued"], [True])


@pytest.mark.parametrize("pack", [gzip.compress, bytes])
def test_compressed_files_are_taken(site: Site, pack: Any) -> None:
    """A compressed file is accepted like a plain one."""
    sent = _as_program(site, pack(OTHER_RUN.encode()), "packed.run.gz")
    assert (sent.status_code, sent.json["state"] if sent.json else "") == (201, "accepted")


def _as_program(site: Site, body: bytes, file: str, **more: str) -> TestResponse:
    """The answer to a file sent by a program."""
    client = site.browser("Berta")
    return client.post(SUBMIT, data=_fields(client, body, file, **more), headers=JSON)


def test_a_bad_run_is_reported_and_not_kept(site: Site) -> None:
    """A rejected file leaves its upload with the report, and neither run, ranking, chunk nor job."""
    before = [_count(site, table) for table in (Run, RankingBlock, UploadChunk, Job)]
    uploads = _count(site, Upload)
    client = site.browser("Berta")
    response = _send(client, BAD_RUN)
    assert response.status_code == 303
    page = client.get(response.headers["Location"])
    assert page.status_code == 200
    assert "Rejected" in pages.main(page)
    rows = pages.table(page, "Problems")
    assert rows[0][0] == "2"
    assert all(row[3] for row in rows)
    assert [_count(site, table) for table in (Run, RankingBlock, UploadChunk, Job)] == before
    assert _count(site, Upload) == uploads + 1


def test_a_rejected_file_is_sent_again_with_what_was_entered(site: Site) -> None:
    """The report leads to the form as it was filled in, for its own team alone."""
    client = site.browser("Berta")
    report = _send(client, BAD_RUN, name="third", description="By <b>hand</b>", type="manual")
    again = f"{SUBMIT}?again={report.location.rpartition('/')[2]}"
    assert f'href="{again}"' in client.get(report.location).text
    form = pages.form(client.get(again), SUBMIT)
    assert (form["name"], form["description"], form["type"]) == ("", "By <b>hand</b>", "manual")
    assert form["team"] == str(site.world.owls)
    for address in (f"{SUBMIT}?again=999", f"{SUBMIT}?again=x"):
        assert pages.form(client.get(address), SUBMIT)["description"] == ""
    assert "<b>hand" not in site.browser("Olga").get(again).text.replace("&lt;", "<")


def test_a_program_gets_the_report_as_json(site: Site) -> None:
    """With Accept: application/json a rejected file is 422 and an accepted one 201, with the problems."""
    rejected = _as_program(site, BAD_RUN.encode(), "bad.run")
    assert rejected.status_code == 422
    assert rejected.json is not None
    assert (rejected.json["state"], rejected.json["run"]) == ("rejected", None)
    problem = rejected.json["problems"][0]
    assert problem["line"] == 2
    assert problem["rule"]
    again = site.browser("Berta").get(f"/uploads/{rejected.json['upload']}.json").json
    assert again is not None
    assert again["problems"] == rejected.json["problems"]


def test_what_is_wrong_in_every_line_is_said_once(site: Site) -> None:
    """A file wrong in every line is read as far as 25 of them, and reported in a line or two."""
    rejected = _as_program(site, b"only three columns\n" * 3 + b"1 2\n" * 500, "bad.run")
    assert rejected.json is not None
    assert sum(problem["count"] for problem in rejected.json["problems"]) == 25
    assert len(rejected.json["problems"]) <= 2
    page = site.browser("Berta").get(f"/uploads/{rejected.json['upload']}")
    assert "reading stopped at the 25th" in pages.main(page)


def test_a_form_sent_twice_makes_one_run(site: Site) -> None:
    """A double click sends the form's key twice and gives the same run; another file under it is refused."""
    client = site.browser("Berta")
    fields = _fields(client)
    runs = _count(site, Run)
    first = client.post(SUBMIT, data=fields, headers=JSON).json
    again = client.post(
        SUBMIT, data={**fields, "file": (io.BytesIO(OTHER_RUN.encode()), "mine.run")}, headers=JSON
    ).json
    assert first is not None
    assert again is not None
    assert first["run"] == again["run"]
    assert _count(site, Run) == runs + 1
    other = client.post(SUBMIT, data={**fields, "file": (io.BytesIO(RUN.encode()), "mine.run")}, headers=JSON)
    assert other.status_code == 409


def test_two_forms_have_two_keys(site: Site) -> None:
    """Each time the form is opened it gets a key of its own."""
    client = site.browser("Berta")
    keys = {pages.form(client.get(SUBMIT), SUBMIT)["key"] for _ in range(3)}
    assert len(keys) == 3


def test_a_large_file_is_received_first(site: Site) -> None:
    """A file over inline_bytes is stored, its check queued, and the report page asks again."""
    small = {name: getattr(site.settings, name) for name in site.settings.__dataclass_fields__}
    app = create_app(Settings(**{**small, "inline_bytes": 10}), site.database)
    client = browser(app)
    enter(site.database, client, "Berta")
    response = _send(client)
    page = client.get(response.headers["Location"])
    assert "Received" in pages.main(page)
    polled = pages.parsed(page).find(id="report")
    assert polled is not None
    assert polled["hx-get"] == response.headers["Location"]
    facts = client.get(f"{response.headers['Location']}.json").json
    assert facts is not None
    assert (facts["state"], facts["check"], facts["run"]) == ("received", "queued", None)


def test_a_topic_of_very_many_lines_is_received_first(site: Site) -> None:
    """Nobody waits while a megabyte of one topic is put together: the evaluator does it."""
    client = site.browser("Berta")
    lines = "".join(f"1 Q0 {number:040} 1 1 t\n" for number in range(30_000))
    answer = client.post(SUBMIT, data=_fields(client, gzip.compress(lines.encode()), "a.gz"), headers=JSON)
    assert answer.json is not None
    assert answer.json["state"] == "received"


def test_few_files_are_checked_at_once(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where others are being checked a file is the evaluator's, so that threads are left for pages."""
    monkeypatch.setattr(sending, "_turns", threading.BoundedSemaphore(1))
    client = site.browser("Berta")
    with sending._turns:
        answer = client.post(SUBMIT, data=_fields(client), headers=JSON)
    assert answer.json is not None
    assert answer.json["state"] == "received"
    answer = client.post(SUBMIT, data=_fields(client, name="next"), headers=JSON)
    assert answer.json is not None
    assert answer.json["state"] == "accepted"


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"file": (io.BytesIO(b""), "")}, "Choose a run file"),
        ({"team": ""}, "Choose the team"),
        ({"team": "one"}, "whole number"),
        ({"kind": "baseline"}, "Only organisers"),
        ({"kind": "super"}, "Kind must be one of official"),
    ],
)
def test_the_form_comes_back_with_a_sentence(site: Site, change: dict[str, Any], sentence: str) -> None:
    """What the form lacks is said on the form, and what was typed is kept."""
    client = site.browser("Berta")
    fields = {**_fields(client, description="My description"), **change}
    response = client.post(SUBMIT, data=fields)
    assert response.status_code == 422
    assert sentence in pages.main(response)
    assert pages.form(response, SUBMIT)["description"] == "My description"


def test_nobody_sends_for_another_team(site: Site) -> None:
    """A team one is not in cannot be sent for: neither a known one nor one that does not exist."""
    client = site.browser("Berta")
    statuses = [
        client.post(SUBMIT, data=_fields(client, team=str(team)), headers=JSON).status_code
        for team in (site.world.bears, 999_999)
    ]
    assert statuses == [404, 404]


def test_without_a_team_the_form_leads_to_one(site: Site) -> None:
    """Whoever is in no team gets a link that makes one and leads back."""
    page = pages.parsed(site.browser("Nina").get(SUBMIT))
    assert page.find("input", type="file") is None
    assert page.find("a", href=f"/teams?next={SUBMIT}") is not None


def test_organisers_may_send_baselines(site: Site) -> None:
    """The kinds of run on offer are more for an organiser of the task."""

    def kinds(name: str) -> list[str]:
        choice = pages.parsed(site.browser(name).get(SUBMIT)).find("select", id="kind")
        return [option.get_text() for option in choice.find_all("option")] if choice else []

    assert kinds("Berta") == ["official", "unofficial"]
    site_client = site.browser("Olga")
    site_client.post("/teams", data={"name": "Baselines"})
    assert kinds("Olga") == ["official", "baseline", "late", "unofficial"]


def test_nothing_is_left_on_disk(site: Site) -> None:
    """After an upload, good or bad, no temporary file remains."""
    client = site.browser("Berta")
    _send(client)
    _send(client, BAD_RUN)
    assert list((site.settings.data / "tmp").iterdir()) == []


def test_a_team_withdraws_its_run(site: Site) -> None:
    """A member withdraws the team's run with a reason; without one it stays."""
    client, address = site.browser("Berta"), f"/runs/{site.world.run}/withdraw"
    assert client.post(address, data={"why": " "}).status_code == 422
    assert client.post(address, data={"why": "Wrong index."}).status_code == 303
    with site.database.read() as session:
        run = session.get_one(Run, site.world.run)
    assert (run.withdrawn_why, run.withdrawn_by) == ("Wrong index.", site.world.berta)
    assert client.post(address, data={"why": "Again."}).status_code == 409


def test_a_teams_actions_are_one_row_at_the_top(site: Site) -> None:
    """Before any score, for its members: what each button does, and the way back to where it was pressed."""
    client, page = site.browser("Berta"), f"/runs/{site.world.run}"
    text = client.get(page).text
    assert 0 < text.index('class="toolbar"') < (text + 'id="scores"').index('id="scores"')
    assert "Edit description" in text
    assert 'class="toolbar"' not in site.browser("Carl").get(page).text
    back = {"next": "/my#runs", "why": "Wrong index."}
    for act, says in (
        ("mark", "primary run"),
        ("unmark", "Mark as primary"),
        ("withdraw", "withdrawn"),
        ("restore", "Withdraw"),
    ):
        assert client.post(f"{page}/{act}", data=back).headers["Location"] == "/my#runs"
        assert says in pages.main(client.get("/my"))
    assert client.post(f"{page}/mark", data={"next": "//evil.example"}).headers["Location"] == page
    upload = client.get(f"/uploads/{site.world.accepted}").text
    assert 'class="toolbar"' in upload
    assert "Unmark as primary" in upload


def test_what_becomes_of_runs_is_said_before_the_upload(site: Site) -> None:
    """Whether they can be withdrawn, and which of them count at the end."""
    client = site.browser("Berta")
    assert "A withdrawn run still counts towards the run limit" in pages.main(client.get(SUBMIT))
    with site.database.write() as session:
        session.execute(update(Task).values(may_withdraw=False, final_runs=3, unmarked="newest"))
    text = pages.main(client.get(SUBMIT))
    assert "Teams cannot withdraw runs from this task" in text
    assert "up to 3 runs that it marked before the close; of a team that marked none, its 3 newest" in text


@pytest.mark.parametrize(
    ("limit", "said"), [("runs_per_day", "left today"), ("runs_in_all", "left in total")]
)
def test_only_a_daily_limit_resets(site: Site, limit: str, said: str) -> None:
    """A limit in total is never called one of today, and nothing says that it resets."""
    client, is_daily = site.browser("Berta"), limit == "runs_per_day"
    with site.database.write() as session:
        session.execute(update(Phase).values({limit: 50}))
    for page in (SUBMIT, "/my"):
        text = pages.main(client.get(page))
        assert ("left today" in text, "resets" in text) == (is_daily, is_daily and page == SUBMIT)
    assert said in pages.main(client.get(SUBMIT))


@pytest.mark.trial
def test_rejected_files_are_limited_and_accepted_ones_are_not(site: Site) -> None:
    """After twenty rejected files within an hour one file waits for its check, and no other is taken."""
    client = site.browser("Berta")
    fields = pages.form(client.get(SUBMIT), SUBMIT)

    def send(text: str, number: int) -> int:
        data = {
            **fields,
            "key": f"k{number}",
            "name": f"n{number}",
            "file": (io.BytesIO(text.encode()), "r.run"),
        }
        return client.post(SUBMIT, data=data, headers=JSON).status_code

    assert [send(OTHER_RUN, number) for number in (1, 2)] == [201, 201]
    assert {send(BAD_RUN, number) for number in range(3, 23)} == {422}
    assert [send(OTHER_RUN, 23), send(BAD_RUN, 24)] == [201, 429]
    refused = client.post(SUBMIT, data={**fields, "key": "x", "file": (io.BytesIO(RUN.encode()), "r.run")})
    assert refused.status_code == 429
    assert (
        "r.run is waiting to be checked. After 20 rejected files within an hour, your files are checked one "
        "at "
        "a time. Submit this file once the check is done."
    ) in pages.main(refused)


def test_a_form_sent_twice_is_not_a_rejected_file(site: Site) -> None:
    """The same form again is answered with what it made and costs nothing."""
    client = site.browser("Berta")
    fields = pages.form(client.get(SUBMIT), SUBMIT)
    sent = [
        client.post(
            SUBMIT, data={**fields, "file": (io.BytesIO(OTHER_RUN.encode()), "mine.run")}, headers=JSON
        )
        for _ in range(22)
    ]
    assert {response.status_code for response in sent} == {201}


def test_accounts_may_check_larger_rankings_than_visitors(site: Site) -> None:
    """Up to check_bytes; visitors up to what is checked while a sender waits. Both are told the limit."""
    app = create_app(replace(site.settings, inline_bytes=10_000, check_bytes=100_000), site.database)
    padded = b"# nothing\n" * 5_000 + OTHER_RUN.encode()
    visitor, member = browser(app), browser(app)
    enter(site.database, member, "Berta")
    form = lambda body: {"file": (io.BytesIO(body), "mine.run")}  # noqa: E731
    check = SUBMIT.replace("submit", "check")
    assert member.post(check, data=form(padded), headers=JSON).get_json()["state"].startswith("accepted")
    refused = visitor.post(check, data=form(gzip.compress(padded)), headers=JSON).get_json()
    assert "the limit is 10,000 bytes" in refused["problems"][0]["rule"]
    too_large = member.post(check, data=form(gzip.compress(padded * 3)), headers=JSON).get_json()
    assert "the limit is 100,000 bytes" in too_large["problems"][0]["rule"]


def test_what_is_large_once_unpacked_is_left_to_the_evaluator(site: Site) -> None:
    """A small archive of many lines is not checked while its sender waits."""
    small = {name: getattr(site.settings, name) for name in site.settings.__dataclass_fields__}
    app = create_app(Settings(**{**small, "inline_bytes": 100_000}), site.database)
    client = browser(app)
    enter(site.database, client, "Berta")
    padded = gzip.compress(b"# nothing\n" * 20_000 + OTHER_RUN.encode())
    assert len(padded) < 100_000
    response = client.post(SUBMIT, data=_fields(client, padded, "mine.run.gz"), headers=JSON)
    assert response.get_json()["state"] == "received"
    damaged = client.post(SUBMIT, data=_fields(client, padded[:200], "mine.run.gz"), headers=JSON)
    assert damaged.get_json()["state"] == "rejected"
