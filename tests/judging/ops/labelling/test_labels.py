"""Rounds of support labels and assignments: shared out, labelled once, settled, published."""

import json
from pathlib import Path

import pytest
from sqlalchemy import func, select

from leaderboard.answers.ops.nuggets import scoring
from leaderboard.core.policy import OPERATOR
from leaderboard.db.engine import Database
from leaderboard.db.tables import AnswerLabel, Run
from leaderboard.errors import Closed, Conflict, Invalid, NotFound
from leaderboard.judging.ops.labelling import decisions, labels, rounds, settled
from leaderboard.judging.ops.labelling.labels import SentItemLabel
from leaderboard.judging.ops.labelling.rounds import RoundPlan
from leaderboard.judging.ops.labelling.settled import SettledLabels
from leaderboard.qrels.ops import revisions as revision_drafts
from leaderboard.runs.ops import withdrawals
from leaderboard.trec.nuggets.assignments import read_assignments
from leaderboard.trec.nuggets.support import read_support
from tests.make import answered, build, labelled


def _settled(database: Database, number: int, rule: str = settled.USUAL) -> SettledLabels:
    with database.read() as session:
        _, here = rounds.seen_round(session, OPERATOR, "t", number)
        return settled.settled_labels(settled.round_labels(session, here), rule)


def _lines(database: Database, number: int) -> list[str]:
    with database.read() as session:
        _, here = rounds.seen_round(session, OPERATOR, "t", number)
        return list(settled.lines(session, settled.round_labels(session, here), settled.USUAL))


def _publish(database: Database, number: int, mode: str = "merge") -> None:
    with database.write() as session:
        token = settled.keep_draft(
            session, OPERATOR, "t", number, rule=settled.USUAL, mode=mode, note="Made by people."
        )
        revision_drafts.publish(session, OPERATOR, "t", token)


@pytest.mark.dialect
def test_support_is_labelled_settled_and_published(database: Database, tmp_path: Path) -> None:
    """First citations of both runs, half of the answers twice; a file that reads back, a human revision."""
    first, second = labelled.task(database, tmp_path)
    ada, bob = labelled.people(database, "Ada", "Bob")
    number = labelled.opened(database, "support", (ada, bob), twice=0.5)
    both = {
        topic: [labelled.items(database, who, number, topic) for who in (ada, bob)] for topic in ("1", "2")
    }
    assert {topic: sorted(map(len, mine)) for topic, mine in both.items()} == {"1": [1, 2], "2": [1, 2]}
    assert all(item.citation == 0 for mine in both.values() for some in mine for item in some.values())
    labelled.label_all(database, ada, number, 2)
    labelled.label_all(database, bob, number, 0)
    found = _settled(database, number)
    assert (len(found.labels), len(found.open), found.left) == (2, 2, 0)
    assert set(_settled(database, number, "majority").labels.values()) == {0, 2}
    for item in found.open:
        with database.write() as session:
            _, here = rounds.own_round(session, OPERATOR, "t", number)
            sent = SentItemLabel(
                labels.name_of(here.secret, item), 1, f"decided {item.topic_id} {item.run_id}"
            )
            decisions.decide(session, OPERATOR, "t", number, sent)
    assert not _settled(database, number).open
    lines = _lines(database, number)
    path = tmp_path / "made.jsonl"
    path.write_text("".join(lines))
    read = read_support(path).answers
    assert set(read) == {(run, topic) for run in ("zeppelin", "yacht") for topic in ("1", "2")}
    assert read["zeppelin", "1"].labels[0][1:] == (-1,)
    assert read["zeppelin", "1"].labels[1] == ()
    _publish(database, number)
    build.drain(database)
    with database.read() as session:
        judged = scoring.newest(session, rounds.own_round(session, OPERATOR, "t", number)[0].id)
        assert judged is not None
        digests = set(session.scalars(select(Run.ranking_sha256).where(Run.id.in_((first, second)))))
    assert {run for run, _ in judged.judgments.support.cells} == digests
    assert judged.made_by["support"].kind == "human"


def test_assignments_need_all_nuggets_of_an_answer(database: Database, tmp_path: Path) -> None:
    """A cell that is not complete is not judged; a second round leaves what the first one made."""
    labelled.task(database, tmp_path)
    labelled.nuggets(database, tmp_path)
    (ada,) = labelled.people(database, "Ada")
    number = labelled.opened(database, "assignments", [ada], topics=("1",))
    mine = labelled.items(database, ada, number, "1")
    assert [item.place for item in mine.values()] == [0, 1, 0, 1]
    labelled.label(database, ada, number, "1", dict(zip(list(mine)[:3], (2, 1, 0), strict=True)))
    (line,) = map(json.loads, _lines(database, number))
    assert [nugget["assignment"] for nugget in line["nuggets"]] == ["support", "partial_support"]
    path = tmp_path / "made.jsonl"
    path.write_text(json.dumps(line))
    assert len(read_assignments(path).cells) == 1
    _publish(database, number)
    again = labelled.opened(database, "assignments", [ada], topics=("2",))
    labelled.label_all(database, ada, again, 2, ["2"])
    _publish(database, again)
    with database.read() as session:
        judged = scoring.newest(session, rounds.own_round(session, OPERATOR, "t", again)[0].id)
    assert judged is not None
    assert judged.judgments.assignments is not None
    assert sorted(topic for _, topic in judged.judgments.assignments.cells) == ["1", "2", "2"]


def test_labels_of_nuggets_that_are_others_now_are_not_published(database: Database, tmp_path: Path) -> None:
    """They can be taken as a file still."""
    labelled.task(database, tmp_path)
    labelled.nuggets(database, tmp_path)
    (ada,) = labelled.people(database, "Ada")
    number = labelled.opened(database, "assignments", [ada])
    labelled.label_all(database, ada, number, 2)
    other = labelled.opened(database, "nuggets", [ada], topics=("1",))
    _write_and_publish(database, ada.token, other)
    with pytest.raises(Conflict, match="have changed since revision 1: 1"):
        _publish(database, number)
    assert len(_lines(database, number)) == 4


def _write_and_publish(database: Database, token: str, number: int) -> None:
    with database.write() as session:
        _, desk = labels.topic_desk(session, token, number, "1")
        decisions.write_nugget(session, desk, decisions.SentNugget("something else", "vital", "k"))
        decisions.finish_nuggets(session, desk, is_done=True)
    _publish(database, number)


def test_what_is_sent_twice_is_stored_once_and_taken_back(database: Database, tmp_path: Path) -> None:
    """A key is one label; a later label replaces; undo brings back the one before."""
    labelled.task(database, tmp_path)
    (ada,) = labelled.people(database, "Ada")
    number = labelled.opened(database, "support", [ada], every_citation=True)
    name = next(iter(labelled.items(database, ada, number, "1")))
    for _ in range(2):
        labelled.label(database, ada, number, "1", {name: 2})
    labelled.label(database, ada, number, "1", {name: 0})
    with database.write() as session:
        assert session.scalar(select(func.count()).select_from(AnswerLabel)) == 2
        _, desk = labels.topic_desk(session, ada.token, number, "1")
        assert [one.label for one in labels.in_force(session, desk.here.id)] == [0]
        assert labels.undo_last(session, desk.here, ada.assessor_id, "1") == name
        assert [one.label for one in labels.in_force(session, desk.here.id)] == [2]
        with pytest.raises(Conflict, match="another tab"):
            labels.save(session, desk, SentItemLabel(name, 1, f"{name}:2"))
        for wrong in (
            SentItemLabel(name, 3, "k"),
            SentItemLabel(name, None, "k"),
            SentItemLabel(name, 2, ""),
        ):
            with pytest.raises(Invalid, match="cannot be stored"):
                labels.save(session, desk, wrong)
        with pytest.raises(NotFound):
            labels.save(session, desk, SentItemLabel("nothing", 2, "k"))


def test_a_closed_round_takes_decisions_only(database: Database, tmp_path: Path) -> None:
    """Nobody labels in it or takes back; the adjudicator may still decide."""
    labelled.task(database, tmp_path)
    (ada,) = labelled.people(database, "Ada")
    number = labelled.opened(database, "support", [ada])
    name = next(iter(labelled.items(database, ada, number, "1")))
    labelled.label(database, ada, number, "1", {name: 2})
    with database.write() as session:
        rounds.change(session, OPERATOR, "t", number, "closed")
    with pytest.raises(Closed):
        labelled.label(database, ada, number, "1", {name: 1})
    with database.write() as session:
        _, desk = labels.topic_desk(session, ada.token, number, "1")
        with pytest.raises(Closed):
            labels.undo_last(session, desk.here, ada.assessor_id, "1")
        decisions.decide(session, OPERATOR, "t", number, SentItemLabel(name, 0, "k"))
    assert set(_settled(database, number).labels.values()) == {0}


def test_who_cannot_say_gives_no_label(database: Database, tmp_path: Path) -> None:
    """It is not judged in files, and nobody disagrees with it."""
    labelled.task(database, tmp_path)
    ada, bob = labelled.people(database, "Ada", "Bob")
    number = labelled.opened(database, "support", (ada, bob), twice=1.0, topics=("2",))
    labelled.label_all(database, ada, number, -1, ["2"])
    assert len(_settled(database, number).unsure) == 2
    assert _lines(database, number) == []
    labelled.label_all(database, bob, number, 1, ["2"])
    found = _settled(database, number)
    assert (set(found.labels.values()), found.open, found.unsure) == ({1}, (), ())


@pytest.mark.parametrize(
    ("plan", "field"),
    [
        ({"kind": "grades"}, "kind"),
        ({"topics": ("77",)}, "topics"),
        ({"runs": (99,)}, "run"),
        ({"assessors": (99,)}, "assessor"),
        ({"assessors": ()}, "assessor"),
        ({"twice": 0.5}, "twice"),
        ({"twice": 1.5}, "twice"),
        ({"guidelines": "x" * 20_001}, "guidelines"),
    ],
)
def test_a_plan_that_cannot_be_is_refused(
    plan: dict[str, object], field: str, database: Database, tmp_path: Path
) -> None:
    """With the field that is wrong, and nothing is stored."""
    labelled.task(database, tmp_path)
    (ada,) = labelled.people(database, "Ada")
    wanted = {"kind": "support", "assessors": (ada.assessor_id,), **plan}
    with database.write() as session, pytest.raises(Invalid) as caught:
        rounds.open_round(session, OPERATOR, "t", RoundPlan(**wanted))  # type: ignore[arg-type]
    assert {problem.field for problem in caught.value.problems} == {field}


def test_there_must_be_something_to_label(database: Database, tmp_path: Path) -> None:
    """A task of rankings, no nuggets, nothing cited: each is said."""
    labelled.task(database, tmp_path)
    (ada,) = labelled.people(database, "Ada")
    with pytest.raises(Conflict, match="no nuggets to assign"):
        labelled.opened(database, "assignments", [ada])
    with pytest.raises(Conflict, match="cites anything"):
        labelled.opened(database, "support", [ada], topics=("3",))
    build.task(database, tmp_path, "rankings")
    with pytest.raises(Conflict, match="takes rankings"):
        labelled.opened(database, "support", [ada], "rankings")


def test_runs_that_say_the_same_are_labelled_once(database: Database, tmp_path: Path) -> None:
    """And a withdrawn run not at all."""
    _, yacht = labelled.task(database, tmp_path)
    answered.run(database, tmp_path, labelled.OTHER, "clone", slug="t", team_name="Cats")
    (ada,) = labelled.people(database, "Ada")
    number = labelled.opened(database, "support", [ada])
    assert len(labelled.items(database, ada, number, "1")) == 2
    for run_id in (yacht, yacht + 1):
        with database.write() as session:
            withdrawals.withdraw(session, OPERATOR, run_id, "A mistake.")
    number = labelled.opened(database, "support", [ada])
    assert len(labelled.items(database, ada, number, "1")) == 1
