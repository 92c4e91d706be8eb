"""Feeds of the site, tasks and teams."""

from datetime import UTC, datetime
from urllib.parse import urlsplit
from xml.etree.ElementTree import Element, SubElement, tostring

from flask import Blueprint
from flask.typing import ResponseReturnValue

from leaderboard.tasks.page import feeds as pages
from leaderboard.tasks.page.feeds import FeedEntry, FeedPage
from leaderboard.web import http
from leaderboard.web.addresses import absolute
from leaderboard.web.rules import PUBLIC, rule
from leaderboard.web.session import reading, viewer

blueprint = Blueprint("feeds", __name__)

ATOM = "http://www.w3.org/2005/Atom"
SINCE = "2026"
"""The year in all names (RFC 4151): they are the host's of that year, and stay when the site moves on."""


@blueprint.get("/feed.atom")
@rule(PUBLIC)
def of_site() -> ResponseReturnValue:
    """New tasks, and what visitors may read of the news of all."""
    return _feed(pages.site_feed(reading()), absolute("feeds.of_site"))


@blueprint.get("/tasks/<slug>/feed.atom")
@rule(PUBLIC)
def of_task(slug: str) -> ResponseReturnValue:
    """Announcements, moved dates and editions of a task."""
    return _feed(pages.task_feed(reading(), viewer(), slug), absolute("feeds.of_task", slug=slug))


@blueprint.get("/teams/<id:team_id>/feed.atom")
@rule(PUBLIC)
def of_team(team_id: int) -> ResponseReturnValue:
    """Runs of a team, where it is known by its name."""
    return _feed(pages.team_feed(reading(), viewer(), team_id), absolute("feeds.of_team", team_id=team_id))


def _feed(page: FeedPage, own: str) -> ResponseReturnValue:
    site = absolute("tasks.index").rstrip("/")
    host = urlsplit(site).hostname or ""
    feed = Element("feed", xmlns=ATOM)
    _text(feed, "id", _name(host, f"feed/{page.key}"))
    _text(feed, "title", page.title)
    _text(feed, "updated", _moment(page.updated_at))
    SubElement(feed, "link", rel="self", type="application/atom+xml", href=own)
    SubElement(feed, "link", rel="alternate", type="text/html", href=f"{site}{page.path}")
    _text(SubElement(feed, "author"), "name", page.title)
    for entry in page.entries:
        _add(feed, entry, site, host)
    body = tostring(feed, encoding="utf-8", xml_declaration=True)
    return http.as_followed(body, "application/atom+xml")


def _add(feed: Element, entry: FeedEntry, site: str, host: str) -> None:
    element = SubElement(feed, "entry")
    _text(element, "id", _name(host, entry.key))
    _text(element, "title", entry.title)
    _text(element, "updated", _moment(entry.at))
    _text(element, "published", _moment(entry.at))
    SubElement(element, "link", rel="alternate", type="text/html", href=f"{site}{entry.path}")
    _text(element, "summary", entry.words or entry.title)


def _name(host: str, key: str) -> str:
    return f"tag:{host},{SINCE}:{key}"


def _moment(at: datetime) -> str:
    return at.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def _text(parent: Element, name: str, text: str) -> None:
    # XML has no way at all to write most control characters: the library would write an unreadable file.
    SubElement(parent, name).text = "".join(letter for letter in text if _is_xml(letter))


def _is_xml(letter: str) -> bool:
    return letter in "\t\n\r" or (
        letter >= " " and letter not in "\ufffe\uffff" and not 0xD800 <= ord(letter) < 0xE000
    )
