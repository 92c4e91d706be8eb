"""A task's logo and picture: its form, its address, where it is shown and to whom."""

from typing import Any

from bs4.element import Tag
from flask.testing import FlaskClient
from sqlalchemy import event, select
from werkzeug.test import TestResponse

from leaderboard.core.picture_kinds import LARGEST_BYTES
from leaderboard.core.policy import OPERATOR
from leaderboard.db.tables import TaskPicture
from leaderboard.tasks.ops import organise
from leaderboard.web.http import POLICY
from tests.make import pages, pictures
from tests.make.pictures import flag, saved
from tests.web.conftest import Site

HERE = "/tasks/robots/settings"
FOR_EVER = "max-age=31536000, immutable"


def _send(client: FlaskClient, kind: str, body: bytes | None = None, **fields: str) -> TestResponse:
    """What a form is answered; the test client's own encoder would leave the file of a large one open."""
    parts = [(f'name="{name}"', value.encode()) for name, value in fields.items()]
    if body is not None:
        parts.append(('name="file"; filename="logo.png"', body))
    written = (
        b"--xx\r\nContent-Disposition: form-data; " + head.encode() + b"\r\n\r\n" + value + b"\r\n"
        for head, value in parts
    )
    sent = {"data": b"".join(written) + b"--xx--\r\n", "content_type": "multipart/form-data; boundary=xx"}
    return client.post(f"{HERE}/pictures/{kind}", **sent)


def _picture(site: Site, kind: str) -> TaskPicture | None:
    with site.database.read() as session:
        return session.scalars(
            select(TaskPicture).where(TaskPicture.kind == kind, TaskPicture.task_id == 1)
        ).one_or_none()


def _images(response: TestResponse) -> dict[str, str]:
    """Text -> address of each picture on a page."""
    found = pages.parsed(response).select("main img")
    return {str(image["alt"]): str(image["src"]) for image in found if isinstance(image, Tag)}


def test_a_logo_stands_on_every_page_of_its_task_and_on_its_card(site: Site) -> None:
    """Pages by slug and by run; not on pages of others, nor where the task has none."""
    address = f"/tasks/robots/pictures/{site.world.logo}"
    client = site.browser("Olga")
    for path in ("", "/about", "/topics/1", "/settings", "/compare", "/pools/1", "/submit"):
        assert _images(client.get(f"/tasks/robots{path}"))["A flag"] == address, path
    assert _images(client.get(f"/runs/{site.world.run}")) == {"A flag": address}
    assert _images(client.get("/tasks/other")) == {}
    cards = pages.parsed(site.browser().get("/")).select(".cards li")
    assert [len(card.select("img")) for card in cards] == [0, 1]


def test_a_picture_is_for_ever_at_its_address(site: Site) -> None:
    """Type, policy and lifetime; the same for who is signed in; another address is nothing."""
    address = f"/tasks/robots/pictures/{site.world.logo}"
    for name in (None, "Berta"):
        answer = site.browser(name).get(address)
        assert answer.mimetype == "image/png"
        assert FOR_EVER in answer.headers["Cache-Control"]
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
        assert answer.headers["Content-Security-Policy"] == POLICY
        again = site.browser(name).get(address, headers={"If-None-Match": answer.headers["ETag"]})
        assert again.status_code == 304
    assert site.browser().get("/tasks/robots/pictures/0000").status_code == 404


def test_a_drafts_logo_is_for_its_people_alone(site: Site) -> None:
    """To others there is nothing, as with the draft itself; and no cache may keep it."""
    address = f"/tasks/draft/pictures/{site.world.logo}"
    for name in (None, "Berta", "Otto"):
        assert site.browser(name).get(address).status_code == 404
        assert address not in _images(site.browser(name).get("/")).values()
    own = site.browser("Olga").get(address)
    assert (own.status_code, own.headers["Cache-Control"]) == (200, "no-store")


def test_an_organiser_sets_replaces_and_removes_a_picture(site: Site) -> None:
    """Participants read what changed and why; the old address is gone, the new one is on the About page."""
    client = site.browser("Olga")
    sent = _send(client, "picture", saved(flag(1600, 500), "JPEG"), alt="  A\r\nwide flag ", reason="Nicer.")
    assert sent.status_code == 303
    assert sent.headers["Location"] == f"{HERE}?saved=pictures#section-pictures"
    about = site.browser().get("/tasks/robots/about")
    first = _images(about)["A wide flag"]
    (row,) = pages.table(about, "Settings changed since")
    assert row[1] == "picture"
    assert row[3].startswith("A wide flag (1200 × 375 pixels, ")
    assert row[4] == "Nicer."
    assert site.browser().get(first).mimetype == "image/jpeg"
    assert _send(client, "picture", saved(flag(800, 400), "PNG"), alt="Another flag").status_code == 303
    assert site.browser().get(first).status_code == 404
    assert _send(client, "picture", alt="Another text").status_code == 303
    kept = _picture(site, "picture")
    assert kept is not None
    assert (kept.alt, kept.width, kept.height) == ("Another text", 800, 400)
    assert client.post(f"{HERE}/pictures/picture/remove").status_code == 303
    assert _picture(site, "picture") is None
    assert client.post(f"{HERE}/pictures/picture/remove").status_code == 404
    told = pages.table(site.browser().get("/tasks/robots/about"), "Settings changed since")
    assert len(told) == 4


def test_what_is_refused_is_said_in_the_form(site: Site) -> None:
    """Without a text, without a picture, what is no picture, what is too large: nothing changes."""
    client = site.browser("Olga")
    flags = saved(flag(), "PNG")
    for body, alt, status, said in (
        (flags, " ", 422, "must have 1 to 200 characters"),
        (flags, "x" * 201, 422, "must have 1 to 200 characters"),
        (None, "A flag", 422, "needs a file"),
        (b"<svg></svg>", "A flag", 422, "is not a PNG, JPEG, WebP or GIF"),
        (flags + bytes(LARGEST_BYTES), "A flag", 413, "at most 5 MB"),
    ):
        refused = _send(client, "picture", body, alt=alt)
        assert refused.status_code == status, said
        assert said in pages.main(refused)
        assert pages.form(refused, f"{HERE}/pictures/picture")["alt"] == alt
        opened = pages.parsed(refused).find_all("details", open=True)
        assert [fold["id"] for fold in opened] == ["section-pictures"]
    assert _picture(site, "picture") is None


def test_two_organisers_at_once_replace_nothing_unseen(site: Site) -> None:
    """The second is told who changed the logo; the form that is shown again would save it."""
    client = site.browser("Olga")
    fields = pages.form(client.get(HERE), f"{HERE}/pictures/logo")
    assert _send(client, "logo", alt="A banner").status_code == 303
    refused = _send(client, "logo", **{**fields, "alt": "Mine"})
    assert refused.status_code == 409
    assert "You changed the logo at" in pages.main(refused)
    again = pages.form(refused, f"{HERE}/pictures/logo")
    assert again["alt"] == "Mine"
    assert _send(client, "logo", **again).status_code == 303


def test_a_clone_takes_its_pictures_along(site: Site) -> None:
    """The same bytes under the clone's own address."""
    with site.database.write() as session:
        organise.clone(session, OPERATOR, "robots", organise.TaskCopy("again", "Again"))
        address = f"/tasks/again/pictures/{site.world.logo}"
    assert site.browser().get(address).status_code == 404
    with site.database.write() as session:
        organise.discard(session, OPERATOR, "again")
    with site.database.read() as session:
        assert len(session.scalars(select(TaskPicture.id)).all()) == 2


def test_a_board_takes_no_statement_more_for_its_logo(site: Site) -> None:
    """The logo comes with the task."""
    client = site.browser("Berta")
    asked: list[str] = []

    def note(*given: Any) -> None:
        asked.append(str(given[2]))

    event.listen(site.database.engine, "before_cursor_execute", note)
    client.get("/tasks/robots")
    assert sum("task_picture" in statement for statement in asked) == 1
    assert "FROM task" in next(statement for statement in asked if "task_picture" in statement)


def test_damaged_bytes_are_not_sent(site: Site) -> None:
    """The digest in the address is asked before a picture is sent."""
    with site.database.write() as session:
        for row in session.scalars(select(TaskPicture)):
            row.body = b"other bytes"
    assert site.browser().get(f"/tasks/robots/pictures/{site.world.logo}").status_code == 500


def test_the_api_sets_a_picture_and_names_it(site: Site) -> None:
    """Where it is answered: with the task."""
    pictures_of = site.browser().get("/api/v1/tasks/robots").get_json()
    assert pictures_of["picture"] is None
    assert pictures_of["logo"]["alt"] == "A flag"
    assert pictures_of["logo"]["address"].endswith(f"/tasks/robots/pictures/{pictures.address()}")
