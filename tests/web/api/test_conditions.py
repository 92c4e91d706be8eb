"""If-Match and If-None-Match: every address with an entity tag honours them, as RFC 9110, 13 requires."""

import threading
from typing import Any

import pytest

from leaderboard import reference
from leaderboard.web.api.operations import Operation
from tests.make.worlds import RUN
from tests.web.api.conftest import Program, Programs, path_of
from tests.web.api.organising import ASKED
from tests.web.conftest import Site

SCOPES = ("read", "submit", "organise")
SETTINGS = "/tasks/robots/settings"
CHANGED = "/api/problems/changed-meanwhile"
MORE: dict[str, list[tuple[str, dict[str, Any]]]] = {
    "settle_task": [("", {"json": {"settings": {"name": "Another"}}})],
    "publish_task": [],
    "check_run": [("", {"data": RUN})],
    "withdraw_run": [("", {"json": {"why": "A test."}})],
    "describe_run": [("", {"json": {"description": "BM25"}})],
    "choose_run": [("", {"json": {"chosen": True}})],
    "make_team_webhook": [("", {"json": {"address": "https://example.org/x", "events": ["run.scored"]}})],
    "make_task_webhook": [("", {"json": {"address": "https://example.org/x", "events": ["run.scored"]}})],
    "change_webhook": [("", {"json": {"paused": True}})],
}
LAST = ("archive_task", "unarchive_task", "leave_team", "revoke_token")
"""Operations that take away what the others need."""
WITHOUT_A_BODY: list[tuple[str, dict[str, Any]]] = [("", {})]


def _operations(site: Site) -> list[Operation]:
    with site.app.app_context():
        return reference.operations()


def _statuses(program: Program, path: str, header: str, *values: str) -> list[int]:
    return [program.ask("GET", path, {header: value}).status_code for value in values]


@pytest.mark.trial
def test_reading_honours_both_headers(site: Site, program: Programs) -> None:
    """Strong comparison for If-Match, weak for If-None-Match, `*` for whatever there is."""
    olga, tagged = program("Olga", *SCOPES), []
    for one in _operations(site):
        answer = olga.ask("GET", path := path_of(one, site)) if one.method == "GET" else None
        if answer is None or answer.status_code != 200:
            continue
        tag = answer.headers.get("ETag", "")
        # An export names its moment, so each is another one.
        assert (tag == "") == (one.name == "export_task"), one.name
        if tag:
            tagged.append(one.name)
            kept = _statuses(olga, path, "If-None-Match", tag, f"W/{tag}", f'"x", {tag}', "*", '"x"')
            assert kept == [304, 304, 304, 304, 200], one.name
            met = _statuses(olga, path, "If-Match", tag, f'"x", {tag}', "*", '"x"', f"W/{tag}", "x")
            assert met == [200, 200, 200, 412, 412, 412], one.name
    assert len(tagged) > 25


@pytest.mark.trial
def test_every_change_is_refused_under_a_stale_tag(site: Site, program: Programs) -> None:
    """Whatever is done without If-Match is not done under one that does not hold; other refusals stay."""
    done = set()
    send = {"send_run": [(f"?team={site.world.owls}", {"data": RUN})]}
    asked = ASKED | MORE | send
    for asker in (program("Olga", *SCOPES), program("Berta", *SCOPES)):
        for one in sorted(_operations(site), key=lambda one: one.name in LAST):
            if one.method == "GET":
                continue
            for query, options in asked.get(one.name, WITHOUT_A_BODY):
                path = path_of(one, site) + query
                stale = asker.ask(one.method, path, {"If-Match": '"x"'}, **options)
                plain = asker.ask(one.method, path, **options)
                allowed = (412,) if plain.status_code < 300 else (412, plain.status_code)
                assert stale.status_code in allowed, (one.name, stale.status_code, plain.text)
                if stale.status_code == 412:
                    assert stale.json["type"] in (CHANGED, "/api/problems/wrong-version"), one.name
                if plain.status_code < 300:
                    done.add(one.name)
    assert len(done) > 45, sorted(done)


def test_a_stale_tag_names_what_is_there_now(site: Site, program: Programs) -> None:
    """The setting stays; the current tag lets the same request through, once."""
    olga = program("Olga", *SCOPES)
    before = olga.ask("GET", SETTINGS)
    tag = before.headers["ETag"]
    change = {"json": {"settings": {"name": "Androids"}}}
    refused = olga.ask("PATCH", SETTINGS, {"If-Match": '"x"'}, **change)
    assert (refused.status_code, refused.json["type"]) == (412, CHANGED)
    assert refused.json["detail"] == (
        f'If-Match is "x", but the entity tag is now {tag}. '
        "Read the resource again and repeat the request with its new ETag."
    )
    assert olga.ask("GET", SETTINGS).data == before.data
    made = olga.ask("PATCH", SETTINGS, {"If-Match": tag}, **change)
    assert (made.status_code, made.json["settings"]["name"], "ETag" in made.headers) == (
        200,
        "Androids",
        False,
    )
    again = olga.ask("PATCH", SETTINGS, {"If-Match": tag}, json={"settings": {"name": "Others"}})
    assert again.status_code == 412
    assert olga.ask("PATCH", SETTINGS, {"If-Match": "*"}, **change).status_code == 200
    assert olga.ask("PATCH", SETTINGS, {"If-None-Match": "*"}, **change).status_code == 412


def test_other_refusals_go_before_the_condition(site: Site, program: Programs) -> None:
    """RFC 9110, 13.2.1: who may not, or asks for what is not there, is told that."""
    stale = {"If-Match": '"x"'}
    change = {"json": {"settings": {"name": "Androids"}}}
    assert program("Berta", *SCOPES).ask("PATCH", SETTINGS, stale, **change).status_code == 403
    assert program("Olga", *SCOPES).ask("DELETE", "/tasks/nothing", stale).status_code == 404
    assert program().ask("PATCH", SETTINGS, stale, **change).status_code == 401


def test_an_address_without_a_tag_refuses_if_match(site: Site, program: Programs) -> None:
    """Nothing can have been read there, so nothing is withdrawn by mistake."""
    berta = program("Berta")
    path = f"/runs/{site.world.run}/withdraw"
    answer = berta.ask("POST", path, {"If-Match": "*"}, json={"why": "A test."})
    assert answer.status_code == 412
    assert (
        answer.json["detail"] == "If-Match cannot be used here: this address has no entity tag. Leave it out."
    )
    assert berta.ask("GET", f"/runs/{site.world.run}").json["withdrawn"] == ""


def test_make_a_task_only_where_there_is_none(site: Site, program: Programs) -> None:
    """`If-None-Match: *` creates and never replaces."""
    olga = program("Olga", *SCOPES)
    nothing_yet = {"If-None-Match": "*"}
    made = olga.ask("PUT", "/tasks/fresh?name=Fresh", nothing_yet, data=b"1\tWords\n")
    assert made.status_code == 201
    topics = olga.ask("PUT", "/tasks/fresh/topics", nothing_yet, data=b"1\tOther words\n")
    assert (topics.status_code, topics.json["detail"].partition(".")[0]) == (
        412,
        "If-None-Match matches the current version",
    )


@pytest.mark.parametrize("path", ["/tasks/robots", "/tasks/robots.csv", "/static/app.css"])
def test_pages_and_files_honour_if_match(site: Site, path: str) -> None:
    """Kept pages, pages made for one reader, and static files alike."""
    for browser in (site.browser(), site.browser("Olga")):
        tag = browser.get(path).headers["ETag"]
        asked = [browser.get(path, headers={"If-Match": value}) for value in (tag, "*", '"x"')]
        assert [answer.status_code for answer in asked] == [200, 200, 412]


def test_of_two_changes_under_one_tag_one_is_made(site: Site, program: Programs) -> None:
    """The tag is compared where nobody else can write, not only when the request comes in."""
    olga = program("Olga", *SCOPES)
    tag = olga.ask("GET", SETTINGS).headers["ETag"]
    start, statuses = threading.Barrier(4), []

    def change(number: int) -> None:
        start.wait()
        body = {"settings": {"name": f"Name {number}"}}
        asker = Program(site.app.test_client(), olga.secret)
        statuses.append(asker.ask("PATCH", SETTINGS, {"If-Match": tag}, json=body).status_code)

    threads = [threading.Thread(target=change, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(statuses) == [200, 412, 412, 412]


def test_the_samples_of_this_walk_are_used(site: Site) -> None:
    """No request here is left over from an operation that has gone."""
    assert {*MORE, *LAST} <= {one.name for one in _operations(site)}
