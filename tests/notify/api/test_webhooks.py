"""Webhooks by programs: as on their pages, within what a token is for."""

from tests.notify import make as hooks
from tests.web.api.conftest import Programs
from tests.web.conftest import Site

WANTED = {"address": "https://hooks.example/in", "events": ["run.scored"]}


def test_a_program_looks_after_webhooks(site: Site, program: Programs) -> None:
    """Made, listed, tried out, sent again, rotated, paused, resumed, deleted."""
    olga = program("Olga", "organise")
    made = olga.ask("POST", "/tasks/robots/webhooks", json=WANTED)
    assert made.status_code == 201
    assert made.json["secret"].startswith("whsec_")
    path = f"/webhooks/{made.json['webhook']}"
    (row,) = olga.ask("GET", "/tasks/robots/webhooks").json["webhooks"]
    assert (row["address"], row["events"], row["state"]) == (WANTED["address"], ["run.scored"], "active")
    (sent,) = olga.ask("POST", f"{path}/test").json["deliveries"]
    assert (sent["event"], sent["state"], sent["attempts"]) == ("webhook.test", "waiting", [])
    assert olga.ask("POST", f"{path}/deliveries/{sent['message']}").status_code == 200
    assert olga.ask("POST", f"{path}/secret").json["secret"] != made.json["secret"]
    assert olga.ask("PATCH", path, json={"paused": True}).json["webhook"]["state"] == "paused"
    assert olga.ask("POST", f"{path}/test").status_code == 409
    assert olga.ask("PATCH", path, json={"paused": False}).json["webhook"]["state"] == "active"
    assert olga.ask("DELETE", path).status_code == 200
    assert olga.ask("GET", path).status_code == 404
    refused = olga.ask("POST", "/tasks/robots/webhooks", json={**WANTED, "address": "https://10.0.0.1/"})
    assert (refused.status_code, refused.json["problems"][0]["field"]) == (422, "address")


def test_a_token_reaches_no_webhook_that_it_is_not_for(site: Site, program: Programs) -> None:
    """One for another task or team, without the scope for whose it is, or of others."""
    of_task = hooks.webhook(site.database, site.world.olga, slug="robots").id
    of_team = hooks.webhook(site.database, site.world.anna, team_id=site.world.owls).id
    every = ("read", "submit", "organise", "judge")
    askers = {
        "another task's": (program("Olga", *every, slug="draft"), (404, 404)),
        "of that task": (program("Olga", *every, slug="robots"), (200, 404)),
        "no organiser's": (program("Anna", *every), (404, 200)),
        "without submit": (program("Anna", "organise"), (404, 403)),
        "for that task alone": (program("Anna", *every, slug="robots"), (404, 404)),
        "for that team": (program("Anna", *every, team_id=site.world.owls), (404, 200)),
        "another team's": (program("Carl", *every), (404, 404)),
        "without organise": (program("Olga", "submit"), (404, 404)),
    }
    faults = []
    for name, (asker, expected) in askers.items():
        for webhook_id, status in zip((of_task, of_team), expected, strict=True):
            path = f"/webhooks/{webhook_id}"
            asked = [("GET", path, None), ("PATCH", path, {"paused": False})]
            asked += [("POST", f"{path}/test", None)]
            answers = [asker.ask(method, path, json=body) for method, path, body in asked]
            if {answer.status_code for answer in answers} != {status}:
                faults.append((name, webhook_id, [answer.status_code for answer in answers]))
    assert faults == []
    bound = program("Anna", *every, slug="robots")
    assert bound.ask("GET", f"/teams/{site.world.owls}/webhooks").status_code == 403
    assert bound.ask("POST", f"/teams/{site.world.owls}/webhooks", json=WANTED).status_code == 403
    other = program("Olga", *every, slug="draft")
    assert other.ask("GET", "/tasks/robots/webhooks").status_code == 403
