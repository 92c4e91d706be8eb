"""What programs read is what pages show: tables in parts, facts whole, files as they are."""

import csv
import hashlib
import io
from pathlib import Path
from typing import Any

import pytest

from leaderboard.errors import Invalid
from leaderboard.tables.record import Column, Table
from leaderboard.web.api.lists import ListQuery, part
from tests.make import build
from tests.make.worlds import RUN
from tests.web.api.conftest import Program, Programs
from tests.web.conftest import Site

LISTS = {
    "/tasks/robots/runs": "/tasks/robots.csv",
    "/tasks/robots/topics": "/tasks/robots/topics.csv",
    "/tasks/robots/topics/1/runs": "/tasks/robots/topics/1.csv?table=scores",
    "/tasks/robots/topics/1/documents": "/tasks/robots/topics/1.csv?table=documents",
    "/tasks/robots/history": "/tasks/robots/history.csv",
    "/tasks/robots/intervals": "/tasks/robots/intervals.csv",
    "/tasks/robots/revisions": "/tasks/robots/revisions.csv",
    "/tasks/robots/pools": "/tasks/robots/pools.csv",
    "/tasks/robots/pools/1": "/tasks/robots/pools/1.csv",
    "/tasks/robots/pools/1/topics/1": "/tasks/robots/pools/1/topics/1.csv",
    "/runs/1/topics": "/runs/1/topics.csv?table=topics&sort=topic",
    "/runs/1/measures": "/runs/1/measures.csv",
    "/runs/1/topics/1?titles=true": "/runs/1/topics/1.csv",
}
"""Operation -> the page's own file."""


@pytest.fixture
def scored(site: Site, program: Programs) -> Site:
    """The site with everything scored."""
    again = program("Olga", "organise").ask("POST", f"/tasks/robots/jobs/{site.world.job}/again")
    assert again.status_code == 200
    build.drain(site.database)
    return site


def _all(program: Program, path: str, limit: int) -> list[dict[str, Any]]:
    """The rows of a list, part by part, by the addresses that the answers give."""
    rows: list[dict[str, Any]] = []
    following: str | None = path + ("&" if "?" in path else "?") + f"limit={limit}"
    while following:
        answer = program.ask("GET", following)
        assert answer.status_code == 200, answer.text
        assert len(answer.json["rows"]) <= limit
        rows += answer.json["rows"]
        link = answer.headers.get("Link", "")
        assert ('rel="next"' in link) == (answer.json["next"] is not None)
        following = link[1 : link.index(">")].removeprefix("/api/v1") if link else None
    assert len(rows) == answer.json["total"]
    return rows


@pytest.mark.trial
def test_lists_are_the_files_of_pages_in_parts(scored: Site, program: Programs) -> None:
    """The same rows and values, whatever the length of the parts."""
    olga, browser = program("Olga", "read"), scored.browser("Olga")
    for path, page in LISTS.items():
        answer = browser.get(page)
        assert answer.status_code == 200, page
        wanted = list(csv.DictReader(io.StringIO(answer.text)))
        got = _all(olga, path, 1)
        assert got == _all(olga, path, 1000), path
        assert [set(row) for row in got] == [set(row) for row in wanted], path
        for row, of_file in zip(got, wanted, strict=True):
            shown = {key: "" if value is None else str(value) for key, value in row.items()}
            assert {key: shown[key].lower() for key in shown} == {
                key: value.lower() for key, value in of_file.items()
            }, path


def test_facts_and_files_are_those_of_pages(scored: Site, program: Programs) -> None:
    """Topic, revision, comparison and origin; the run's file, qrels and pool byte for byte."""
    olga, browser = program("Olga", "read"), scored.browser("Olga")
    topic = olga.ask("GET", "/tasks/robots/topics/1").json
    assert (topic["topic"], topic["title"]) == ("1", "first topic")
    same = {
        "/tasks/robots/revisions/1": "/tasks/robots/revisions/1.json",
        "/runs/1/origin": "/runs/1/origin.json",
    }
    for path, page in same.items():
        assert olga.ask("GET", path).json == browser.get(page).get_json(), path
    files = {
        "/runs/1/file": "/runs/1/file",
        "/tasks/robots/revisions/1/file": "/tasks/robots/revisions/1/qrels.txt",
        "/tasks/robots/pools/1/file?form=csv": "/tasks/robots/pools/1/documents.csv",
    }
    for path, page in files.items():
        assert olga.ask("GET", path).data == browser.get(page).data, path
    assert olga.ask("GET", "/runs/1/file").data == RUN.encode()


def test_runs_are_compared_once_it_is_computed(scored: Site, program: Programs) -> None:
    """Two at once; several by a request and an evaluator; the board then has ranges of ranks."""
    berta = program("Berta")
    other = RUN.replace("d1 1 3.0", "d1 2 1.0")
    second = berta.ask("PUT", f"/tasks/robots/runs/two?team={scored.world.owls}", data=other).json["run_id"]
    build.drain(scored.database)
    query = f"run={scored.world.run}&run={second}"
    pair = berta.ask("GET", f"/tasks/robots/pair?first={scored.world.run}&second={second}")
    page = scored.browser("Berta").get(f"/tasks/robots/compare.json?a={scored.world.run}&b={second}")
    assert pair.json == page.get_json()
    asked = berta.ask("POST", f"/tasks/robots/comparison?{query}")
    assert asked.status_code == 202, asked.text
    assert berta.ask("POST", "/tasks/robots/statistics").status_code == 202
    for what in ("comparison?run=1", "statistics?", "reproductions?"):
        unknown = berta.ask("POST", f"/tasks/robots/{what}&measure=BM25")
        assert unknown.status_code == 404, unknown.text
    build.drain(scored.database)
    several = berta.ask("GET", f"/tasks/robots/comparison?{query}")
    page = scored.browser("Berta").get(f"/tasks/robots/compare.json?{query}")
    assert several.json == page.get_json()
    rows = berta.ask("GET", "/tasks/robots/board").json["rows"]
    assert {(row["rank_low"], row["rank_high"]) for row in rows if row["rank"]} == {(1, 2)}


def test_filters_are_the_boards(scored: Site, program: Programs) -> None:
    """By words, team and kind; an unknown measure says so."""
    berta = program("Berta", "read")
    assert berta.ask("GET", "/tasks/robots/runs?search=nothing").json["rows"] == []
    (row,) = berta.ask("GET", "/tasks/robots/runs?own=true&columns=AP").json["rows"]
    assert row["AP"] is not None
    assert berta.ask("GET", "/tasks/robots/runs?measure=nonsense").status_code in (404, 422)


def test_the_search_finds_what_its_page_finds(scored: Site, program: Programs) -> None:
    """The same words find the same for the same reader; too few letters are refused."""
    for name in ("Berta", "Nina"):
        found = program(name, "read").ask("GET", "/search?q=robots").json
        assert found == scored.browser(name).get("/search.json?q=robots").get_json()
        assert [row["slug"] for row in found["tasks"]] == ["robots"]
    assert (
        program().ask("GET", "/search?q=robots").json
        == scored.browser().get("/search.json?q=robots").get_json()
    )
    for wrong in ("", "?q=x", "?q=" + "x" * 101):
        assert program().ask("GET", f"/search{wrong}").status_code == 422


def test_a_token_for_one_task_searches_that_task(scored: Site, program: Programs, tmp_path: Path) -> None:
    """What its owner sends elsewhere is not found by it, nor are other tasks."""
    build.task(scored.database, tmp_path, "robots-too", name="More robots", visibility="sealed")
    build.run(scored.database, tmp_path, {"1": ["a"]}, "robots-run", slug="robots-too", team_name="Owls")
    wide, narrow = program("Berta", "read"), program("Berta", "read", slug="robots")
    suited = pytest.importorskip("tests.suites.make")
    suited.of_tasks(scored.database, "all-robots", ("robots", "robots-too"))
    everything = wide.ask("GET", "/search?q=robots").json
    assert [row["slug"] for row in everything["suites"]] == ["all-robots"]
    assert {row["slug"] for row in everything["tasks"]} == {"robots", "robots-too"}
    assert "robots-run" in {row["name"] for row in everything["runs"]}
    found = narrow.ask("GET", "/search?q=robots").json
    assert {row["slug"] for row in (*found["tasks"], *found["runs"])} == {"robots"}
    assert found["suites"] == []


def test_a_cursor_goes_on_where_it_stopped(site: Site) -> None:
    """Rows that come or go are neither read twice nor hide others; one of another list is refused."""

    def answer(names: list[str], cursor: str = "", path: str = "/a") -> Any:
        table = Table(name="t", caption="", rows=names, columns=[Column(key="name", value=str)])
        with site.app.test_request_context(path):
            return part(table, ListQuery(limit=2, cursor=cursor), "name").answer

    first = answer(["a", "b", "c", "d", "e"])
    assert [row["name"] for row in first.rows] == ["a", "b"]
    assert [row["name"] for row in answer(["0", "1", "a", "b", "c"], first.next).rows] == ["c"]
    assert [row["name"] for row in answer(["a", "c", "d"], first.next).rows] == ["d"]
    for cursor, path in ((first.next, "/b"), (first.next, "/a?x=1"), (first.next[:-2], "/a"), ("W10", "/a")):
        with pytest.raises(Invalid):
            answer(["a", "b", "c"], cursor, path)


def test_a_program_says_what_a_run_reproduces(
    site: Site, program: Programs, scored: Site, tmp_path: Path
) -> None:
    """With the file or later; what it reads is the page's own file; and it takes it back."""
    again = build.run(site.database, tmp_path, {"1": ["d2", "d1"]}, "again", slug="robots", team_name="Owls")
    build.drain(scored.database)
    anna, anybody = program("Anna", "submit"), program()
    body = {"original": site.world.run}
    assert anna.ask("PUT", f"/runs/{again}/reproduces", json=body).status_code == 200
    for address in ("/tasks/robots/reproductions", f"/tasks/robots/reproductions/{again}"):
        read = anybody.ask("GET", address)
        assert read.status_code == 200, read.text
        assert read.json == site.browser().get(f"{address}.json").json
    assert anybody.ask("PUT", f"/runs/{again}/reproduces", json=body).status_code == 401
    assert anna.ask("PUT", f"/runs/{again}/reproduces", json={"original": 999}).status_code == 422
    assert anna.ask("DELETE", f"/runs/{again}/reproduces").status_code == 200
    assert anna.ask("DELETE", f"/runs/{again}/reproduces").status_code == 409
    sent = f"/tasks/robots/runs/third?team={site.world.owls}&file_name=third.txt"
    assert anna.ask("PUT", f"{sent}&baseline=1", data=RUN.encode()).status_code == 422
    third = anna.ask("PUT", f"{sent}&reproduces={again}", data=RUN.encode())
    assert third.status_code == 201, third.text
    run_id = third.json["run_id"]
    assert site.browser().get(f"/runs/{run_id}.json").json["reproduces"] == again


def test_collections_and_snapshots_are_looked_up(site: Site, program: Programs) -> None:
    """In lists and one by one; a collection that no task is on yet is for those who make tasks."""
    olga, anybody = program("Olga", "read", "organise"), program()
    made = olga.ask("PUT", "/collections/papers", data=b'{"_id": "a", "text": "b"}\n')
    said = {"collection": "papers", "documents": 1, "size": 1, "link_template": ""}
    assert (made.status_code, made.json) == (201, said)
    assert said in olga.ask("GET", "/collections").json["rows"]
    assert olga.ask("GET", "/collections/papers").json == said
    assert anybody.ask("GET", "/collections/papers").status_code == 404
    of_robots = olga.ask("GET", "/tasks/robots").json["collection"]
    assert [row["collection"] for row in anybody.ask("GET", "/collections").json["rows"]] == [
        "other",
        of_robots,
    ]
    assert anybody.ask("GET", f"/collections/{of_robots}").json["collection"] == of_robots
    snapshot = site.world.snapshot
    (row,) = anybody.ask("GET", "/tasks/robots/snapshots").json["rows"]
    assert row["snapshot"] == snapshot
    frozen = anybody.ask("GET", f"/snapshots/{snapshot}")
    assert hashlib.sha256(frozen.data).hexdigest() == row["sha256"]
    assert anybody.ask("GET", "/snapshots/nothing").status_code == 404
