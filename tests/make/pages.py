"""Reading pages in tests: parsed, never searched as text."""

from typing import Any

from bs4 import BeautifulSoup
from bs4.element import Tag
from werkzeug.test import TestResponse


def parsed(response: TestResponse) -> BeautifulSoup:
    """The page of a response, by the quicker of Beautiful Soup's parsers."""
    assert response.mimetype == "text/html", response.mimetype
    return BeautifulSoup(response.text, "lxml")


def main(response: TestResponse) -> str:
    """The text of a page's main part, with single spaces."""
    found = parsed(response).find("main")
    assert isinstance(found, Tag), "the page has no main part"
    return " ".join(found.get_text(" ").split())


def form(response: TestResponse, action: str) -> dict[str, Any]:
    """The fields of the form that goes to an address, as a browser would send them untouched."""
    found = parsed(response).find("form", action=action, method="post")
    assert isinstance(found, Tag), f"no form goes to {action}"
    fields: dict[str, Any] = {}
    for field in found.find_all(["input", "textarea", "select"]):
        is_off = field.get("type") in ("radio", "checkbox") and not field.has_attr("checked")
        if field.get("type") != "file" and field.get("name") and not is_off:
            fields[str(field["name"])] = _value(field)
    return fields


def _value(field: Tag) -> str:
    if field.name == "textarea":
        # A browser leaves out the line break that a field begins with.
        return field.get_text().removeprefix("\n")
    if field.name == "input":
        return str(field.get("value", ""))
    chosen = field.find("option", selected=True) or field.find("option")
    assert isinstance(chosen, Tag), f"the choice {field.get('name')} is empty"
    return str(chosen.get("value", chosen.get_text()))


def table(response: TestResponse, caption: str) -> list[list[str]]:
    """The cells of the body of the table whose caption starts so."""
    for found in parsed(response).find_all("table"):
        if found.caption and found.caption.get_text(strip=True).startswith(caption):
            rows = found.select("tbody tr")
            return [
                [" ".join(cell.get_text(" ").split()) for cell in row.find_all(["th", "td"])] for row in rows
            ]
    raise AssertionError(f"no table is captioned {caption!r}")
