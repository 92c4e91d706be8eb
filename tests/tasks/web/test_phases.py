"""The forms of a task's phases: a refused one keeps what was typed, none overwrites what was not seen."""

from typing import Any

from flask.testing import FlaskClient

from leaderboard.core.policy import OPERATOR
from leaderboard.tasks.ops import phases, roles
from tests.make import pages
from tests.web.conftest import Site

HERE = "/tasks/robots/phases"


def _save(client: FlaskClient, fields: dict[str, Any], **typed: Any) -> Any:
    return client.post(f"{HERE}/change", data={**fields, **typed})


def test_a_phase_that_changed_meanwhile_is_not_overwritten_unseen(site: Site) -> None:
    """Another organiser's change is told first; once told, it gives way."""
    olga, otto = site.browser("Olga"), site.browser("Otto")
    with site.database.write() as session:
        roles.give(session, OPERATOR, "robots", "Otto", "organiser")
    fields = pages.form(olga.get(HERE), f"{HERE}/change")
    name = fields["phase"]
    assert _save(otto, fields, runs_per_day="7").status_code == 303
    refused = _save(olga, fields, runs_in_all="9", topic_list="5 6")
    assert refused.status_code == 409
    assert f"Otto changed the phase {name} at 20" in pages.main(refused)
    assert f"Change {name} anyway" in pages.main(refused)
    again = pages.form(refused, f"{HERE}/change")
    assert (again["runs_per_day"], again["runs_in_all"], again["topic_list"]) == ("", "9", "5 6")
    assert _save(olga, again).status_code == 303
    fresh = pages.form(olga.get(HERE), f"{HERE}/change")
    assert (fresh["runs_per_day"], fresh["runs_in_all"]) == ("", "9")
    with site.database.write() as session:
        phases.add(session, OPERATOR, "robots", phases.PhasePlan(name="late"))
    assert _save(olga, fresh, name="main round").status_code == 303
    assert "has no phase" in _save(olga, fresh).text


def test_a_refused_form_keeps_what_was_typed(site: Site) -> None:
    """Of a new phase as of one there is, with its details open; the others show what is stored."""
    olga = site.browser("Olga")
    fields = {
        "name": "late",
        "opens_at": "2030-05-02T00:00",
        "closes_at": "2030-05-01T00:00",
        "kinds": ["baseline"],
    }
    refused = olga.post(HERE, data={**fields, "zone": "AoE", "seed": "abc"})
    assert refused.status_code == 422
    typed = pages.form(refused, HERE)
    assert [typed[key] for key in ("name", "opens_at", "zone", "seed")] == [
        "late",
        fields["opens_at"],
        "AoE",
        "abc",
    ]
    boxes = pages.parsed(refused).find_all("input", type="checkbox", checked=True)
    assert "baseline" in [box.get("value") for box in boxes]
    assert len(pages.parsed(refused).select("main details[open]")) == 1
    unread = olga.post(f"{HERE}/change", data={**pages.form(refused, f"{HERE}/change"), "closes_at": "soon"})
    assert pages.form(unread, f"{HERE}/change")["closes_at"] == "soon"
    assert pages.form(unread, HERE)["name"] == ""


def test_links_keep_the_phase_that_was_asked_for(site: Site) -> None:
    """From a board over a run's pages and back; pages that belong to no task have none."""
    with site.database.write() as session:
        phases.add(session, OPERATOR, "robots", phases.PhasePlan(name="late"))
    client = site.browser()
    for address in ("/tasks/robots?phase=main", f"/runs/{site.world.run}?phase=main"):
        links = [link["href"] for link in pages.parsed(client.get(address)).select("main a[href]")]
        kept = [link for link in links if link.startswith(("/tasks/robots", "/runs/"))]
        assert [link for link in kept if "phase=main" not in link] == [], address
        assert all(client.get(link).status_code in (200, 303) for link in kept), address
        assert any(link.startswith("/runs/") for link in kept), address
        assert any(link.startswith("/tasks/robots?") for link in kept), address
    assert "phase=" not in client.get("/?phase=main").text.partition("<main")[2]
