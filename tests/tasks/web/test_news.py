"""Announcing in a browser: written, looked at with its recipients, sent, read."""

from tests.make import pages
from tests.web.conftest import Site

ADDRESS = "/tasks/robots/announce"


def test_an_announcement_is_looked_at_then_sent(site: Site) -> None:
    """The preview lists whom it reaches and holds all that the second button sends; then all read it."""
    client = site.browser("Olga")
    words = {"title": "Deadline <b>", "body": "It *moves*.\r\n\r\n- by a day", "recipients": "everybody"}
    looked = client.post(ADDRESS, data={**words, "step": "preview"})
    assert looked.status_code == 200
    assert pages.table(looked, "It will reach") == [
        ["Anna", "Owls"],
        ["Berta", "Owls"],
        ["Olga", "organiser"],
    ]
    assert "<em>moves</em>" in looked.text
    assert "no announcements yet" in site.browser().get("/tasks/robots/news").text.lower()
    fields = {**pages.form(looked, ADDRESS), "step": "send"}
    assert fields["counted"] == "3"
    assert client.post(ADDRESS, data=fields).headers["Location"] == "/tasks/robots/news"
    visitor = site.browser()
    read = visitor.get("/tasks/robots/news")
    assert "<em>moves</em>" in read.text
    assert "Deadline <b>" in pages.main(read)
    assert "3 people" not in read.text
    assert "3 people" in client.get("/tasks/robots/news").text
    for page in ("", "/about", "/topics"):
        link = pages.parsed(visitor.get(f"/tasks/robots{page}")).find("a", string="Deadline <b>")
        assert link["href"].startswith("/tasks/robots/news#announcement-"), page  # type: ignore[index]
    (row,) = visitor.get("/tasks/robots/news.json").get_json()["announcements"]
    assert (row["title"], row["body"]) == ("Deadline <b>", "It *moves*.\n\n- by a day")
    assert set(row) == {"at", "title", "to", "body"}
    again = client.post(ADDRESS, data=fields)
    assert (again.status_code, "not sent twice" in again.text) == (409, True)


def test_what_was_typed_is_still_there_after_an_error(site: Site) -> None:
    """A form that is refused comes back with its words, its kind and its teams."""
    form = {"title": "", "body": "Words", "recipients": "teams", "teams": site.world.owls}
    refused = site.browser("Olga").post(ADDRESS, data=form)
    assert refused.status_code == 422
    page = pages.parsed(refused)
    assert page.find("textarea", {"name": "body"}).text.strip() == "Words"  # type: ignore[union-attr]
    checked = [field["value"] for field in page.select("input[checked]")]
    assert checked == ["teams", str(site.world.owls)]
