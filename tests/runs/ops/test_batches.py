"""Many files at once: names, teams and kinds by rules, a verdict for each, what is held and for how long."""

from collections.abc import Iterable
from datetime import timedelta
from pathlib import Path

import pytest
from sqlalchemy import func, select, update

from leaderboard.core.jobs import queue
from leaderboard.core.policy import OPERATOR, Viewer
from leaderboard.db.engine import Database
from leaderboard.db.tables import Job, Phase, Run, Team, Throttle, Upload, UploadBatch, UploadChunk
from leaderboard.errors import Closed, Forbidden, Invalid, LeaderboardError, NotFound, OverQuota
from leaderboard.runs.ops import batches, prepare
from leaderboard.runs.ops.prepare import BY_FOLDER, BY_LIST, BatchFile, BatchPlan, BatchRequest, plan
from leaderboard.runs.page import batch as pages
from tests.make import build, people

TEXT = "1 Q0 a 1 2 {tag}\n2 Q0 d 1 2 {tag}\n3 Q0 e 1 2 {tag}\n"
BAD = "9 Q0 a 1 2 t\n"
LIST = "run,team,kind\none,Owls,baseline\ntwo.txt,Bears,\n"


@pytest.fixture
def site(database: Database, tmp_path: Path) -> Database:
    """A published task."""
    build.task(database, tmp_path)
    return database


def _files(folder: Path, names: Iterable[str], text: str = TEXT) -> list[BatchFile]:
    """Files under these names, each tagged by its place."""
    found = []
    for place, name in enumerate(names):
        path = folder / f"sent-{place}"
        path.write_text(text.format(tag=f"tag{place}"))
        found.append(BatchFile(name, path))
    return found


def _send(
    database: Database, viewer: Viewer, planned: BatchPlan, wished: BatchRequest, key: str | None = None
) -> int:
    with database.write() as session:
        opened = batches.begin(session, viewer, "t", wished, planned, key)
    batches.receive(database, viewer, "t", opened, planned, key)
    return opened.id


def _verdicts(database: Database, viewer: Viewer, batch_id: int) -> dict[str, str]:
    with database.read() as session:
        return {row.file: row.verdict for row in pages.batch_page(session, viewer, batch_id).rows}


def _member(database: Database, team: str = "Owls", name: str = "Ann") -> tuple[Viewer, int]:
    account = people.account(database, name)
    team_id = people.team(database, team, account)
    return people.viewer(database, account), team_id


def _count(database: Database, table: type) -> int:
    with database.read() as session:
        return session.scalar(select(func.count()).select_from(table)) or 0


def test_names_teams_and_kinds_follow_the_rules(tmp_path: Path) -> None:
    """Names from file or tag, teams from a list or folders; each file without a place is told."""
    runs = prepare.read_list(LIST)
    planned = plan(
        _files(tmp_path, ["x/one.txt.gz", "two.txt", "three"]), BatchRequest(team=BY_LIST, runs=runs)
    )
    made = [(one.run.name, one.team, one.run.kind) for one in planned.files]
    assert made == [("one", "Owls", "baseline"), ("two", "Bears", "official")]
    assert [(name, problem.rule[:24]) for name, problem in planned.refused] == [
        ("three", "The list contains neithe")
    ]
    tags = prepare.read_list("run;team\ntag0;Owls\ntag7;Bears\n")
    planned = plan(
        _files(tmp_path, ["b", "c/d"]), BatchRequest(team=BY_LIST, runs=tags, names_from="tag", kind="late")
    )
    assert [(one.run.name, one.team, one.run.kind) for one in planned.files] == [("tag0", "Owls", "late")]
    assert {name for name, _ in planned.refused} == {"c/d", "tag7"}
    planned = plan(_files(tmp_path, ["x/Owls/one", "Bears/two", "three"]), BatchRequest(team=BY_FOLDER))
    assert [(one.run.name, one.team) for one in planned.files] == [("one", "Owls"), ("two", "Bears")]
    assert planned.refused[0][0] == "three"
    planned = plan(_files(tmp_path, ["a/one.txt", "b/ONE.run"]), BatchRequest(team=1))
    assert [one.file_name for one in planned.files] == ["a/one.txt"]
    assert "a/one.txt in the same batch already has the name one" in planned.refused[0][1].rule


def test_a_list_that_cannot_be_used_says_why(tmp_path: Path) -> None:
    """Columns, cells, kinds and doubles are named by their line; so is a rule that makes no sense."""
    file = _files(tmp_path, ["one"])
    cases = [
        (lambda: prepare.read_list("name,team\n"), "no column run"),
        (lambda: prepare.read_list("run,team\none,\n"), "line 2: A row must name a run and its team."),
        (lambda: prepare.read_list("run,team,kind\none,A,best\n"), "line 2: kind 'best'"),
        (lambda: prepare.read_list("run,team,reproduces\none,A,own\n"), "line 2: reproduces 'own'"),
        (lambda: prepare.read_list("run,team,reproduces\none,A,0\n"), "given by its number"),
        (lambda: prepare.read_list("run\tteam\none\tA\none\tB\n"), "already on line 2"),
        (lambda: plan(file, BatchRequest(team=BY_LIST)), "Give a list"),
        (lambda: plan([], BatchRequest(team=1)), "no run files"),
        (lambda: plan(file * 501, BatchRequest(team=1)), "at most 500 are accepted"),
        (lambda: plan(file, BatchRequest(team=1, names_from="dream")), "from the file name or the tag"),
    ]
    faults = []
    for attempt, words in cases:
        try:
            faults.append((words, str(attempt())))
        except LeaderboardError as error:
            if words not in error.message:
                faults.append((words, error.message))
    assert faults == []
    path = tmp_path / "runs.csv"
    for text, expected in (("Team,RUN\n", True), ("run,score\n", False), (TEXT, False), ("", False)):
        path.write_text(text)
        assert prepare.is_list(path, "runs.csv") is expected


def test_every_file_gets_its_verdict_and_none_stops_the_others(site: Database, tmp_path: Path) -> None:
    """Good, bad and unplaced files of one batch; sent again under its key it makes nothing new."""
    ann, owls = _member(site)
    files = [*_files(tmp_path, ["one.txt", "two.txt", "ONE.run"])]
    (tmp_path / "bad").write_text(BAD)
    files.append(BatchFile("bad.txt", tmp_path / "bad"))
    wished = BatchRequest(team=owls)
    planned = plan(files, wished)
    batch_id = _send(site, ann, planned, wished, "key")
    waiting = {"one.txt": "waiting", "two.txt": "waiting", "bad.txt": "waiting", "ONE.run": "not taken"}
    assert _verdicts(site, ann, batch_id) == waiting
    build.drain(site)
    done = {"one.txt": "accepted", "two.txt": "accepted", "bad.txt": "rejected", "ONE.run": "not taken"}
    assert _verdicts(site, ann, batch_id) == done
    assert _send(site, ann, planned, wished, "key") == batch_id
    assert (_count(site, Run), _count(site, Upload), _count(site, UploadBatch)) == (2, 3, 1)
    with site.read() as session:
        page = pages.batch_page(session, ann, batch_id)
        assert page.counts == {"accepted": 2, "rejected": 1, "not taken": 1}
        assert [row["verdict"] for row in pages.facts(page)["files"]][:2] == ["not taken", "rejected"]
        assert session.scalar(select(Throttle.count).where(Throttle.key.like("rejected account%"))) == 1
        with pytest.raises(NotFound):
            pages.batch_page(session, Viewer(account_id=99, name="Zed"), batch_id)


def test_organisers_file_runs_for_any_team(site: Database, tmp_path: Path) -> None:
    """Teams that are missing are named, or made; nobody else may file runs for others."""
    planned = plan(
        _files(tmp_path, ["one", "two"]), wished := BatchRequest(team=BY_LIST, runs=prepare.read_list(LIST))
    )
    ann, _ = _member(site)
    with pytest.raises(Forbidden):
        _send(site, ann, planned, wished)
    with pytest.raises(Invalid) as caught:
        _send(site, OPERATOR, planned, wished)
    assert [problem.value for problem in caught.value.problems] == ["Bears"]
    assert _count(site, UploadBatch) == 0
    wished = BatchRequest(team=BY_LIST, runs=wished.runs, makes_teams=True)
    batch_id = _send(site, OPERATOR, planned, wished)
    build.drain(site)
    with site.read() as session:
        rows = session.execute(select(Run.name, Team.name, Run.kind).join(Team, Team.id == Run.team_id))
        assert sorted(map(tuple, rows)) == [("one", "Owls", "baseline"), ("two", "Bears", "official")]
    assert set(_verdicts(site, OPERATOR, batch_id).values()) == {"accepted"}


def test_held_files_wait_for_a_look(site: Database, tmp_path: Path) -> None:
    """They are checked and counted, and become runs once sent; dropped or after a week they are gone."""
    ann, owls = _member(site)
    wished = BatchRequest(team=owls, holds=True)
    with site.write() as session:
        session.execute(update(Phase).values(runs_in_all=4))

    def send(*names: str) -> int:
        batch_id = _send(site, ann, plan(_files(tmp_path, names), wished), wished)
        build.drain(site)
        return batch_id

    first, second, third = send("one", "two"), send("three"), send("four", "five")
    assert set(_verdicts(site, ann, first).values()) == {"held"}
    assert _verdicts(site, ann, third) == {"four": "held", "five": "not taken"}
    assert _count(site, Run) == 0
    with site.write() as session:
        assert batches.send_held(session, ann, first) == 2
        assert batches.drop_held(session, ann, second) == 1
    build.drain(site)
    assert set(_verdicts(site, ann, first).values()) == {"accepted"}
    assert _verdicts(site, ann, second) == {"three": "rejected"}
    with site.write() as session:
        old = Upload.batch_id == third, Upload.checked_at.is_not(None)
        moment = session.scalars(select(Upload.checked_at).where(*old)).one()
        session.execute(update(Upload).where(*old).values(checked_at=moment - timedelta(days=8)))
    build.drain(site)
    assert _verdicts(site, ann, third)["four"] == "rejected"
    with site.read() as session:
        kept = set(session.scalars(select(UploadChunk.upload_id)))
        states = {row.id: row.state for row in session.execute(select(Upload.id, Upload.state))}
    assert kept == {upload for upload, state in states.items() if state == "accepted"}


def test_nothing_held_is_sent_after_the_close(site: Database, tmp_path: Path) -> None:
    """The deadline is that of becoming a run: a look may not take longer."""
    ann, owls = _member(site)
    wished = BatchRequest(team=owls, holds=True)
    batch_id = _send(site, ann, plan(_files(tmp_path, ["one"]), wished), wished)
    build.drain(site)
    with site.write() as session:
        moment = session.scalars(select(Upload.created_at)).one()
        session.execute(update(Phase).values(closes_at=moment - timedelta(hours=1)))
    with pytest.raises(Closed), site.write() as session:
        batches.send_held(session, ann, batch_id)
    assert _verdicts(site, ann, batch_id) == {"one": "held"}


@pytest.mark.trial
def test_a_batch_after_too_many_rejected_files_comes_last(site: Database, tmp_path: Path) -> None:
    """Rejected files of a batch count like single ones; a good one is taken, once no other file waits."""
    ann, owls = _member(site)
    wished = BatchRequest(team=owls)
    names = [f"bad{number}" for number in range(21)]
    _send(site, ann, plan(_files(tmp_path, names, BAD), wished), wished)
    build.drain(site)
    batch_id = _send(site, ann, plan(_files(tmp_path, ["one"]), wished), wished)
    with site.read() as session:
        assert session.scalars(select(Job.priority).where(Job.state == "queued")).all() == [queue.UNHURRIED]
    with pytest.raises(OverQuota, match="rejected within an hour"):
        _send(site, ann, plan(_files(tmp_path, ["two"]), wished), wished)
    build.drain(site)
    assert _verdicts(site, ann, batch_id) == {"one": "accepted"}
