"""An organiser's settings page: sections, preview, measures, topics, address, people, and the draft's end."""

import io
import re
from typing import Any

import pytest
from flask.testing import FlaskClient
from sqlalchemy import select

from leaderboard.core.policy import OPERATOR
from leaderboard.db.tables import Job, Task, TaskChange, TaskRole, Topic
from leaderboard.tasks.ops import roles, settings
from leaderboard.tasks.ops.settings import sections_of
from tests.make import pages
from tests.web.conftest import Site

HERE = "/tasks/robots/settings"
IDS = ("5", "5", "4", "a b", "")


def _task(site: Site, slug: str = "robots") -> Task:
    with site.database.read() as session:
        return session.scalars(select(Task).where(Task.slug == slug)).one()


def _save(client: FlaskClient, section: str, **changed: Any) -> Any:
    fields = pages.form(client.get(HERE), f"{HERE}/{section}")
    return client.post(f"{HERE}/{section}", data={**fields, **changed})


def test_every_section_is_saved_untouched_without_a_change(site: Site) -> None:
    """What a browser sends back as it came is no change, in no section."""
    client = site.browser("Olga")
    for section in sections_of("rankings"):
        saved = _save(client, section.key)
        assert saved.status_code == 303, section.key
        assert f"saved={section.key}" in saved.headers["Location"]
        shown = pages.parsed(client.get(saved.headers["Location"]))
        assert [tag["id"] for tag in shown.find_all("details", open=True)] == [f"section-{section.key}"]
    with site.database.read() as session:
        assert session.scalars(select(TaskChange)).all() == []


def test_a_section_is_changed_and_participants_read_what(site: Site) -> None:
    """Values and reason are on the About page; a code is not, and a reader of the page never sees it."""
    client = site.browser("Olga")
    saved = _save(
        client,
        "description",
        name="Robots 2",
        links="Call https://example.org/call\r\nhttps://example.org/paper",
        contact="ask@example.org",
        reason="A better name.",
    )
    assert saved.status_code == 303
    assert _save(client, "teams", entry_rule="code", entry_code="opensesame").status_code == 303
    about = site.browser().get("/tasks/robots/about")
    rows = pages.table(about, "Settings changed since")
    assert ["name", "Robots", "Robots 2", "A better name."] in [row[1:] for row in rows]
    assert ["entry code", "–", "set", "–"] in [row[1:] for row in rows]
    assert "opensesame" not in about.text
    assert pages.parsed(about).find("a", href="https://example.org/call", string="Call") is not None
    assert "opensesame" in client.get(HERE).text


def test_a_refused_section_is_shown_again_as_it_was_sent(site: Site) -> None:
    """All that is wrong with it is said at once, nothing is stored, the section is open."""
    client = site.browser("Olga")
    refused = _save(client, "grades", depth="0", level="high", grade_names="nothing")
    assert refused.status_code == 422
    listed = pages.parsed(refused).select("[role=alert] a")
    assert [link["href"] for link in listed] == ["#fault-depth", "#fault-level", "#fault-grade_names"]
    assert all(pages.parsed(refused).select_one(str(link["href"])) for link in listed)
    assert pages.form(refused, f"{HERE}/grades")["level"] == "high"
    assert (_task(site).depth, _task(site).level) == (1000, 1)


def test_two_organisers_at_once_lose_nothing(site: Site) -> None:
    """A value changed meanwhile is replaced only once it was seen; what only the other changed stays."""
    olga, otto = site.browser("Olga"), site.browser("Otto")
    with site.database.write() as session:
        roles.give(session, OPERATOR, "robots", "Otto", "organiser")
    fields = pages.form(olga.get(HERE), f"{HERE}/description")
    for changed in ({"contact": "otto@example.org"}, {"licence": "CC0"}):
        assert _save(otto, "description", **changed).status_code == 303
    mine = {**fields, "description": "Mine\r\n*now*", "contact": "olga@example.org"}
    refused = olga.post(f"{HERE}/description", data=mine)
    assert refused.status_code == 409
    said = pages.main(refused)
    assert re.search(r"Otto changed the contact at 20\d\d-\d\d-\d\d \d\d:\d\d UTC, after you", said)
    assert "licence at" not in said
    assert "Stored value: otto@example.org" in said
    assert [one["name"] for one in pages.parsed(refused).select("[aria-invalid]")] == ["contact"]
    assert "Save name and description anyway" in said
    assert (_task(site).contact, _task(site).description) == ("otto@example.org", "*About* it.")
    again = pages.form(refused, f"{HERE}/description")
    assert (again["contact"], again["licence"]) == ("olga@example.org", "CC0")
    assert olga.post(f"{HERE}/description", data=again).status_code == 303
    task = _task(site)
    assert (task.contact, task.licence) == ("olga@example.org", "CC0")
    assert task.description == "Mine\n*now*"
    with site.database.write() as session:
        settings.change_settings(session, OPERATOR, "robots", {"contact": "shell"})
    assert (
        "The operator of this site changed the contact"
        in olga.post(f"{HERE}/description", data={**again, "contact": "third"}).text
    )


def test_a_description_is_previewed_before_it_is_saved(site: Site) -> None:
    """Its button renders the Markdown and changes nothing."""
    client = site.browser("Olga")
    shown = _save(client, "description", description="**Bold** <b>no</b>", preview="description")
    assert shown.status_code == 200
    assert "<strong>Bold</strong> &lt;b&gt;no&lt;/b&gt;" in shown.text
    assert _task(site).description == "*About* it."


def test_measures_are_ticked_from_a_search(site: Site) -> None:
    """Ticks stay from one search to the next; used, they make a new edition; others are not offered."""
    client = site.browser("Olga")
    found = client.get(f"{HERE}/measures?q=reciprocal&measures=AP&measures=P@5")
    boxes = pages.parsed(found).find_all("input", type="checkbox")
    assert [box["value"] for box in boxes if box.has_attr("checked")] == ["AP", "P@5"]
    assert "RR" in [box["value"] for box in boxes]
    assert not any(box["value"].startswith("alpha") for box in boxes)
    sent = client.post(f"{HERE}/measures", data={"measures": ["AP", "RR"], "primary_measure": "RR"})
    assert sent.status_code == 303
    task = _task(site)
    assert (task.measures, task.primary_measure) == (["AP", "RR"], "RR")
    with site.database.read() as session:
        assert session.scalars(select(Job.state).order_by(Job.id.desc())).first() == "queued"
    refused = client.post(f"{HERE}/measures", data={"measures": "alpha_nDCG@5"})
    assert refused.status_code == 422
    assert "add subtopic judgments first" in pages.main(refused)


def test_old_addresses_lead_to_the_new_slug(site: Site) -> None:
    """Every page under the old slug moves for good, with its parameters; the old slug is nobody else's."""
    client = site.browser("Olga")
    moved = _save(client, "address", slug="androids")
    assert moved.headers["Location"].startswith("/tasks/androids/settings")
    for path in ("", ".json", "/topics/1", "/about"):
        answer = site.browser().get(f"/tasks/robots{path}?measure=AP")
        assert answer.status_code == 301, path
        assert answer.headers["Location"] == f"/tasks/androids{path}?measure=AP"
    assert site.browser("Otto").post("/tasks/robots/settings/address").status_code == 404
    other = site.browser("Otto").post("/tasks/other/settings/address", data={"slug": "robots"})
    assert other.status_code == 409
    assert "renamed" in pages.main(other)
    back = client.post("/tasks/androids/settings/address", data={"slug": "robots"})
    assert back.status_code == 303
    assert site.browser().get("/tasks/androids").headers["Location"] == "/tasks/robots"


def test_topics_are_corrected_added_and_replaced_before_the_first_run(site: Site) -> None:
    """A correction is seen by all; a judged topic is not slipped in; a file is taken only without runs."""
    client = site.browser("Olga")
    assert pages.parsed(client.get("/tasks/robots/topics/1")).find("a", href=f"{HERE}/topics/1") is not None
    fields = pages.form(client.get(f"{HERE}/topics/1"), f"{HERE}/topics/1")
    client.post(f"{HERE}/topics/1", data={**fields, "title": "better title"})
    assert "better title" in pages.main(site.browser().get("/tasks/robots/topics/1"))
    added = [
        client.post(f"{HERE}/topics/new", data={"topic": name, "title": ""})
        for name in ("5", "5", "4", "a b", "")
    ]
    assert [answer.status_code for answer in added] == [303, 409, 409, 422, 422]
    for slug, expected in (("robots", 409), ("draft", 303)):
        file = {"topics": (io.BytesIO(b"8\teight\n9\tnine\n"), "topics.tsv")}
        assert client.post(f"/tasks/{slug}/settings/topics", data=file).status_code == expected
    with site.database.read() as session:
        ids = session.scalars(select(Topic.topic_id).join(Task).where(Task.slug == "draft")).all()
    assert ids == ["8", "9"]


def test_a_reader_sees_all_and_changes_nothing(site: Site) -> None:
    """Settings are locked, the organise page opens, every form is refused; the code is not shown."""
    organiser, reader = site.browser("Olga"), site.browser("Nina")
    _save(organiser, "teams", entry_rule="code", entry_code="opensesame")
    given = organiser.post("/tasks/robots/people", data={"account": "nina", "role": "reader"})
    assert given.status_code == 303
    page = reader.get(HERE)
    assert page.status_code == 200
    assert "opensesame" not in page.text
    assert all(form.fieldset.has_attr("disabled") for form in pages.parsed(page).select("main form"))
    for path in ("/organise", "/people", "/pools", "/clicks"):
        assert reader.get(f"/tasks/robots{path}").status_code == 200, path
    for path in ("/settings/description", "/archive", "/organise/dates", "/pools", "/people"):
        assert reader.post(f"/tasks/robots{path}").status_code == 403, path


def test_a_coordinator_looks_after_assessors_only(site: Site) -> None:
    """Pools open and change; settings, organise page and judgments do not."""
    organiser, coordinator = site.browser("Olga"), site.browser("Nina")
    organiser.post("/tasks/robots/people", data={"account": "Nina", "role": "coordinator"})
    for path, status in (
        ("/pools", 200),
        ("/pools/1/assessors", 200),
        ("/settings", 403),
        ("/organise", 403),
    ):
        assert coordinator.get(f"/tasks/robots{path}").status_code == status, path
    assert coordinator.post("/tasks/robots/pools").status_code == 303
    assert coordinator.post("/tasks/robots/pools/1/guidelines", data={"text": "Read."}).status_code == 303
    assert coordinator.post("/tasks/robots/revisions").status_code == 403
    assert "You coordinate this task’s assessors" in pages.main(coordinator.get("/tasks/robots/about"))


def test_a_role_is_given_by_a_link(site: Site) -> None:
    """Whoever opens the link has the role; the link is listed with who used it, to organisers only."""
    organiser = site.browser("Olga")
    made = organiser.post("/tasks/robots/people/invitations", data={"role": "reader", "note": "Look."})
    assert made.status_code == 201
    shown = pages.parsed(made).find("input", id="invitation")
    assert shown is not None
    link = str(shown["value"])[len("http://localhost") :]
    reader = site.browser("Nina")
    assert reader.get(HERE).status_code == 403
    assert reader.post(link).status_code == 303
    assert reader.get(HERE).status_code == 200
    assert "Nina" in str(pages.table(organiser.get("/tasks/robots/people"), "Invitations"))
    assert "Invitations" not in reader.get("/tasks/robots/people").text
    assert organiser.post("/tasks/robots/people/invitations", data={"role": "king"}).status_code == 422
    refused = organiser.post("/tasks/robots/people", data={"account": "Nobody", "role": "reader"})
    shown = {each["id"]: each.get("value") for each in pages.parsed(refused).select("input[id]")}
    assert (shown["give-account"], shown["invite-uses"], shown["invite-days"]) == ("Nobody", "1", "7")


def test_the_last_organiser_stays(site: Site) -> None:
    """Roles are changed and taken away, but a task keeps an organiser."""
    client, own = site.browser("Olga"), f"/tasks/robots/people/{site.world.olga}/remove"
    less = {"account": "Olga", "role": "reader"}
    assert client.post("/tasks/robots/people", data=less).status_code == 409
    assert client.post(own).status_code == 409
    client.post("/tasks/robots/people", data={"account": "Otto", "role": "organiser"})
    assert client.post(own).headers["Location"] == "/"
    with site.database.read() as session:
        roles = session.scalars(select(TaskRole.account_id).join(Task).where(Task.slug == "robots")).all()
    assert roles == [site.world.otto]


def test_a_task_is_cloned_archived_and_brought_back(site: Site) -> None:
    """The clone is a draft with topics and judgments; an archived task takes no runs and is listed apart."""
    client = site.browser("Olga")
    fields = pages.form(client.get(HERE), "/tasks/robots/clone")
    made = client.post("/tasks/robots/clone", data={**fields, "slug": "robots-2027"})
    assert made.headers["Location"] == "/tasks/robots-2027/organise"
    assert "5 in revision 1" in pages.main(client.get(made.headers["Location"]))
    assert client.post("/tasks/robots/clone", data={**fields, "slug": "robots"}).status_code == 409
    assert client.post("/tasks/robots/archive").status_code == 303
    assert "is archived and accepts no runs" in site.browser("Berta").get("/tasks/robots/submit").text
    front = pages.parsed(site.browser().get("/"))
    listed, archived = front.select(".cards")
    assert [head.get_text(strip=True) for head in listed.select("h3")] == ["Other"]
    assert [head.get_text(strip=True) for head in archived.select("h3")] == ["Robots"]
    assert client.post("/tasks/robots/unarchive").status_code == 303
    assert len(pages.parsed(site.browser().get("/")).select("main > section > .cards > li")) == 2


@pytest.mark.parametrize(("name", "slug", "status"), [("Olga", "robots", 409), ("Otto", "other", 303)])
def test_only_a_task_without_runs_is_a_draft_again(site: Site, name: str, slug: str, status: int) -> None:
    """Once unpublished, nobody else knows of it."""
    assert site.browser(name).post(f"/tasks/{slug}/unpublish").status_code == status
    assert site.browser().get(f"/tasks/{slug}").status_code == (200 if status == 409 else 404)
