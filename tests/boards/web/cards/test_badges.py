"""Badges: what they say, that they fit what they say, and what may be pasted so that a page shows one."""

from pathlib import Path
from xml.etree import ElementTree

import pytest
from flask.testing import FlaskClient
from sqlalchemy import update

from leaderboard.boards.web.cards import badges, heads
from leaderboard.db.engine import Database
from leaderboard.db.tables import Run, Task
from leaderboard.scoring.ops.statistics import requests
from leaderboard.scoring.ops.statistics.requests import KeptResults
from tests.make import blind, build
from tests.make.pages import parsed
from tests.scoring.ops.statistics.test_standings import RANKS, fill, rankings
from tests.web.conftest import SignIn

SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(autouse=True)
def _nothing_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """No result of another test is found."""
    monkeypatch.setattr(requests, "kept", KeptResults(2**20))


def _drawn(client: FlaskClient, address: str) -> tuple[str | None, list[str | None]]:
    """A badge's title and the texts of its boxes."""
    answer = client.get(address)
    assert (answer.status_code, answer.content_type) == (200, "image/svg+xml; charset=utf-8")
    drawing = ElementTree.fromstring(answer.data)
    return drawing.findtext(f"{SVG}title"), [text.text for text in drawing.iter(f"{SVG}text")]


def test_a_run_says_where_it_stands_and_what_it_got(
    database: Database, client: FlaskClient, tmp_path: Path
) -> None:
    """The rank range and the score that its page says, with the run's name in the title."""
    ids = fill(database, tmp_path)
    title, texts = _drawn(client, f"/runs/{ids['strong']}/badge.svg")
    assert texts == ["Task t", "rank 1–2 of 4", "RR 0.9500"]
    assert title == "strong on Task t: rank 1–2 of 4, RR 0.9500"
    assert _drawn(client, f"/runs/{ids['weak']}/badge.svg")[1][1] == "rank 4 of 4"


def test_a_task_says_who_leads_and_how_sure_that_is(
    database: Database, client: FlaskClient, tmp_path: Path
) -> None:
    """Runs, teams, all who share the lead, and how many may be the best."""
    fill(database, tmp_path)
    leads = ["strong leads, RR 0.9500", "2 may be the best"]
    assert _drawn(client, "/tasks/t/badge.svg")[1] == ["Task t", "4 runs, 1 team", *leads]
    build.run(database, tmp_path, rankings(RANKS["strong"]), "twin", team_name="Others")
    build.drain(database)
    assert _drawn(client, "/tasks/t/badge.svg")[1][1:3] == [
        "5 runs, 2 teams",
        "strong and 1 more lead, RR 0.9500",
    ]


def test_a_badge_shows_what_a_visitor_may_see_whoever_asks(
    database: Database, client: FlaskClient, tmp_path: Path, sign_in: SignIn
) -> None:
    """The organiser of a blind task gets the badge that is on everybody's page; a sealed run has none."""
    ids = blind.task(database, tmp_path)
    addresses = ["/tasks/t/badge.svg", *(f"/runs/{run_id}/badge.svg" for run_id in ids.values())]
    public = [_drawn(client, address) for address in addresses]
    assert public[1][1][-1] == "RR 1.000", "of the public topics, at three decimals"
    sign_in(client, "Ann")
    assert [_drawn(client, address) for address in addresses] == public
    blind.settle(database, visibility="sealed")
    assert _drawn(client, "/tasks/t/badge.svg")[1] == ["Task t", "scores held back"]
    assert client.get(f"/runs/{ids['public']}/badge.svg").status_code == 404


def test_no_name_breaks_a_badge(database: Database, client: FlaskClient, tmp_path: Path) -> None:
    """Tags, quotes and what XML cannot hold stay text or are left out; long names end in dots."""
    ids = fill(database, tmp_path)
    with database.write() as session:
        session.execute(update(Task).values(name="</text><script>x</script>\x01" + "n" * 60))
        session.execute(update(Run).where(Run.id == ids["weak"]).values(name='"/><a href="x">'))
    title, texts = _drawn(client, f"/runs/{ids['weak']}/badge.svg")
    assert title is not None
    assert title.startswith('"/><a href="x"> on </text><script>x</script>nnn')
    assert texts[0] == "</text><script>x</script>" + "n" * 13 + "…"


def test_boxes_stand_beside_each_other_around_their_texts() -> None:
    """Each box begins where the one before ends, and its text is in the middle of it."""
    one, two = badges.laid_out(("Wide", "iii"))
    assert (one.x, two.x) == (0, one.width)
    assert two.width < one.width
    assert one.text_x - one.x == one.x + one.width - one.text_x - one.text_width == badges.MARGIN


def test_what_to_paste_is_offered_with_the_badge(
    database: Database, client: FlaskClient, tmp_path: Path
) -> None:
    """On a run's page and the task's About page, in three forms, with whole addresses."""
    ids = fill(database, tmp_path)
    for page, badge in (
        (f"/runs/{ids['weak']}", f"/runs/{ids['weak']}/badge.svg"),
        ("/tasks/t/about", "/tasks/t/badge.svg"),
    ):
        fold = parsed(client.get(page)).find(id="elsewhere")
        assert fold is not None
        assert [image["src"] for image in fold.find_all("img")] == [badge]
        texts = [text.get_text() for text in fold.find_all("pre")]
        assert len(texts) == 3
        assert all(f"http://localhost{badge}" in text for text in texts)


def test_no_name_breaks_out_of_what_is_pasted() -> None:
    """In Markdown, HTML and reStructuredText a name stays the text that it is."""
    forms = {
        each.form: each.text for each in heads.of_badge('](x) "<b>\n:x: y', "https://a/b.svg", "https://a/")
    }
    assert forms["Markdown"] == r'[![\]\(x\) "\<b\> :x: y](https://a/b.svg)](https://a/)'
    assert '<img src="https://a/b.svg" alt="](x) &quot;&lt;b&gt;' in forms["HTML"]
    assert forms["reStructuredText"].splitlines()[-1] == '   :alt: ](x) "<b> :x: y'
