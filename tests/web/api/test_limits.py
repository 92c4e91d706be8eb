"""Limits that the document tells: what is beyond them is refused, what is at them is not."""

from typing import Any

import pytest

from leaderboard import reference
from leaderboard.tasks.ops.settings import SETTINGS
from leaderboard.trec.facts import FIELD_OF
from leaderboard.trec.runs.fixes import FIXES
from leaderboard.web.api.limits import FILLED
from tests.web.api.conftest import Programs
from tests.web.conftest import Site

Asked = tuple[str, str, dict[str, Any]]
"""Name of an operation, its path here, and a body that is fine but for the field that is tried."""
PEOPLE: dict[str, Any] = {"role": "reader"}
WITHIN: dict[tuple[str, str], Asked] = {
    ("PhaseExtension", "hours"): ("extend_deadline", "/tasks/robots/extend", {"reason": "An outage."}),
    ("TaskInvitation", "uses"): ("invite_to_task", "/tasks/robots/invitations", PEOPLE),
    ("TaskInvitation", "days"): ("invite_to_task", "/tasks/robots/invitations", PEOPLE),
    ("TeamInvitation", "uses"): ("invite_to_team", "/teams/{team}/invitations", {}),
    ("TeamInvitation", "days"): ("invite_to_team", "/teams/{team}/invitations", {}),
    ("PhasePlan", "runs_per_day"): ("add_phase", "/tasks/robots/phases", {"name": "Daily"}),
    ("ReviewBody", "days"): ("make_review_link", "/tasks/robots/teams/{team}/review-links", {}),
}
"""Body and field with a least and a largest number -> where it is sent."""
TEXTS: dict[tuple[str, str], Asked] = {
    ("PhaseExtension", "reason"): ("extend_deadline", "/tasks/robots/extend", {"hours": 1}),
    ("RunReason", "why"): ("withdraw_run", "/runs/{run}/withdraw", {}),
    ("SuiteDraft", "title"): (
        "make_suite",
        "/suites/hers",
        {"members": [{"name": "a", "task": "robots"}] * 2},
    ),
    ("NewTeam", "name"): ("make_team", "/teams", {}),
    ("AnnouncementBody", "title"): ("announce", "/tasks/robots/announcements", {}),
    ("TaskCopy", "name"): ("clone_task", "/tasks/robots/clone", {"slug": "again"}),
    ("PhasePlan", "name"): ("add_phase", "/tasks/robots/phases", {}),
    ("GroupBody", "name"): ("declare_group", "/tasks/robots/groups", {"teams": [1]}),
    ("NewTopic", "topic"): ("add_topic", "/tasks/draft/topics", {"title": "new"}),
    ("NewWebhook", "address"): ("make_task_webhook", "/tasks/robots/webhooks", {"events": ["run.scored"]}),
    ("ClickChoice", "note"): ("publish_clicks", "/tasks/robots/clicks/publish", {}),
    ("ResidualBody", "note"): ("draft_residual", "/tasks/robots/revisions/residual", {"earlier": [1]}),
}
"""Body and field that is no blank text -> where it is sent."""


def _field(site: Site, name: tuple[str, str]) -> dict[str, Any]:
    """What the document says of a field; of one that may be null, what else it may be."""
    document = site.browser().get("/api/v1/openapi.json").get_json()
    said: dict[str, Any] = document["components"]["schemas"][name[0]]["properties"][name[1]]
    if "minimum" in said:
        return said
    return next((one for one in said.get("anyOf", ()) if one["type"] != "null"), said)


@pytest.fixture
def asked(site: Site, program: Programs) -> Any:
    """`asked(of, field, value)`: the status and the words of an answer to a body with that field."""
    askers = {
        team: program("Anna" if team else "Olga", "submit", "organise", "read") for team in (False, True)
    }

    def ask(of: Asked, field: str, value: object) -> tuple[int, str]:
        name, path, body = of
        with site.app.app_context():
            (one,) = (each for each in reference.operations() if each.name == name)
        world, is_team = site.world, "{team}" in path or "{run}" in path
        there = path.format(team=world.owls, run=world.run)
        answer = askers[is_team].ask(one.method, there, json={**body, field: value})
        return answer.status_code, answer.text

    return ask


@pytest.mark.parametrize("name", WITHIN, ids=".".join)
def test_a_number_is_refused_beyond_its_limits_alone(name: tuple[str, str], site: Site, asked: Any) -> None:
    """One less than the least and one more than the largest; the two themselves are taken."""
    said = _field(site, name)
    for value in (said["minimum"] - 1, said["maximum"] + 1):
        status, words = asked(WITHIN[name], name[1], value)
        assert status == 422, words
    for value in (said["minimum"], said["maximum"]):
        status, words = asked(WITHIN[name], name[1], value)
        assert status != 422, words


@pytest.mark.parametrize("name", TEXTS, ids=".".join)
def test_a_text_that_must_say_something_is_not_blank(name: tuple[str, str], site: Site, asked: Any) -> None:
    """The document says so by a pattern, and blanks are refused."""
    assert _field(site, name)["pattern"] == FILLED
    for blank in ("", " \t"):
        status, words = asked(TEXTS[name], name[1], blank)
        assert status == 422, words


def test_a_topic_of_an_address_that_is_not_there_is_not_found(site: Site, program: Programs) -> None:
    """Whatever is to be done with it; leaving it out was refused as if the body were wrong."""
    olga = program("Olga", "organise")
    for method, body in (("PUT", {"reason": "Vague."}), ("DELETE", None)):
        answer = olga.ask(method, "/tasks/draft/topics/77/exclusion", json=body)
        assert answer.status_code == 404, answer.text


def test_a_field_that_is_unknown_is_refused_in_parts_of_a_body_too(site: Site, program: Programs) -> None:
    """The document says so of every object that a request holds, and each is looked through."""
    schemas = site.browser().get("/api/v1/openapi.json").get_json()["components"]["schemas"]
    assert [schemas[name]["additionalProperties"] for name in ("PhaseChange", "PhasePlan")] == [False, False]
    olga = program("Olga", "organise")
    body = {"phase": {"name": "main", "closses_at": "2031-06-01"}}
    refused = olga.ask("PUT", "/tasks/robots/phases/main", json=body)
    assert refused.status_code == 422
    assert refused.json["did_you_mean"] == "closes_at"


def test_words_to_choose_from_are_told_of_lists_and_keys_too(site: Site, program: Programs) -> None:
    """Of each item of a list and each key of an object; another word is refused."""
    schemas = site.browser().get("/api/v1/openapi.json").get_json()["components"]["schemas"]

    def told(body: str, name: str) -> dict[str, Any]:
        said: dict[str, Any] = schemas[body]["properties"][name]
        return said

    assert told("PhasePlan", "kinds")["items"]["enum"] == ["official", "baseline", "late", "unofficial"]
    assert told("Fixes", "fixes")["items"]["enum"] == list(FIXES)
    assert told("RunChanges", "facts")["propertyNames"]["enum"] == list(FIELD_OF)
    assert told("Settings", "settings")["propertyNames"]["enum"] == list(SETTINGS)
    olga, anna = program("Olga", "organise"), program("Anna", "submit")
    world = site.world
    for asker, method, path, body in (
        (olga, "POST", "/tasks/robots/phases", {"name": "New", "kinds": ["odd"]}),
        (olga, "PATCH", "/tasks/robots/settings", {"settings": {"odd": ""}}),
        (anna, "PATCH", f"/runs/{world.run}", {"facts": {"odd": ""}}),
        (anna, "POST", f"/uploads/{world.accepted}/fix", {"fixes": ["odd"]}),
    ):
        assert asker.ask(method, path, json=body).status_code == 422, path
