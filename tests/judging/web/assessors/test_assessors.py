"""An organiser's pages of a pool's assessors."""

import io
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from flask.testing import FlaskClient
from sqlalchemy import select, update

from leaderboard.db.tables import Assessor, Pool, Task
from tests.make import pages
from tests.make.apps import application
from tests.web.conftest import Site

HERE = "/tasks/robots/pools/1"


@pytest.fixture
def olga(site: Site) -> FlaskClient:
    """The organiser's browser; Ada is an assessor of pool 1 already."""
    return site.browser("Olga")


def _links(response: Any) -> dict[str, str]:
    """Name -> address of the links that a page shows."""
    shown = pages.parsed(response).select_one("pre.copy")
    assert shown is not None
    return dict(line.split("\t") for line in shown.get_text().splitlines() if line)


def test_links_are_shown_once_and_work(site: Site, olga: FlaskClient) -> None:
    """Two people are added; each link leads to a page of theirs, and no page shows it again."""
    made = olga.post(f"{HERE}/assessors", data={"names": "Grace\n\n Edsger ", "role": "assessor"})
    assert made.status_code == 201
    links = _links(made)
    assert list(links) == ["Grace", "Edsger"]
    visitor = site.browser()
    assert "Grace" in pages.main(visitor.get(links["Grace"]))
    for rest in ("assessors", "assessors.json", "assessors.csv", "assessors.tex"):
        text = olga.get(f"{HERE}/{rest}").text
        assert "Grace" in text
        assert not any(link.rsplit("/", 1)[1] in text for link in links.values())


def test_a_new_link_revokes_the_old_one_and_a_link_can_be_revoked(site: Site, olga: FlaskClient) -> None:
    """Whoever has the old link sees nothing any more."""
    visitor, old = site.browser(), f"/judge/{site.world.judge}"
    assert visitor.get(old).status_code == 200
    renewed = olga.post(f"{HERE}/assessors/{site.world.assessor}/link")
    assert visitor.get(old).status_code == 404
    new = _links(renewed)["Ada"]
    assert visitor.get(new).status_code == 200
    assert olga.post(f"{HERE}/assessors/{site.world.assessor}/revoke").status_code == 303
    assert visitor.get(new).status_code == 404


def test_a_link_ends_by_itself_and_can_be_prolonged(site: Site, olga: FlaskClient) -> None:
    """The page says until when a link works; ended, it opens and stores nothing until it is prolonged."""
    address = f"/judge/{site.world.judge}"
    sent = {"key": "k", "docno": "d1", "grade": 1}
    label = f"/api/v1{address}/pools/1/topics/1"
    ends = datetime.now(UTC) + timedelta(days=site.settings.assessor_link_days)
    rows = olga.get(f"{HERE}/assessors.json").get_json()["assessors"]
    assert rows[0]["link_ends"] in {f"{ends:%Y-%m-%d}", f"{ends - timedelta(days=1):%Y-%m-%d}"}
    with site.database.write() as session:
        session.execute(update(Assessor).values(expires_at=datetime.now(UTC) - timedelta(seconds=1)))
    visitor = site.browser()
    assert "expired" in pages.main(olga.get(f"{HERE}/assessors"))
    for path in ("", "/1", "/1/1", "/side-by-side"):
        assert visitor.get(address + path).status_code == 404
    assert visitor.post(label, json=sent).status_code == 404
    form = f"{HERE}/assessors/{site.world.assessor}/prolong"
    assert pages.form(olga.get(f"{HERE}/assessors"), form) == {}
    assert olga.post(form).status_code == 303
    assert visitor.get(address).status_code == 200
    assert visitor.post(label, json=sent).status_code == 201
    olga.post(f"{HERE}/assessors/{site.world.assessor}/revoke")
    assert olga.post(form).status_code == 409


def test_links_without_an_end_can_be_chosen(site: Site) -> None:
    """With the setting at 0 a link works until it is revoked."""
    app = application(replace(site.settings, assessor_link_days=0), site.database)
    client = replace(site, app=app).browser("Olga")
    client.post(f"{HERE}/assessors", data={"names": "Grace"})
    rows = client.get(f"{HERE}/assessors.json").get_json()["assessors"]
    assert [row["link_ends"] for row in rows if row["assessor"] == "Grace"] == [None]


def test_documents_are_assigned(site: Site, olga: FlaskClient) -> None:
    """By the form as it comes, with everybody chosen."""
    olga.post(f"{HERE}/assessors", data={"names": "Grace"})
    with site.database.read() as session:
        ids = session.scalars(select(Assessor.id).order_by(Assessor.id)).all()
    sent = pages.form(olga.get(f"{HERE}/assessors"), f"{HERE}/assignments")
    response = olga.post(
        f"{HERE}/assignments", data={**sent, "assessors": ids, "way": "share", "overlap": "100"}
    )
    assert response.status_code == 303
    rows = pages.table(olga.get(f"{HERE}/assessors"), "Topics of pool 1")
    assert [row[2] for row in rows] == ["Ada, Grace"] * len(rows)
    facts = olga.get(f"{HERE}/assessors.json").get_json()
    assert {each["documents"] for each in facts["assessors"]} == {facts["documents"]}


@pytest.mark.parametrize(
    ("address", "data"),
    [
        ("assessors", {"names": "Ada"}),
        ("assignments", {"way": "topic"}),
        ("assignments", {"assessor": "1", "overlap": "x"}),
        ("assignments", {"assessor": "9" * 30}),
        ("labels", {"name": "x"}),
        ("guidelines", {"names": "one relevant"}),
        ("guidelines", {"names": "1 relevant"}),
        ("guidelines", {"grade": "0"}),
        ("guidelines", {"grade": "0", "docno": "nowhere"}),
        ("guidelines", {"grade": "7", "text_of": "words"}),
    ],
)
def test_what_is_wrong_is_said_on_the_page(olga: FlaskClient, address: str, data: dict[str, str]) -> None:
    """The form comes again with a sentence; a program gets JSON."""
    response = olga.post(f"{HERE}/{address}", data=data)
    assert response.status_code in (409, 422)
    assert pages.parsed(response).select_one("[role=alert]") is not None
    answer = olga.post(f"{HERE}/{address}", data=data, headers={"Accept": "application/json"})
    assert answer.get_json()["error"]


def test_labels_of_a_machine_are_marked(olga: FlaskClient) -> None:
    """They come by file, and nobody can mistake them for a person's."""
    data = {
        "labels": (io.BytesIO(b"1 0 d1 1\n1 0 nowhere 0\n"), "labels.txt"),
        **{"name": "Model", "origin": "machine", "origin_name": "model 3"},
    }
    response = olga.post(f"{HERE}/labels", data=data)
    assert response.status_code == 201
    assert "1 label by Model was added; 1 outside the pool left out." in pages.main(response)
    rows = pages.table(olga.get(f"{HERE}/assessors"), "Assessors")
    assert rows[-1][:2] == ["Model", "machine : model 3"]
    assert {row[4] for row in pages.table(olga.get(f"{HERE}/assessors"), "Topics of pool 1")} == {"0"}


def test_guidelines_examples_and_grades(site: Site, olga: FlaskClient) -> None:
    """What the organiser writes is what the assessor reads."""
    for part, data in (
        ("guidelines", {"text": "Be *kind*."}),
        ("grades", {"grades": "0 no\n1 partly\n2 fully"}),
        ("examples", {"topic": "cats", "text": "A cat.", "grade": "2", "why": "It is one."}),
        ("examples", {"topic": "dogs", "text": "A dog.", "grade": "0", "why": "None."}),
        ("examples/2/remove", {}),
    ):
        assert olga.post(f"{HERE}/{part}", data=data).status_code == 303
    text = pages.main(site.browser().get(f"/judge/{site.world.judge}/1"))
    assert "Be kind" in text
    assert "Grade 2, fully: It is one." in text
    assert "dog" not in text
    with site.database.read() as session:
        (names,) = session.scalars(select(Task.grade_names).where(Task.slug == "robots"))
        assert names == {"0": "no", "1": "partly", "2": "fully"}
        assert session.scalars(select(Pool.guidelines)).one() == "Be *kind*."


def test_another_tasks_assessor_is_not_here(site: Site) -> None:
    """Nor another task's pool."""
    otto = site.browser("Otto")
    assert otto.post(f"/tasks/other/pools/1/assessors/{site.world.assessor}/link").status_code == 404
    assert otto.get(f"{HERE}/assessors").status_code == 403
