"""Crawls of a site are saved whole and in order, and comparing two of them misses nothing that was said."""

import json
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from flask import Flask, Response, jsonify, redirect, request
from werkzeug.serving import make_server

from benchmarks import answers, crawl
from benchmarks.answers import Answer, Comparison, Fault, compare

LINK = "/sign-in/once"
FRONT = """<html><head><title>Front page</title><link rel="stylesheet" href="/app.css"></head><body>
<h1>Two  <b>runs</b></h1><script>unread()</script>
<a href="item/1?b=2&amp;a=1#part">one</a> <a href="/data.json">data</a> <a href="/gone">gone</a>
<a href="https://elsewhere.example/">elsewhere</a> <a href="/old">moved</a></body></html>"""


def stub() -> Flask:
    """A site of a few pages, one of them only for who used the one-time link."""
    app = Flask("stub")
    unused = {LINK}

    @app.get("/")
    def front() -> str:
        return FRONT + ('<a href="/secret">secret</a>' if "session" in request.cookies else "")

    @app.get("/item/<int:number>")
    def item(number: int) -> str:
        return f'<a href="/item/{number + 1}">Item {number} of {request.query_string.decode()}</a>'

    @app.get("/data.json")
    def data() -> Response:
        return jsonify({"address": request.url, "score": 0.25})

    @app.get("/old")
    def old() -> Response:
        return redirect("/item/90", 301)  # type: ignore[return-value]

    @app.get("/secret")
    def secret() -> str:
        return "for organisers"

    @app.post(LINK)
    def enter() -> Response:
        if LINK not in unused or request.headers.get("Sec-Fetch-Site") != "same-origin":
            return Response(status=403)
        unused.discard(LINK)
        response = Response(status=303, headers={"Location": "/"})
        response.set_cookie("session", "organiser")
        return response

    return app


@pytest.fixture
def url() -> Iterator[str]:
    """The address of the stub, served on a free port."""
    server = make_server("127.0.0.1", 0, stub(), threaded=True)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


def saved(url: str, folder: Path, *options: str) -> dict[str, Answer]:
    """What the command wrote."""
    crawl.main(["save", url, str(folder), *options])
    return answers.read(folder)


def test_a_crawl_saves_every_linked_address_once(url: str, tmp_path: Path) -> None:
    """By address, without origin and anchors: pages as words, other files whole, redirections as they are."""
    crawled = saved(url, tmp_path, "--of-form", "4", "--start", "/data.json")
    items = ["/item/1?a=1&b=2", "/item/2", "/item/3", "/item/90", "/item/91"]
    assert list(crawled) == ["/", "/data.json", "/gone", *items, "/old"]
    assert crawled["/"] == Answer(
        "/", 200, "text/html", "Front page", "Two runs one data gone elsewhere moved"
    )
    assert crawled["/item/1?a=1&b=2"].body == "Item 1 of a=1&b=2"
    assert json.loads(crawled["/data.json"].body) == {"address": "/data.json", "score": 0.25}
    assert [crawled[address].status for address in ("/gone", "/old")] == [404, 301]


def test_a_limit_ends_a_crawl_and_says_what_was_left_out(
    url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The nearest addresses come first; start addresses count."""
    assert len(saved(url, tmp_path, "--limit", "3")) == 3
    assert "3 addresses saved; 3 more were linked to" in capsys.readouterr().out


def test_a_crawl_like_another_asks_for_the_same_addresses(url: str, tmp_path: Path) -> None:
    """Whatever the limit; an address that nothing links to is not asked for, a new form is."""
    first = saved(url, tmp_path / "old", "--of-form", "2")
    known = [answer for answer in first.values() if answer.address != "/data.json"]
    unlinked = Answer("/unlinked", 200, "text/html", "", "")
    answers.write(tmp_path / "known", [*known, unlinked])
    assert saved(url, tmp_path / "new", "--like", str(tmp_path / "known"), "--limit", "2") == first


def test_the_one_time_link_signs_in(url: str, tmp_path: Path) -> None:
    """Pages of the account are crawled too; a link that was used ends the program."""
    options = ("--of-form", "1", "--sign-in", url + LINK)
    assert saved(url, tmp_path, *options)["/secret"].body == "for organisers"
    with pytest.raises(SystemExit, match="answered 403: it was used before"):
        saved(url, tmp_path, *options)


def faults(kind: str, old: str, new: str, *ignored: str) -> list[Fault]:
    """How two bodies of a content type differ."""
    one, other = (Answer("/a", 200, kind, "", body) for body in (old, new))
    return list(compare(one, other, frozenset(ignored)))


@pytest.mark.parametrize(
    ("new", "expected"),
    [
        ('{"rows": [{"ap": 0.5, "age": 3}]}', []),
        ('{"rows": [{"ap": 0.5, "age": 3, "rank": 1}]}', [Fault("extra", ".rows[].rank")]),
        ('{"rows": [{"age": 3}]}', [Fault("missing", ".rows[].ap")]),
        ('{"rows": [{"ap": 0.50000000000000011, "age": 3}]}', None),
        ('{"rows": []}', [Fault("value", ".rows[]", "1 entries -> 0")]),
        ('{"rows": [{"ap": true, "age": 3}]}', [Fault("value", ".rows[].ap", "0.5 -> True")]),
        ('{"rows": null}', None),
    ],
)
def test_json_is_compared_as_data(new: str, expected: list[Fault] | None) -> None:
    """To the last digit; a key more is told, a key less or another value fails."""
    differences = faults("application/json", '{"rows": [{"age": 3, "ap": 0.5}]}', new)
    assert [fault.sort for fault in differences] == ["value"] if expected is None else differences == expected
    assert all(fault.fails == (fault.sort != "extra") for fault in differences)


def test_keys_and_columns_can_be_ignored() -> None:
    """Wherever they are."""
    assert faults("application/json", '{"a": [{"age": 1}]}', '{"a": [{"age": 2}]}', "age") == []
    assert faults("text/csv", "run,age\nx,1\n", "run,age\nx,2\n", "age") == []


def test_csv_is_compared_by_column_and_row() -> None:
    """A column more is told once; one less, another order, another value or another row fails."""
    old = "run,ap\nx,0.5\ny,0.25\n"
    assert faults("text/csv", old, '"run",ap\nx,0.5\ny,0.25') == []
    assert faults("text/csv", old, "run,new,ap\nx,,0.5\ny,,0.25\n") == [Fault("extra", ".new")]
    assert faults("text/csv", old, "run\nx\ny\n") == [Fault("missing", ".ap")]
    assert [fault.place for fault in faults("text/csv", old, "ap,run\n0.5,x\n0.25,y\n")] == [
        "order of columns"
    ]
    assert faults("text/csv", old, "run,ap\nx,0.5\ny,0.3\n") == [Fault("value", "[].ap", "'0.25' -> '0.3'")]
    assert faults("text/csv", old, "run,ap\nx,0.5\n") == [Fault("value", "[]", "2 entries -> 1")]


def test_other_files_are_compared_as_text_and_fail_but_pages_do_not() -> None:
    """A page may say it in other words; a status or a content type must stay."""
    (tex,) = faults("application/x-tex", r"AP & .5 \\", r"AP & .6 \\")
    assert (tex.fails, tex.said) == (True, r"AP & [.5 -> .6] \\")
    (page,) = faults("text/html", "ten runs", "ten good runs")
    assert (page.fails, page.said) == (False, "ten [ -> good] runs")
    (status,) = compare(Answer("/a", 200, "text/html", "", ""), Answer("/a", 500, "text/html", "", ""))
    assert (status.fails, status.said) == (True, "200 text/html -> 500 text/html")


def compared(folder: Path, old: list[Answer], new: list[Answer], *options: str) -> int | str | None:
    """The exit code of the comparison of two crawls."""
    for name, rows in (("old", old), ("new", new)):
        answers.write(folder / name, rows)
    with pytest.raises(SystemExit) as ended:
        crawl.main(["compare", str(folder / "old"), str(folder / "new"), *options])
    return ended.value.code


def test_the_comparison_prints_a_table_and_what_differs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Only pages differ: exit code 0; an address that is missing: 1, unless it is ignored."""
    page, other = (Answer("/p", 200, "text/html", "P", body) for body in ("ten runs", "nine runs"))
    data, more = (Answer("/d.json", 200, "application/json", "", body) for body in ("{}", '{"a": 1}'))
    gone = Answer("/gone.csv", 200, "text/csv", "", "a\n1\n")
    assert compared(tmp_path, [page, data], [other, more, gone], "--text") == 0
    printed = capsys.readouterr().out
    assert "| HTML | 1 | 1 | 0 | 0 | 0 | 1 |\n| JSON | 1 | 1 | 0 | 0 | 1 | 0 |" in printed
    assert "| CSV | 0 | 1 | 0 | 1 | 0 | 0 |" in printed
    assert "only in the new crawl: 1\n  /gone.csv" in printed
    assert "keys that only the new crawl has: 1\n  .a: 1" in printed
    assert "HTML that differs: 1\n  /p P [ten -> nine] runs" in printed
    assert compared(tmp_path, [page, gone], [page]) == 1
    assert "only in the old crawl: 1\n  /gone.csv" in capsys.readouterr().out
    assert compared(tmp_path, [page, gone], [page], "--ignore", "/gone.csv") == 0


def test_long_lists_are_cut_unless_all_is_asked_for() -> None:
    """How many more there are is said."""
    old = {f"/{n}": Answer(f"/{n}", 200, "text/plain", "", "") for n in range(30)}
    shown = Comparison(old, {}).lists(20)
    assert "  and 10 more: see --all" in shown
    assert len(Comparison(old, {}).lists(100).splitlines()) == 32
