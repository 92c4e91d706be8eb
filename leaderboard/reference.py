"""The API under /api/v1: its operations, the document that is made from them, and its reference as pages."""

import json
import re
from collections.abc import Iterable
from dataclasses import MISSING, fields, is_dataclass
from functools import cache
from inspect import cleandoc
from itertools import chain
from types import NoneType
from typing import Any, get_args, get_type_hints

import msgspec
from flask import Blueprint, Flask, current_app, render_template
from flask.typing import ResponseReturnValue
from markupsafe import Markup, escape

from leaderboard.accounts.ops.tokens import MEANINGS
from leaderboard.errors import NotFound
from leaderboard.features import FEATURES
from leaderboard.runs.api import partial_uploads
from leaderboard.web import http
from leaderboard.web.addresses import MAX_ID
from leaderboard.web.api import glossary
from leaderboard.web.api.operations import PIECE, Header, Operation, add_to
from leaderboard.web.api.problems import MEDIA_TYPE, TYPES
from leaderboard.web.api.repeats import HEADER, LONGEST
from leaderboard.web.rules import PUBLIC, rule
from leaderboard.web.session import API

HEADINGS = (
    "Tasks and boards",
    "Topics and rankings",
    "Runs",
    "Suites",
    "Comparisons",
    "Judgments and pools",
    "Teams",
    "Account and tokens",
    "Organising a task",
    "Task roles",
    "New judgments",
    "Coordinating assessors",
    "Judging by personal link",
    "Webhooks",
)


@cache
def by_heading() -> dict[str, tuple[Operation, ...]]:
    """All operations of the features under the headings of the reference."""
    added = [feature.operations() for feature in FEATURES]
    headings = (*HEADINGS, *sorted({name for each in added for name in each}.difference(HEADINGS)))
    under_heading = {
        name: tuple(operation for each in added for operation in each.get(name, ())) for name in headings
    }
    return {name: operations for name, operations in under_heading.items() if operations}


VERSION = "1"
PLACEHOLDER = re.compile(r"<(?:(?P<kind>\w+):)?(?P<name>\w+)>")
ABOUT = """Information-retrieval shared tasks: tasks, runs and leaderboards.

Responses to GET carry an entity tag (`ETag`), except exports. Every operation honours `If-Match` and
`If-None-Match` (RFC 9110, 13): a change is made only if they match the current GET
response of its address."""
STORABLE = r"^[^\u0000]*$"
FILE = "application/octet-stream"
SCHEMA = "#/components/schemas/{name}"
RESPONSE = "#/components/responses/{name}"
KEY = "#/components/parameters/key"
INLINE: dict[type, tuple[str, dict[str, Any]]] = {
    dict: ("application/json", {"type": "object"}),
    bytes: ("*/*", {"type": "string", "contentMediaType": "application/octet-stream"}),
}
"""Answers that are not a dataclass: their content type and schema."""
NUMBER = {"type": "integer", "minimum": 1, "maximum": 2**31 - 1}
"""Of what a path names by its number."""


def openapi_document(operations: Iterable[Operation]) -> dict[str, Any]:
    """The document: every operation with its parameters, body, answers and problems, under its noun."""
    table = list(operations)
    noun_of = {operation.name: noun for noun, listed in by_heading().items() for operation in listed}
    kinds = {
        kind.__name__: kind
        for operation in table
        for kind in (operation.answer, operation.body)
        if kind is not None and kind is not NoneType and kind not in INLINE
    }
    named = [kinds[name] for name in sorted(kinds)]
    _, schemas = msgspec.json.schema_components(named, ref_template=SCHEMA)
    for kind in _with_parts(named):
        _describe(schemas[kind.__name__], kind)
    for operation in table:
        if operation.body is not None:
            for part in _with_parts([operation.body]):
                # Answers may get more fields later; of a request an unknown field is refused.
                schemas[part.__name__]["additionalProperties"] = False
                _limit(schemas[part.__name__]["properties"])
    paths: dict[str, dict[str, Any]] = {}
    for operation in table:
        paths.setdefault(address(operation), {})[operation.method.lower()] = _operation(
            operation, noun_of[operation.name]
        )
    refusals = {key: names for operation in table for key, names in _refusals(operation).values()}
    scopes = "; ".join(f"{scope}: {words}" for scope, words in MEANINGS.items())
    return {
        "openapi": "3.1.0",
        "info": {"title": "Leaderboard", "version": VERSION, "description": ABOUT},
        "servers": [{"url": "/api/v1"}],
        "tags": [{"name": noun} for noun in by_heading()],
        "paths": paths,
        "components": {
            "schemas": {**schemas, "Problem": _problem()},
            "responses": {
                "unchanged": {"description": "Not changed since `If-None-Match`."},
                **{key: _refusal(refusals[key]) for key in sorted(refusals)},
            },
            "parameters": {"key": _key()},
            "securitySchemes": {
                "token": {"type": "http", "scheme": "bearer", "description": f"Scopes: {scopes}"}
            },
        },
    }


def _with_parts(kinds: Iterable[Any]) -> set[type]:
    """The dataclasses, and those that their fields hold."""
    parts: set[type] = set()
    waiting = list(kinds)
    while waiting:
        kind = waiting.pop()
        waiting += get_args(kind)
        if is_dataclass(kind) and isinstance(kind, type) and kind not in parts:
            parts.add(kind)
            waiting += get_type_hints(kind).values()
    return parts


def _limit(schema: Any) -> None:
    """Say of every text and number of a request what a database can keep: no NUL, and 64 bits."""
    if isinstance(schema, dict):
        if schema.get("type") == "string" and not {"enum", "format", "pattern"} & schema.keys():
            schema["pattern"] = STORABLE
        if schema.get("type") == "integer":
            if "exclusiveMinimum" not in schema:
                schema.setdefault("minimum", -MAX_ID)
            schema.setdefault("maximum", MAX_ID)
        schema = list(schema.values())
    if isinstance(schema, list):
        for part in schema:
            _limit(part)


def _describe(schema: dict[str, Any], kind: type) -> None:
    # Versions of msgspec differ in whether they take off indentation and name the default of a table.
    if "description" in schema:
        schema["description"] = cleandoc(schema["description"])
    tables = {field.name for field in fields(kind) if field.default_factory is dict}
    for name, property_schema in schema["properties"].items():
        if name in tables:
            property_schema.setdefault("default", {})
        property_schema["description"] = glossary.of_property(kind, name)


def address(operation: Operation) -> str:
    """The operation's path as the document writes it.

    >>> PLACEHOLDER.sub(r"{\\g<name>}", "/runs/<id:run_id>")
    '/runs/{run_id}'
    """
    return PLACEHOLDER.sub(r"{\g<name>}", operation.path)


def problems_of(operation: Operation) -> tuple[str, ...]:
    """The types of problems that an operation may answer with."""
    every = ["malformed", "token-needed", "not-allowed", "invalid", "over-quota", "failed", "not-available"]
    every.append("changed-meanwhile")
    if PLACEHOLDER.search(operation.path):
        every += ["not-found", "unknown-task", "wrong-method"]
    if operation.method == "GET" and operation.query is not None:
        every.append("not-found")
    if operation.method != "GET":
        every += ["conflict", "closed", "no-room", "too-large"]
    if operation.body is not None or operation.rule.takes_files:
        every.append("wrong-content")
    if operation.headers:
        every.append("wrong-version")
    if operation.name in ("begin_upload", "send_run"):
        every.append("not-joined")
    return tuple(name for name in TYPES if name in every)


def _operation(operation: Operation, noun: str) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "operationId": operation.name,
        "tags": [noun],
        "summary": operation.summary,
        "description": operation.description,
        "parameters": [
            *_placeholders(operation),
            *_query(operation.query),
            *map(_header, operation.headers),
            *([{"$ref": KEY}] if operation.method == "POST" or operation.name == "send_run" else []),
        ],
        "responses": {
            str(operation.status): _answer(operation, "The current state."),
            **(
                {"202": _answer(operation, "Stored; the check follows.")}
                if operation.name == "send_run"
                else {}
            ),
            **({"304": {"$ref": RESPONSE.format(name="unchanged")}} if operation.method == "GET" else {}),
            **{
                status: {"$ref": RESPONSE.format(name=key)}
                for status, (key, _) in sorted(_refusals(operation).items())
            },
        },
    }
    if operation.rule.takes_files:
        kinds = (PIECE, FILE) if operation.takes_piece else (FILE,)
        least = {} if operation.takes_piece else {"minLength": 1}
        file = {"schema": {"type": "string", "contentMediaType": FILE, **least}}
        entry["requestBody"] = {"required": True, "content": dict.fromkeys(kinds, file)}
    elif operation.body is not None:
        schema = {"$ref": SCHEMA.format(name=operation.body.__name__)}
        entry["requestBody"] = {"required": True, "content": {"application/json": {"schema": schema}}}
    entry["security"] = [{"token": []}] if operation.rule.access is not PUBLIC else [{}, {"token": []}]
    return entry


def _answer(operation: Operation, words: str) -> dict[str, Any]:
    if operation.answer is NoneType:
        return {"description": "Done, without a response body."}
    reference = {"$ref": SCHEMA.format(name=operation.answer.__name__)}
    kind, schema = INLINE.get(operation.answer, ("application/json", reference))
    return {"description": words, "content": {kind: {"schema": schema}}}


def _refusals(operation: Operation) -> dict[str, tuple[str, tuple[str, ...]]]:
    """Status -> name of the answer that operations share, and the types of problems it may say."""
    by_status: dict[str, tuple[str, ...]] = {}
    for name in problems_of(operation):
        status = str(TYPES[name].status)
        by_status[status] = (*by_status.get(status, ()), name)
    return {status: (".".join(names), names) for status, names in by_status.items()}


def _refusal(names: Iterable[str]) -> dict[str, Any]:
    titles = [TYPES[name].title for name in names]
    schema = {"$ref": SCHEMA.format(name="Problem")}
    return {"description": "; ".join(titles), "content": {MEDIA_TYPE: {"schema": schema}}}


def _placeholders(operation: Operation) -> list[dict[str, Any]]:
    return [
        {
            "name": match["name"],
            "in": "path",
            "required": True,
            "description": glossary.of_placeholder(operation.path, match["name"]),
            "schema": NUMBER if match["kind"] == "id" else {"type": "string", "minLength": 1},
            **_example(match["name"]),
        }
        for match in PLACEHOLDER.finditer(operation.path)
    ]


def _query(query: type | None) -> list[dict[str, Any]]:
    if query is None:
        return []
    kinds = get_type_hints(query, include_extras=True)
    return [
        {
            "name": field.name,
            "in": "query",
            "required": field.default is MISSING,
            "description": glossary.of_property(query, field.name),
            "schema": _schema(kinds[field.name], field.default),
            **_example(field.name),
        }
        for field in fields(query)
    ]


def _example(name: str) -> dict[str, Any]:
    return {"example": glossary.EXAMPLES[name]} if name in glossary.EXAMPLES else {}


def _schema(kind: Any, default: Any) -> dict[str, Any]:
    whole = msgspec.json.schema(kind)
    # No parameter is null: others are left out.
    options = [option for option in whole.get("anyOf", [whole]) if option.get("type") != "null"]
    _limit(options)
    return options[0] if default in (MISSING, None) else {**options[0], "default": default}


def _header(header: Header) -> dict[str, Any]:
    parameter = {"name": header.name, "in": "header", "required": header.is_required}
    return {**parameter, "schema": header.schema, "description": header.words}


def _key() -> dict[str, Any]:
    schema = {"type": "string", "maxLength": LONGEST, "pattern": "^[ -~]*$"}
    words = (
        "A unique key of your choice: a repeated request with the same key is executed once and gets "
        "the same response."
    )
    return {"name": HEADER, "in": "header", "required": False, "schema": schema, "description": words}


def _problem() -> dict[str, Any]:
    """RFC 9457, with what this site adds."""
    text, number = {"type": "string"}, {"type": "integer"}
    properties: dict[str, dict[str, Any]] = {
        "type": {"type": "string", "enum": [f"/api/problems/{name}" for name in TYPES]},
        "title": text,
        "status": number,
        "detail": text,
        "remedy": text,
        "did_you_mean": text,
        "line": number,
        "retry_after_s": number,
        "upload": number,
        "request": text,
        "problems": {"type": "array", "items": {"type": "object"}},
    }
    return {
        "type": "object",
        "description": "The problem and its remedy (RFC 9457).",
        "required": ["type", "title", "status", "detail", "remedy"],
        "properties": {
            name: {**schema, "description": glossary.WORDS.get(f"Problem.{name}") or glossary.WORDS[name]}
            for name, schema in properties.items()
        },
    }


blueprint = Blueprint("api_reference", __name__)

LINES_TO_DEPTH = 3
"""Down to single operations and schemas: a change of it is a change of one line."""


@blueprint.get("/api")
@rule(PUBLIC)
def show() -> ResponseReturnValue:
    """Every operation, its input and its answer."""
    table = operations()
    page = render_template(
        "api/reference.html",
        nouns=by_heading(),
        document=openapi_document(table),
        address=address,
        problems_of=problems_of,
        types=TYPES,
        meanings=MEANINGS,
    )
    return http.page(page)


@blueprint.get("/api/problems/<name>")
@rule(PUBLIC)
def problem(name: str) -> ResponseReturnValue:
    """Meaning of a problem type, and its remedy."""
    if name not in TYPES:
        raise NotFound(f"There is no problem type {name[:64]!r}. All types are listed at /api.")
    return http.page(render_template("api/problem.html", kind=TYPES[name]))


@blueprint.get("/api/v1/openapi.json", merge_slashes=False)
@rule(PUBLIC)
def document() -> ResponseReturnValue:
    """The OpenAPI 3.1 document."""
    return http.as_stored(written(operations()), "application/json")


@blueprint.app_template_filter("with_code")
def with_code(text: str) -> Markup:
    """Text with code in backticks."""
    parts = map(escape, text.split("`"))
    return Markup("").join(
        Markup("<code>{}</code>").format(part) if place % 2 else part for place, part in enumerate(parts)
    )


def operations() -> list[Operation]:
    """The operations of this application, in the order of their routes."""
    views = (current_app.view_functions[route.endpoint] for route in current_app.url_map.iter_rules())
    return [view.operation for view in views if hasattr(view, "operation")]


def written(table: Iterable[Operation]) -> bytes:
    """The document committed as docs/openapi.json: a line for each operation and schema."""
    return (_text(openapi_document(table), LINES_TO_DEPTH) + "\n").encode()


def _text(value: object, depth: int, indent: str = "") -> str:
    if depth == 0 or not isinstance(value, dict) or not value:
        return json.dumps(value, ensure_ascii=False)
    inner = indent + " "
    pairs = (f"{inner}{json.dumps(key)}: {_text(entry, depth - 1, inner)}" for key, entry in value.items())
    return "{\n" + ",\n".join(pairs) + f"\n{indent}}}"


def register(app: Flask) -> None:
    """Add every operation of the API, its document and its reference to an application."""
    # A program asks by a token; cookies mean nothing here. Answers are JSON or files, never redirects.
    api = Blueprint("api", __name__, url_prefix=API)
    add_to(api, chain.from_iterable(by_heading().values()))
    api.after_request(partial_uploads.say_protocol)
    app.register_blueprint(api)
    app.register_blueprint(blueprint)
