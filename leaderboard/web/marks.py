"""Problems of a refused form at the controls that they are about, in the same way for every form."""

import re
from collections.abc import Iterator, Mapping
from html import escape
from typing import Any

from flask import current_app, request

from leaderboard import fields
from leaderboard.errors import LeaderboardError

FORM = re.compile(r"<form\b.*?</form>", re.DOTALL)
CONTROL = re.compile(r"<(?:input|select|textarea)\b[^>]*>")  # No value has a >: Jinja escapes it.
ATTRIBUTE = re.compile(r'\b(type|name|id|value|aria-describedby)="([^"]*)"')
LABEL = re.compile(r'<label for="([^"]*)">([^<]*)<')
LINK = re.compile(r'<a href="#fault-([^"]*)">(.*?)</a>(?: <code>.*?</code>)?', re.DOTALL)
"""What the list above a form has of a problem; with its value, as long as no control shows that."""
FOLDED = re.compile(r'<details(?![^>]* open)([^>]*>(?:(?!</?details).)*?<strong class="fault")', re.DOTALL)


def record_sent() -> Any:
    """The record that the form of this request is made from (`actions.takes`); None for a form by hand."""
    return getattr(current_app.view_functions.get(request.endpoint or ""), "record", None)


def problems(error: LeaderboardError) -> dict[str, str]:
    """Field -> its problem and remedy."""
    facts: Any = error.facts
    titles = facts.get("titles") or ((record := record_sent()) and fields.titles(record)) or {}
    sentences: dict[str, str] = {**facts.get("at_fields", {})}
    for problem in getattr(error, "problems", ()):
        if problem.field:
            # A rule may continue the title, such as `must be a date.`
            title = "" if problem.rule[:1].isupper() else titles.get(problem.field, "")
            sentences[problem.field] = " ".join(filter(None, (title, problem.rule, problem.remedy)))
    return sentences or ({facts["field"]: error.message} if "field" in facts else {})


def marked(page: str, sentences: Mapping[str, str], rest: str = "") -> str:
    """A page with each sentence before the control of its field, in the form that was sent.

    sentences: name or label of a control -> sentence; rest: the message for the only control of a form. The
    list above the form leads to these, and only to these.
    """
    here = max(FORM.finditer(page), key=lambda match: _likeness(match[0], sentences), default=None)
    if here is None or not _likeness(here[0], sentences):
        return _linked(page)
    form, seen = here[0], {name for _, name in _controls(here[0])}
    if not sentences and rest and len(seen) == 1:
        sentences = {seen.pop(): rest}
    for field, sentence in sentences.items():
        form = _with(form, field, sentence)
    return _linked(FOLDED.sub(r"<details open\1", page[: here.start()] + form + page[here.end() :]))


def anchor(field: str) -> str:
    """The fragment of the address of a field's problem."""
    return f"fault-{re.sub('[^a-z0-9_]+', '-', field.lower())}"


def _likeness(form: str, sentences: Mapping[str, str]) -> int:
    """How much a form is the one that was sent: its address, its hidden values, the fields in question."""
    tag = form[: form.index(">")]
    if f'action="{escape(request.path)}"' not in form and "action=" in tag:
        return 0
    hidden = (
        attributes
        for tag in CONTROL.findall(form)
        if (attributes := _attributes(tag)).get("type") == "hidden"
    )
    alike = sum(
        request.values.get(attributes.get("name", "")) == attributes.get("value") for attributes in hidden
    )
    return 1 + alike + len(sentences.keys() & {name for _, name in _controls(form)})


def _controls(form: str) -> Iterator[tuple[re.Match[str], str]]:
    """The controls that are seen, with their names."""
    for tag in CONTROL.finditer(form):
        attributes = _attributes(tag[0])
        if "name" in attributes and attributes.get("type") not in ("hidden", "submit"):
            yield tag, attributes["name"]


def _with(form: str, field: str, sentence: str) -> str:
    """The form with a sentence before the control of that name or label; unchanged where it has none."""
    ids = {of for of, title in LABEL.findall(form) if title.strip().casefold() == escape(field).casefold()}
    controls = [tag for tag, name in _controls(form) if name == field or _attributes(tag[0]).get("id") in ids]
    if not controls:
        return form
    tag, place = controls[0], controls[0].start()
    # A label and a legend name what they hold: the message precedes the one and follows the other.
    if len(controls) > 1 and _attributes(tag[0]).get("type") in ("checkbox", "radio"):
        place = form.rfind("</legend>", 0, place) + len("</legend>")
    elif (opened := form.rfind("<label", 0, place)) > form.rfind("</label>", 0, place):
        place = opened
    described = _attributes(tag[0]).get("aria-describedby", "")
    bare = tag[0].replace(f' aria-describedby="{described}"', "")
    described_by = " ".join(filter(None, (anchor(field), described)))
    changed = bare.replace(" ", f' aria-invalid="true" aria-describedby="{described_by}" ', 1)
    note = f'<strong class="fault" id="{anchor(field)}">{escape(sentence)}</strong>'
    return form[:place] + note + form[place : tag.start()] + changed + form[tag.end() :]


def _attributes(tag: str) -> dict[str, str]:
    return dict(ATTRIBUTE.findall(tag))


def _linked(page: str) -> str:
    """The page without links from its list to sentences that it does not have."""

    def link(match: re.Match[str]) -> str:
        if f' id="fault-{match[1]}"' in page:
            return f'<a href="#fault-{match[1]}">{match[2]}</a>'
        return f"{match[2]}{match[0].rpartition('</a>')[2]}"

    return LINK.sub(link, page)
