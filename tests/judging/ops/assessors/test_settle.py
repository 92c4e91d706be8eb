"""From labels to one grade a document, and to a draft of a revision."""

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest

from leaderboard.core.policy import OPERATOR, Viewer
from leaderboard.db.engine import Database
from leaderboard.errors import Conflict, Forbidden, Invalid, NotFound
from leaderboard.judging.ops.assessors import log, settle
from leaderboard.judging.ops.assessors.log import Decision
from leaderboard.judging.ops.assessors.settle import Choice, SettledPool, Settling
from leaderboard.judging.ops.pools.previews import PoolDocument
from leaderboard.judging.page.assessors import agreement, settled
from leaderboard.qrels.ops import revisions
from tests.make import build, judged, pools


def _settled(database: Database, number: int = 1, **choice: Any) -> SettledPool:
    with database.read() as session:
        return settle.settled_pool(session, OPERATOR, "t", number, Choice(**choice))


def _grades(found: SettledPool, topic: str = "1") -> dict[str, int]:
    return {docno.decode(): grade for docno, grade in found.judgments.get(topic, {}).items()}


@pytest.mark.dialect
@pytest.mark.parametrize(
    ("rule", "grades"),
    [
        ("majority", [0, 1, 1, 0]),
        ("max", [1, 2, 2, 1]),
        ("mean", [1, 2, 2, 1]),
        ("single", [1, 2, 1, 0]),
        ("last", [0, 1, 2, 1]),
    ],
)
def test_each_rule_settles_what_two_disagree_on(
    database: Database, tmp_path: Path, rule: str, grades: list[int]
) -> None:
    """Of d1, d4, d7 and d9, graded 1/0, 2/1, 1/2 and 0/1; what both agree on stays."""
    judged.judged_by_two(database, tmp_path)
    found = _settled(database, rule=rule)
    assert [_grades(found)[docno] for docno in judged.DISAGREED] == grades
    assert (_grades(found)["d0"], _grades(found)["d5"], found.size) == (2, 1, 10)
    assert (found.counts.settled, found.counts.disagreed, found.counts.unjudged) == (10, 4, 1)


def test_the_adjudicator_s_grade_goes_first_and_the_rest_stays_open(
    database: Database, tmp_path: Path
) -> None:
    """One of four is decided; the others are left out, marked or settled by majority, as chosen."""
    judged.judged_by_two(database, tmp_path)
    with database.write() as session:
        log.decide(session, OPERATOR, "t", 1, Decision(topic="1", docno="d1", grade=2, key="k"))
    out = _settled(database)
    assert (out.counts.settled, out.counts.open, out.size) == (7, 3, 7)
    assert _grades(out)["d1"] == 2
    assert "d4" not in _grades(out)
    marked = _grades(_settled(database, open="unjudged"))
    assert [marked[docno] for docno in judged.DISAGREED] == [2, -1, -1, -1]
    by_majority = _grades(_settled(database, open="majority"))
    assert [by_majority[docno] for docno in judged.DISAGREED] == [2, 1, 1, 0]


def test_skipped_and_unjudged_documents_are_left_out_or_marked(database: Database, tmp_path: Path) -> None:
    """x of topic 2 is judged by nobody, then skipped; only where it is wished for is it -1."""
    anne, _ = judged.judged_by_two(database, tmp_path)
    assert _grades(_settled(database), "2") == {}
    assert _grades(_settled(database, unjudged="unjudged"), "2") == {"x": -1}
    judged.judge(database, anne, "2", {"x": None})
    assert _grades(_settled(database, unjudged="unjudged"), "2") == {}
    found = _settled(database, skipped="unjudged")
    assert (_grades(found, "2"), found.counts.skipped, found.counts.unjudged) == ({"x": -1}, 1, 0)


def test_people_and_machines_are_never_settled_together(database: Database, tmp_path: Path) -> None:
    """A machine's labels are a choice of their own, and go to a line of their own beside people's."""
    judged.judged_by_two(database, tmp_path)
    machine = judged.assessor(database, "Bot", machine="bot 7")
    judged.judge(database, machine, "1", {"d0": 0, "d1": 2})
    people = _settled(database, rule="max")
    assert _grades(people)["d1"] == 1
    assert (people.line, people.is_boards) == ("main", True)
    bots = _settled(database, whose="machine:bot 7")
    assert _grades(bots) == {"d0": 0, "d1": 2}
    assert (bots.line, bots.is_boards, bots.board_origin) == ("bot 7", False, "people")
    with pytest.raises(Invalid):
        _settled(database, whose="machine:other")


def test_judgments_used_again_are_among_them_unless_left_out(database: Database, tmp_path: Path) -> None:
    """Of a pool with an earlier judgment, one to judge, and one that a sample left out."""
    build.task(database, tmp_path)
    documents = [
        PoolDocument("a", 3.0, "top", 1.0, 2),
        PoolDocument("b", 2.0, "top"),
        PoolDocument("c", 1.0, "rest", 0.25, -1),
    ]
    pools.pool(database, {"1": documents})
    judged.judge(database, judged.assessor(database, "Anne"), "1", {"b": 1})
    found = _settled(database, mode="replace")
    assert _grades(found) == {"a": 2, "b": 1, "c": -1}
    assert (found.counts.reused, found.counts.undrawn, found.is_sampled) == (1, 1, True)
    assert _grades(_settled(database, mode="replace", reused=False)) == {"b": 1}
    lines = "".join(settled.qrels_lines(found, "both"))
    assert lines == "1 0 a 2 top 1.0\n1 0 b 1 top 1.0\n1 0 c -1 rest 0.25\n"
    plain = _settled(database, mode="replace", reused=False)
    assert "".join(settled.qrels_lines(plain)) == "1 0 b 1\n"
    assert "".join(settled.qrels_lines(plain, "stratum")) == "1 0 b 1 top\n1 0 c -1 rest\n"
    with pytest.raises(NotFound):
        "".join(settled.qrels_lines(plain, "nonsense"))


def test_merged_a_judged_document_is_never_marked_as_not_judged(database: Database, tmp_path: Path) -> None:
    """The newest revision judges a of topic 1: that nobody judged it in the pool says nothing against it."""
    build.task(database, tmp_path)
    pools.pool(database, {"1": ["a", "z"]})
    assert _grades(_settled(database, unjudged="unjudged")) == {"z": -1}
    assert _grades(_settled(database, unjudged="unjudged", mode="replace")) == {"a": -1, "z": -1}


def test_a_draft_holds_what_was_settled_merged_with_what_was_there(
    database: Database, tmp_path: Path
) -> None:
    """Ten judgments are added to the six there are; replaced, the six are gone."""
    judged.judged_by_two(database, tmp_path)
    merged, alone = _settled(database, rule="max"), _settled(database, rule="max", mode="replace")
    assert (merged.before, merged.change.added, merged.change.removed) == (1, 10, 0)
    assert (alone.change.added, alone.change.removed, alone.change.topics_lost) == (10, 7, ("2", "3"))
    with database.write() as session:
        with pytest.raises(
            Conflict, match="Assessors could give grades up to 2, but revision 1 contains grades up to 3"
        ):
            settle.keep(session, OPERATOR, "t", 1, Settling(rule="max", note="two assessors"))
        token = settle.keep(
            session, OPERATOR, "t", 1, Settling(rule="max", note="two assessors", other_scale=True)
        )
    with database.read() as session:
        draft = revisions.find_draft(session, OPERATOR, "t", token)
    assert (draft.note, draft.line, draft.by.kind) == ("two assessors", "main", "human")
    assert draft.prepared.judgments["1"] == {**{b"a": 2, b"b": 0, b"c": 1}, **merged.judgments["1"]}
    assert draft.prepared.judgments["3"] == {b"e": 3, b"f": 1}


def test_what_cannot_be_settled_or_kept_is_refused(database: Database, tmp_path: Path) -> None:
    """An unknown rule or mode, no judgment at all, no note, and whoever does not organise the task."""
    build.task(database, tmp_path)
    pools.pool(database, {"1": ["z"]})
    for choice in ({"rule": "dice"}, {"mode": "mix"}, {"open": "?"}, {"skipped": "majority"}):
        with pytest.raises(Invalid):
            _settled(database, **choice)
    with database.write() as session, pytest.raises(Conflict):
        settle.keep(session, OPERATOR, "t", 1, Settling(note="a note"))
    with database.write() as session, pytest.raises(Invalid):
        settle.keep(session, OPERATOR, "t", 1, Settling(unjudged="unjudged", note=" ", other_scale=True))
    with database.read() as session, pytest.raises(Forbidden):
        settle.settled_pool(session, Viewer(77, "Nina"), "t", 1, Choice())


def test_every_event_is_in_the_files(database: Database, tmp_path: Path) -> None:
    """Skips and labels taken back too; a note that a spreadsheet would run is quoted."""
    anne, _ = judged.judged_by_two(database, tmp_path)
    judged.judge(database, anne, "2", {"x": None}, note="=1+1", undone=True)
    with database.read() as session:
        table, lines = (
            "".join(agreement.events(session, OPERATOR, "t", 1, form)) for form in ("csv", "jsonl")
        )
        with pytest.raises(NotFound):
            agreement.events(session, OPERATOR, "t", 1, "xml")
    rows = list(csv.DictReader(io.StringIO(table)))
    assert len(rows) == 21
    assert (rows[0]["assessor"], rows[0]["grade"], rows[0]["seconds"]) == ("Anne", "2", "20.0")
    assert (rows[-1]["grade"], rows[-1]["note"], rows[-1]["undone"]) == ("", "'=1+1", "1")
    facts = [json.loads(line) for line in lines.splitlines()]
    assert [each["docno"] for each in facts] == [row["docno"] for row in rows]
    assert (facts[-1]["grade"], facts[-1]["undone"], facts[-1]["role"]) == (None, True, "assessor")


def test_the_files_of_the_settled_judgments_say_the_same(database: Database, tmp_path: Path) -> None:
    """JSON counts what the table lists."""
    judged.judged_by_two(database, tmp_path)
    found = _settled(database, rule="max")
    facts = settled.facts(found)
    assert (facts["judgments"], facts["grades"], facts["change"]["added"]) == (
        10,
        {"0": 4, "1": 3, "2": 3},
        10,
    )
    header, rows = settled.judgments_table(found).data()
    assert header[:3] == ["topic", "docno", "grade"]
    assert [row[2] for row in rows] == [2, 1, 0, 0, 2, 1, 0, 2, 0, 1]
