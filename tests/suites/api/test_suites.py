"""Suites by programs: every operation succeeds for whom it is for, and refuses others."""

import io
import zipfile
from collections.abc import Mapping

from flask import request, request_finished

from leaderboard.suites import api as suites
from tests.make import build
from tests.make.worlds import RUN
from tests.web.api.conftest import Programs
from tests.web.conftest import Site

MEMBERS = [{"name": "first", "task": "robots"}, {"name": "second", "task": "mine"}]
SUITE = {"title": "Hers", "members": MEMBERS, "reference": "first"}


def _archive(files: Mapping[str, bytes]) -> bytes:
    body = io.BytesIO()
    with zipfile.ZipFile(body, "w") as archive:
        for name, text in files.items():
            archive.writestr(zipfile.ZipInfo(name), text)
    return body.getvalue()


def test_a_suite_from_its_making_to_its_board(site: Site, program: Programs) -> None:
    """An organiser makes a suite of her tasks, a team sends and joins runs, anybody reads the board."""
    done: set[str] = set()

    def note(_: object, response: object) -> None:
        if request.endpoint and response.status_code < 300:  # type: ignore[attr-defined]
            done.add(request.endpoint.removeprefix("api."))

    request_finished.connect(note, site.app)
    olga, berta = program("Olga", "read", "organise"), program("Berta")
    owls = site.world.owls
    olga.ask("PUT", "/tasks/mine?name=Mine&collection=robots", data=b"1\tfirst\n2\tsecond\n3\tthird\n")
    olga.ask("POST", "/tasks/mine/publish")
    assert berta.ask("POST", "/suites/hers", json=SUITE).status_code == 403
    made = olga.ask("POST", "/suites/hers", json=SUITE)
    assert (made.status_code, made.json) == (201, {"done": "suite created"}), made.text
    other = [*MEMBERS, {"name": "third", "task": "other"}]
    assert olga.ask("PUT", "/suites/hers", json={**SUITE, "members": other}).status_code == 403
    assert olga.ask("PUT", "/suites/hers", json={**SUITE, "title": "All of hers"}).status_code == 200
    assert olga.ask("GET", "/suites/hers/settings").json["title"] == "All of hers"
    assert berta.ask("GET", "/suites/hers/settings").status_code == 403
    sent = berta.ask(
        "PUT",
        f"/suites/hers/archives/whole?team={owls}",
        data=_archive({"first/run.txt": RUN.encode(), "second/run.txt": RUN.encode()}),
    )
    assert sent.status_code == 201, sent.text
    assert [row["run"] for row in sent.json["members"]] == ["whole", "whole"]
    refused = berta.ask(
        "PUT", f"/suites/hers/archives/bad?team={owls}", data=_archive({"nowhere/run.txt": b"1"})
    )
    assert refused.status_code == 422
    assert refused.json["problems"][0]["remedy"]
    part = {"team": owls, "name": "part", "runs": [{"member": "first", "run": site.world.run}]}
    joined = berta.ask("POST", "/suites/hers/runs", json=part)
    assert joined.status_code == 201, joined.text
    number = joined.json["suite_run"]
    own = berta.ask("PUT", f"/tasks/mine/runs/late?team={owls}", data=RUN.replace(" 3.0", " 4.0").encode())
    filled = {"runs": [{"member": "second", "run": own.json["run_id"]}]}
    assert berta.ask("POST", f"/suites/hers/runs/{number}/parts", json=filled).status_code == 200
    assert program("Carl").ask("POST", f"/suites/hers/runs/{number}/withdraw").status_code == 404
    assert berta.ask("POST", f"/suites/hers/runs/{number}/withdraw").status_code == 200
    assert berta.ask("POST", f"/suites/hers/runs/{number}/restore").status_code == 200
    build.drain(site.database)
    board = program().ask("GET", "/suites/hers?by=borda").json
    assert (board["title"], board["rank_by"]) == ("All of hers", "borda")
    assert program().ask("GET", "/suites/hers?members=nonsense").status_code == 422
    assert {row["slug"] for row in program().ask("GET", "/suites").json["rows"]} == {"both", "hers"}
    assert program().ask("GET", f"/suites/hers/runs/{number}").json["name"] == "part"
    assert olga.ask("POST", "/suites/hers/withdraw").status_code == 200
    assert program().ask("GET", "/suites/hers").status_code == 404
    assert olga.ask("POST", "/suites/hers/restore").status_code == 200
    request_finished.disconnect(note, site.app)
    assert {one.name for one in suites.OPERATIONS} <= done
