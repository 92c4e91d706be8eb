"""A track from its topics to its archive by programs alone: organiser, team, assessors."""

import io
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from flask import Flask, Response, request, request_finished

from leaderboard import reference
from tests.judges import make as judging
from tests.judging.web.test_clicks import SESSIONS
from tests.make import build
from tests.make.worlds import QRELS, RUN, TOPICS
from tests.web.api.conftest import Program, Programs
from tests.web.api.organising import ORGANISED
from tests.web.conftest import Site

DOCUMENTS = "".join(f'{{"_id": "d{n}", "title": "Title {n}", "text": "Text {n}"}}\n' for n in range(1, 10))
OTHER_RUN = RUN.replace("d1 1 3.0", "d1 2 1.0")
TASK = "/tasks/track"
GRADES = {(topic, docno): grade for topic, _, docno, grade in map(str.split, QRELS.splitlines())}


@dataclass(frozen=True)
class _Asking:
    """A program whose every request succeeds."""

    program: Program

    def __call__(self, method: str, path: str, body: Any = None, file: str | bytes | None = None) -> Any:
        given = {"data": file} if file is not None else {} if body is None else {"json": body}
        answer = self.program.ask(method, path, **given)
        assert answer.status_code < 300, f"{method} {path}: {answer.text}"
        return answer.json

    def file(self, path: str) -> bytes:
        """What an address gives as a file."""
        answer = self.program.ask("GET", path)
        assert answer.status_code == 200, answer.text
        return answer.data


@pytest.fixture
def done(site: Site) -> Iterator[set[str]]:
    """The operations that succeeded."""
    names: set[str] = set()

    def note(app: Flask, response: Response) -> None:
        if request.endpoint and response.status_code < 300:
            names.add(request.endpoint.removeprefix("api."))

    request_finished.connect(note, site.app)
    yield names
    request_finished.disconnect(note, site.app)


@dataclass
class _Season:
    """What its stages hand on."""

    site: Site
    folder: Path
    olga: _Asking
    berta: _Asking
    nobody: _Asking
    runs: list[int] = field(default_factory=list)
    links: list[Any] = field(default_factory=list)
    pool: int = 0
    tomorrow: str = field(default_factory=lambda: (datetime.now(UTC) + timedelta(days=1)).isoformat())

    @property
    def owls(self) -> int:
        """Berta's team."""
        return self.site.world.owls

    def make(self) -> None:
        """A draft gets its topics, people and dates, and is published."""
        olga, _berta, _nobody = self.olga, self.berta, self.nobody
        assert olga("PUT", "/collections/papers", file=DOCUMENTS)["documents"] == 9
        assert olga("GET", "/collections/papers")["size"] == 9
        assert "papers" in [row["collection"] for row in olga("GET", "/collections")["rows"]]
        made = olga("PUT", f"{TASK}?name=Track&collection=papers&visibility=sealed", file=TOPICS)
        read = "Tab-separated columns: id=column1, title=column2."
        assert made == {"name": "Track", "state": "draft", "task": "track", "topics": read}
        olga("PATCH", f"{TASK}/settings", {"settings": {"entry_rule": "approval"}, "reason": "By hand."})
        assert olga("GET", f"{TASK}/settings")["settings"]["entry_rule"] == "approval"
        assert olga("POST", "/topics/reading?fields=title=column2", file=TOPICS)["topics"] == 3
        olga("PUT", f"{TASK}/topics", file=TOPICS + "4\tfourth topic\n")
        olga("POST", f"{TASK}/topics", {"topic": "5", "title": "fifth topic"})
        olga("PUT", f"{TASK}/topics/5", {"title": "the fifth topic"})
        olga("PUT", f"{TASK}/topics/5/exclusion", {"reason": "Too vague."})
        olga("DELETE", f"{TASK}/topics/5/exclusion")
        olga("PUT", f"{TASK}/people", {"account": "Otto", "role": "reader"})
        assert [row["name"] for row in olga("GET", f"{TASK}/people")["people"]] == ["Olga", "Otto"]
        olga("DELETE", f"{TASK}/people/{self.site.world.otto}")
        link = olga("POST", f"{TASK}/invitations", {"role": "coordinator"})["link"]
        assert "/join/" in link
        olga("POST", f"/invitations/{self.site.world.invited + 1}/revoke")
        olga("PUT", f"{TASK}/dates", {"closes_at": self.tomorrow})
        assert olga("POST", f"{TASK}/publish")["state"] == "published"

    def enter(self) -> None:
        """A team is let in, goes by a pseudonym and sends two runs."""
        olga, berta, _nobody = self.olga, self.berta, self.nobody
        olga("POST", f"{TASK}/announcements", {"title": "It begins", "preview": True})
        assert olga("POST", f"{TASK}/announcements", {"title": "It begins"})["announcement"]
        assert berta("POST", f"{TASK}/enter", {"team": self.owls})["state"] == "waiting"
        (entry,) = olga("GET", f"{TASK}/entries")["entries"]
        assert (entry["team"], entry["state"]) == (self.owls, "waiting")
        olga("POST", f"{TASK}/entries/{self.owls}", {"accept": True})
        olga("PUT", f"{TASK}/pseudonyms", {"kind": "animals"})
        olga("DELETE", f"{TASK}/pseudonyms")
        olga("PUT", f"{TASK}/pseudonyms", {"kind": "animals", "until": "team", "is_sure": True})
        olga("POST", f"{TASK}/pseudonyms/draw", {"kind": "plants", "is_sure": True})
        review = berta("POST", f"{TASK}/teams/{self.owls}/review-links", {"note": "For the paper."})["link"]
        assert "/review/" in review
        self.runs += [
            berta("PUT", f"{TASK}/runs/{name}?team={self.owls}", file=text)["run_id"]
            for name, text in (("one", RUN), ("two", OTHER_RUN))
        ]

    def pool_them(self) -> None:
        """A pool with two assessors, guidelines and grades."""
        olga, _berta, _nobody = self.olga, self.berta, self.nobody
        self.pool = olga("POST", f"{TASK}/pools", {"method": {"name": "depth", "depth": 10}})["pool"]
        at = f"{TASK}/pools/{self.pool}"
        imported = olga("POST", f"{TASK}/pools/import?note=by+hand", file="1 d1\n1 d2\n")["pool"]
        olga("DELETE", f"{TASK}/pools/{imported}")
        links = self.links = olga("POST", f"{at}/assessors", {"names": ["Ada", "Bob"]})["assessors"]
        ada, bob = (row["assessor"] for row in links)
        olga("PUT", f"{at}/assignments", {"assessors": [ada, bob], "way": "all"})
        olga("PUT", f"{at}/guidelines", {"text": "*Relevant* is what helps."})
        olga("PUT", f"{at}/grades", {"grades": [{"grade": n, "name": f"n{n}"} for n in range(3)]})
        olga("POST", f"{at}/examples", {"topic": "1", "text": "Text", "grade": 1, "why": "So."})
        olga("DELETE", f"{at}/examples/1")
        opening = {"state": "open", "highest_grade": None, "without_texts": True}
        assert olga("PUT", f"{at}/state", opening)["state"] == "open"
        olga("POST", f"{at}/assessors/{bob}/prolong")
        links[1] = olga("POST", f"{at}/assessors/{bob}/link")

    def judge(self) -> None:
        """Both assessors judge all that is theirs; they differ on one document."""
        for place, row in enumerate(self.links):
            mine = f"/judge/{row['link'].rsplit('/', 1)[1]}"
            for topic in self.nobody("GET", mine)["pools"][0]["topics"]:
                address = f"{mine}/pools/{self.pool}/topics/{topic['topic']}"
                while (following := self.nobody("GET", address))["document"]:
                    at = (topic["topic"], following["document"]["docno"])
                    grade = place if at == ("1", "d2") else int(GRADES.get(at, 0))
                    label = {"key": f"{place}-{at[0]}-{at[1]}", "docno": at[1], "grade": grade}
                    assert self.nobody("POST", address, label)["done"] == "stored"
        self.nobody("POST", f"{mine}/pools/{self.pool}/topics/1/undo")

    def settle(self) -> None:
        """Labels become a revision; scores are there for who organises alone."""
        olga, berta, _nobody = self.olga, self.berta, self.nobody
        at = f"{TASK}/pools/{self.pool}"
        labels = olga("POST", f"{at}/labels?name=bot&origin=machine&origin_name=m1", file="1 0 d2 0\n")
        assert labels["added"] == 1
        decision = {"topic": "1", "docno": "d1", "grade": 2, "key": "k1"}
        olga("POST", f"{at}/decisions", decision)
        olga("POST", f"{at}/decisions/undo")
        olga("POST", f"{at}/decisions", decision | {"key": "k2"})
        olga("PUT", f"{at}/state", {"state": "closed"})
        draft = olga("POST", f"{at}/settle", {"note": "Settled."})
        assert draft["added"] >= 3
        address = f"{TASK}/revisions/drafts/{draft['draft']}"
        assert olga("GET", address) == draft
        assert olga("POST", f"{address}/publish", {"base": 0})["number"] == 1
        other = olga("POST", f"{TASK}/revisions/drafts?note=more", file=QRELS)["draft"]
        olga("DELETE", f"{TASK}/revisions/drafts/{other}")
        build.drain(self.site.database)
        olga("PUT", f"{TASK}/scored-topics", {"topics": "judged"})
        build.drain(self.site.database)
        held = berta("GET", f"{TASK}/board")["rows"]
        assert [(row["rank"], set(row["scores"].values()) - {None}) for row in held] == [(None, set())] * 2
        rows = olga("GET", f"{TASK}/board")["rows"]
        assert {row["run"] for row in rows} == {"one", "two"}

    def arrange(self) -> None:
        """Groups, phases and a later deadline."""
        olga, _berta, _nobody = self.olga, self.berta, self.nobody
        group = olga("PUT", f"{TASK}/groups", {"name": "birds", "teams": [self.owls]})["group"]
        olga("DELETE", f"{TASK}/groups/{group}")
        past = [(datetime.now(UTC) - timedelta(days=days)).isoformat() for days in (2, 1)]
        early = {"name": "early", "opens_at": past[0], "closes_at": past[1], "at_close": "sealed"}
        olga("POST", f"{TASK}/phases", {**early, "kinds": ["official"]})
        olga("POST", f"{TASK}/phases/early/reveal")
        olga("DELETE", f"{TASK}/phases/early")
        olga("POST", f"{TASK}/phases", {"name": "late", "opens_at": self.tomorrow, "kinds": ["official"]})
        change = {
            "phase": {"name": "later", "opens_at": self.tomorrow, "kinds": ["official"]},
            "reason": "Renamed.",
        }
        olga("PUT", f"{TASK}/phases/late", change)
        olga("DELETE", f"{TASK}/phases/later")
        olga("POST", f"{TASK}/extend", {"hours": 3, "reason": "The site was down."})

    def compare(self) -> None:
        """An assessor says which of two rankings is better."""
        olga, _berta, nobody = self.olga, self.berta, self.nobody
        at, runs, links = f"{TASK}/pools/{self.pool}", self.runs, self.links
        ada, bob = (row["assessor"] for row in links)
        asked = {"run": runs[0], "others": [runs[1]], "assessors": [ada], "topics": ["1"]}
        assert olga("POST", f"{TASK}/side-by-side/assessors", {"names": ["Cleo"]})["assessors"]
        olga("POST", f"{TASK}/side-by-side", asked)
        mine = f"/judge/{links[0]['link'].rsplit('/', 1)[1]}"
        (item,) = nobody("GET", mine)["comparisons"]
        two = nobody("GET", f"{mine}/comparisons/{item['item']}")
        assert [row["docno"] for row in two["left"]] != []
        answer = {"key": two["key"], "verdict": "left", "left": 3, "right": 2}
        nobody("POST", f"{mine}/comparisons/{item['item']}", answer)
        olga("POST", f"{TASK}/side-by-side/end", {"first": runs[0], "second": runs[1]})
        olga("DELETE", f"{at}/assessors/{bob}")

    def sample(self) -> None:
        """A machine judges another task; a share of its judgments is drawn for people, and shown."""
        olga, berta, at = self.olga, self.berta, "/tasks/auto"
        olga("PUT", f"{at}?name=Auto&collection=papers", file=TOPICS)
        olga("POST", f"{at}/publish")
        berta("PUT", f"{at}/runs/one?team={self.owls}", file=RUN)
        machine = f"{at}/revisions/drafts?note=m&origin=machine&origin_name=m1"
        draft = olga("POST", machine, file=QRELS)["draft"]
        olga("POST", f"{at}/revisions/drafts/{draft}/publish", {"base": 0})
        draft = olga("POST", machine, file=f"{QRELS}1 0 d7 1\n")["draft"]
        olga("POST", f"{at}/revisions/drafts/{draft}/publish", {"base": 1})
        residual = olga("POST", f"{at}/revisions/residual", {"earlier": [1], "note": "Round 2."})
        assert residual["left_out"]["after"] == len(QRELS.splitlines())
        olga("DELETE", f"{at}/revisions/drafts/{residual['draft']}")
        build.drain(self.site.database)
        drawn = olga("POST", f"{at}/samples", {"share": 0.5, "seed": 2})
        assert drawn == {"pool": 1, "state": "draft"}
        olga("PUT", f"{at}/pools/1/shown", {"shown": True})
        olga("PUT", f"{at}/pools/1/state", {"state": "open", "highest_grade": 2, "without_texts": True})
        board = berta("GET", f"{at}/combined?by=people")
        assert board["sample"] is not None
        assert (board["sample"]["pool"], board["sample"]["design"]) == (1, "documents")

    def end(self) -> None:
        """Clicks, names, the reveal, a snapshot, the archive and the next year."""
        olga, berta, _nobody = self.olga, self.berta, self.nobody
        log = build.click_log(self.folder, SESSIONS).read_bytes()
        number = olga("POST", f"{TASK}/clicks?file_name=clicks.csv", file=log)["log"]
        assert olga("POST", f"{TASK}/clicks/publish", {"least": "1", "note": "Of clicks."})["number"] >= 1
        olga("DELETE", f"{TASK}/clicks/{number}")
        berta("POST", f"{TASK}/teams/{self.owls}/show-name")
        olga("PATCH", f"{TASK}/settings", {"settings": {"visibility": "open"}, "reason": "Over."})
        build.drain(self.site.database)
        (first, second) = berta("GET", f"{TASK}/board")["rows"]
        assert first["scores"] != second["scores"]
        assert "/snapshots/" in berta("POST", f"{TASK}/snapshots")["link"]
        assert olga("POST", f"{TASK}/archive")["state"] == "archived"
        assert olga("POST", f"{TASK}/unarchive")["state"] == "published"
        assert olga("POST", f"{TASK}/clone", {"slug": "next", "name": "Next"})["state"] == "draft"
        olga("POST", "/tasks/next/publish")
        assert olga("POST", "/tasks/next/unpublish")["state"] == "draft"
        olga("DELETE", "/tasks/next")
        self.refer(olga)
        export = olga.file(f"{TASK}/export")
        assert olga("PUT", "/tasks/again/import", file=export)["is_export"]
        olga("POST", f"/tasks/robots/jobs/{self.site.world.job}/again")

    def refer(self, olga: _Asking) -> None:
        """A task of judges has the board of a file as its reference, then that of a task of rankings."""
        judging.ranked(self.site.database, self.folder, "ranks")
        olga("PUT", "/tasks/held?name=Held&kind=judges", file=TOPICS)
        board = judging.board_text(judging.REFERENCE)
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w") as archive:
            archive.writestr("board.txt", board)
            archive.writestr("declared.csv", judging.FACTS)
        drafts = (
            olga("POST", "/tasks/held/reference/file?note=First", file=packed.getvalue()),
            olga("POST", "/tasks/held/reference", {"source": "ranks", "note": "Of this site."}),
        )
        for base, draft in enumerate(drafts):
            path = f"/tasks/held/revisions/drafts/{draft['draft']}/publish"
            assert olga("POST", path, {"base": base})["number"] == base + 1


@pytest.mark.trial
def test_a_season(site: Site, program: Programs, done: set[str], tmp_path: Path) -> None:
    """Made, settled, entered, sent to, judged, revised, revealed and archived, by every operation."""
    olga = _Asking(program("Olga", "read", "organise", "judge"))
    season = _Season(site, tmp_path, olga, _Asking(program("Berta")), _Asking(program()))
    for stage in ("make", "enter", "pool_them", "judge", "settle", "arrange", "compare", "sample", "end"):
        getattr(season, stage)()
    with site.app.app_context():
        own = ORGANISED & {one.name for one in reference.operations()}
    assert own - done == set(), own - done
