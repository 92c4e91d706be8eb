"""What is wrong with a form stands beside the control that it is about, whoever wrote the form."""

import re
from collections.abc import Mapping
from typing import Any

import pytest
from bs4 import BeautifulSoup, Tag

from leaderboard.web import marks
from tests.make import pages
from tests.make.people import PASSWORD
from tests.web.conftest import Site

LONG = "x" * 5000
SENT: tuple[tuple[str | None, str, Mapping[str, Any], str], ...] = (
    (None, "/sign-in", {"name": "Nina", "password": "wrong"}, "password"),
    (None, "/sign-up", {"name": "Nina", "password": "a good long password"}, "name"),
    ("Nina", "/account/password", {"current": "wrong", "password": "a good long password"}, "current"),
    ("Nina", "/account/delete", {"current": PASSWORD}, "sure"),
    ("Nina", "/account/tokens", {"label": "", "scopes": "read"}, "label"),
    ("Nina", "/account/tokens", {"label": "x", "scopes": "fly"}, "scopes"),
    ("Nina", "/device", {"code": "NONE"}, "code"),
    ("Nina", "/teams", {"name": "OWLS"}, "name"),
    ("Berta", "/tasks/robots/submit", {"team": "1"}, "file"),
    ("Olga", "/tasks/new", {"name": "", "template": "living"}, "name"),
    ("Olga", "/tasks/robots/settings/topics/new", {"topic": "a b", "title": "x"}, "topic"),
    ("Olga", "/tasks/robots/settings/measures", {"primary_measure": "Judged@10"}, "primary_measure"),
    ("Olga", "/tasks/robots/clone", {"name": "x", "slug": "robots"}, "slug"),
    ("Olga", "/tasks/robots/announce", {"title": "", "body": "x", "recipients": "everybody"}, "title"),
    ("Olga", "/tasks/robots/settings/pictures/picture", {"alt": LONG}, "alt"),
    ("Olga", "/tasks/robots/organise/dates", {"closes_at": "soon"}, "closes_at"),
    ("Olga", "/tasks/robots/phases", {"name": "x", "closes_at": "soon"}, "closes_at"),
    ("Olga", "/tasks/robots/groups", {"name": "x", "teams": "none"}, "teams"),
    ("Olga", "/tasks/robots/people", {"account": "Nobody", "role": "organiser"}, "account"),
    ("Olga", "/tasks/robots/webhooks", {"address": "http://x", "events": "run.scored"}, "address"),
)
"""Who sends what where, and the control that is at fault."""


@pytest.mark.parametrize(("name", "address", "values", "field"), SENT)
def test_each_form_says_at_the_control_what_is_wrong(
    site: Site, name: str | None, address: str, values: Mapping[str, Any], field: str
) -> None:
    """The control is invalid and described by the sentence, to which the list above the form leads."""
    answer = site.browser(name).post(address, data=values)
    assert answer.status_code in (401, 403, 404, 409, 413, 422), answer.status_code
    page = pages.parsed(answer)
    (invalid, *more) = page.select("[aria-invalid]")
    assert invalid["name"] == field
    sentence = page.find(id=str(invalid["aria-describedby"]).split()[0])
    assert sentence is not None
    assert sentence.get_text().strip().endswith(".")
    assert sentence.find_parent("form") is invalid.find_parent("form")
    folded = invalid.find_parent("details")
    assert folded is None or folded.has_attr("open")
    for control in (invalid, *more):
        _one_at_each(page, control)


def _one_at_each(page: BeautifulSoup, control: Tag) -> None:
    ids = [str(one["id"]) for one in page.select("[id]")]
    for name in str(control["aria-describedby"]).split():
        assert ids.count(name) == 1, name


def test_links_lead_to_what_is_there(site: Site) -> None:
    """No page of a refused form has a link to a sentence that it does not show."""
    links = 0
    for name, address, values, _ in SENT:
        text = site.browser(name).post(address, data=values).text
        for target in re.findall(r'href="#(fault-[^"]*)"', text):
            links += 1
            assert f'id="{target}"' in text, address
    assert links >= 15


def test_marks_keep_labels_and_groups_whole(site: Site) -> None:
    """Before a label that holds its control, after the legend of boxes; a value's own text is text."""
    page = (
        '<form action="/other"><input name="a"></form>'
        '<p><a href="#fault-a">A is wrong.</a> <a href="#fault-b">B</a> <code>2</code></p>'
        '<form action="/here"><input type="hidden" name="a" value="x"><label>A <input name="a"></label>'
        '<fieldset><legend>C</legend><label><input type="checkbox" name="c"></label>'
        '<label><input type="checkbox" name="c" value="2"></label></fieldset></form>'
    )
    with site.app.test_request_context("/here", method="POST", data={"a": "x"}):
        made = marks.marked(page, {"a": "<b>", "b": "no", "c": "None."})
    assert made == (
        '<form action="/other"><input name="a"></form>'
        '<p><a href="#fault-a">A is wrong.</a> B <code>2</code></p>'
        '<form action="/here"><input type="hidden" name="a" value="x">'
        '<strong class="fault" id="fault-a">&lt;b&gt;</strong>'
        '<label>A <input aria-invalid="true" aria-describedby="fault-a" name="a"></label>'
        '<fieldset><legend>C</legend><strong class="fault" id="fault-c">None.</strong>'
        '<label><input aria-invalid="true" aria-describedby="fault-c" type="checkbox" name="c"></label>'
        '<label><input type="checkbox" name="c" value="2"></label></fieldset></form>'
    )
