"""Tables as JSON and CSV: exact numbers, harmless text, and tags that say nothing but the bytes."""

import csv
import io
import json
import math
from typing import Any

import pytest
from flask import Blueprint, Flask, Response

from leaderboard.settings import Settings
from leaderboard.tables.record import Files
from leaderboard.web import http
from leaderboard.web.addresses import FormConverter
from leaderboard.web.rules import PUBLIC, SIGNED_IN, Rule, rule, rule_of
from tests.make.tables import table

AWKWARD = (0.1 + 0.2, 1 / 3, 5e-324, 1.7976931348623157e308, -0.0, 1e22, 0.30000000000000004)


@pytest.fixture
def request_context(settings: Settings) -> Any:
    """A bare request, so that nothing but the tables module answers."""
    with Flask("bare").test_request_context("/"):
        yield settings


def _csv(*cells: Any, name: str = "x") -> Response:
    return http.table_file("csv", table([f"head{at}" for at in range(len(cells))], [list(cells)], name=name))


def _row(response: Response) -> list[str]:
    return list(csv.reader(io.StringIO(response.get_data(as_text=True))))[1]


@pytest.mark.usefixtures("request_context")
def test_numbers_survive_both_forms_bit_by_bit() -> None:
    """Every double read back from JSON and from CSV is the one that was given."""
    assert json.loads(http.as_json({"a": list(AWKWARD)}).get_data())["a"] == list(AWKWARD)
    assert [float(cell) for cell in _row(_csv(*AWKWARD))] == list(AWKWARD)
    assert math.copysign(1, float(_row(_csv(-0.0))[0])) == -1


@pytest.mark.usefixtures("request_context")
@pytest.mark.parametrize("start", ["=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠"])
def test_text_that_a_spreadsheet_would_run_is_quoted(start: str) -> None:
    """A leading apostrophe makes it text; inside a text the same sign stays."""
    with_newline = io.StringIO(_csv(f"{start}1", f"a{start}1").get_data(as_text=True), newline="")
    assert list(csv.reader(with_newline))[1] == [f"'{start}1", f"a{start}1"]


@pytest.mark.usefixtures("request_context")
def test_heads_are_guarded_and_numbers_are_not() -> None:
    """A negative number stays a number; a column named like a formula does not."""
    response = http.table_file("csv", table(["=cmd", "n"], [["x", -2]]))
    assert list(csv.reader(io.StringIO(response.get_data(as_text=True)))) == [["'=cmd", "n"], ["x", "-2"]]


@pytest.mark.usefixtures("request_context")
def test_separators_quotes_and_absent_values_keep_their_place() -> None:
    """Commas, quotes and line ends stay inside their cell; None is an empty cell."""
    cells = ["a,b", 'say "x"', "two\nlines", None, "é"]
    assert _row(_csv(*cells)) == ["a,b", 'say "x"', "two\nlines", "", "é"]


@pytest.mark.usefixtures("request_context")
@pytest.mark.parametrize(
    ("name", "file"),
    [
        ("run-1.a_b", "run-1.a_b.csv"),
        ('x"; filename=evil', "x---filename-evil.csv"),
        ("a/b\\c\r\nd", "a-b-c--d.csv"),
        ("läb", "l-b.csv"),
    ],
)
def test_a_csv_is_a_file_with_a_plain_name(name: str, file: str) -> None:
    """The name cannot break the header or leave the folder it is saved in."""
    response = _csv(1, name=name)
    assert response.headers["Content-Disposition"] == f'attachment; filename="{file}"'
    assert response.mimetype == "text/csv"


@pytest.mark.usefixtures("request_context")
@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_what_is_no_json_is_never_sent_as_json(value: float) -> None:
    """NaN and infinities are our bug, not the reader's."""
    with pytest.raises(ValueError, match="not JSON compliant"):
        http.as_json({"a": value})


@pytest.mark.usefixtures("request_context")
def test_text_in_json_is_readable() -> None:
    """Letters outside ASCII are sent as they are, in UTF-8."""
    response = http.as_json({"name": "Müller 東京"})
    assert "Müller 東京" in response.get_data().decode()
    assert response.mimetype == "application/json"


def test_the_same_bytes_have_the_same_tag_and_are_not_sent_twice() -> None:
    """The tag is made of the bytes alone; with it, and also weakened by a proxy, the answer is 304."""
    app = Flask("bare")
    with app.test_request_context("/"):
        first, same, other = (http.page(html).headers["ETag"] for html in ("a", "a", "b"))
    assert first == same != other
    for tag in (first, f"W/{first}"):
        with app.test_request_context("/", headers={"If-None-Match": tag}):
            again = http.page("a")
            assert (again.status_code, again.headers["ETag"]) == (304, first)
            assert http.page("b").status_code == 200


def test_a_page_and_its_files_are_registered_at_once(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Under one rule, at the path and at the path with an ending; the page by a template or by a function."""
    app, blueprint = Flask("bare"), Blueprint("words", "bare")
    app.url_map.converters["form"] = FormConverter
    monkeypatch.setattr(
        http, "render_template", lambda name, **known: f"{name} {known['page']} {known['letters']}"
    )
    files: Files[str] = Files(
        facts=lambda word: {"word": word}, tables={"letters": lambda word: table(["letter"], list(word))}
    )

    @http.with_files(blueprint, "/<word>", "word.html", files, letters=len)
    @rule(PUBLIC, is_computed=True)
    def show(word: str) -> str:
        """A word."""
        return word

    @http.with_files(blueprint, "/all/<word>", str.upper, files, is_kept=False)
    @rule(SIGNED_IN)
    def every(word: str) -> str:
        """A word."""
        return word

    app.register_blueprint(blueprint)
    client = app.test_client()
    told = client.get("/ab")
    assert (told.text, told.mimetype, bool(told.get_etag()[0])) == ("word.html ab 2", "text/html", True)
    assert client.get("/ab", headers={"If-None-Match": told.headers["ETag"]}).status_code == 304
    assert client.get("/ab.json").get_json() == {"word": "ab"}
    assert client.get("/ab.csv").text == "letter\r\na\r\nb\r\n"
    assert client.get("/ab.json?orient=records").get_json() == [{"letter": "a"}, {"letter": "b"}]
    assert (client.get("/all/ab").text, client.get("/all/ab").get_etag()) == ("AB", (None, None))
    rules = {name: rule_of(app, f"words.{name}") for name in ("show", "export", "every", "every_export")}
    assert rules["show"] == rules["export"] == Rule(PUBLIC, is_computed=True)
    assert rules["every"] == rules["every_export"] == Rule(SIGNED_IN)
    assert show("ab") == "ab"
