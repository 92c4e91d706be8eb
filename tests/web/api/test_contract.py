"""What holds for every operation of the API: who is let in, what is refused, and how errors are said."""

import re
from pathlib import Path
from typing import Any

import pytest
from markupsafe import escape
from sqlalchemy import update

from leaderboard import reference
from leaderboard.db.tables import Account, ApiToken
from leaderboard.web.api.operations import Operation
from leaderboard.web.api.problems import TYPES
from leaderboard.web.rules import PUBLIC
from tests.make import openapi as openapi_file
from tests.make import worlds
from tests.web.api.conftest import Program, Programs, path_of
from tests.web.conftest import Site

ROOT = Path(__file__).resolve().parents[3]
PROBLEM = "application/problem+json"
PASSING = re.compile(rb'"(instance|device_code|user_code)": ?"[^"]*"')
"""What differs in two answers to the same asker."""


def _operations(site: Site) -> list[Operation]:
    with site.app.app_context():
        return reference.operations()


def _asked(program: Program, one: Operation, site: Site, **options: Any) -> Any:
    """The operation asked with ids that there are, and without parameters."""
    return program.ask(one.method, path_of(one, site), **options)


def test_every_route_below_the_api_is_an_operation(site: Site) -> None:
    """Nothing is answered there that the document does not know."""
    routes = {route.endpoint for route in site.app.url_map.iter_rules() if route.rule.startswith("/api/v1")}
    known = {f"api.{one.name}" for one in _operations(site)}
    assert routes == {*known, "api_reference.document"}


def test_who_asks_without_a_token_in_force_is_told_so(site: Site, program: Programs) -> None:
    """No token where one is needed, a mistyped, an expired and a revoked one; never a page or a redirect."""
    expired, revoked, closed = (program(name, "read") for name in ("Anna", "Berta", "Carl"))
    ends = {"expires_at": site.world.anna, "revoked_at": site.world.berta}
    with site.database.write() as session:
        for column, account_id in ends.items():
            ended = update(ApiToken).where(ApiToken.account_id == account_id)
            session.execute(ended.values({column: ApiToken.created_at}))
        gone = update(Account).where(Account.id == site.world.carl)
        session.execute(gone.values(disabled_at=Account.created_at))
    whole = program("Nina", "read")
    mistyped = Program(site.app.test_client(), whole.secret[:-1] + ("a" if whole.secret[-1] != "a" else "b"))
    other = Program(site.app.test_client(), "Basic x")
    faults = []
    for one in _operations(site):
        for asker in (expired, revoked, closed, mistyped, other, program()):
            answer = _asked(asker, one, site)
            is_open = asker.secret == "" and one.rule.access is PUBLIC
            right = answer.status_code != 401 if is_open else answer.status_code == 401
            if answer.status_code >= 400:
                right = (
                    right
                    and answer.mimetype == PROBLEM
                    and "Bearer"
                    in answer.headers.get("WWW-Authenticate", "" if answer.status_code == 401 else "Bearer")
                )
            faults += [] if right else [(one.name, asker.secret[:6], answer.status_code)]
    assert faults == []


def test_a_token_for_one_task_is_refused_at_others(site: Site, program: Programs) -> None:
    """And one for a team has no others."""
    bound = program("Olga", "read", "submit", slug="draft")
    assert bound.ask("GET", "/tasks/draft").status_code == 200
    refused = bound.ask("GET", "/tasks/robots/board")
    assert (refused.status_code, refused.json["type"]) == (403, "/api/problems/not-allowed")
    assert bound.ask("GET", f"/runs/{site.world.run}").status_code == 403
    assert bound.ask("GET", f"/uploads/{site.world.accepted}").status_code in (403, 404)
    member = program("Berta", "read", slug="other")
    assert member.ask("GET", f"/uploads/{site.world.accepted}").status_code == 403
    within = program("Berta", "read", slug="robots")
    assert within.ask("GET", f"/uploads/{site.world.accepted}").json["run_id"]
    team = program("Anna", "submit", team_id=site.world.owls)
    assert [row["team"] for row in team.ask("GET", "/account").json["teams"]] == [site.world.owls]


def test_errors_are_problems_with_a_type_that_has_a_page(site: Site, program: Programs) -> None:
    """Unknown task, address, method, parameter and content; each with title, detail and remedy."""
    berta, anybody = program("Berta"), program()
    withdraw = f"/runs/{site.world.run}/withdraw"
    asked = {
        "unknown-task": anybody.ask("GET", "/tasks/nothing"),
        "not-found": anybody.ask("GET", "/nothing"),
        "wrong-method": anybody.ask("DELETE", "/tasks"),
        "invalid": anybody.ask("GET", "/tasks/robots/board?mesure=AP"),
        "wrong-content": berta.ask("POST", withdraw, data={"why": "x"}),
        "token-needed": anybody.ask("GET", "/account"),
        "not-allowed": program("Carl").ask("POST", withdraw, json={"why": "x"}),
    }
    for name, answer in asked.items():
        said = answer.json
        assert (answer.mimetype, said["type"]) == (PROBLEM, f"/api/problems/{name}"), name
        assert said["status"] == answer.status_code == TYPES[name].status, name
        assert all(said[key] for key in ("title", "detail", "remedy")), name
        assert site.browser().get(said["type"]).status_code == 200, name
    assert asked["invalid"].json["did_you_mean"] == "measure"
    assert asked["wrong-method"].headers["Allow"]
    assert anybody.ask("GET", "//tasks").status_code == 404
    assert anybody.ask("GET", "/tasks/").status_code == 404


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"[]",
        b'{"why": 1}',
        b'{"why": "x", "more": 1}',
        b'{"why": NaN}',
        b'{"why": "\xff"}',
        b'{"why": "a\\u0000b"}',
        b'{"why": "\\ud800"}',
        b"[" * 100_000,
        b'{"why": ' + b'{"a": ' * 5_000,
    ],
)
def test_hostile_bodies_are_problems(site: Site, program: Programs, body: bytes) -> None:
    """Never a failure of ours, and the run stays as it was."""
    berta = program("Berta")
    path = f"/runs/{site.world.run}/withdraw"
    answer = berta.ask("POST", path, data=body, content_type="application/json")
    assert (answer.status_code, answer.mimetype) == (422, PROBLEM), answer.text
    assert berta.ask("GET", f"/runs/{site.world.run}").json["withdrawn"] == ""


def test_a_whole_number_may_be_written_with_a_point(site: Site, program: Programs) -> None:
    """As JSON Schema has it: 1.0 is an integer, 1.5 is none."""
    berta, owls = program("Berta"), site.world.owls
    bodies = (f'{{"team_id": {owls}.0}}', f'{{"team_id": {owls}.5}}')
    asked = [
        berta.ask("POST", "/tasks/robots/enter", data=body, content_type="application/json")
        for body in bodies
    ]
    assert [answer.status_code for answer in asked] == [200, 422]


@pytest.mark.trial
def test_cookies_mean_nothing(site: Site, program: Programs) -> None:
    """A browser that is signed in is a visitor here, and no page elsewhere can act for it."""
    browser = site.browser("Olga")
    assert "draft" not in browser.get("/api/v1/tasks").text
    answer = browser.post(f"/api/v1/runs/{site.world.run}/withdraw", json={"why": "x"})
    assert answer.status_code == 401
    assert "Set-Cookie" not in answer.headers
    stranger, differ, seen = site.browser(), [], 0
    for one in _operations(site):
        address = path_of(one, site)
        said = [_said(asker.open(f"/api/v1{address}", method=one.method)) for asker in (browser, stranger)]
        seen += said[0][0] == 200
        if said[0] != said[1]:
            differ.append(f"{one.name}: {said}")
    assert differ == []
    assert seen > 10


def _said(answer: Any) -> tuple[int, bytes, str | None]:
    return answer.status_code, PASSING.sub(b"", answer.data), answer.headers.get("ETag")


def test_the_document_is_the_committed_one_and_a_change_has_its_line(site: Site) -> None:
    """docs/openapi.json is made of the table, and the changelog names the digest of what it became."""
    committed = openapi_file.PATH.read_bytes()
    assert openapi_file.made() == committed, "write it anew: see CONTRIBUTING.md, an operation of the API"
    assert f"openapi.json {openapi_file.digest(committed)}" in (ROOT / "CHANGELOG.md").read_text()
    assert site.browser().get("/api/v1/openapi.json").data == committed


def test_every_parameter_and_property_says_what_it_means(site: Site) -> None:
    """And every operation has its noun as a tag; a number of a team is `team_id`, its name `team`."""
    document = site.browser().get("/api/v1/openapi.json").json
    nouns = {tag["name"] for tag in document["tags"]}
    operations = [one for path in document["paths"].values() for one in path.values()]
    silent = [one["operationId"] for one in operations if not set(one["tags"]) <= nouns or not one["tags"]]
    silent += [
        f"{one['operationId']} {parameter['name']}"
        for one in operations
        for parameter in one["parameters"]
        if "$ref" not in parameter and len(parameter["description"]) < 6
    ]
    silent += [
        f"{name}.{key}"
        for name, schema in document["components"]["schemas"].items()
        for key, said in schema.get("properties", {}).items()
        if len(said["description"]) < 6
    ]
    assert silent == []
    assert document["components"]["schemas"]["Rows"]["properties"]["rows"]["items"]["additionalProperties"]
    parameters = [one for each in operations for one in each["parameters"] if "$ref" not in one]
    assert {one["schema"]["type"] for one in parameters if one["name"] == "team"} == {"string"}
    assert {one["schema"]["type"] for one in parameters if one["name"] == "team_id"} == {"integer"}


def test_a_team_is_named_by_its_old_parameter_until_2_0(site: Site, program: Programs) -> None:
    """`team` with a number goes on meaning `team_id`, in a query and in a body; never both."""
    berta, owls = program("Berta"), site.world.owls
    new, old = (berta.ask("GET", f"/tasks/robots/quota?{name}={owls}") for name in ("team_id", "team"))
    assert (new.status_code, new.json, new.json["team_id"]) == (200, old.json, owls)
    assert berta.ask("GET", f"/tasks/robots/quota?team={owls}&team_id={owls}").status_code == 422
    for name in ("team", "team_id"):
        assert berta.ask("POST", "/tasks/robots/enter", json={name: owls}).status_code == 200
    (team,) = berta.ask("GET", "/account").json["teams"]
    assert team == {"team": owls, "team_id": owls, "name": "Owls"}


def test_the_remedy_names_problems_only_where_there_are_some(site: Site, program: Programs) -> None:
    """A refusal in one sentence says to correct what it says."""
    path = f"/tasks/robots/runs/x?team_id={site.world.owls}&kind=baseline"
    alone = program("Berta").ask("PUT", path, data=worlds.RUN).json
    assert ("problems" in alone, alone["remedy"]) == (False, "Correct the request as described in `detail`.")


def test_the_reference_names_every_operation_and_problem(site: Site) -> None:
    """As a page of the site, with what each takes."""
    page = site.browser().get("/api").text
    for one in _operations(site):
        assert f'id="{one.name}"' in page
        assert escape(one.summary) in page
    assert all(f"/api/problems/{name}" in page for name in TYPES)
