"""Operations of the API on a filled site: what each answers, and that it is what pages and services say."""

import gzip
import json
import re
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import select, update

from leaderboard.db.tables import ApiToken, DeviceRequest, IdempotencyKey, Job, Phase, Run
from tests.make import build, pages
from tests.make.worlds import BAD_RUN, RUN
from tests.web.api.conftest import Programs
from tests.web.conftest import Site


def test_a_pipeline_sends_a_run_and_reads_its_score(site: Site, program: Programs) -> None:
    """Who am I, what may I send, check, send, wait, read the board: six requests, no browser."""
    berta = program("Berta")
    me = berta.ask("GET", "/account").json
    assert (me["account"], [row["name"] for row in me["teams"]], me["scopes"]) == (
        "Berta",
        ["Owls"],
        ["read", "submit"],
    )
    team = me["teams"][0]["team"]
    before = berta.ask("GET", f"/tasks/robots/quota?team={team}").json
    assert berta.ask("POST", "/tasks/robots/check", data=RUN).json["state"] == "accepted"
    sent = berta.ask("PUT", f"/tasks/robots/runs/fresh?team={team}", data=gzip.compress(RUN.encode()))
    assert sent.status_code == 201, sent.text
    assert sent.json["state"] == "accepted"
    after = berta.ask("GET", f"/tasks/robots/quota?team={team}").json
    if before["left_today"] is not None:
        assert after["left_today"] == before["left_today"] - 1
    build.drain(site.database)
    rows = berta.ask("GET", "/tasks/robots/board").json["rows"]
    (row,) = (row for row in rows if row["run"] == "fresh")
    page = site.browser("Berta").get("/tasks/robots.json").get_json()
    (shown,) = (one for one in page["rows"] if one["run"] == "fresh")
    assert row["scores"] == {key: shown["scores"][key] for key in row["scores"]}
    assert row["rank"] == shown["rank"]
    alone = berta.ask("GET", f"/runs/{row['run_id']}").json
    assert alone["scores"] == row["scores"]
    assert alone["team"] == "Owls"


def test_a_bad_file_is_a_problem_with_line_value_rule_and_remedy(site: Site, program: Programs) -> None:
    """Rejected, told why, and kept as a report; nothing appears on the board."""
    berta = program("Berta")
    answer = berta.ask("PUT", f"/tasks/robots/runs/bad?team={site.world.owls}", data="1 Q0 d1 x y z\n")
    assert (answer.status_code, answer.mimetype) == (422, "application/problem+json")
    said = answer.json
    assert said["type"] == "/api/problems/invalid"
    assert said["problems"][0]["line"] == 1
    assert {"rule", "remedy", "value"} <= set(said["problems"][0])
    kept = berta.ask("GET", f"/uploads/{said['upload']}").json
    assert kept["state"] == "rejected"
    assert "bad" not in [row["run"] for row in berta.ask("GET", "/tasks/robots/board").json["rows"]]


@pytest.mark.trial
def test_a_good_file_is_taken_after_twenty_rejected_ones(site: Site, program: Programs) -> None:
    """The limit is said before the last five; then the file waits for its turn, and is not refused."""
    anna, team = program("Anna"), f"?team={site.world.owls}"

    def left() -> object:
        return anna.ask("GET", f"/tasks/robots/quota{team}").json["rejections_left"]

    before = left()
    assert before == 20
    said = [
        anna.ask("PUT", f"/tasks/robots/runs/bad-{number}{team}", data=BAD_RUN).json["detail"]
        for number in range(20)
    ]
    assert set(said[:14]) == {"The file was rejected."}
    assert said[14] == (
        "The file was rejected. After 5 more rejected files within this hour your files are checked one at a "
        "time, at most one a minute."
    )
    assert left() == 0
    good = anna.ask("PUT", f"/tasks/robots/runs/good{team}", data=RUN)
    assert (good.status_code, good.json["state"]) == (202, "received")
    form = pages.main(site.browser("Anna").get("/tasks/robots/submit"))
    assert (
        "20 of your files were rejected within an hour, so your files are now checked one at a time" in form
    )
    with site.database.write() as session:
        session.execute(update(Job).values(run_after=Job.created_at))
    build.drain(site.database)
    assert anna.ask("GET", good.headers["Location"].removeprefix("/api/v1")).json["state"] == "accepted"


def test_a_run_is_described_withdrawn_restored_and_chosen(site: Site, program: Programs) -> None:
    """By its team's token; by another team's none of it, and with the same words as for a run that is not."""
    berta, carl = program("Berta"), program("Carl")
    run = f"/runs/{site.world.run}"
    described = berta.ask("PATCH", run, json={"description": "Anew.", "facts": {"type": "automatic"}})
    assert described.status_code == 200, described.text
    with site.database.read() as session:
        assert session.get_one(Run, site.world.run).description == "Anew."
    assert berta.ask("PATCH", run, json={"facts": {"typ": "manual"}}).status_code == 422
    assert carl.ask("POST", f"{run}/withdraw", json={"why": "no"}).status_code == 403
    assert berta.ask("POST", f"{run}/withdraw", json={"why": "A mistake."}).json["state"] == "withdrawn"
    assert berta.ask("GET", run).json["withdrawn"] == "A mistake."
    assert berta.ask("POST", f"{run}/restore").status_code == 200
    assert berta.ask("POST", f"{run}/choose", json={}).json["state"] == "chosen"
    assert berta.ask("POST", f"{run}/choose", json={"chosen": False}).json["state"] == "not chosen"


def test_a_key_makes_a_request_once(site: Site, program: Programs) -> None:
    """The same again is answered again; another body under the key is refused; without a key it is done."""
    berta = program("Berta")
    key = {"Idempotency-Key": "one"}
    path = f"/tasks/robots/runs/twice?team={site.world.owls}"
    first = berta.ask("PUT", path, headers=key, data=RUN)
    again = berta.ask("PUT", path, headers=key, data=RUN)
    assert (first.status_code, again.json["run_id"]) == (201, first.json["run_id"])
    assert berta.ask("PUT", path, headers=key, data=RUN + "1 Q0 d4 9 0.1 tag\n").status_code == 409
    withdraw = f"/runs/{first.json['run_id']}/withdraw"
    once = berta.ask("POST", withdraw, headers={"Idempotency-Key": "two"}, json={"why": "No."})
    twice = berta.ask("POST", withdraw, headers={"Idempotency-Key": "two"}, json={"why": "No."})
    assert (once.status_code, once.data) == (twice.status_code, twice.data) == (200, twice.data)
    other = berta.ask("POST", withdraw, headers={"Idempotency-Key": "two"}, json={"why": "Yes."})
    assert other.json["type"] == "/api/problems/invalid"
    assert berta.ask("POST", withdraw, json={"why": "No."}).json["type"] == "/api/problems/conflict"
    restore = f"/runs/{first.json['run_id']}/restore"
    assert berta.ask("POST", restore, headers={"Idempotency-Key": "two"}).status_code == 200


def test_a_key_of_the_first_version_still_counts(site: Site, program: Programs) -> None:
    """It was stored as it came: who was cut off by the upgrade is answered, and done for once."""
    berta = program("Berta")
    ask = {"headers": {"Idempotency-Key": "one"}, "json": {"why": "No."}}
    withdraw = f"/runs/{site.world.run}/withdraw"
    first = berta.ask("POST", withdraw, **ask)
    with site.database.write() as session:
        session.execute(update(IdempotencyKey).values(key="one"))
    again = berta.ask("POST", withdraw, **ask)
    assert (again.status_code, again.data) == (200, first.data)
    restore = f"/runs/{site.world.run}/restore"
    assert berta.ask("POST", restore, headers=ask["headers"]).status_code == 200


def test_a_key_whose_request_died_is_free_again(site: Site, program: Programs) -> None:
    """While it may still run the same request is a conflict; after ten minutes it is done."""
    berta = program("Berta")
    ask = {"headers": {"Idempotency-Key": "one"}, "json": {"why": "No."}}
    withdraw = f"/runs/{site.world.run}/withdraw"
    first = berta.ask("POST", withdraw, **ask)
    with site.database.write() as session:
        session.execute(update(IdempotencyKey).values(state="running"))
    assert berta.ask("POST", withdraw, **ask).json["type"] == "/api/problems/conflict"
    assert berta.ask("POST", f"/runs/{site.world.run}/restore").status_code == 200
    with site.database.write() as session:
        past = datetime.now(UTC) - timedelta(minutes=11)
        session.execute(update(IdempotencyKey).values(created_at=past))
    assert berta.ask("POST", withdraw, **ask).data == first.data


def test_a_device_gets_a_token_by_a_short_code(site: Site, program: Programs) -> None:
    """It begins, its owner types the code in a browser, it asks again: then its token works, once given."""
    device = program()
    codes = device.ask("POST", "/device/codes", json={"label": "a laptop", "scopes": ["read"]}).json
    ask = {"device_code": codes["device_code"]}
    assert device.ask("POST", "/device/token", json=ask).json["state"] == "authorization_pending"
    browser = site.browser("Berta")
    page = browser.post("/device", data={"code": codes["user_code"]})
    assert "a laptop" in page.text
    form = {**pages.form(page, "/device/answer"), "answer": "approve", "scopes": "read"}
    assert browser.post("/device/answer", data=form).status_code == 200
    with site.database.write() as session:
        session.execute(update(DeviceRequest).values(polled_at=None))
    got = device.ask("POST", "/device/token", json=ask).json
    assert got["state"] == "done"
    me = device.ask("GET", "/account", headers={"Authorization": f"Bearer {got['token']}"}).json
    assert me["account"] == "Berta"


def test_a_program_ends_its_own_token(site: Site, program: Programs) -> None:
    """Revoked, it is answered with what became of it."""
    berta = program("Berta")
    assert berta.ask("DELETE", "/account/token").status_code == 200
    said = berta.ask("GET", "/account").json
    assert (said["type"], "was revoked" in said["detail"]) == ("/api/problems/token-needed", True)
    with site.database.read() as session:
        assert session.scalars(select(ApiToken.revoked_at)).all() != [None]


def test_public_data_needs_no_token_and_any_page_may_read_it(site: Site, program: Programs) -> None:
    """Tasks and boards; with an ETag, and for other origins; what a token sees is for nobody else."""
    anybody = program()
    answer = anybody.ask("GET", "/tasks")
    assert [row["task"] for row in answer.json["tasks"]] == ["other", "robots"]
    assert answer.headers["Access-Control-Allow-Origin"] == "*"
    again = anybody.ask("GET", "/tasks", headers={"If-None-Match": answer.headers["ETag"]})
    assert again.status_code == 304
    olga = program("Olga", "read").ask("GET", "/tasks")
    assert "draft" in [row["task"] for row in olga.json["tasks"]]
    assert "Access-Control-Allow-Origin" not in olga.headers
    assert olga.headers["Cache-Control"] == "no-store"
    assert json.loads(anybody.ask("GET", "/tasks/robots").data)["primary"]


def test_limits_of_a_day_are_in_the_headers(site: Site, program: Programs) -> None:
    """What is left and until when, with the quota and with a run that was sent; used up, how long to wait."""
    with site.database.write() as session:
        session.execute(update(Phase).values(runs_per_day=3))
    berta, owls = program("Berta"), site.world.owls
    told = berta.ask("GET", f"/tasks/robots/quota?team={owls}").headers
    assert told["RateLimit-Policy"] == '"runs-of-a-day";q=3;w=86400'
    assert re.fullmatch(r'"runs-of-a-day";r=2;t=\d+', told["RateLimit"])
    for left in (1, 0):
        sent = berta.ask("PUT", f"/tasks/robots/runs/run{left}?team={owls}", data=RUN)
        assert sent.headers["RateLimit"].startswith(f'"runs-of-a-day";r={left};')
    refused = berta.ask("PUT", f"/tasks/robots/runs/more?team={owls}", data=RUN)
    assert (refused.status_code, refused.json["type"]) == (429, "/api/problems/over-quota")
    assert 0 < int(refused.headers["Retry-After"]) <= 86400
