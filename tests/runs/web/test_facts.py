"""Saying more about a run: with the upload, and later on a page of its own."""

import io
from typing import Any

import pytest
from flask.testing import FlaskClient
from sqlalchemy import select

from leaderboard.db.tables import Run
from leaderboard.scoring.ops import run_facts
from leaderboard.settings import Settings
from tests.make import build, pages
from tests.make.apps import application
from tests.make.worlds import RUN
from tests.web.conftest import Site, browser, enter

SUBMIT = "/tasks/robots/submit"
OTHER_RUN = RUN.replace("d2 2 2.0", "d5 2 2.0")
JSON = {"Accept": "application/json"}


def _fields(client: FlaskClient, name: str = "mine", **facts: str) -> dict[str, Any]:
    file = (io.BytesIO(OTHER_RUN.encode()), f"{name}.run")
    return {**pages.form(client.get(SUBMIT), SUBMIT), "file": file, **facts}


def _form(site: Site, name: str) -> dict[str, Any]:
    with site.database.read() as session:
        run = session.scalars(select(Run).where(Run.name == name)).one()
        return dict(run_facts.form_of(run.details))


def test_facts_come_with_the_upload(site: Site) -> None:
    """What the form says is kept with the run, in one unit a field; empty fields say nothing."""
    client = site.browser("Berta")
    sent = client.post(
        SUBMIT, data=_fields(client, type="manual", index_bytes="1.2 GB", paper="https://example.org/p")
    )
    assert sent.status_code == 303
    assert _form(site, "tag") == {"type": "manual", "index_bytes": 1.2e9, "paper": "https://example.org/p"}


def test_facts_of_a_large_file_wait_with_it(site: Site) -> None:
    """A file that is checked later becomes a run with the facts that came with it."""
    small = {name: getattr(site.settings, name) for name in site.settings.__dataclass_fields__}
    settings = Settings(**{**small, "inline_bytes": 10})
    client = browser(application(settings, site.database))
    enter(site.database, client, "Berta")
    client.post(SUBMIT, data=_fields(client, latency_ms="0.3 s", llm="none"))
    build.drain(site.database, settings)
    assert _form(site, "tag") == {"latency_ms": 300.0, "llm": "none"}


def test_a_bad_fact_comes_back_with_what_was_typed(site: Site) -> None:
    """The form says field, value, rule and remedy, is open, and keeps every field; no run is made."""
    client = site.browser("Berta")
    response = client.post(
        SUBMIT, data=_fields(client, latency_ms="fast", code="javascript:alert(1)", llm="a <b>")
    )
    assert response.status_code == 422
    page = pages.parsed(response)
    listed = page.select("[role=alert] a")
    assert [link["href"] for link in listed] == ["#fault-code", "#fault-latency"]
    assert all(page.select_one(f"{link['href']} + [aria-invalid=true]") for link in listed)
    typed = pages.form(response, SUBMIT)
    assert (typed["code"], typed["latency_ms"]) == ("javascript:alert(1)", "fast")
    assert pages.form(response, SUBMIT)["llm"] == "a <b>"
    more = pages.parsed(response).find("details", id="more")
    assert more is not None
    assert more.has_attr("open")
    as_program = client.post(SUBMIT, data=_fields(client, latency_ms="fast"), headers=JSON)
    assert (as_program.status_code, as_program.get_json()["problems"][0]["field"]) == (422, "Latency")


def test_the_short_way_stays_short(site: Site) -> None:
    """Untouched, what may be said is folded away and nothing of it is sent."""
    client = site.browser("Berta")
    more = pages.parsed(client.get(SUBMIT)).find("details", id="more")
    assert more is not None
    assert not more.has_attr("open")
    client.post(SUBMIT, data=_fields(client))
    assert _form(site, "tag") == {}


def test_a_form_can_be_filled_in_as_for_the_last_run(site: Site) -> None:
    """A link takes over the method of the team's last run, not its costs; only of one's own teams."""
    client = site.browser("Berta")
    client.post(SUBMIT, data=_fields(client, first_stage="BM25", latency_ms="3 ms", priority="1"))
    link = pages.parsed(client.get(SUBMIT)).select_one("#more p a")
    assert link is not None
    assert link.get_text() == "tag"
    again = pages.form(client.get(str(link["href"])), SUBMIT)
    assert (again["first_stage"], again["latency_ms"], again["priority"]) == ("BM25", "", "")
    other = pages.form(site.browser("Carl").get(str(link["href"])), SUBMIT)
    assert other["first_stage"] == ""


def test_a_member_corrects_what_is_said(site: Site) -> None:
    """The page shows what was said, takes changes, and leads back to the run."""
    address = f"/runs/{site.world.run}/facts"
    client = site.browser("Berta")
    fields = pages.form(client.get(address), address)
    sent = client.post(
        address, data={**fields, "description": "How.", "energy_wh": "2 kWh", "type": "feedback"}
    )
    assert (sent.status_code, sent.headers["Location"]) == (303, f"/runs/{site.world.run}")
    assert _form(site, "first") == {"type": "feedback", "energy_wh": 2000.0}
    again = pages.form(client.get(address), address)
    assert (again["description"], again["energy_wh"], again["type"]) == ("How.", "2 kWh", "feedback")


def test_a_bad_correction_comes_back(site: Site) -> None:
    """A field that cannot be read is said on the form, which keeps what was typed; nothing is stored."""
    address = f"/runs/{site.world.run}/facts"
    client = site.browser("Berta")
    response = client.post(address, data={"energy_wh": "much", "llm": "x"})
    assert response.status_code == 422
    assert pages.form(response, address)["energy_wh"] == "much"
    assert _form(site, "first") == {}


def test_a_program_may_send_some_facts_only(site: Site) -> None:
    """As JSON the answer names what changed, and what was not sent stays."""
    address = f"/runs/{site.world.run}/facts"
    client = site.browser("Berta")
    client.post(address, data={"llm": "none", "latency_ms": "1 s"})
    answer = client.post(address, data={"latency_ms": ""}, headers=JSON)
    assert answer.get_json() == {"run": site.world.run, "changed": ["latency_ms"]}
    assert _form(site, "first") == {"llm": "none"}
    assert client.post(address, data={"latency_ms": "x"}, headers=JSON).status_code == 422


@pytest.mark.parametrize(("name", "status"), [("Carl", 403), ("Otto", 403), ("Olga", 303)])
def test_others_may_not(site: Site, name: str, status: int) -> None:
    """Another team and another task's organiser are refused; the task's organiser may mend it."""
    sent = site.browser(name).post(f"/runs/{site.world.run}/facts", data={"llm": name})
    assert sent.status_code == status
    assert _form(site, "first") == ({"llm": name} if status == 303 else {})
