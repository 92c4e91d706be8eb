"""The judging room as a page: what it says, how it renews itself, its files, who may look."""

import csv
import io
from datetime import timedelta

import pytest
from flask.testing import FlaskClient
from sqlalchemy import select, update

from leaderboard.db.engine import now
from leaderboard.db.tables import Assessor, Phase, Pool, Task, Token
from leaderboard.logs import masked
from leaderboard.pages.room import scene
from tests.make import build, judged, pools
from tests.make.pages import main, parsed, table
from tests.web.conftest import Site
from tests.web.test_crawl import faults, tree

POOL = "/tasks/robots/pools/2"
ROOM = f"{POOL}/room"


@pytest.fixture
def olga(site: Site) -> FlaskClient:
    """The organiser of a pool that Anne and Bert judge: three documents of five, two of them twice."""
    scene.room_pool.kept.clear()
    build.run(
        site.database, site.settings.data, {"1": ["d5", "d2"]}, "other", slug="robots", team_name="Bears"
    )
    pools.pool(site.database, {"1": ["d1", "d2", "d5"], "2": ["d3", "d6"]}, "robots")
    pools.judges(site.database, "Anne", "Bert", slug="robots", number=2, order="docno")
    return site.browser("Olga")


def _judge(site: Site) -> None:
    """Anne judges three documents of topic 1 and Bert two; they agree on one."""
    for name, grades in (("Anne", {"d1": 1, "d2": 0, "d5": 1}), ("Bert", {"d1": 1, "d2": 1})):
        with site.database.read() as session:
            assessor_id = session.scalars(select(Assessor.id).where(Assessor.name == name)).one()
        judged.judge(site.database, assessor_id, "1", grades)


def test_before_the_first_judgment_it_says_so(olga: FlaskClient) -> None:
    """No figure is made up; the tabs of the pool and the page of agreement lead here."""
    page = olga.get(ROOM)
    assert list(faults(tree(page.text))) == []
    assert "Nothing has been judged yet" in main(page)
    assert "0 judgments" in main(page)
    for other in (POOL, f"{POOL}/agreement"):
        assert parsed(olga.get(other)).find("a", href=ROOM)


def test_judgments_agreement_and_the_order(site: Site, olga: FlaskClient) -> None:
    """Figures, the sentence on the next judgments, runs, assessors."""
    _judge(site)
    page = olga.get(ROOM)
    assert list(faults(tree(page.text))) == []
    text = main(page)
    assert "5 judgments" in text
    assert "60% of 5 documents" in text
    assert "2 documents judged by several, 50% of their grades equal" in text
    assert "The 5 judgments left may still change" in text
    runs = table(page, "Mean ")
    assert sorted(row[2] for row in runs) == ["first", "other"]
    assert [row[0] for row in table(page, "Bars:")] == ["Anne", "Bert"]
    assert "1 of 2 topics judged to the end" in text


def test_it_renews_itself_while_the_pool_is_open(site: Site, olga: FlaskClient) -> None:
    """With a link for who has no scripts; once the pool is closed there is nothing to wait for."""
    live = parsed(olga.get(f"{ROOM}?organisers")).find(id="live")
    assert live is not None
    assert (live["hx-get"], live["hx-select"]) == (f"{ROOM}?organisers=", "#live")
    assert parsed(olga.get(ROOM)).find("a", string="look again")["href"] == ROOM  # type: ignore[index]
    before = parsed(olga.get(ROOM)).find(id="live")
    _judge(site)
    after = parsed(olga.get(ROOM)).find(id="live")
    assert before is not None
    assert after is not None
    assert "0 judgments" in " ".join(before.get_text().split())
    assert "5 judgments" in " ".join(after.get_text().split())
    with site.database.write() as session:
        session.execute(update(Pool).values(state="closed"))
    closed = olga.get(ROOM)
    assert not parsed(closed).select("[hx-get]")
    assert "Judging is over" in main(closed)


def test_every_table_is_there_as_a_file(site: Site, olga: FlaskClient) -> None:
    """JSON of everything; runs, assessors, topics and agreement as CSV and LaTeX."""
    _judge(site)
    facts = olga.get(f"{ROOM}.json").get_json()
    assert (facts["judgments"], facts["judged"], facts["judged_by_several"]) == (5, 3, 2)
    for name, rows in (("runs", 2), ("assessors", 2), ("topics", 2)):
        answer = olga.get(f"{ROOM}.csv?table={name}")
        assert len(list(csv.DictReader(io.StringIO(answer.text)))) == rows, name
        assert "\\toprule" in olga.get(f"{ROOM}.tex?table={name}").text
    assert olga.get(f"{ROOM}.csv?table=agreement").text.startswith("judgments,alpha")
    assert olga.get(f"{ROOM}.csv?table=nonsense").status_code == 404
    assert olga.get("/tasks/robots/pools/9/room").status_code == 404


def test_a_link_shows_the_room_on_a_screen(site: Site, olga: FlaskClient) -> None:
    """To whoever opens it, live and without any way on; a new one takes its place, and it is ended."""
    _judge(site)
    made = olga.post(f"{ROOM}/link")
    assert made.status_code == 201
    address = parsed(made).select_one("pre.copy")
    assert address is not None
    link = address.get_text().removeprefix("http://localhost")
    visitor = site.browser()
    page = visitor.get(link)
    assert list(faults(tree(page.text))) == []
    assert "5 judgments" in main(page)
    assert page.headers["Cache-Control"] == "no-store"
    assert page.headers["Referrer-Policy"] == "no-referrer"
    assert masked(f"GET {link}") == "GET /screen/<token>"
    live = parsed(page).find(id="live")
    assert live is not None
    assert live["hx-get"] == link
    assert {found["href"] for found in parsed(page).select("main a")} == {link}
    assert table(visitor.get(f"{link}?organisers"), "Mean ")
    assert "works until" in main(olga.get(ROOM))
    second = parsed(olga.post(f"{ROOM}/link")).select_one("pre.copy")
    assert visitor.get(link).status_code == 404
    assert second is not None
    link = second.get_text().removeprefix("http://localhost")
    assert visitor.get(link).status_code == 200
    with site.database.write() as session:
        session.execute(update(Phase).values(visibility="sealed"))
    sealed = visitor.get(f"{link}?organisers")
    assert "Mean " not in main(sealed)
    assert "not for a screen" not in main(sealed)
    with site.database.write() as session:
        session.execute(update(Task).where(Task.slug == "robots").values(published_at=None))
    assert visitor.get(link).status_code == 404
    with site.database.write() as session:
        session.execute(update(Task).where(Task.slug == "robots").values(published_at=now(session)))
    assert visitor.get(link).status_code == 200
    assert olga.post(f"{ROOM}/end").status_code == 303
    assert visitor.get(link).status_code == 404
    assert "works until" not in main(olga.get(ROOM))


def test_a_link_ends_by_itself_and_with_its_pool(site: Site, olga: FlaskClient) -> None:
    """After three days; and another pool of the same number and id is not what it was made for."""
    address = parsed(olga.post(f"{ROOM}/link")).select_one("pre.copy")
    assert address is not None
    link = address.get_text().removeprefix("http://localhost")
    visitor = site.browser()
    with site.database.write() as session:
        made = session.scalars(select(Pool).where(Pool.number == 2)).one()
        made.created_at = made.created_at + timedelta(seconds=1)
    assert visitor.get(link).status_code == 404
    with site.database.write() as session:
        made = session.scalars(select(Pool).where(Pool.number == 2)).one()
        made.created_at = made.created_at - timedelta(seconds=1)
    assert visitor.get(link).status_code == 200
    with site.database.write() as session:
        session.execute(update(Token).where(Token.kind == "screen").values(expires_at=now(session)))
    assert visitor.get(link).status_code == 404


def test_what_is_held_back_is_for_organisers_alone(site: Site, olga: FlaskClient) -> None:
    """The screen of a sealed task has no order; what organisers see says that it is not for a screen."""
    _judge(site)
    with site.database.write() as session:
        session.execute(update(Phase).values(visibility="sealed"))
    page = olga.get(ROOM)
    assert [found.caption.get_text()[:5] for found in parsed(page).find_all("table")] == ["Bars:"]
    assert "other" not in main(page).split()
    assert parsed(page).find("a", href=f"{ROOM}?organisers=")
    own = olga.get(f"{ROOM}?organisers")
    assert "not for a screen" in main(own)
    assert table(own, "Mean ")
    assert site.browser("Otto").get(f"{ROOM}?organisers").status_code == 403
