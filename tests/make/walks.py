"""What the two worlds are asked: the addresses of a route with every object, and answers to compare."""

import io
import re
from collections.abc import Callable, Mapping, Sequence
from itertools import product
from types import MappingProxyType
from typing import Any
from urllib.parse import unquote

import pytest
from flask import Flask
from flask.testing import FlaskClient
from sqlalchemy.orm import Session
from werkzeug.routing import AnyConverter, Rule
from werkzeug.test import EnvironBuilder, TestResponse, create_environ

from leaderboard.accounts.ops import sessions
from leaderboard.core.policy import Viewer
from leaderboard.db.engine import Database
from leaderboard.web import session as web_session
from leaderboard.web.rules import ORGANISER, PUBLIC, SIGNED_IN, rule_of
from tests.make import pictures, twins

NO_TASK = "nothing"
ORGANISING = "Olga"
"""The one among those who ask that is an organiser."""
VALUES: dict[str, Sequence[object]] = {
    "slug": ("blind", "sealed", "open", "answers", "judged", "draft", NO_TASK),
    "run_id": range(1, 13),
    "topic_id": ("1", "2", "3", "4", "77"),
    "upload_id": range(1, 15),
    "batch_id": (1, 9),
    "team_id": range(1, 5),
    "name": ("AP", "nothing"),
    "token": ("nonsense",),
    "number": (1, 2, 9),
    "part": ("qrels", "distractors", "left_out"),
    "suffix": ("txt", "csv", "jsonl"),
    "line_id": range(1, 6),
    "form": ("json", "csv", "tex", "md"),
    "address": (*twins.SNAPSHOTS.values(), "0" * 16),
    "filename": ("app.css",),
    "item": ("nothing",),
    "side": ("left",),
    "place": (1,),
    "job_id": (1, 9, 999),
    "session_id": (1, 999),
    "token_id": (1, 999),
    "invitation_id": (1, 999),
    "key": ("nothing",),
    "account_id": (1, 2, 999),
    "assessor_id": (1, 2, 999),
    "section": ("description", "address", "nothing"),
    "group_id": (1, 999),
    "webhook_id": (1, 2, 999),
    "digest": (pictures.address(), "0" * 16),
    "kind": ("logo", "nothing"),
    "message": ("msg_1_1", "msg_2_1", "nothing"),
    "suite": ("both", "nothing"),
    "suite_run_id": (1, 2, 9),
}
"""What every placeholder of an address is filled with: all there is in either world, and what is not."""

ONLY_TASK = {
    **dict.fromkeys(("answers", "nuggets", "labelling", "labelling_decisions", "labelling_desk"), "answers"),
    **dict.fromkeys(("judges", "judge_labels"), "judged"),
}
"""The one task of each world that has the pages of a blueprint, which are about a kind of task."""
Answer = tuple[int, list[tuple[str, str]], bytes]
"""Status, headers and body."""
EXPIRES = re.compile("Expires=[^;]*; ")
"""Of a cookie: its Max-Age says the same without the time of day."""


def paths(rule: Rule, objects: Mapping[str, Sequence[object]] = VALUES) -> list[str]:
    """The addresses of a rule with every combination of objects; in a task that cannot have it, one."""
    names = sorted(rule.arguments - set(rule.defaults or ()))
    values = [_values(rule, name, objects) for name in names]
    first = {name: value for name, (value, *_) in zip(names, values, strict=True)}
    filled = (dict(zip(names, chosen, strict=True)) for chosen in product(*values))
    only = ONLY_TASK.get(rule.endpoint.partition(".")[0])
    some = (
        chosen
        for chosen in filled
        if (slug := chosen.get("slug")) is None
        or (slug != NO_TASK and only in (None, slug))
        or chosen == {**first, "slug": slug}
    )
    built = (rule.build(chosen) for chosen in some)
    return [address[1] for address in built if address is not None]


def asked_of(
    app: Flask, rule: Rule, name: str | None, objects: Mapping[str, Sequence[object]] = VALUES
) -> list[str]:
    """The addresses that somebody asks for: of what the outer door keeps from them, whatever it is, one.

    The door is shut before an object is looked for, which tests/web/test_rules.py shows of every route.
    """
    found = paths(rule, objects)
    return found[:1] if _is_shut(app, rule.endpoint, name) else found


def _is_shut(app: Flask, endpoint: str, name: str | None) -> bool:
    declared = rule_of(app, endpoint)
    if declared is None or declared.access is PUBLIC:
        return False
    opened = (SIGNED_IN, ORGANISER) if name == ORGANISING else (SIGNED_IN,)
    return name is None or declared.access not in opened


def _values(rule: Rule, name: str, objects: Mapping[str, Sequence[object]]) -> Sequence[object]:
    """What a placeholder is filled with: all that it takes, where that is a list."""
    converter = rule._converters[name]
    return sorted(converter.items) if isinstance(converter, AnyConverter) else objects[name]


def facts(response: TestResponse) -> Answer:
    """Status, all headers but the date and when a cookie ends, and the body."""
    with response:
        told = ((key, EXPIRES.sub("", value)) for key, value in response.headers if key != "Date")
        headers = sorted(told)
        assert response.status_code < 500, response.text
        return response.status_code, headers, response.get_data()


def asking(client: FlaskClient) -> Callable[..., Answer]:
    """A function that asks for an address as the client does, and gives what `facts` gives."""
    cookie = client.get_cookie("session")
    base = {**create_environ("/"), **client.environ_base}
    base |= {"HTTP_COOKIE": f"session={cookie.value}"} if cookie else {}

    def ask(address: str, method: str = "GET", headers: Mapping[str, str] = MappingProxyType({})) -> Answer:
        path, _, query = address.partition("?")
        named = {f"HTTP_{name.upper().replace('-', '_')}": value for name, value in headers.items()}
        asked = {
            "REQUEST_METHOD": method,
            "PATH_INFO": unquote(path).encode().decode("latin-1"),
            "QUERY_STRING": query,
        }
        return answered(client.application, {**base, **named, **asked})

    return ask


def written(method: str, address: str, **given: Any) -> dict[str, Any]:
    """The environment of a request, with its body as bytes; made once for both worlds."""
    environ = EnvironBuilder(address, method=method, **given).get_environ()
    return {**environ, "wsgi.input": environ["wsgi.input"].read()}


def answered(app: Flask, environ: Mapping[str, Any]) -> Answer:
    """What `facts` gives of an answer, by WSGI itself.

    Making each request and response of a test client takes a fifth of a walk's time.
    """
    begun: list[Any] = []
    body = io.BytesIO(environ.get("wsgi.input") if isinstance(environ.get("wsgi.input"), bytes) else b"")
    answer = app.wsgi_app({**environ, "wsgi.input": body}, lambda *started: begun.append(started))
    try:
        told = b"".join(answer)
    finally:
        if hasattr(answer, "close"):
            answer.close()
    status = int(begun[0][0].split()[0])
    assert status < 500, told.decode(errors="replace")
    headers = ((key, EXPIRES.sub("", value)) for key, value in begun[0][1] if key != "Date")
    return status, sorted(headers), told


def remembered(resume: Callable[..., Any]) -> Callable[..., Any]:
    """Who signed in, looked up once for each site and cookie or token.

    Nothing changes during a walk, and to look it up for each of its thousands of addresses takes as long
    as all the answers do.
    """
    known: dict[tuple[str, str, str], Any] = {}

    def remembered(session: Session, token: str, ip: str = "", **options: bool) -> Any:
        key = str(session.get_bind().engine.url), token, ip
        if key not in known:
            known[key] = resume(session, token, ip=ip, **options)
        return known[key]

    return remembered


def noted_once(record: Callable[..., None]) -> Callable[..., None]:
    """What goes into the audit after an answer, once for each site, account, act and subject.

    The audit keeps such an act once an hour, too; to find that out takes as long as a refusal does.
    """
    noted: set[tuple[str, int | None, str, str]] = set()

    def noted_once(here: Database, asker: Viewer, action: str, subject: str, number: str) -> None:
        key = str(here.engine.url), asker.account_id, action, subject
        if key not in noted:
            noted.add(key)
            record(here, asker, action, subject, number)

    return noted_once


def hold_still(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let two worlds meet the same chance, and look up once who signed in and what was noted."""
    twins.leave_nothing_to_chance(monkeypatch)
    twins.open_under_one_address(monkeypatch)
    monkeypatch.setattr(sessions, "resume", remembered(sessions.resume))
    monkeypatch.setattr(web_session, "_record", noted_once(web_session._record))
