"""Feeds and calendars: well formed, of one name for ever, and no more than their reader may see."""

from datetime import UTC, datetime, timedelta
from xml.etree import ElementTree

from icalendar import Calendar
from sqlalchemy import select, update
from werkzeug.test import TestResponse

from leaderboard.core.policy import OPERATOR
from leaderboard.db.tables import Task, Team
from leaderboard.tasks.ops import announcements, organise
from leaderboard.tasks.ops.announcements import AnnouncementBody
from tests.make import pages, people
from tests.web.conftest import Site

ATOM = "{http://www.w3.org/2005/Atom}"
CLOSES = datetime(2031, 5, 6, 7, 8, tzinfo=UTC)


def _entries(answer: TestResponse) -> list[tuple[str, str]]:
    """Name and title of each entry of a feed that has all that RFC 4287 asks for."""
    assert (answer.status_code, answer.mimetype) == (200, "application/atom+xml")
    feed = ElementTree.fromstring(answer.get_data())
    assert feed.tag == f"{ATOM}feed"
    found, newest = [], feed.findtext(f"{ATOM}updated") or ""
    assert feed.findtext(f"{ATOM}author/{ATOM}name")
    links = {link.get("rel"): link.get("href") or "" for link in feed.findall(f"{ATOM}link")}
    assert set(links) == {"self", "alternate"}
    for entry in [feed, *feed.findall(f"{ATOM}entry")]:
        at = entry.findtext(f"{ATOM}updated") or ""
        assert datetime.fromisoformat(at).tzinfo is not None
        assert at <= newest
        assert (entry.findtext(f"{ATOM}id") or "").startswith("tag:localhost,2026:")
        assert all(
            (link.get("href") or "").startswith("http://localhost/") for link in entry.findall(f"{ATOM}link")
        )
        if entry is not feed:
            assert entry.findtext(f"{ATOM}summary")
            found.append((entry.findtext(f"{ATOM}id") or "", entry.findtext(f"{ATOM}title") or ""))
    assert len({name for name, _ in found}) == len(found)
    return found


def _announce(site: Site, title: str, kind: str) -> None:
    draft = AnnouncementBody(title, "Body \x0b\x1b & <b>.\ud800".encode("utf-8", "replace").decode(), kind)
    with site.database.write() as session:
        counted = announcements.preview(session, OPERATOR, "robots", draft).count
        announcements.send(session, OPERATOR, "robots", draft, counted, None)


def test_feeds_tell_what_their_reader_may_see(site: Site) -> None:
    """Visitors read what is for everybody, a team what is for teams; names stay when a task is renamed."""
    _announce(site, "For <all> & everybody", announcements.EVERYBODY)
    _announce(site, "For teams", announcements.ENTERED)
    _announce(site, "For organisers", announcements.ORGANISERS)
    with site.database.write() as session:
        organise.set_dates(session, OPERATOR, "robots", (None, CLOSES))
        organise.set_dates(session, OPERATOR, "draft", (None, CLOSES))
    visitor, anna = site.browser(), site.browser("Anna")
    own = [title for _, title in _entries(anna.get("/tasks/robots/feed.atom"))]
    public = [title for _, title in _entries(visitor.get("/tasks/robots/feed.atom"))]
    shown = {"Robots: dates of main", "Robots: edition 1 of the board", "Robots: For <all> & everybody"}
    assert set(public) == shown
    assert set(own) - set(public) == {"Robots: For teams"}
    of_site = _entries(visitor.get("/feed.atom"))
    assert of_site == _entries(anna.get("/feed.atom")) == _entries(site.browser("Olga").get("/feed.atom"))
    made = {"New task: Robots", "New task: Other", "Other: edition 1 of the board"}
    assert {title for _, title in of_site} == shown | made
    with site.database.write() as session:
        session.execute(update(Task).where(Task.slug == "robots").values(slug="machines"))
    assert {name for name, _ in _entries(visitor.get("/feed.atom"))} == {name for name, _ in of_site}
    assert visitor.get("/tasks/draft/feed.atom").status_code == 404


def test_a_feed_that_is_the_same_is_not_sent_again(site: Site) -> None:
    """By its tag; a calendar has one, too, though times pass."""
    client = site.browser()
    for path in ("/feed.atom", "/tasks/robots/feed.atom", "/dates.ics", "/tasks/robots/dates.ics"):
        tag = client.get(path).headers["ETag"]
        again = client.get(path, headers={"If-None-Match": tag})
        assert (again.status_code, again.get_data()) == (304, b""), path


def test_pages_say_where_their_feed_is(site: Site) -> None:
    """As readers of feeds look for it; a feed of nothing is a feed."""
    client = site.browser()
    for path in ("/", "/tasks/robots", "/tasks/robots/news", f"/teams/{site.world.owls}"):
        link = pages.parsed(client.get(path)).select_one("link[rel=alternate][type='application/atom+xml']")
        assert link is not None
        _entries(client.get(str(link["href"])))
    with site.database.write() as session:
        session.execute(update(Task).values(published_at=None))
    assert _entries(client.get("/feed.atom")) == []


def test_a_teams_feed_is_of_the_runs_that_show_its_name(site: Site) -> None:
    """Under a pseudonym there is no such team for others; its own members read on."""
    path = f"/teams/{site.world.owls}/feed.atom"
    assert [title for _, title in _entries(site.browser().get(path))] == ["first in Robots"]
    people.mask(site.database, site.world.owls, "Otter")
    refused = site.browser("Carl").get(path, headers={"Accept": "application/json"})
    assert refused.status_code == 404
    assert len(_entries(site.browser("Anna").get(path))) == 1
    with site.database.read() as session:
        assert session.scalar(select(Team.name).where(Team.id == site.world.owls)) == "Owls"


def test_calendars_are_read_by_others(site: Site) -> None:
    """Another library finds every date, its name for ever, and that it moved; drafts are not in it."""
    client = site.browser()
    for place, slug in enumerate(("robots", "other", "draft")):
        with site.database.write() as session:
            organise.set_dates(session, OPERATOR, slug, (None, CLOSES + timedelta(days=place)))
            session.execute(
                update(Task).where(Task.slug == slug).values(name=f"Söme, {slug}; " + "long " * 20)
            )
    before = _events(client.get("/dates.ics"))
    assert [at for _, at, _, _ in before] == [CLOSES, CLOSES + timedelta(days=1)]
    assert before[0][2] == "Söme, robots; " + "long " * 20 + ": main closes"
    with site.database.write() as session:
        organise.set_dates(session, OPERATOR, "robots", (None, CLOSES + timedelta(days=9)), reason="Rain.")
    moved, kept = _events(client.get("/dates.ics"))
    assert kept == before[1]
    assert (moved[0], moved[1]) == (before[0][0], CLOSES + timedelta(days=9))
    assert moved[3] > before[0][3]
    assert _events(client.get("/tasks/robots/dates.ics")) == [moved]
    raw = client.get("/dates.ics").get_data()
    assert all(len(line) <= 75 for line in raw.split(b"\r\n"))
    assert b"\n" not in raw.replace(b"\r\n", b"")


def _events(answer: TestResponse) -> list[tuple[str, datetime, str, int]]:
    assert (answer.status_code, answer.mimetype) == (200, "text/calendar")
    events = Calendar.from_ical(answer.get_data()).walk("VEVENT")
    assert all(event["URL"].startswith("http://localhost/tasks/") and event["DTSTAMP"] for event in events)
    return [
        (str(event["UID"]), event["DTSTART"].dt, str(event["SUMMARY"]), int(event["SEQUENCE"]))
        for event in events
    ]
