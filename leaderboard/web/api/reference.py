"""The reference of the API as pages of this site, and the document that they are made of."""

import json
from collections.abc import Iterable

from flask import Blueprint, current_app, render_template
from flask.typing import ResponseReturnValue
from markupsafe import Markup, escape

from leaderboard.errors import NotFound
from leaderboard.services.accounts.tokens import MEANINGS
from leaderboard.web import responses
from leaderboard.web.api import openapi
from leaderboard.web.api.nouns import NOUNS
from leaderboard.web.api.operations import Operation
from leaderboard.web.api.problems import TYPES
from leaderboard.web.rules import PUBLIC, rule

blueprint = Blueprint("api_reference", __name__)

LINES_TO_DEPTH = 3
"""Down to what is said of one operation or schema: a change of it is a change of one line."""


@blueprint.get("/api")
@rule(PUBLIC)
def show() -> ResponseReturnValue:
    """Every operation, what it takes and what it answers."""
    table = operations()
    page = render_template(
        "api/reference.html",
        nouns=NOUNS,
        document=openapi.document(table),
        address=openapi.address,
        problems_of=openapi.problems_of,
        types=TYPES,
        meanings=MEANINGS,
    )
    return responses.page(page)


@blueprint.get("/api/problems/<name>")
@rule(PUBLIC)
def problem(name: str) -> ResponseReturnValue:
    """What a type of problem means and what to do about it."""
    if name not in TYPES:
        raise NotFound(f"There is no problem {name[:64]!r}; all of them are listed at /api.")
    return responses.page(render_template("api/problem.html", kind=TYPES[name]))


@blueprint.get("/api/v1/openapi.json", merge_slashes=False)
@rule(PUBLIC)
def document() -> ResponseReturnValue:
    """The OpenAPI 3.1 document."""
    return responses.as_stored(written(operations()), "application/json")


@blueprint.app_template_filter("with_code")
def with_code(text: str) -> Markup:
    """Text in which what stands in backticks is code."""
    parts = map(escape, text.split("`"))
    return Markup("").join(
        Markup("<code>{}</code>").format(part) if place % 2 else part for place, part in enumerate(parts)
    )


def operations() -> list[Operation]:
    """The operations of this application, in the order of their routes."""
    views = (current_app.view_functions[route.endpoint] for route in current_app.url_map.iter_rules())
    return [view.operation for view in views if hasattr(view, "operation")]


def written(table: Iterable[Operation]) -> bytes:
    """The document as it is committed in docs/openapi.json: a line for each operation and schema."""
    return (_text(openapi.document(table), LINES_TO_DEPTH) + "\n").encode()


def _text(value: object, depth: int, indent: str = "") -> str:
    if depth == 0 or not isinstance(value, dict) or not value:
        return json.dumps(value, ensure_ascii=False)
    inner = indent + " "
    pairs = (f"{inner}{json.dumps(key)}: {_text(one, depth - 1, inner)}" for key, one in value.items())
    return "{\n" + ",\n".join(pairs) + f"\n{indent}}}"
