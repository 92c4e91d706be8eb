"""What an attacker tries: tokens of others, odd methods and headers, large bodies, many requests at once."""

import socket
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from flask import Flask
from sqlalchemy import func, select, update
from waitress.buffers import TempfileBasedBuffer

from leaderboard import reference
from leaderboard.accounts.ops import tokens
from leaderboard.accounts.ops.tokens import TokenRequest
from leaderboard.db.engine import Database
from leaderboard.db.tables import Audit, Phase, Run
from leaderboard.web.rules import PUBLIC
from tests.make import build, people, worlds
from tests.make.servers import ending, served
from tests.make.worlds import RUN
from tests.web.api.conftest import Program, Programs, path_of
from tests.web.conftest import Site

MEGABYTE = 2**20
PROBLEM = "application/problem+json"


def test_a_tag_of_one_token_is_none_of_another(site: Site, program: Programs) -> None:
    """What Olga saw is 304 to who sees the same bytes, and a whole answer to who sees others."""
    olga, berta, anybody = program("Olga"), program("Berta"), program()
    for path, is_same in (("/tasks", False), ("/tasks/robots/board", True), ("/account", False)):
        tag = {"If-None-Match": olga.ask("GET", path).headers["ETag"]}
        assert berta.ask("GET", path, headers=tag).status_code == (304 if is_same else 200), path
    assert anybody.ask("GET", "/account", headers={"If-None-Match": "*"}).status_code == 401
    assert anybody.ask("GET", "/tasks/draft", headers={"If-None-Match": "*"}).status_code == 404


@pytest.mark.trial
def test_other_methods_say_and_change_nothing_more(site: Site, program: Programs) -> None:
    """HEAD is GET without its body; OPTIONS names the methods to who may come in; neither acts."""
    faults = []
    with site.app.app_context():
        table = reference.operations()
    read = {one.path for one in table if one.method == "GET"}
    read_by_all = {one.path for one in table if one.rule.access is PUBLIC}
    askers = program("Berta", "read"), program()
    for one in table:
        path = path_of(one, site)
        for asker in askers:
            options = asker.ask("OPTIONS", path)
            is_open = asker.secret != "" or one.path in read_by_all
            allowed = options.headers.get("Allow", "")
            if options.status_code != (200 if is_open else 401) or (is_open and one.method not in allowed):
                faults.append(("OPTIONS", one.name, options.status_code))
            head = asker.ask("HEAD", path)
            if one.method == "GET":
                same = asker.ask("GET", path)
                seen = (same.status_code, same.headers.get("ETag"), same.headers.get("Content-Length"))
                if seen != (head.status_code, head.headers.get("ETag"), head.headers.get("Content-Length")):
                    faults.append(("HEAD", one.name, head.status_code))
            elif head.status_code < 400 and one.path not in read:
                faults.append(("HEAD", one.name, head.status_code))
            if head.data:
                faults.append(("HEAD with a body", one.name, head.status_code))
    assert faults == []


def test_a_token_counts_in_its_header_alone(site: Site, program: Programs) -> None:
    """In the address, a form, a cookie or another header it is nothing, and no answer says it again."""
    berta = program("Berta")
    anybody = program()
    secret = berta.secret
    tried = [
        anybody.ask("GET", f"/account?access_token={secret}"),
        anybody.ask("GET", "/account", headers={"X-Api-Key": secret}),
        anybody.ask("GET", "/account", headers={"Cookie": f"session={secret}; token={secret}"}),
        anybody.ask("GET", "/account", headers={"Authorization": f"Basic {secret}"}),
        anybody.ask("GET", "/account", headers={"Authorization": f"Bearer {secret},{secret}"}),
        anybody.ask("GET", "/account", headers={"Authorization": f"Bearer {secret}\x00"}),
    ]
    assert [(answer.status_code, answer.mimetype) for answer in tried] == [(401, PROBLEM)] * len(tried)
    assert not [answer for answer in tried if secret in answer.text or secret in str(answer.headers)]
    listed = anybody.ask("GET", f"/tasks?access_token={secret}")
    assert (listed.status_code, secret in listed.text) == (422, False)
    with site.database.read() as session:
        assert not [row for row in session.execute(select(Audit.__table__)) if secret in str(row)]


def test_no_header_carries_another_one(site: Site, program: Programs) -> None:
    """Line ends in names, parameters and keys come back in no header; a long key is refused."""
    berta = program("Berta")
    team = site.world.owls
    odd = "x%0d%0aSet-Cookie:%20a=b"
    faults = []
    for answer in (
        berta.ask("PUT", f"/tasks/robots/runs/{odd}?team={team}", data=RUN),
        berta.ask("PUT", f"/tasks/robots/runs/n?team={team}&file_name={odd}", data=RUN),
        berta.ask("GET", f"/tasks/{odd}/board"),
        berta.ask("GET", f"/tasks/robots/board?measure={odd}"),
        berta.ask("POST", f"/runs/{site.world.run}/restore", headers={"Idempotency-Key": "k" * 129}),
        berta.ask("POST", f"/runs/{site.world.run}/restore", headers={"Idempotency-Key": "k\x7f"}),
    ):
        if answer.status_code >= 500 or "a=b" in str(answer.headers) or "Set-Cookie" in answer.headers:
            faults.append((answer.request.path, answer.status_code))
    assert faults == []


@pytest.fixture
def files(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Every temporary file in which the server keeps a body."""
    made: list[Any] = []
    original = TempfileBasedBuffer.newfile
    monkeypatch.setattr(TempfileBasedBuffer, "newfile", lambda self: made.append(original(self)) or made[-1])
    return made


def test_bodies_that_may_not_come_are_not_kept(site: Site, program: Programs, files: list[Any]) -> None:
    """By the header alone: without a token, with a wrong one, too large, with and without a length."""
    berta, reader = program("Berta").secret, program("Berta", "read").secret
    send, check = "/tasks/robots/runs/big?team=1", "/tasks/robots/check"
    withdraw = f"/runs/{site.world.run}/withdraw"
    cases = [
        ("PUT", send, "", "2147483648", 401),
        ("PUT", send, "", "chunked", 401),
        ("PUT", send, "", "100", 401),
        ("PUT", send, "lb_pforged", "2147483648", 401),
        ("PUT", send, "lb_pforged", "chunked", 401),
        ("PUT", send, berta, "2147483648", 413),
        ("POST", check, "", "2147483648", 413),
        ("POST", withdraw, berta, "10485760", 413),
        ("POST", withdraw, "", "10485760", 401),
        ("POST", "/device/codes", "", "10485760", 413),
        ("PATCH", f"/runs/{site.world.run}", berta, "10485760", 413),
        ("PUT", "/nowhere", berta, "2147483648", 404),
        ("PUT", "/tasks", berta, "2147483648", 405),
    ]
    faults = []
    with served(site.app, site.settings) as running:
        for method, path, secret, size, status in cases:
            head = [f"{method} /api/v1{path} HTTP/1.1", "Host: localhost", "Content-Type: application/json"]
            head += [f"Authorization: Bearer {secret}"] if secret else []
            head += ["Transfer-Encoding: chunked" if size == "chunked" else f"Content-Length: {size}"]
            with running.connect() as sending:
                sending.sendall("\r\n".join((*head, "", "")).encode())
                try:
                    sending.sendall(bytes(MEGABYTE))
                    sending.shutdown(socket.SHUT_WR)
                except OSError:
                    # It had its answer before all was sent.
                    pass
                answer = ending(sending)
            if not answer.startswith(f"HTTP/1.1 {status} ".encode()) or PROBLEM.encode() not in answer:
                faults.append((method, path, size, answer[:60]))
        assert faults == []
        assert (len(running.server.door.bodies), files) == (0, [])
        body = RUN.encode()
        sent = {"Authorization": f"Bearer {berta}", "Content-Type": "text/plain"}
        path = f"/api/v1/tasks/robots/runs/chunked?team={site.world.owls}"
        chunks = {"body": iter([body[:9], body[9:]]), "headers": sent, "encode_chunked": True}
        assert running.status(path, "PUT", **chunks) == 201
        sent["Authorization"] = f"Bearer {reader}"
        assert running.status(path, "PUT", body=body, headers=sent) == 403
    assert list((site.settings.data / "tmp").iterdir()) == []


def _berta(app: Flask, database: Database, folder: Path) -> tuple[Program, worlds.World]:
    """A program of a team's member, on a filled site."""
    world = worlds.build(database, folder)
    with database.write() as session:
        wanted = TokenRequest(label="test", scopes=("read", "submit"))
        made = tokens.make(session, people.viewer(database, world.berta), wanted, factor_needed=False)
    return Program(app.test_client(), made.secret), world


@pytest.mark.dialect
def test_parallel_requests_with_one_key_act_once(app: Flask, database: Database, tmp_path: Path) -> None:
    """Of many, one acts; the others get its answer or are told to ask again, and one run is made."""
    berta, world = _berta(app, database, tmp_path)
    headers = {"Idempotency-Key": "one", "Authorization": f"Bearer {berta.secret}"}
    withdraw = f"/api/v1/runs/{world.run}/withdraw"
    put = f"/api/v1/tasks/robots/runs/twice?team={world.owls}"

    def post(_: int) -> tuple[int, bytes]:
        answer = app.test_client().post(withdraw, json={"why": "No."}, headers=headers)
        return answer.status_code, answer.data

    def send(_: int) -> tuple[int, int | None]:
        answer = app.test_client().put(put, data=RUN, headers=headers)
        return answer.status_code, answer.json.get("run_id")

    with ThreadPoolExecutor(6) as pool:
        answers = set(pool.map(post, range(6)))
        assert {status for status, _ in answers} <= {200, 409}
        assert len([status for status, _ in answers if status == 200]) == 1
        sent = set(pool.map(send, range(6)))
    assert {status for status, _ in sent} <= {201, 202, 409}
    build.drain(database)
    with database.read() as session:
        withdrawn = select(func.count()).where(Audit.action == "run.withdraw")
        made = select(func.count()).where(Run.name == "twice")
        assert (session.scalar(withdrawn), session.scalar(made)) == (1, 1)


@pytest.mark.dialect
def test_many_runs_at_once_keep_to_the_limit(app: Flask, database: Database, tmp_path: Path) -> None:
    """Twenty sent in one moment: as many as are left today are taken, the rest told that it is over."""
    berta, world = _berta(app, database, tmp_path)
    with database.write() as session:
        session.execute(update(Phase).values(runs_per_day=5))
    left = berta.ask("GET", f"/tasks/robots/quota?team={world.owls}").json["left_today"]
    headers = {"Authorization": f"Bearer {berta.secret}"}

    def send(number: int) -> int:
        path = f"/api/v1/tasks/robots/runs/r{number}?team={world.owls}"
        text = RUN + f"1 Q0 d{number}x 9 0.1 tag\n"
        return app.test_client().put(path, data=text, headers=headers).status_code

    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(send, range(20)))
    assert set(answers) <= {201, 202, 429}
    assert 0 < left == sum(status < 300 for status in answers)
    assert berta.ask("GET", f"/tasks/robots/quota?team={world.owls}").json["left_today"] == 0


def test_numbers_that_nothing_can_hold_are_refused(site: Site, program: Programs) -> None:
    """In parameters, lists and bodies: by name, and never as a failure of ours."""
    huge, olga = 10**30, program("Olga", "read", "organise", "submit")
    asked = [
        ("GET", f"/tasks/robots/pair?first={huge}&second=1", None),
        ("GET", f"/tasks/robots/comparison?run=1&run={-huge}", None),
        ("GET", f"/tasks/robots/board?edition={huge}", None),
        ("PUT", "/tasks/robots/groups", {"name": "g", "teams": [1, huge]}),
        ("POST", "/tasks/robots/enter", {"team": huge}),
        ("POST", "/tasks/robots/pools", {"method": {"name": "depth", "depth": huge}}),
        ("POST", "/tasks/robots/phases", {"name": "p", "runs_per_day": huge}),
    ]
    for method, path, body in asked:
        answer = olga.ask(method, path, **({"json": body} if body else {}))
        assert (answer.status_code, answer.json["type"]) == (422, "/api/problems/invalid"), (
            path,
            answer.text,
        )
