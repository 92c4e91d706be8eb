"""Submissions to a suite: folders and archives, what is refused and why, all or nothing."""

import tarfile
import zipfile
from pathlib import Path

import pytest

from leaderboard.errors import Invalid, LeaderboardError
from leaderboard.trec import suites as suites_files
from leaderboard.trec.suites import SuiteRun, read_suite, score_suite
from tests.make import suites

ALL = {"snapshot-1": 1, "snapshot-2": 2, "snapshot-3": 4}


def scored(tmp_path: Path, path: Path, head: str = "") -> SuiteRun:
    """The run of a submission to the suite of three members."""
    (run,) = score_suite(read_suite(suites.suite_file(tmp_path, head)), [path]).runs
    return run


def refused(tmp_path: Path, path: Path, head: str = "") -> str:
    """All that is said of a submission that is refused."""
    with pytest.raises(LeaderboardError) as error:
        scored(tmp_path, path, head)
    problems = error.value.problems if isinstance(error.value, Invalid) else ()
    return "\n".join([error.value.message, *map(str, problems)])


@pytest.mark.parametrize("kind", ["folder", "zip", "tar"])
def test_members_are_scored_however_they_are_sent(tmp_path: Path, kind: str) -> None:
    """A folder, a zip, a tar: the same scores, under the tag of the metadata."""
    make = {"folder": suites.folder, "zip": suites.zipped, "tar": suites.tarred}[kind]
    run = scored(tmp_path, make(tmp_path / "sent", suites.files(ALL, "owl")))
    assert (run.name, run.missing) == ("owl", ())
    assert {member: scores.tolist() for member, scores in run.scores.items()} == {
        "snapshot-1": [1.0, 1.0],
        "snapshot-2": [0.5, 0.5, 0.5],
        "snapshot-3": [0.25, 0.25],
    }


def test_a_missing_member_is_no_error(tmp_path: Path) -> None:
    """It is named; where the suite says so it counts as an empty run. The name is that of the file."""
    path = suites.zipped(tmp_path / "mine.zip", suites.files({"snapshot-1": 1}))
    run = scored(tmp_path, path)
    assert (run.name, run.missing, list(run.scores)) == ("mine", ("snapshot-2", "snapshot-3"), ["snapshot-1"])
    run = scored(tmp_path, path, 'missing = "empty"')
    assert run.missing == ("snapshot-2", "snapshot-3")
    assert run.scores["snapshot-2"].tolist() == [0, 0, 0]


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("snapshot1/run.txt", "no such member. Did you mean snapshot-1?"),
        ("snapshot-1/result.txt", "named run.txt or run.txt.gz"),
        ("run.txt", "folder of its member"),
        ("mine/snapshot-1/run.txt", "at the top level"),
        ("/snapshot-1/run.txt", "absolute or has `..`"),
        ("../snapshot-1/run.txt", "absolute or has `..`"),
        ("C:\\snapshot-1\\run.txt", "absolute or has `..`"),
    ],
)
def test_names_that_lead_elsewhere_are_refused(tmp_path: Path, name: str, said: str) -> None:
    """With what was meant; nothing of the submission counts."""
    content = {**suites.files({"snapshot-2": 1}), name: b"1 Q0 a 1 1 t\n"}
    message = refused(tmp_path, suites.zipped(tmp_path / "sent.zip", content))
    assert said in message
    assert "none of it counts" in message


def test_links_are_refused(tmp_path: Path) -> None:
    """In a zip, in a tar and in a folder, also one that leads to a run."""
    link = zipfile.ZipInfo("snapshot-1/run.txt")
    link.external_attr = 0o120777 << 16
    assert "a link" in refused(tmp_path, suites.zipped(tmp_path / "l.zip", [(link, b"/etc/passwd")]))
    info = tarfile.TarInfo("snapshot-1/run.txt")
    info.type, info.linkname = tarfile.SYMTYPE, "/etc/passwd"
    with tarfile.open(tmp_path / "l.tar", "w") as archive:
        archive.addfile(info)
    assert "a link" in refused(tmp_path, tmp_path / "l.tar")
    folder = suites.folder(tmp_path / "sent", suites.files({"snapshot-1": 1}))
    (folder / "snapshot-3").mkdir()
    (folder / "snapshot-3" / "run.txt").symlink_to(folder / "snapshot-1" / "run.txt")
    assert "a link" in refused(tmp_path, folder)


def test_a_member_is_sent_once(tmp_path: Path) -> None:
    """Two files of one member, plain and packed."""
    content = {"snapshot-1/run.txt": b"1 Q0 a 1 1 t\n", **suites.files({"snapshot-2": 1})}
    content["snapshot-2/run.txt"] = b"1 Q0 a 1 1 t\n"
    assert "has a run already" in refused(tmp_path, suites.zipped(tmp_path / "sent.zip", content))


def test_what_expands_too_much_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By its ratio, in a zip and packed in it; and what is larger than a member may be."""
    bomb = {"snapshot-1/run.txt": b"1 Q0 a 1 1 t\n" * 400_000}
    assert "expands more than" in refused(tmp_path, suites.zipped(tmp_path / "bomb.zip", bomb))
    monkeypatch.setattr(suites_files, "MOST_RUN_BYTES", 10)
    message = refused(tmp_path, suites.zipped(tmp_path / "sent.zip", suites.files({"snapshot-1": 1})))
    assert "A run has at most" in message


def test_all_problems_are_told_at_once(tmp_path: Path) -> None:
    """Wrong runs of two members, under the names they were sent by, and never where they were unpacked."""
    content = {
        **suites.files(ALL),
        "snapshot-1/run.txt": b"1 Q0 a\n",
        "snapshot-3/run.txt": b"9 Q0 e 1 1 t\n",
    }
    message = refused(tmp_path, suites.zipped(tmp_path / "sent.zip", content))
    assert "'snapshot-1/run.txt'" in message
    assert "snapshot-3/run.txt has no topic that" in message
    assert "sent.zip-" not in message


def test_metadata_may_be_required(tmp_path: Path) -> None:
    """A tag and a team; what a template left open is nothing."""
    head = 'metadata = "required"'
    content = suites.files(ALL)
    message = refused(tmp_path, suites.zipped(tmp_path / "none.zip", content), head)
    assert "It says no tag." in message
    content["ir-metadata.yml"] = b"tag: owl\nactor:\n  team: ENTER_VALUE_HERE\n"
    message = refused(tmp_path, suites.zipped(tmp_path / "half.zip", content), head)
    assert "It says no actor.team." in message
    assert "no tag" not in message
    content["ir-metadata.yml"] = suites.METADATA.format(tag="owl").encode()
    assert scored(tmp_path, suites.zipped(tmp_path / "whole.zip", content), head).name == "owl"


def test_what_is_no_submission_is_refused(tmp_path: Path) -> None:
    """A plain file, an empty archive, a damaged one, two of one name."""
    plain = tmp_path / "run.txt"
    plain.write_text("1 Q0 a 1 1 t\n")
    assert "not a folder, a zip or a tar" in refused(tmp_path, plain)
    assert "no run of any member" in refused(tmp_path, suites.zipped(tmp_path / "none.zip", {}))
    whole = suites.zipped(tmp_path / "whole.zip", suites.files(ALL, "owl"))
    cut = tmp_path / "cut.zip"
    cut.write_bytes(whole.read_bytes()[:200])
    assert "cut off" in refused(tmp_path, cut)
    with pytest.raises(Invalid, match="Two submissions are named owl"):
        score_suite(read_suite(suites.suite_file(tmp_path)), [whole, whole])


def test_hidden_files_are_passed_over(tmp_path: Path) -> None:
    """Those that systems leave in folders."""
    content = {**suites.files(ALL, "owl"), ".DS_Store": b"x", "__MACOSX/._run.txt": b"x"}
    assert scored(tmp_path, suites.zipped(tmp_path / "mac.zip", content)).name == "owl"
    assert scored(tmp_path, suites.folder(tmp_path / "mac", content)).name == "owl"
