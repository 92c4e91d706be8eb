"""Pools from preview to file and back: what is counted, what is stored, and who may do what."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import delete, insert, select, update

from leaderboard.core.policy import ANONYMOUS, OPERATOR
from leaderboard.db.engine import Database, now
from leaderboard.db.tables import Assessment, Assessor, PoolTopic, QrelsRevision, Run, Task
from leaderboard.errors import Conflict, Forbidden, Invalid, NotFound, SignInNeeded
from leaderboard.judging.ops.pools import pools, previews
from leaderboard.judging.ops.pools.previews import PoolDocument, PoolPlan, Preview
from leaderboard.judging.page.pools import pools as pages
from leaderboard.pooling.methods import METHODS
from leaderboard.scoring.ops import setting_values
from leaderboard.trec.pools import Pooled
from leaderboard.trec.qrels.packed import pack_distractors
from tests.make import build
from tests.make.people import account, viewer
from tests.make.pooled import GRADES, RUNS, fill

Make = Callable[..., Preview]


def _preview(database: Database, plan: PoolPlan, slug: str = "t") -> Preview:
    with database.read() as session:
        return previews.preview(session, OPERATOR, slug, plan)


def _add(database: Database, made: Preview, note: str = "") -> int:
    with database.write() as session:
        return pools.add(session, OPERATOR, made, note)


def _documents(database: Database, number: int) -> list[PoolDocument]:
    with database.read() as session:
        return list(pools.documents_of(session, OPERATOR, "t", number)["1"])


def test_a_preview_counts_documents_duplicates_and_who_brings_what(
    database: Database, tmp_path: Path
) -> None:
    """Depth 3: nine places hold six documents, of which A has d3, B d6 and C d8 and d9 alone."""
    fill(database, tmp_path, judgments={"1": {"d1": 1, "d6": 0, "d5": 0}})
    found = _preview(database, PoolPlan({"name": "depth", "depth": 3}, seconds=60, overlap=0.5))
    assert (found.entries, found.candidates, found.documents) == (9, 6, 6)
    assert (found.reused, found.to_judge, found.hours) == (2, 4, 0.1)
    assert [(each.name, each.documents, each.alone) for each in found.by_run] == [
        ("A", 3, 1),
        ("B", 3, 1),
        ("C", 3, 2),
    ]
    assert [(each.team, each.runs, each.alone) for each in found.by_team] == [
        ("Team A", 1, 1),
        ("Team B", 1, 1),
        ("Team C", 1, 2),
    ]
    assert pages.topics(found).data()[1] == [["1", "title of 1", 6, 6, 2, 4, 0]]
    assert json.loads(json.dumps(pages.new_pool_facts(found)))["to_judge"] == 4


@pytest.mark.dialect
@pytest.mark.parametrize("name", sorted(set(METHODS) - {"staged"}))
def test_every_method_makes_a_pool(database: Database, tmp_path: Path, name: str) -> None:
    """Each has documents of the runs, each once, and a title in words."""
    fill(database, tmp_path)
    number = _add(database, _preview(database, PoolPlan({"name": name, "depth": 5}, reuse=False)))
    docnos = [each.docno for each in _documents(database, number)]
    assert len(docnos) == len(set(docnos))
    assert set(docnos) <= set(GRADES)
    with database.read() as session:
        (row,) = pages.index(session, OPERATOR, "t").pools
    assert row.method.startswith(METHODS[name].title)
    assert row.adaptive == METHODS[name].adaptive


@pytest.mark.dialect
def test_judgments_are_used_again_unless_they_are_not_wanted(database: Database, tmp_path: Path) -> None:
    """A pooled document that is judged keeps its grade and is not to be judged."""
    fill(database, tmp_path, judgments={"1": {"d1": 1, "d2": -1}})
    plan = PoolPlan({"name": "depth", "depth": 1})
    number = _add(database, _preview(database, plan), " first ")
    assert [(each.docno, each.grade) for each in _documents(database, number)] == [
        ("d1", 1),
        ("d2", None),
        ("d8", None),
    ]
    anew = _add(database, _preview(database, PoolPlan(plan.method, reuse=False)))
    assert [each.grade for each in _documents(database, anew)] == [None] * 3
    with database.read() as session:
        page = pages.page(session, OPERATOR, "t", number)
        assert (page.pool.documents, page.pool.note, page.revision) == (2, "first", 1)
        assert page.run_names == tuple((run_id, name) for run_id, name in zip((1, 2, 3), RUNS, strict=True))
        assert pages.page(session, OPERATOR, "t", anew).revision is None


def test_stages_and_strata_are_kept_by_name(database: Database, tmp_path: Path) -> None:
    """A staged pool names its stages; of a sample, what was not drawn is kept as unjudged."""
    fill(database, tmp_path, judgments=None)
    staged = {"name": "staged", "depth": 1, "budget": 4, "then": {"name": "rrf"}}
    number = _add(database, _preview(database, PoolPlan(staged)))
    assert [(each.docno, each.stratum) for each in _documents(database, number)] == [
        ("d1", "depth"),
        ("d2", "depth"),
        ("d8", "depth"),
        ("d3", "rrf"),
    ]
    made = _preview(database, PoolPlan({"name": "stratified", "strata": [[2, 1], [9, 0.4]]}))
    rows = _documents(database, _add(database, made))
    drawn = [each for each in rows if each.grade is None]
    assert [each.docno for each in drawn[:2]] == ["d1", "d2"]
    assert [each.stratum for each in drawn[2:]] == ["2"] * 3
    assert [each.probability for each in drawn[2:]] == pytest.approx([3 / 7] * 3)
    assert [(each.grade, each.stratum) for each in rows[len(drawn) :]] == [(-1, "2")] * 4
    assert (made.documents, made.undrawn) == (5, 4)


def test_an_adaptive_pool_has_all_it_may_come_to_and_judges_its_budget(
    database: Database, tmp_path: Path
) -> None:
    """The budget counts what is judged already."""
    fill(database, tmp_path, judgments={"1": {"d1": 1}})
    made = _preview(database, PoolPlan({"name": "hedge", "budget": 4}))
    assert (made.documents, made.reused, made.to_judge) == (4, 1, 3)
    assert len(_documents(database, _add(database, made))) == 9


@pytest.mark.dialect
def test_distractors_are_left_out(database: Database, tmp_path: Path) -> None:
    """They are known not to be relevant to any topic."""
    fill(database, tmp_path)
    with database.write() as session:
        packed = pack_distractors({b"d8", b"elsewhere"})
        session.execute(update(QrelsRevision).values(distractors=packed))
    made = _preview(database, PoolPlan({"name": "depth", "depth": 1}, reuse=False))
    number = _add(database, made)
    assert [each.docno for each in _documents(database, number)] == ["d1", "d2"]


@pytest.mark.dialect
def test_runs_are_chosen_capped_and_put_in_order(database: Database, tmp_path: Path) -> None:
    """Primary runs first, then at most so many of a team; a withdrawn run is never pooled."""
    ids = fill(database, tmp_path)
    ids["A2"] = build.run(database, tmp_path, {"1": ["d7"]}, "A2", team_name="Team A")
    with database.write() as session:
        session.execute(update(Run).where(Run.id == ids["A2"]).values(final_at=now(session)))

    def names(**options: Any) -> list[str]:
        plan = PoolPlan({"name": "depth", "depth": 1}, **options)
        return [run.name for run in _preview(database, plan).runs]

    assert names() == ["A", "B", "C", "A2"]
    assert names(primary_first=True) == ["A2", "A", "B", "C"]
    assert names(primary_first=True, cap=1) == ["A2", "B", "C"]
    assert names(runs="chosen", chosen=(ids["C"], ids["A"])) == ["A", "C"]
    assert _preview(database, PoolPlan({"name": "priority", "depth": 1})).method.values["priorities"] == (
        2,
        2,
        2,
        1,
    )
    with database.write() as session:
        session.execute(update(Run).where(Run.id == ids["B"]).values(withdrawn_at=now(session)))
    assert names() == ["A", "C", "A2"]
    with pytest.raises(Invalid, match="is not available for pooling"):
        names(runs="chosen", chosen=(ids["B"],))


@pytest.mark.parametrize(
    ("plan", "says"),
    [
        (PoolPlan({"name": "none"}), "Unknown pooling method"),
        (PoolPlan({"name": "depth", "depth": 0}), "Depth must be|depth must be"),
        (PoolPlan(seconds=0), "seconds"),
        (PoolPlan(overlap=2.0), "overlap"),
        (PoolPlan(cap=0), "cap"),
        (PoolPlan(seed=-1), "seed"),
        (PoolPlan(runs="some"), "runs"),
    ],
)
def test_a_plan_that_cannot_be_carried_out_is_refused(
    database: Database, tmp_path: Path, plan: PoolPlan, says: str
) -> None:
    """The message names what is wrong."""
    fill(database, tmp_path)
    with pytest.raises(Invalid) as refused:
        _preview(database, plan)
    assert re.search(says, str([refused.value.message, *(each.field for each in refused.value.problems)]))


def test_without_runs_there_is_no_pool(database: Database, tmp_path: Path) -> None:
    """The organiser is told, and nothing is made."""
    build.task(database, tmp_path)
    with pytest.raises(Conflict, match="no runs to pool"):
        _preview(database, PoolPlan())


@pytest.mark.dialect
def test_states_follow_one_another_and_only_a_draft_is_discarded(database: Database, tmp_path: Path) -> None:
    """Draft, open, closed, open again; numbers are not given twice while a later pool is there."""
    fill(database, tmp_path)
    made = _preview(database, PoolPlan({"name": "depth", "depth": 2}, reuse=False))
    for expected in (1, 2):
        assert _add(database, made) == expected
    for state in (pools.OPEN, pools.CLOSED, pools.OPEN):
        with database.write() as session:
            pools.change(session, OPERATOR, "t", 1, state, without_texts=True)
    with database.write() as session, pytest.raises(Conflict, match="Pool 1 is open"):
        pools.change(session, OPERATOR, "t", 1, pools.OPEN, without_texts=True)
    with database.write() as session, pytest.raises(Conflict, match="Close it instead"):
        pools.discard(session, OPERATOR, "t", 1)
    with database.write() as session:
        pools.discard(session, OPERATOR, "t", 2)
    with database.read() as session, pytest.raises(NotFound):
        pages.page(session, OPERATOR, "t", 2)


@pytest.mark.dialect
def test_progress_counts_documents_once(database: Database, tmp_path: Path) -> None:
    """Two labels of a document count once, one that was undone not at all, a skip as skipped."""
    fill(database, tmp_path, judgments=None)
    _add(database, _preview(database, PoolPlan({"name": "depth", "depth": 2})))
    with database.write() as session:
        at = now(session)
        people = [Assessor(task_id=1, name=name, created_at=at) for name in ("Ada", "Bob")]
        session.add_all(people)
        session.flush()
        labels = [(0, "d1", 1, False), (1, "d1", 0, False), (0, "d2", 1, True), (1, "d8", None, False)]
        session.execute(
            insert(Assessment),
            [
                {
                    **{"pool_id": 1, "topic_id": "1", "docno": docno, "assessor_id": people[who].id},
                    **{"grade": grade, "saved_at": at, "sent_at": at, "key": str(place), "undone": undone},
                }
                for place, (who, docno, grade, undone) in enumerate(labels)
            ],
        )
    with database.read() as session:
        (topic,) = pages.page(session, OPERATOR, "t", 1).topics
        (row,) = pages.index(session, OPERATOR, "t").pools
    assert (topic.documents, topic.judged, topic.skipped) == (4, 1, 1)
    assert (row.judged, row.hours_left) == (1, 3 * 30 / 3600)


def test_only_organisers_see_pools(database: Database, tmp_path: Path) -> None:
    """A visitor is asked to sign in, others are refused."""
    fill(database, tmp_path)
    other = viewer(database, account(database, "Otto", is_organiser=True))
    with database.read() as session:
        with pytest.raises(SignInNeeded):
            pages.index(session, ANONYMOUS, "t")
        with pytest.raises(Forbidden):
            pages.index(session, other, "t")
        with pytest.raises(Forbidden):
            previews.preview(session, other, "t", PoolPlan())


@pytest.mark.dialect
def test_a_pool_goes_out_and_comes_back_as_a_file(database: Database, tmp_path: Path) -> None:
    """CSV keeps order and stratum; documents judged already are part of it, those not drawn are not."""
    fill(database, tmp_path, judgments={"1": {"d1": 1}})
    made = _preview(database, PoolPlan({"name": "stratified", "strata": [[2, 1], [9, 0.4]]}))
    number = _add(database, made)
    with database.read() as session:
        text = "".join(pools.exported(session, OPERATOR, "t", number, "csv"))
    path = tmp_path / "pool.csv"
    path.write_text(text, encoding="utf-8")
    found = pools.read_pool_file(path)
    assert [each.docno for each in found["1"]][:2] == ["d1", "d2"]
    assert len(found["1"]) == 5
    with database.write() as session:
        again = pools.bring_in(session, OPERATOR, "t", found, "pool.csv", seconds=20)
    with database.read() as session:
        page = pages.page(session, OPERATOR, "t", again)
    assert (page.pool.method, page.pool.documents) == ("Imported from pool.csv", 5)
    assert [each[:4] for each in _documents(database, again)] == [tuple(each) for each in found["1"]]


def test_a_file_with_topics_of_another_task_is_refused(database: Database, tmp_path: Path) -> None:
    """The topics are named."""
    fill(database, tmp_path)
    with database.write() as session, pytest.raises(Invalid, match="2 topics that") as caught:
        pools.bring_in(session, OPERATOR, "t", {"7": [Pooled("a")], "8": [Pooled("b")]}, "x")
    assert [problem.value for problem in caught.value.problems] == ["7", "8"]


def test_a_pool_opens_once_its_grades_and_texts_are_settled(database: Database, tmp_path: Path) -> None:
    """Judgments up to 3 and a desk of 0 and 1: the grades are asked for, and every desk then has them."""
    fill(database, tmp_path)
    build.revise(database, tmp_path, {"1": {"d1": 3, "d2": 0}, "2": {"d1": 1}})
    _add(database, _preview(database, PoolPlan({"name": "depth", "depth": 4})))
    with database.read() as session:
        ready = pages.page(session, OPERATOR, "t", 1).ready
    assert ready is not None
    assert (ready.readable, ready.grades, ready.highest_judged, ready.lacks_grades) == (0, (0, 1), 3, True)
    assert ready.texts == f"0 of {ready.documents} documents have a text or a link."
    with database.write() as session, pytest.raises(Conflict, match="Assessors would see only ids"):
        pools.change(session, OPERATOR, "t", 1, pools.OPEN)
    with (
        database.write() as session,
        pytest.raises(Conflict, match="grades up to 3, but .* can only give 0, 1"),
    ):
        pools.change(session, OPERATOR, "t", 1, pools.OPEN, without_texts=True)
    with database.write() as session, pytest.raises(Invalid):
        pools.change(session, OPERATOR, "t", 1, pools.OPEN, without_texts=True, highest_grade=10)
    with database.write() as session:
        pools.change(session, OPERATOR, "t", 1, pools.OPEN, without_texts=True, highest_grade=3)
        task = session.scalars(select(Task)).one()
        assert [grade.value for grade in setting_values.grade_scale(task)] == [0, 1, 2, 3]
    with database.read() as session:
        assert pages.page(session, OPERATOR, "t", 1).ready is None


def test_a_pool_without_documents_is_not_opened(database: Database, tmp_path: Path) -> None:
    """Nobody could judge anything in it."""
    fill(database, tmp_path)
    assert _add(database, _preview(database, PoolPlan({"name": "depth", "depth": 1}))) == 1
    with database.write() as session:
        session.execute(delete(PoolTopic))
        with pytest.raises(Conflict, match="Pool 1 has no document"):
            pools.change(session, OPERATOR, "t", 1, pools.OPEN, without_texts=True)
