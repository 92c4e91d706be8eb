"""BibTeX entries: what they name, and that no letter of a name breaks them."""

import re
from datetime import UTC, datetime
from pathlib import Path

import pytest

from leaderboard.boards.ops import board, snapshots
from leaderboard.boards.page import snapshot
from leaderboard.core.policy import ANONYMOUS, OPERATOR
from leaderboard.db.engine import Database
from tests.make import build


def _fields(entry: str) -> dict[str, str]:
    """The fields of the only entry, read by counting braces as BibTeX does."""
    found, at = {}, entry.index(",") + 1
    while match := re.compile(r"\s*(\w+) = \{").match(entry, at):
        start = at = match.end()
        depth = 1
        while depth:
            depth += {"{": 1, "}": -1}.get(entry[at], 0)
            at += 1
        found[match[1]] = entry[start : at - 1]
        assert entry[at] == ","
        at += 1
    assert entry[at:] == "\n}\n"
    return found


def test_awkward_names_do_not_end_their_field() -> None:
    """Braces are counted by BibTeX even after a backslash, so they are spelt out."""
    at = datetime(2026, 3, 1, tzinfo=UTC)
    fields = _fields(snapshot.of_task("50% {of}} \\all_ & more", "t", "https://example.org/tasks/t", at))
    assert fields["author"] == (
        r"{Organisers of 50\% \textbraceleft{}of\textbraceright{}\textbraceright{} "
        r"\textbackslash{}all\_ \& more}"
    )
    assert (fields["year"], fields["url"]) == ("2026", "https://example.org/tasks/t")
    assert "note" not in fields


def test_a_board_is_cited_with_edition_revision_and_topics(database: Database, tmp_path: Path) -> None:
    """And with the moment, where it is the board of one; a task without judgments is cited as a task."""
    build.task(database, tmp_path, measures=("RR",))
    build.run(database, tmp_path, {"1": ["a"]})
    build.drain(database)
    with database.read() as session:
        shown = board.board(session, ANONYMOUS, "t")
        assert shown.basis is not None
        assert shown.basis.shown_from is not None
        entry = snapshot.of_board(shown, "https://example.org/tasks/t?edition=1")
    assert entry.startswith("@misc{t-edition-1,\n")
    fields = _fields(entry)
    assert fields["title"] == "{Task t: board of runs by mean RR}"
    assert fields["note"] == "Edition 1, qrels revision 1, 3 topics, as trec\\_eval 10 computes them"
    assert fields["year"] == f"{shown.basis.shown_from:%Y}"
    build.task(database, tmp_path, "bare", judgments=None)
    with database.read() as session:
        bare = board.board(session, ANONYMOUS, "bare")
    assert snapshot.of_board(bare, "x").startswith("@misc{bare,\n")
    assert "year" not in _fields(snapshot.of_board(bare, "x"))


@pytest.mark.dialect
def test_a_snapshot_is_cited_with_its_whole_digest(database: Database, tmp_path: Path) -> None:
    """The key has its address, the note its digest and when it was made."""
    build.task(database, tmp_path, measures=("RR",))
    build.drain(database)
    with database.read() as session:
        frozen = snapshots.freeze(session, OPERATOR, "t")
    with database.write() as session:
        address = snapshots.keep(session, OPERATOR, frozen)
    with database.read() as session:
        page = snapshot.page(session, ANONYMOUS, address)
    entry = snapshot.of_snapshot(page, f"https://example.org/snapshots/{address}")
    assert entry.startswith(f"@misc{{t-{address},\n")
    assert f"SHA-256 {frozen.sha256}. Edition 1" in _fields(entry)["note"]
    assert f"{page.created_at:%Y-%m-%d %H:%M} UTC" in _fields(entry)["note"]
