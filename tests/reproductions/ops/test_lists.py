"""What the runs of a batch reproduce."""

from pathlib import Path

from sqlalchemy import select

from leaderboard.db.engine import Database
from leaderboard.db.tables import Reproduction, Run, UploadBatch
from leaderboard.runs.ops import prepare
from leaderboard.runs.ops.prepare import BatchRequest, plan
from tests.make import build
from tests.runs.ops.test_batches import _files, _member, _send, _verdicts
from tests.runs.ops.test_batches import site as site


def test_a_list_says_what_runs_reproduce(site: Database, tmp_path: Path) -> None:
    """By the number of the original; a file that cannot reproduce it is not taken, and says why."""
    ann, owls = _member(site)
    first = _send(
        site, ann, plan(_files(tmp_path, ["zero"]), BatchRequest(team=owls)), BatchRequest(team=owls)
    )
    build.drain(site)
    assert set(_verdicts(site, ann, first).values()) == {"accepted"}
    listed = prepare.read_list("run,team,reproduces\none,Owls,1\ntwo,Owls,999\nthree,Owls,\n")
    wished = BatchRequest(team=owls, runs=listed)
    batch_id = _send(site, ann, plan(_files(tmp_path, ["one", "two", "three"]), wished), wished)
    build.drain(site)
    assert _verdicts(site, ann, batch_id) == {"one": "accepted", "two": "not taken", "three": "accepted"}
    with site.read() as session:
        rows = session.execute(
            select(Run.name, Reproduction.original_id).join(Run, Run.id == Reproduction.run_id)
        )
        assert list(map(tuple, rows)) == [("one", 1)]
        (refused,) = session.get_one(UploadBatch, batch_id).wishes["refused"]
        assert (refused["file"], refused["value"]) == ("two", "999")
