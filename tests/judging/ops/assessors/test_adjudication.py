"""Documents that assessors disagree on, and what is decided on them."""

from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import func, select, update

from leaderboard.core.policy import ANONYMOUS, OPERATOR
from leaderboard.db.engine import Database
from leaderboard.db.tables import Assessment, Assessor, Pool
from leaderboard.errors import Closed, Conflict, Invalid, LeaderboardError, NotFound, SignInNeeded
from leaderboard.judging.ops.assessors import log
from leaderboard.judging.ops.assessors.log import Decision
from leaderboard.judging.page.assessors import adjudication as pages
from leaderboard.judging.page.assessors.adjudication import (
    AdjudicationCase,
    AdjudicationChoice,
    AdjudicationPage,
)
from tests.make import judged


def _page(database: Database, **choice: str) -> AdjudicationPage:
    with database.read() as session:
        return pages.adjudication_page(session, OPERATOR, "t", 1, AdjudicationChoice(**choice))


def _case(database: Database, docno: str, topic_id: str = "1", **choice: str) -> AdjudicationCase:
    with database.read() as session:
        return pages.case(session, OPERATOR, "t", 1, AdjudicationChoice(**choice), topic_id, docno)


def _decide(database: Database, docno: str, grade: int, key: str = "k", **options: Any) -> bool:
    asker, note = options.pop("viewer", OPERATOR), options.pop("note", "")
    with database.write() as session:
        return log.decide(
            session, asker, "t", 1, Decision(topic="1", docno=docno, grade=grade, note=note, key=key)
        )


def test_documents_with_different_grades_are_listed(database: Database, tmp_path: Path) -> None:
    """Four of ten, by docno; by distance those come first that are relevant to one assessor only."""
    judged.judged_by_two(database, tmp_path)
    page = _page(database)
    assert tuple(row.docno for row in page.rows) == judged.DISAGREED
    assert page.counts == {"open": 4, "decided": 0, "skipped": 0, "all": 4}
    assert [row.grades for row in page.rows] == [(1, 0), (2, 1), (1, 2), (0, 1)]
    assert [row.crosses(1) for row in page.rows] == [True, False, False, True]
    by_distance = _page(database, order="distance").rows
    assert [row.docno for row in by_distance] == ["d1", "d9", "d4", "d7"]
    assert _page(database, topic_id="2").rows == ()


@pytest.mark.dialect
def test_a_decision_takes_a_document_off_the_list_and_is_undone(database: Database, tmp_path: Path) -> None:
    """The label is an adjudicator's, without a link; the assessors' labels stay; undoing brings it back."""
    judged.judged_by_two(database, tmp_path)
    assert _decide(database, "d4", 2, note=" clear ")
    (row,) = _page(database, shown="decided").rows
    assert row.decision is not None
    assert (row.docno, row.decision.grade, row.decision.note) == ("d4", 2, "clear")
    assert row.decision.judge.name == "operator (adjudicator)"
    assert row.grades == (2, 1)
    assert [each.docno for each in _page(database).rows] == ["d1", "d7", "d9"]
    with database.write() as session:
        assert session.scalar(select(Assessor.token_sha256).where(Assessor.role == "adjudicator")) is None
        assert log.undo(session, OPERATOR, "t", 1) == ("1", "d4")
    assert len(_page(database).rows) == 4
    with database.write() as session, pytest.raises(NotFound):
        log.undo(session, OPERATOR, "t", 1)


@pytest.mark.dialect
def test_a_decision_sent_twice_is_stored_once_and_a_later_one_counts(
    database: Database, tmp_path: Path
) -> None:
    """The key tells them apart; of two decisions on a document the last is in force."""
    judged.judged_by_two(database, tmp_path)
    assert [_decide(database, "d1", 1, "a"), _decide(database, "d1", 1, "a")] == [True, False]
    assert _decide(database, "d1", 0, "b")
    (row,) = _page(database, shown="decided").rows
    assert row.decision is not None
    assert row.decision.grade == 0
    with database.read() as session:
        chief = select(Assessor.id).where(Assessor.role == "adjudicator").scalar_subquery()
        assert session.scalar(select(func.count()).where(Assessment.assessor_id == chief)) == 2


def test_a_case_leads_to_the_next_and_back(database: Database, tmp_path: Path) -> None:
    """The last leads to the first again; one that is not in the list leads to its first."""
    judged.judged_by_two(database, tmp_path)
    case = _case(database, "d4")
    assert (case.place, case.total, case.before, case.next) == (2, 4, ("1", "d1"), ("1", "d7"))
    assert _case(database, "d9").next == ("1", "d1")
    assert (_case(database, "d0").place, _case(database, "d0").next) == (0, ("1", "d1"))
    assert [each.judge.name for each in case.disagreement.labels] == ["Anne", "Bert"]
    with pytest.raises(NotFound):
        _case(database, "x", "2")


def test_documents_that_everybody_skipped_wait_apart(database: Database, tmp_path: Path) -> None:
    """They are in a list of their own until they are decided on."""
    anne, _ = judged.judged_by_two(database, tmp_path)
    judged.judge(database, anne, "2", {"x": None})
    page = _page(database, shown="skipped")
    assert ([row.docno for row in page.rows], page.counts["skipped"]) == (["x"], 1)
    assert len(_page(database).rows) == 4


def test_a_machine_s_label_makes_no_disagreement_of_people(database: Database, tmp_path: Path) -> None:
    """Only where both are asked for does a machine's grade differ from theirs."""
    judged.judged_by_two(database, tmp_path)
    judged.judge(database, judged.assessor(database, "Bot", machine="bot 7"), "1", {"d2": 2})
    assert len(_page(database).rows) == 4
    assert [row.docno for row in _page(database, whose="all").rows] == ["d1", "d2", "d4", "d7", "d9"]


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"grade": 9}, Invalid),
        ({"key": ""}, Invalid),
        ({"note": "x" * 2001}, Invalid),
        ({"docno": "nowhere"}, NotFound),
        ({"viewer": ANONYMOUS}, SignInNeeded),
    ],
)
def test_a_decision_that_cannot_be_is_refused(
    database: Database, tmp_path: Path, options: dict[str, Any], error: type[LeaderboardError]
) -> None:
    """Nothing is stored of a grade the task does not have, a bad key or note, or an unknown document."""
    judged.judged_by_two(database, tmp_path)
    with pytest.raises(error):
        _decide(database, **{"docno": "d1", "grade": 1, **options})
    assert _page(database).counts["decided"] == 0


def test_nothing_is_decided_in_a_draft_or_under_an_assessor_s_name(
    database: Database, tmp_path: Path
) -> None:
    """A draft has no judging; the name decisions go by must not be an assessor's."""
    judged.judged_by_two(database, tmp_path)
    judged.assessor(database, "Operator (Adjudicator)")
    with pytest.raises(Conflict):
        _decide(database, "d1", 1)
    with database.write() as session:
        session.execute(update(Pool).values(state="draft"))
    with pytest.raises(Closed):
        _decide(database, "d1", 1)


def test_the_list_is_a_table_with_a_row_for_each_label(database: Database, tmp_path: Path) -> None:
    """Two labels each of four documents, and the decision beside both."""
    judged.judged_by_two(database, tmp_path)
    _decide(database, "d1", 1)
    page = _page(database, shown="all")
    header, rows = pages.labels_table(page).data()
    assert (len(rows), len(header)) == (8, len(rows[0]))
    assert [row[6:] for row in rows[:3]] == [[1, "operator (adjudicator)"]] * 2 + [[None, None]]
    facts = pages.facts(page)
    assert [each["decided"] for each in facts["documents"]] == [1, None, None, None]
