"""Teams by programs: made, described, invited to, handed over, left; by a bound token none of it."""

from tests.web.api.conftest import Programs
from tests.web.conftest import Site


def test_a_team_is_made_described_and_left(site: Site, program: Programs) -> None:
    """Its captain invites and hands over; what is not said of it stays."""
    anna, berta = program("Anna"), program("Berta")
    owls, berta_id = site.world.owls, site.world.berta
    new = anna.ask("POST", "/teams", json={"name": "Night Owls"}).json
    assert new["name"] == "Night Owls"
    assert anna.ask("POST", "/teams", json={"name": "Bears"}).status_code == 409
    described = anna.ask("PATCH", f"/teams/{owls}", json={"affiliation": "Nest", "name": "Barn Owls"})
    assert described.json == {"name": "Barn Owls", "team": owls, "team_id": owls}
    anna.ask("PATCH", f"/teams/{owls}", json={"country": "AT"})
    page = site.browser("Anna").get(f"/teams/{owls}").text
    assert "Nest" in page
    assert "AT" in page
    assert berta.ask("PATCH", f"/teams/{owls}", json={"name": "Ours"}).status_code == 403
    link = anna.ask("POST", f"/teams/{owls}/invitations", json={"uses": 2}).json["link"]
    assert "/join/" in link
    assert anna.ask("POST", f"/teams/{owls}/members/{berta_id}/captain").json["done"] == "handed over"
    last = anna.ask("POST", f"/teams/{new['team']}/leave")
    assert (last.status_code, "last member" in last.json["detail"]) == (409, True)
    carl = program("Carl").ask("POST", f"/teams/{site.world.bears}/leave")
    assert carl.status_code == 409
    assert program("Nina").ask("POST", f"/teams/{owls}/leave").status_code == 404


def test_a_member_leaves(site: Site, program: Programs) -> None:
    """And is a member no more."""
    berta = program("Berta")
    assert berta.ask("POST", f"/teams/{site.world.owls}/leave").json["done"] == "left"
    assert berta.ask("GET", "/account").json["teams"] == []


def test_a_token_for_one_task_touches_no_team(site: Site, program: Programs) -> None:
    """And one for a team touches no other, and makes none."""
    owls, carl = site.world.owls, site.world.carl
    of_task = program("Anna", "read", "submit", slug="robots")
    asked = [
        ("POST", "/teams", {"name": "New"}),
        ("PATCH", f"/teams/{owls}", {"country": "AT"}),
        ("POST", f"/teams/{owls}/invitations", {}),
        ("POST", f"/teams/{owls}/members/{site.world.berta}/captain", None),
        ("DELETE", f"/teams/{owls}/members/{site.world.berta}", None),
        ("POST", f"/teams/{owls}/leave", None),
    ]
    answers = {
        (method, path): of_task.ask(method, path, **({"json": body} if body is not None else {})).status_code
        for method, path, body in asked
    }
    assert set(answers.values()) == {403}, answers
    assert of_task.ask("POST", f"/invitations/{site.world.invited}/revoke").status_code == 404
    of_team = program("Anna", "read", "submit", team_id=owls)
    assert of_team.ask("POST", "/teams", json={"name": "New"}).status_code == 403
    assert of_team.ask("PATCH", f"/teams/{site.world.bears}", json={}).status_code == 404
    assert of_team.ask("DELETE", f"/teams/{owls}/members/{carl}").status_code == 404


def test_a_token_for_one_task_organises_no_other(site: Site, program: Programs) -> None:
    """Whatever it is asked for there; and it makes no task and no collection."""
    bound = program("Olga", "read", "organise", "judge", slug="draft")
    assert bound.ask("PUT", "/tasks/new?name=New", data="1\tone\n").status_code == 403
    assert bound.ask("PUT", "/collections/new", data='{"_id": "a", "text": "b"}\n').status_code == 403
    assert bound.ask("POST", "/tasks/robots/clone", json={"slug": "x", "name": "X"}).status_code == 403
    assert bound.ask("POST", "/tasks/draft/clone", json={"slug": "x", "name": "X"}).status_code == 403
    for path in ("/tasks/robots/settings", "/tasks/robots/people", "/tasks/robots/entries"):
        assert bound.ask("GET", path).status_code == 403, path
    assert bound.ask("POST", "/tasks/robots/pools/1/settle", json={"note": "x"}).status_code == 403
    assert bound.ask("GET", "/tasks/draft/settings").status_code == 200


def test_an_upload_is_fixed_by_its_team(site: Site, program: Programs) -> None:
    """By fixes that its check offered; by a token of another task it is not."""
    berta = program("Berta")
    sent = berta.ask("PUT", f"/tasks/robots/runs/late?team={site.world.owls}", data="9 Q0 d1 1 1.0 t\n").json
    address = f"/uploads/{sent['upload']}/fix"
    assert (
        program("Berta", "submit", slug="other").ask("POST", address, json={"fixes": []}).status_code == 403
    )
    assert program("Carl").ask("POST", address, json={"fixes": ["topics"]}).status_code == 404
    assert berta.ask("POST", address, json={"fixes": ["nothing"]}).status_code == 422
