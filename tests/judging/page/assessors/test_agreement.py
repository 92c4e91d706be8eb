"""Agreement of a pool's assessors as the organisers see it."""

import json
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select

from leaderboard.core.policy import ANONYMOUS, OPERATOR, Viewer
from leaderboard.db.engine import Database
from leaderboard.db.tables import Assessor
from leaderboard.errors import Forbidden, Invalid, LeaderboardError, NotFound, SignInNeeded
from leaderboard.judging.page.assessors import agreement
from leaderboard.judging.page.assessors.agreement import AgreementPage
from tests.make import build, judged, pools


def _page(database: Database, viewer: Viewer = OPERATOR, **options: Any) -> AgreementPage:
    with database.read() as session:
        return agreement.agreement_page(session, viewer, "t", 1, **options)


def test_two_assessors_agree_as_far_as_worked_by_hand(database: Database, tmp_path: Path) -> None:
    """Ten documents of three grades: kappa in all its weights, alpha on all scales, overlap."""
    judged.judged_by_two(database, tmp_path)
    page = _page(database)
    (pair,) = page.pairs
    assert page.chosen is pair
    assert (pair.first.name, pair.second.name, pair.documents) == ("Anne", "Bert", 10)
    kappas = (pair.plain, pair.linear, pair.quadratic)
    assert [round(each.value or 0, 6) for each in kappas] == [0.354839, 0.512195, 0.672131]
    assert pair.overlap.value == pytest.approx(2 / 3)
    together = page.together
    assert (together.judged, together.double, together.disagreements) == (10, 10, 4)
    assert together.raw.value == pytest.approx(0.6)
    assert together.overlap == pair.overlap
    alphas = {scale: round(found.value or 0, 6) for scale, found in together.alphas.items()}
    assert alphas == {"nominal": 0.387097, "ordinal": 0.698036, "interval": 0.688525}
    assert pair.confusion.counts.tolist() == [[4, 1, 0], [1, 1, 1], [0, 1, 1]]


@pytest.mark.dialect
def test_each_topic_has_numbers_of_its_own(database: Database, tmp_path: Path) -> None:
    """A topic with one document that both find relevant agrees wholly; the other is as before."""
    anne, bert = judged.judged_by_two(database, tmp_path)
    judged.judge(database, anne, "2", {"x": 1})
    judged.judge(database, bert, "2", {"x": 1})
    one, two = _page(database).topics
    assert (one.topic.topic_id, one.judged, one.double, one.disagreements) == ("1", 10, 10, 4)
    assert (two.raw.value, two.disagreements, two.relevant) == (1.0, 0, 1.0)
    assert two.alpha.value is None
    assert _page(database).together.raw.value == pytest.approx(7 / 11)
    alone = _page(database, topic_id="1")
    assert [each.topic.topic_id for each in alone.topics] == ["1"]
    assert alone.together.raw.value == pytest.approx(0.6)


def test_documents_of_three_assessors_count_every_pair_of_grades(database: Database, tmp_path: Path) -> None:
    """A document with grades 0, 0 and 1 has two pairs more than before, neither of which agrees."""
    judged.judged_by_two(database, tmp_path)
    judged.judge(database, judged.assessor(database, "Carl"), "1", {"d2": 1})
    together = _page(database).together
    assert (together.raw.value, together.raw.of) == (0.5, 12)
    assert (together.fleiss.assessors, together.fleiss.documents) == (2, 9)
    assert together.disagreements == 5


@pytest.mark.dialect
def test_progress_counts_what_was_asked_for_and_how_long_it_took(database: Database, tmp_path: Path) -> None:
    """Skipped documents are not judged, a pause counts no seconds, what comes takes the mean so far."""
    judged.judged_by_two(database, tmp_path)
    pools.judges(database, "Dora", number=1)
    with database.read() as session:
        dora = session.scalars(select(Assessor.id).where(Assessor.name == "Dora")).one()
    judged.judge(database, dora, "1", {"d0": 1, "d1": 0}, seconds=30.0)
    judged.judge(database, dora, "1", {"d2": None}, seconds=301.0, note="what is this?")
    found = {each.judge.name: each for each in _page(database).progress}
    work = found["Dora"]
    assert (work.asked, work.judged, work.skipped, work.left, work.notes) == (11, 2, 1, 8, 1)
    assert (work.times.median, work.times.away, work.times.an_hour) == (30.0, 1, 120.0)
    assert work.seconds_left == 240.0
    assert (found["Anne"].asked, found["Anne"].relevant, found["Anne"].times.an_hour) == (0, 0.5, 180.0)
    (remark,) = _page(database).remarks
    assert (remark.docno, remark.grade, remark.note) == ("d2", None, "what is this?")


def test_machines_stand_beside_people_only_where_asked_for(database: Database, tmp_path: Path) -> None:
    """A machine's labels are in no number of people's, and are marked where both are shown."""
    judged.judged_by_two(database, tmp_path)
    machine = judged.assessor(database, "Bot", machine="bot 7")
    judged.judge(database, machine, "1", dict(zip(judged.DOCNOS, judged.ANNE, strict=True)))
    people = _page(database)
    assert [(each.first.name, each.second.name) for each in people.pairs] == [("Anne", "Bert")]
    assert people.machines
    assert _page(database, whose="machine").pairs == ()
    every = _page(database, whose="all")
    assert {(each.first.name, each.second.name): each.second.machine for each in every.pairs} == {
        ("Anne", "Bert"): "",
        ("Anne", "Bot"): "bot 7",
        ("Bert", "Bot"): "bot 7",
    }


def test_adjudicators_do_not_count_as_assessors(database: Database, tmp_path: Path) -> None:
    """A decision changes nothing in the agreement of those who judged."""
    judged.judged_by_two(database, tmp_path)
    before = agreement.agreement_facts(_page(database))
    chief = judged.assessor(database, "Chief", role="adjudicator")
    judged.judge(database, chief, "1", dict.fromkeys(judged.DOCNOS, 0))
    assert agreement.agreement_facts(_page(database)) == before


@pytest.mark.dialect
def test_a_pool_that_nobody_judged_says_so_without_numbers(database: Database, tmp_path: Path) -> None:
    """No label: every coefficient is missing with a reason, and the JSON has no number that is none."""
    build.task(database, tmp_path)
    pools.pool(database, {"1": ["a", "b"]})
    page = _page(database)
    assert page.together.raw.value is None
    assert page.together.fleiss.why
    assert (page.pairs, page.chosen, page.progress) == ((), None, ())
    text = json.dumps(agreement.agreement_facts(page), allow_nan=False)
    assert json.loads(text)["krippendorff_alpha"] == {"nominal": None, "ordinal": None, "interval": None}


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"whose": "everybody"}, Invalid),
        ({"topic_id": "9"}, NotFound),
        ({"pair": (1, 99)}, NotFound),
        ({"viewer": ANONYMOUS}, SignInNeeded),
        ({"viewer": Viewer(77, "Nina")}, Forbidden),
    ],
)
def test_what_cannot_be_shown_is_refused(
    database: Database, tmp_path: Path, options: dict[str, Any], error: type[LeaderboardError]
) -> None:
    """An unknown choice, topic or pair, and a person who does not organise the task."""
    judged.judged_by_two(database, tmp_path)
    with pytest.raises(error):
        _page(database, **options)


def test_tables_hold_a_row_each_and_unknown_ones_are_refused(database: Database, tmp_path: Path) -> None:
    """The confusion table has all nine cells; there is no table of another name."""
    judged.judged_by_two(database, tmp_path)
    page = _page(database)
    header, rows = agreement.confusion(page).data()
    assert header[-1] == "documents"
    assert sum(row[-1] for row in rows) == 10
    assert len(rows) == 9
    assert [row[0] for row in agreement.assessors(page).data()[1]] == ["Anne", "Bert"]
    with pytest.raises(NotFound, match="nonsense"):
        agreement.AGREEMENT_FILES.table(page, "nonsense")
