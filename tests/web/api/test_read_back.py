"""What the site writes it reads: an export goes back in where its kind is taken, or a reason says why not."""

import csv
import io
import json
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from flask import Flask
from werkzeug.routing import Rule
from werkzeug.test import TestResponse

from leaderboard.core.policy import OPERATOR
from leaderboard.judging.ops.labelling import decisions, labels
from leaderboard.judging.ops.labelling.decisions import SentNugget
from leaderboard.qrels.page.revisions.revision import PARTS
from leaderboard.tasks.ops import roles
from tests.make import answers, build, labelled, pages
from tests.make.worlds import RUN
from tests.trec.nuggets import argued
from tests.web.api.conftest import Program, Programs
from tests.web.conftest import Site

pytestmark = pytest.mark.trial

POOL = "/tasks/robots/pools/1"
LOG = "session,topic,docno,rank,clicked\na,1,d1,1,0\na,1,d2,2,1\na,2,d3,1,1\n"


@pytest.fixture
def olga(site: Site, program: Programs) -> Program:
    """The organiser's program, in a site where the pool has labels by a person and there are clicks."""
    judge = program()
    for key, topic, docno, grade in (("k1", "1", "d1", 1), ("k2", "1", "d2", 0), ("k3", "2", "d3", 1)):
        address = f"/judge/{site.world.judge}/pools/1/topics/{topic}"
        said = judge.ask("POST", address, json={"key": key, "docno": docno, "grade": grade})
        assert said.status_code == 201, said.text
    made = program("Olga", "organise", "judge", "submit", "read")
    sent = made.ask("POST", "/tasks/robots/clicks", data=LOG.encode())
    assert sent.status_code == 201, sent.text
    _done(made.ask("PUT", "/tasks/robots/groups", json={"name": "Old", "runs": [site.world.run]}))
    build.drain(site.database)
    return made


def _new_task(olga: Program, body: bytes) -> object:
    return _done(olga.ask("PUT", "/tasks/again?name=Again", data=body))["topics"]


def _new_topics(olga: Program, body: bytes) -> object:
    _done(olga.ask("PUT", "/tasks/again?name=Again", data=b"9\tnine\n"))
    return _done(olga.ask("PUT", "/tasks/again/topics", data=body))["done"]


def _revision(holds: str) -> Callable[[Program, bytes], object]:
    def take(olga: Program, body: bytes) -> object:
        address = f"/tasks/robots/revisions/drafts?holds={holds}&note=Back"
        draft = _done(olga.ask("POST", address, data=body))
        return draft["added"], draft["changed"], draft["removed"]

    return take


def _run(olga: Program, body: bytes) -> object:
    return _done(olga.ask("POST", "/tasks/robots/check", data=body))["state"]


def _pool(olga: Program, body: bytes) -> object:
    number = _done(olga.ask("POST", "/tasks/robots/pools/import", data=body))["pool"]
    pairs = olga.ask("GET", f"/tasks/robots/pools/{number}/file").text
    assert pairs == olga.ask("GET", "/tasks/robots/pools/1/file").text
    return pairs.count("\n")


def _labels(olga: Program, body: bytes) -> object:
    found = _done(olga.ask("POST", f"{POOL}/labels?name=Bob&origin=human", data=body))
    return found["added"], found["known"], found["outside"], found["skipped"]


def _bundle(olga: Program, body: bytes) -> object:
    return _done(olga.ask("PUT", "/tasks/again/import", data=body))["is_made"]


def _whole_bundle(olga: Program, body: bytes) -> object:
    """What is not there when the new task is exported in turn."""
    _bundle(olga, body)
    again = olga.ask("GET", "/tasks/again/export").data
    sent, back = (zipfile.ZipFile(io.BytesIO(each)) for each in (body, again))
    for name in ("groups", "grouped_runs", "entries", "phases", "revisions", "runs", "teams", "topics"):
        assert sent.read(f"records/{name}.jsonl") == back.read(f"records/{name}.jsonl"), name
    return sorted({*sent.namelist()} - {*back.namelist()})


def _done(response: TestResponse) -> dict[str, Any]:
    assert response.status_code in (200, 201), response.text
    found: dict[str, Any] = response.get_json()
    return found


COLUMNS = "topic,iteration,docno,grade"
HEADINGS = "topic, title, judged, relevant, grade 2, grade 1, grade 0"
EXPORTS: dict[str, tuple[Callable[[Program, bytes], object], object]] = {
    "/tasks/robots/topics.csv": (
        _new_task,
        f"Comma-separated columns: id=topic, title=title. The first line is read as headings ({HEADINGS}",
    ),
    "/tasks/robots/topics.json": (_new_topics, "3 topics. JSON: id=topic, title=title."),
    "/tasks/robots/revisions/1/qrels.txt": (_revision("graded&second=rounds"), (0, 0, 0)),
    "/tasks/robots/revisions/1/quepid.csv": (_revision("graded"), (0, 0, 0)),
    "/tasks/robots/revisions/1/opensearch.json": (_revision("graded"), (0, 0, 0)),
    "/tasks/robots/revisions/lines/1/1.txt": (_revision("graded&second=rounds"), (0, 0, 0)),
    f"{POOL}/settled.qrels": (_revision("graded&second=rounds"), (0, 1, 2)),
    f"{POOL}/settled.qrels?columns=probability": (
        _revision(f"graded&second=rounds&map=columns%3D{COLUMNS},probability"),
        (0, 1, 2),
    ),
    f"{POOL}/settled.qrels?columns=both": (
        _revision(f"graded&second=rounds&map=columns%3D{COLUMNS},-,probability"),
        (0, 1, 2),
    ),
    "/tasks/robots/clicks.txt?least=1": (_revision("preference"), (1, 0, 0)),
    "/runs/1/file": (_run, "accepted"),
    f"{POOL}/documents.txt": (_pool, 4),
    f"{POOL}/documents.csv": (_pool, 4),
    f"{POOL}/documents.jsonl": (_pool, 4),
    f"{POOL}/assessments.csv": (_labels, (3, 0, 0, 0)),
    f"{POOL}/assessments.jsonl": (_labels, (3, 0, 0, 0)),
    "/uploads/1/file": (_run, "accepted"),
    "/tasks/robots/task.zip": (_bundle, True),
    "/tasks/robots/export.zip": (
        _whole_bundle,
        # What people and this site vouch for is believed of an operator's import, not of an organiser's.
        [
            "pools/1.jsonl",
            *(f"records/{name}.jsonl" for name in ("assessments", "assessors", "assignments", "pools")),
            "records/snapshots.jsonl",
            "snapshots/0001.json",
        ],
    ),
}
"""Export -> the form that takes its kind, and what comes of it there."""


@pytest.mark.parametrize("address", EXPORTS)
def test_what_the_site_writes_it_reads(address: str, site: Site, olga: Program) -> None:
    """The file goes back as it came, and everything in it is there."""
    take, expected = EXPORTS[address]
    written = site.browser("Olga").get(address)
    assert written.status_code == 200, written.text
    found = take(olga, written.data)
    if isinstance(found, str) and isinstance(expected, str):
        assert found[: len(expected)] == expected
    else:
        assert found == expected


OF_RANKINGS = {
    "qrels": ("graded&second=rounds", "1 0 d1 1\n1 0 d2 2\n"),
    "quepid": ("graded&second=rounds", "query,docid,rating\n1,d1,1\n1,d2,2\n"),
    "opensearch": ("graded&second=rounds", "1 0 d1 1\n1 0 d2 2\n"),
    "subtopics": ("graded&second=subtopics", "1 1 d1 1\n1 2 d1 0\n1 2 d2 1\n"),
    "preferences": ("preference", "1 d1 d2 2\n2 d3 d1 1\n"),
    "distractors": ("distractors", "d2\n"),
    "left_out": ("left_out", "1 d2\n"),
}
"""Part of a revision of rankings -> what its file is said to hold, and one."""
OF_ANSWERS = {
    "nuggets": [answers.nuggets("1", **{"it is blue": "vital", "it is high": "okay"})],
    "assignments": [answers.assigned("2", {"rivers carry salt": ("vital", "support")}, run="yacht")],
    "support": [answers.supported("1", [2, 0], [], run="zeppelin")],
    "argue": [argued.argued("1", argued.sentence("Said.", "d4", argued.attested("d4")), run="yacht")],
}
"""Part of a revision of answers -> the lines of a file."""


@pytest.fixture
def talk(site: Site, tmp_path: Path) -> str:
    """A task of answers of Olga's, with nuggets of its first revision."""
    labelled.task(site.database, tmp_path, "talk")
    labelled.nuggets(site.database, tmp_path, "talk")
    with site.database.write() as session:
        roles.give(session, OPERATOR, "talk", "Olga", "organiser")
    return "/tasks/talk"


def _publish(olga: Program, task: str, holds: str, body: bytes) -> int:
    """The number of a revision by a file."""
    token = _draft(olga, task, holds, body)["draft"]
    return int(_done(olga.ask("POST", f"{task}/revisions/drafts/{token}/publish", json={}))["number"])


def _draft(olga: Program, task: str, holds: str, body: bytes) -> dict[str, Any]:
    return _done(olga.ask("POST", f"{task}/revisions/drafts?holds={holds}&note=Back", data=body))


@pytest.mark.parametrize("part", PARTS)
def test_every_part_of_a_revision_is_read_as_what_it_was(
    part: str, site: Site, olga: Program, request: pytest.FixtureRequest
) -> None:
    """Judgments, and each list and label beside them: sent as they were written they change nothing."""
    if part in OF_ANSWERS:
        task, holds = request.getfixturevalue("talk"), part
        body = "".join(f"{json.dumps(line)}\n" for line in OF_ANSWERS[part])
    else:
        task, (holds, body) = "/tasks/robots", OF_RANKINGS[part]
    number = _publish(olga, task, holds, body.encode())
    written = site.browser("Olga").get(f"{task}/revisions/{number}/{part}.txt")
    assert (written.status_code, written.data.strip() != b"") == (200, True), written.text
    assert "identical to the newest revision" in _draft(olga, task, holds, written.data)["refused"]


@pytest.mark.parametrize("kind", ["nuggets", "assignments", "support"])
def test_what_a_round_made_is_a_part_of_a_revision(kind: str, site: Site, olga: Program, talk: str) -> None:
    """A person's nuggets or labels, written as a file, become a draft as the button makes one."""
    (ada,) = labelled.people(site.database, "Ada", slug="talk")
    number = labelled.opened(site.database, kind, (ada,), slug="talk")
    if kind == "nuggets":
        with site.database.write() as session:
            _, desk = labels.topic_desk(session, ada.token, number, "1")
            decisions.write_nugget(session, desk, SentNugget("it is blue", "vital", "k"))
            decisions.finish_nuggets(session, desk, is_done=True)
    else:
        labelled.label_all(site.database, ada, number, 2)
    written = site.browser("Olga").get(f"{talk}/labelling/{number}/made.jsonl")
    assert (written.status_code, written.data.strip() != b"") == (200, True), written.text
    found = _draft(olga, talk, kind, written.data)
    assert found["refused"] == ""
    assert found["added"] + found["changed"] + found["removed"] > 0


@pytest.mark.parametrize("slug", ["held", "heard"])
def test_a_reference_is_a_board_file(slug: str, site: Site, olga: Program, tmp_path: Path) -> None:
    """What judges are held against is written by run, topic and measure, and read as that."""
    of_judges = pytest.importorskip("tests.judges.of_judges")
    of_judges.build(site.database, tmp_path, "Olga")
    written = site.browser("Olga").get(f"/tasks/{slug}/revisions/1/qrels.txt")
    found = _done(olga.ask("POST", f"/tasks/{slug}/reference/file?note=Back", data=written.data))
    assert (found["added"], found["changed"], found["removed"]) == (0, 0, 0)
    assert written.text.count("\n") > 6


def _send(site: Site, task: str, files: dict[str, bytes], listed: str) -> str:
    """The address of a batch of files, which a list says whose they are."""
    client, address = site.browser("Olga"), f"{task}/submit"
    sent = pages.form(client.get(address), address)
    parts = [(io.BytesIO(body), name) for name, body in files.items()]
    answer = client.post(address, data={**sent, "file": parts, "team": "list", "list": listed, "hold": "1"})
    assert answer.status_code == 303, answer.text
    build.drain(site.database, site.settings)
    return answer.headers["Location"]


def _rows(text: str) -> list[tuple[str, ...]]:
    return [(row["run"], row["team"], row["kind"]) for row in csv.DictReader(io.StringIO(text))]


def test_batches_and_boards_are_lists_of_whose_runs_files_are(site: Site, olga: Program) -> None:
    """The table of a batch, or a board, says for the same files elsewhere which team and kind each is of."""
    _done(olga.ask("PUT", "/tasks/again?name=Again", data=b"1\tone\n2\ttwo\n3\tthree\n"))
    _done(olga.ask("POST", "/tasks/again/publish"))
    client = site.browser("Olga")
    files = {"one.txt": RUN.encode(), "two.txt": RUN.replace(" 3.0", " 4.0").encode()}
    address = _send(site, "/tasks/again", files, "run,team,kind\none,Bears,baseline\ntwo,Owls,\n")
    written = client.get(f"{address}.csv").text
    assert sorted(_rows(written)) == [("one", "Bears", "baseline"), ("two", "Owls", "official")]
    client.post(f"{address}/drop")
    again = client.get(f"{_send(site, '/tasks/again', files, written)}.csv").text
    assert sorted(_rows(again)) == sorted(_rows(written))
    board = client.get("/tasks/robots.csv").text
    sent = client.get(f"{_send(site, '/tasks/again', {'first.txt': RUN.encode()}, board)}.csv").text
    assert _rows(sent) == _rows(board) == [("first", "Owls", "official")]


def test_settings_are_read_as_they_are_written(site: Site, olga: Program) -> None:
    """Those of a suite make another suite like it; those of a task change nothing in it."""
    _done(olga.ask("PUT", "/tasks/mine?name=Mine", data=b"1\tone\n"))
    members = [
        {"name": "a", "task": "robots", "measure": "AP", "lag": "none"},
        {"name": "b", "task": "mine", "lag": "long"},
    ]
    facts = {"title": "Hers", "description": "*All*.", "members": members, "reference": "a", "macro": "lag"}
    flags = {"baseline": "bm25", "missing_is_empty": True, "shared_topics": True}
    _done(olga.ask("POST", "/suites/hers", json={**facts, **flags}))
    written = _done(olga.ask("GET", "/suites/hers/settings"))
    assert {key: written[key] for key in ("title", "macro", *flags)} == {
        "title": "Hers",
        "macro": "lag",
        **flags,
    }
    _done(olga.ask("POST", "/suites/again", json=written))
    assert _done(olga.ask("GET", "/suites/again/settings")) == written
    assert olga.ask("GET", "/suites/both/settings").status_code == 403
    settings = _done(olga.ask("GET", "/tasks/robots/settings"))["settings"]
    found = _done(olga.ask("PATCH", "/tasks/robots/settings", json={"settings": settings}))
    assert (found["settings"], found["changed"]) == (settings, [])


COMPUTED = "it is worked out of runs, topics and judgments, which go back in"
CARRIED = "it lists for readers what the bundle of a task carries, and what operations take one by one"
HERE = "it is about this site's own people and work"
POINTS = "it cites a page, announces it or shows it in small"
PROOF = "its digest proves what this site showed: no form writes it, and only an operator's import keeps it"
DRAWN = "pseudonyms are drawn and never chosen; the bundle carries them"
SAID = "people say it by links of their own, and nobody says it for them; the bundle carries it"
REASONS = {
    COMPUTED: """adjudication.export agreement.export boards.show_methods combined.export comparisons.export
        curves.export efficiency.export heat_maps.export intervals.export judge_labels.export
        judge_labels.topic_export judges.export judges.show_export judges.topic_export
        labelling.export measure_orders.export nuggets.export nuggets.line_export
        pool_audits.export pools.new_export rankings.document_export rankings.export
        reproductions.export reproductions.one_export reveal.export revisions.draft_export
        revisions.export run_files.trec_eval run_outward.hub_results run_outward.results
        run_sections.curves_export run_sections.explained_export run_sections.measures_export
        run_sections.origin_export run_sections.ties_export run_sections.topics_export
        settled.export side_by_side.compared_export snapshots.history_export suites.export
        suites.run_export topics.export signatures.keys snapshots.edition
        snapshots.edition_signature snapshots.show_signature tasks.croissant tasks.hub_benchmark""",
    CARRIED: """answers.export assessors.export clicks.export entries.export labelling.index_export
        members.export news.export phases.export pools.export pools.index_export
        pools.topic_export revisions.index_export run_outward.metadata runs.export
        side_by_side.export suites.index_export tasks.export""",
    HERE: """accounts.export activity.export measures.export measures.show_json my.export
        search.export site.mail_export site.queue_export site.storage_export
        site_accounts.export site_audit.export uploads.show_json""",
    POINTS: """badges.of_run badges.of_task tasks.cite feeds.of_site feeds.of_task feeds.of_team
        phases.calendar phases.site_calendar snapshots.show_bib""",
    PROOF: "snapshots.export",
    DRAWN: "naming.export",
    SAID: "side_by_side.answers_export",
}
NO_ROAD = {endpoint: why for why, endpoints in REASONS.items() for endpoint in endpoints.split()}
"""Endpoint of an export that nothing reads -> why."""
TAKEN = (
    *EXPORTS,
    "/tasks/robots/revisions/1/left_out.txt",
    "/tasks/talk/labelling/1/made.jsonl",
    "/batches/1.csv",
    "/tasks/robots.csv",
)
"""Addresses that the tests above send back."""


def _exports(app: Flask) -> Iterator[Rule]:
    """The routes that write a file."""
    for rule in app.url_map.iter_rules():
        is_file = "form" in rule.arguments or "." in rule.rule or rule.rule.endswith("/file")
        if is_file and "GET" in (rule.methods or ()) and not rule.rule.startswith(("/api/", "/static/")):
            yield rule


def test_every_export_is_read_or_says_why_not(site: Site) -> None:
    """A new one finds its road, or a reason here."""
    router = site.app.url_map.bind("localhost")
    taken = {router.match(address.partition("?")[0])[0] for address in TAKEN}
    known = {rule.endpoint for rule in _exports(site.app)}
    assert sorted(known - taken - {*NO_ROAD}) == []
    assert sorted({*NO_ROAD} - known | {*NO_ROAD} & taken) == []
