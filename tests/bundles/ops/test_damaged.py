"""Bundles that are not as they were written, or were never a bundle: refused, and nothing is stored."""

import io
import json
import tarfile
import zipfile
from collections.abc import Callable
from itertools import product
from pathlib import Path

import pytest
from sqlalchemy import event, func, select

from leaderboard.boards.ops import board as boards
from leaderboard.bundles.ops import imports, opening
from leaderboard.bundles.ops.checking import ImportRequest
from leaderboard.bundles.ops.describing import SUMS
from leaderboard.core.policy import ANONYMOUS, OPERATOR
from leaderboard.db.engine import Database
from leaderboard.db.tables import Audit, Collection, Run, Task, Team
from leaderboard.errors import Forbidden, Invalid, LeaderboardError, SignInNeeded, TooLarge
from tests.bundles import make as bundles
from tests.make import build, judged, people, pools
from tests.make.copies import built_once
from tests.make.loops import some


@pytest.fixture
@built_once
def folder(database: Database, tmp_path: Path) -> Path:
    """A bundle as a folder, of a task with all kinds of rows."""
    build.task(database, tmp_path, measures=("AP", "nDCG@10"))
    build.run(database, tmp_path, {"1": ["a", "c"], "2": ["d"], "3": ["e"]})
    pools.pool(database, {"1": ["a", "b"]})
    judged.judge(database, judged.assessor(database, "Anne"), "1", {"a": 2})
    build.drain(database)
    bundles.exported(database, tmp_path / "out")
    return tmp_path / "out"


def _rows(database: Database) -> list[int]:
    counted = (Task, Run, Team, Collection, Audit)
    with database.read() as session:
        return [session.scalar(select(func.count()).select_from(table)) or 0 for table in counted]


def _refused(database: Database, path: Path) -> LeaderboardError:
    """What an import under a new slug is refused with; nothing is stored by it."""
    before = _rows(database)
    with pytest.raises(LeaderboardError) as raised:
        bundles.imported(database, path, ImportRequest(slug="again"))
    assert _rows(database) == before
    return raised.value


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda out: (out / "topics.tsv").write_text("1\tother\n"), "topics.tsv does not match its checksum"),
        (lambda out: (out / "topics.tsv").unlink(), "topics.tsv is listed in SHA256SUMS but missing"),
        (
            lambda out: (out / "runs" / "extra.txt").write_text("x"),
            "runs/extra.txt is not listed in SHA256SUMS",
        ),
        (
            lambda out: (out / "runs" / "link").symlink_to("/etc/passwd"),
            "runs/link is not listed in SHA256SUMS",
        ),
        (
            lambda out: (out / SUMS).write_text("nonsense\n"),
            "line 1: 'nonsense': Each line must be a SHA-256",
        ),
    ],
)
def test_digests_are_checked_first(
    database: Database, folder: Path, change: Callable[[Path], object], said: str
) -> None:
    """A file that was changed, lost, added or made a link is named."""
    change(folder)
    assert said in _refused(database, folder).message


@pytest.mark.parametrize(
    ("table", "field", "value", "said"),
    [
        ("task", "depth", "deep", "records/task.jsonl, line 1: depth 'deep': must be a whole number."),
        ("task", "depth", -1, "must be a whole number from 1 to 100,000."),
        ("task", "slug", "Not A Slug", "must be text"),
        ("task", "links", [{"title": "x", "address": "javascript:alert(1)"}], "starts with https://"),
        ("task", "measures", ["nonsense"], "nonsense"),
        ("task", "surprise", 1, "is not a field of this file."),
        ("task", "created_at", "yesterday", "must be a date and time with time zone."),
        ("topics", "topic_id", "a b", "may not contain blanks"),
        ("teams", "home_page", "javascript:alert(1)", "must start with https://."),
        ("teams", "name", " ", "name"),
        ("phases", "visibility", "invisible", "must be one of open, blind, sealed."),
        ("phases", "zone", "Nowhere/Land", "is not a time zone"),
        ("runs", "name", "../../x", "is not a valid run name."),
        ("runs", "phase_id", 99, "must be the id of one of the phase rows of the bundle."),
        ("runs", "ranking_sha256", "0" * 64, "does not match the digest of the rankings in its file."),
        ("runs", "file", "../../../etc/passwd", "The file ../../../etc/passwd is missing from the bundle"),
        ("uploads", "sha256", "0" * 64, "The file does not match its digest."),
        ("revisions", "judgments", 1, "differ from their revision: judgments"),
        ("revisions", "number", 7, "Revision 7 of the judgment series main follows 0"),
        ("editions", "state", "odd", "must be one of building, current, past, failed."),
        ("editions", "scored", [99], "must be runs in the bundle."),
        ("editions", "measures", [{"key": "AP", "version": 99}], "has version 1 on this site and version 99"),
        ("editions", "topic_sets", {"all": 1}, "is not valid for this field"),
        ("assessments", "seconds", "fast", "must be a number."),
        ("assessments", "docno", "a\x00b", "must be text without NUL."),
        ("pools", "run_ids", "all", "must be a list."),
    ],
)
def test_records_are_checked(
    database: Database, folder: Path, table: str, field: str, value: object, said: str
) -> None:
    """File, line, field, value and rule are said of a record that would not be stored as it is."""
    path = folder / "records" / f"{table}.jsonl"
    first, *others = path.read_text().splitlines()
    path.write_text("\n".join([json.dumps({**json.loads(first), field: value}), *others]) + "\n")
    bundles.seal(folder)
    if field == "slug":
        # A slug of ones own is asked for instead.
        assert bundles.imported(database, folder, ImportRequest(slug="again")).slug == "again"
        return
    assert said in _refused(database, folder).message


def test_records_are_checked_before_anything_is_written(database: Database, folder: Path) -> None:
    """A fault in the last table of all keeps the first from being stored."""
    path = folder / "records" / "assessments.jsonl"
    first, *others = path.read_text().splitlines()
    path.write_text("\n".join([json.dumps({**json.loads(first), "seconds": "fast"}), *others]) + "\n")
    bundles.seal(folder)
    written: list[str] = []

    def note(*given: object) -> None:
        if str(given[2]).lstrip().upper().startswith(("INSERT", "UPDATE", "DELETE")):
            written.append(str(given[2]))

    event.listen(database.engine, "before_cursor_execute", note)
    assert "must be a number." in _refused(database, folder).message
    assert written == []


ODD: tuple[object, ...] = (
    *(None, True, -1, 0, 2**70, 1.5, "", "x", "\x00", "9" * 5000),
    *([], [1], ["x"], [None], [[]], [{}], {}, {"x": 1}, {"x": None}, {"x": {}}, {"id": 1}),
    *({"title": "t", "url": "u"}, [{"title": "t", "url": "u"}], {"name": "rrf"}, {"kind": "x"}),
)


class _TakenError(Exception):
    """An import went through, and is rolled back."""


@pytest.mark.trial
@pytest.mark.dialect
@pytest.mark.parametrize("offset", some(range(8), (0,)))
def test_odd_values_of_every_field_are_refused_by_name_or_taken(
    offset: int, database: Database, folder: Path
) -> None:
    """Every field of every kind of record, with values of every type: file, line and field are named.

    What is taken makes a board that can be shown.
    """
    faults, number = [], 0
    for path in sorted((folder / "records").glob("*.jsonl")):
        original = path.read_text()
        first, *others = original.splitlines()
        record = json.loads(first)
        for name, odd in product([*record, "surprise"], ODD):
            number += 1
            if number % 8 != offset:
                continue
            path.write_text("\n".join([json.dumps({**record, name: odd}), *others]) + "\n")
            told = _odd(database, folder, f"records/{path.name}", name)
            faults += [f"{path.name} {name} {odd!r:.60}: {told}"] if told else []
        path.write_text(original)
    assert faults == []
    assert number > 2000


def _odd(database: Database, folder: Path, place: str, name: str) -> str:
    """What is wrong with how an import was refused."""
    try:
        with opening.opened(folder) as files, database.write() as session:
            imports.bring_in(session, OPERATOR, files, ImportRequest(slug="again"))
            boards.board(session, OPERATOR, "again")
            raise _TakenError
    except _TakenError:
        return ""
    except Invalid as error:
        # A number by which others refer to a record is missed where they do; of a file its name is said.
        # What no longer fits a file of the bundle, a digest or a topic, is said where that file is read.
        of_a_file = ("is missing from the bundle", "match its digest", "runs/0001-run.txt is not valid")
        is_by_others = name == "id" or any(said in error.message for said in of_a_file)
        is_named = error.message.startswith(f"{place}, line 1") and name in error.message.lower()
        return "" if is_by_others or is_named else error.message
    except Exception as error:
        return repr(error)


@pytest.mark.parametrize(
    ("table", "field"), [("phases", "name"), ("revisions", "number"), ("topics", "topic_id")]
)
def test_records_that_contradict_each_other(database: Database, folder: Path, table: str, field: str) -> None:
    """A record that is there twice is refused with its file, not by the database."""
    path = folder / "records" / f"{table}.jsonl"
    first = json.loads(path.read_text().splitlines()[0])
    assert field in first
    path.write_text(path.read_text() + json.dumps({**first, "id": 999}) + "\n")
    bundles.seal(folder)
    assert _refused(database, folder).message.startswith(f"records/{table}.jsonl")


def test_a_line_that_is_no_record(database: Database, folder: Path) -> None:
    """Lines that are not JSON, and records without the task, are refused by line."""
    path = folder / "records" / "topics.jsonl"
    sound = path.read_text()
    path.write_text(sound + "{broken\n")
    bundles.seal(folder)
    assert "records/topics.jsonl, line 4" in _refused(database, folder).message
    path.write_text(sound)
    (folder / "records" / "task.jsonl").unlink()
    bundles.seal(folder)
    assert "has no record of the task" in _refused(database, folder).message


def test_an_archive_does_not_reach_out(tmp_path: Path) -> None:
    """Paths that lead out of the archive are files within it, and links are none."""
    with zipfile.ZipFile(tmp_path / "out.zip", "w") as archive:
        archive.writestr("../../escaped.txt", "x")
        archive.writestr("/absolute.txt", "y")
    with tarfile.open(tmp_path / "out.tar.gz", "w:gz") as tar:
        link = tarfile.TarInfo("a/link")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        tar.addfile(link)
        inside = tarfile.TarInfo("a/../../file")
        inside.size = 1
        tar.addfile(inside, io.BytesIO(b"z"))
    with opening.opened(tmp_path / "out.zip") as files:
        assert set(files.paths) == {"escaped.txt", "absolute.txt"}
        assert all(path.is_relative_to(path.parent) for path in files.paths.values())
    with opening.opened(tmp_path / "out.tar.gz") as files:
        assert set(files.paths) == {"file"}
        assert "This is a link or a device" in files.left_out["link"]
    assert not list(tmp_path.parent.rglob("escaped.txt"))


def test_a_bomb_is_not_unpacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What expands too much, or beyond the room there is, is refused; so is what is listed twice."""
    with zipfile.ZipFile(tmp_path / "bomb.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("bomb", bytes(10 * 2**20))
    with opening.opened(tmp_path / "bomb.zip") as files:
        assert files.paths == {}
        assert "expands more than 200 times" in files.left_out["bomb"]
    monkeypatch.setattr(opening, "LARGEST_BYTES", 1000)
    with zipfile.ZipFile(tmp_path / "large.zip", "w") as archive:
        archive.writestr("large", bytes(2000))
    with pytest.raises(TooLarge), opening.opened(tmp_path / "large.zip"):
        pass
    with zipfile.ZipFile(tmp_path / "twice.zip", "w") as archive:
        archive.writestr("one", "1")
        with pytest.warns(UserWarning, match="Duplicate name"):
            archive.writestr("one", "2")
    with pytest.raises(Invalid, match="twice"), opening.opened(tmp_path / "twice.zip"):
        pass
    (tmp_path / "text").write_text("no archive")
    with pytest.raises(Invalid, match="is not a folder, a zip file or"), opening.opened(tmp_path / "text"):
        pass


def test_only_the_operator_brings_a_task_in(database: Database, folder: Path) -> None:
    """Teams are found by name and dates are taken as they are: no organiser may say so."""
    olga = people.viewer(database, people.account(database, "Olga", is_organiser=True))
    for viewer, refusal in ((ANONYMOUS, SignInNeeded), (olga, Forbidden)):
        with opening.opened(folder) as files, database.write() as session, pytest.raises(refusal):
            imports.bring_in(session, viewer, files, ImportRequest(slug="again"))


def test_a_taken_slug_is_refused(database: Database, folder: Path) -> None:
    """The task itself is there already."""
    with pytest.raises(LeaderboardError, match="The slug 't' is already in use"):
        bundles.imported(database, folder)


def test_a_path_that_is_listed_twice_is_refused(folder: Path) -> None:
    """One of its two digests would go unread."""
    listed = folder / opening.SUMS
    first = listed.read_text().splitlines()[0]
    listed.write_text(f"{listed.read_text()}{first}\n")
    with pytest.raises(Invalid, match="each path occurs once"):
        opening.sums(listed)
