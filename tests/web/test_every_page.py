"""Every page, asked for once by every viewer: who may open it, how it is protected, what it writes."""

import csv
import io
import re
from collections.abc import Iterator
from typing import Any

import pytest
from sqlalchemy import Connection, event
from werkzeug.exceptions import HTTPException
from werkzeug.test import TestResponse

from leaderboard.web.http import POLICY
from tests.make.loops import some
from tests.web.conftest import Site
from tests.web.matrix import DRAFTS, MATRIX, VIEWERS

WRITTEN = {**MATRIX, **DRAFTS}
ELSEWHERE = {
    **dict.fromkeys(("/nothing", "/tasks/nothing", "/runs/0", f"/runs/{2**63}"), 404),
    **dict.fromkeys(("/static/app.css", "/static/app.js", "/static/icon.svg"), 200),
}
QUICK = VIEWERS.index(None), VIEWERS.index("Berta")
"""A visitor, and a member of a team: the others as trials."""
TRIES_TO_WRITE = "/healthz"
"""Its answer says whether writes are taken, which only a write can tell."""
WAY_OUT = re.compile(rb'<form [^>]*action="/sign-out"')
AS_JSON = {"Accept": "application/json"}
"""What a visitor asks for, to be answered rather than sent to the sign-in page."""


def _expected(site: Site, place: int) -> dict[str, int]:
    """Address -> the status written down for a viewer; browsers are sent on where a cookie is missing."""
    written = {path: statuses[place] for (method, path), statuses in WRITTEN.items() if method == "GET"}
    pages = {path.format(**vars(site.world)): status for path, status in written.items()}
    return {path: 303 if place and status == 401 else status for path, status in pages.items()} | ELSEWHERE


@pytest.mark.parametrize("place", some(range(len(VIEWERS)), QUICK))
def test_every_page_answers_every_viewer_as_it_should(site: Site, place: int) -> None:
    """With the status written down, the headers of every answer, a character set, a way to sign out.

    No GET opens a writing transaction, but to record who took judgments and who was refused. The exception
    is /healthz, which opens one, once in a few seconds, to see whether the database takes writes.
    """
    name = VIEWERS[place]
    client, opened, faults = site.browser(name), [], []
    refused, recorded, tried = 0, 0, 0

    def note(connection: Connection) -> None:
        if not connection.get_execution_options().get("reading", False):
            opened.append("a write")

    event.listen(site.database.engine, "begin", note)
    for address, status in _expected(site, place).items():
        opened.clear()
        response = client.get(address, headers=AS_JSON if name is None else {}, buffered=True)
        told = [*_unprotected(response), *_unlettered(response)]
        if name is not None and not address.startswith("/judge/"):
            told += _without_way_out(response)
        if response.status_code != status:
            told.append(f"{response.status_code}, not {status}")
        if response.status_code == 403:
            refused += len(opened)
        elif address == TRIES_TO_WRITE:
            tried += len(opened)
        elif _hands_out_judgments(site, address):
            recorded += len(opened)
        else:
            told += opened
        faults += [f"{address}: {fault}" for fault in told]
    assert faults == []
    assert (refused > 20, recorded > 1, tried) == (name is not None, True, 1)


def _unprotected(response: TestResponse) -> Iterator[str]:
    wanted = {
        "Content-Security-Policy": POLICY,
        "X-Content-Type-Options": "nosniff",
        "Referrer-Policy": "same-origin",
        "Cross-Origin-Opener-Policy": "same-origin",
    }
    for header, value in wanted.items():
        if response.headers.get(header) != value:
            yield f"{header} is {response.headers.get(header)}"
    if "Permissions-Policy" not in response.headers:
        yield "no Permissions-Policy"


def _unlettered(response: TestResponse) -> Iterator[str]:
    """Text and XML name their character set."""
    kind = response.content_type
    if not response.data:
        return
    if not kind:
        yield "no content type"
    elif (kind.startswith("text/") or kind.split(";")[0].endswith("xml")) and "charset=utf-8" not in kind:
        yield "no character set"


def _without_way_out(response: TestResponse) -> Iterator[str]:
    """Every page that the site's layout frames has the button that signs out."""
    if response.mimetype != "text/html" or b'<header class="site">' not in response.data:
        return
    if not WAY_OUT.search(response.data):
        yield "no way to sign out"


def _hands_out_judgments(site: Site, address: str) -> bool:
    try:
        endpoint, _ = site.app.url_map.bind("localhost").match(address, method="GET")
    except HTTPException:
        return False
    return hasattr(site.app.view_functions[endpoint], "recorded")


def test_answers_to_other_methods_are_protected_too(site: Site) -> None:
    """Refusals of a method too; that HEAD has the headers of GET is shown in test_two_worlds.py."""
    for name in (None, "Berta", "Olga"):
        client = site.browser(name)
        faults = [
            f"{address}: {fault}"
            for address in _expected(site, 0)
            for fault in _unprotected(client.put(address, buffered=True))
        ]
        assert faults == []


@pytest.mark.parametrize("name", [None, "Olga"])
def test_every_list_of_runs_numbers_them(site: Site, name: str | None) -> None:
    """Wherever a file of a page, or the API, names runs of the site in rows, each has its run_id."""
    client, faults, seen = site.browser(name), [], 0
    for address in _expected(site, VIEWERS.index(name)):
        answer = client.get(address, headers=AS_JSON, buffered=True)
        if answer.status_code != 200:
            continue
        if answer.mimetype == "text/csv":
            rows = list(csv.DictReader(io.StringIO(answer.text)))
        else:
            rows = list(_rows_of_runs(answer.json if answer.mimetype == "application/json" else None))
        for row in rows:
            if row.get("run"):
                seen += 1
                faults += [] if row.get("run_id") else [f"{address}: {row}"]
    assert faults == []
    assert seen > 10


def _rows_of_runs(value: Any) -> Iterator[dict[str, Any]]:
    """Rows of a JSON answer, wherever they stand, that name a run by its name."""
    if isinstance(value, dict):
        if isinstance(value.get("run"), str):
            yield value
        value = list(value.values())
    if isinstance(value, list):
        for one in value:
            yield from _rows_of_runs(one)


def test_every_table_is_a_list_of_records_for_data_frames(site: Site) -> None:
    """`.json?orient=records` has the rows of `.csv` under the same names, as pandas.read_json reads them."""
    client, compared = site.browser(), 0
    for address in _expected(site, 0):
        as_csv = client.get(re.sub(r"\.json$", ".csv", address)) if address.endswith(".json") else None
        if as_csv is None or (as_csv.status_code, as_csv.mimetype) != (200, "text/csv"):
            continue
        records = client.get(f"{address}?orient=records").json
        header, *rows = csv.reader(io.StringIO(as_csv.text))
        assert [list(record) for record in records] == [header] * len(rows), address
        compared += bool(rows)
    assert compared > 5
    refused = client.get("/tasks/robots.json?orient=columns")
    assert (refused.status_code, refused.json["error"]) == (
        422,
        "orient must be records or left out, not 'columns'.",
    )
