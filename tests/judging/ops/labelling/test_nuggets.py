"""Nuggets written at the desk: merged, taken out, put back, decided, published."""

import json
from pathlib import Path

import pytest

from leaderboard.answers.ops.nuggets import scoring
from leaderboard.core.policy import OPERATOR
from leaderboard.db.engine import Database
from leaderboard.errors import Closed, Conflict, Invalid, NotFound
from leaderboard.judging.ops.judging import PersonalLink
from leaderboard.judging.ops.labelling import decisions, labels, rounds, settled
from leaderboard.judging.ops.labelling.decisions import SentNugget
from leaderboard.judging.ops.labelling.settled import SettledNuggets
from leaderboard.qrels.ops import revisions as revision_drafts
from leaderboard.trec.nuggets.sets import read_nuggets
from tests.make import labelled


def _write(database: Database, who: PersonalLink, number: int, **texts: str) -> None:
    """Texts with their importance, and the topic is done."""
    with database.write() as session:
        _, desk = labels.topic_desk(session, who.token, number, "1")
        for text, importance in texts.items():
            decisions.write_nugget(session, desk, SentNugget(text, importance, f"{number}-{text}"))
        decisions.finish_nuggets(session, desk, is_done=True)


def _settled(database: Database, number: int) -> SettledNuggets:
    with database.read() as session:
        _, here = rounds.seen_round(session, OPERATOR, "t", number)
        return settled.settled_nuggets(session, settled.round_labels(session, here))


def test_a_list_is_written_merged_and_done(database: Database, tmp_path: Path) -> None:
    """What is merged or taken out can be put back; a done list does not change until that is taken back."""
    labelled.task(database, tmp_path)
    (ada,) = labelled.people(database, "Ada")
    number = labelled.opened(database, "nuggets", [ada], topics=("1",))
    with database.write() as session:
        _, desk = labels.topic_desk(session, ada.token, number, "1")
        with pytest.raises(Conflict, match="Write at least one"):
            decisions.finish_nuggets(session, desk, is_done=True)
        for _ in range(2):
            decisions.write_nugget(session, desk, SentNugget("Air  scatters\nblue.", "okay", "a"))
        decisions.write_nugget(session, desk, SentNugget("Blue is scattered.", "vital", "b"))
        with pytest.raises(Conflict, match="already"):
            decisions.write_nugget(session, desk, SentNugget("Blue is scattered.", "okay", "c"))
        for wrong in (
            SentNugget(" ", "okay", "d"),
            SentNugget("x" * 501, "okay", "d"),
            SentNugget("x", "must", "d"),
        ):
            with pytest.raises(Invalid):
                decisions.write_nugget(session, desk, wrong)
        first, second = decisions.written_nuggets(session, desk.here.id)
        assert first.text == "Air scatters blue."
        with pytest.raises(Invalid, match="No nuggets were merged"):
            decisions.merge_nuggets(session, desk, [first.id, first.id])
        decisions.merge_nuggets(session, desk, [second.id, first.id])
        assert (first.importance, second.into_id, decisions.stands(second)) == ("vital", first.id, False)
        decisions.put_back(session, desk, second.id)
        decisions.take_out(session, desk, second.id)
        assert [
            one.id for one in filter(decisions.stands, decisions.written_nuggets(session, desk.here.id))
        ] == [first.id]
        decisions.put_back(session, desk, second.id)
        with pytest.raises(NotFound):
            decisions.put_back(session, desk, second.id)
        decisions.rewrite_nugget(session, desk, first.id, SentNugget("Air does it.", "okay"))
        with pytest.raises(NotFound):
            decisions.rewrite_nugget(session, desk, 999, SentNugget("x", "okay"))
        decisions.finish_nuggets(session, desk, is_done=True)
    with database.write() as session:
        _, desk = labels.topic_desk(session, ada.token, number, "1")
        with pytest.raises(Conflict, match="marked as complete"):
            decisions.take_out(session, desk, second.id)
        decisions.finish_nuggets(session, desk, is_done=False)
    assert _settled(database, number).left == ("1",)
    with database.write() as session:
        rounds.change(session, OPERATOR, "t", number, "closed")
        _, desk = labels.topic_desk(session, ada.token, number, "1")
        with pytest.raises(Closed):
            decisions.write_nugget(session, desk, SentNugget("late", "okay", "e"))


@pytest.mark.dialect
def test_two_lists_are_decided_and_published(database: Database, tmp_path: Path) -> None:
    """Differing lists wait; one of both, made by who decides, becomes the nugget set of its topic."""
    labelled.task(database, tmp_path)
    labelled.nuggets(database, tmp_path)
    ada, bob = labelled.people(database, "Ada", "Bob")
    number = labelled.opened(database, "nuggets", (ada, bob), topics=("1",), twice=1.0)
    _write(database, ada, number, same="okay", one="okay")
    assert _settled(database, number).left == ("1",)
    _write(database, bob, number, same="vital", two="okay")
    assert _settled(database, number).open == ("1",)
    with database.write() as session:
        decisions.begin(session, OPERATOR, "t", number, "1")
    with database.write() as session:
        with pytest.raises(Conflict, match="already started"):
            decisions.begin(session, OPERATOR, "t", number, "1")
        desk = decisions.own_decision_desk(session, OPERATOR, "t", number, "1")
        listed = decisions.written_nuggets(session, desk.here.id, "1", desk.assessor_id)
        assert {one.text: one.importance for one in listed} == {"same": "vital", "one": "okay", "two": "okay"}
        decisions.take_out(session, desk, listed[-1].id)
    assert _settled(database, number).open == ("1",)
    with database.write() as session:
        desk = decisions.own_decision_desk(session, OPERATOR, "t", number, "1")
        decisions.finish_nuggets(session, desk, is_done=True)
    (found,) = _settled(database, number).topics.values()
    assert [(one.text, one.importance) for one in found] == [("same", "vital"), ("one", "okay")]
    with database.read() as session:
        _, here = rounds.seen_round(session, OPERATOR, "t", number)
        (line,) = settled.lines(session, settled.round_labels(session, here), settled.USUAL)
    path = tmp_path / "made.jsonl"
    path.write_text(line)
    assert read_nuggets(path).topics["1"] == found
    assert set(json.loads(line)) == {"query", "qid", "nuggets"}
    with database.write() as session:
        token = settled.keep_draft(
            session, OPERATOR, "t", number, rule=settled.USUAL, mode="merge", note="Ours."
        )
        revision_drafts.publish(session, OPERATOR, "t", token)
    with database.read() as session:
        judged = scoring.newest(session, here.task_id)
    assert judged is not None
    assert [one.text for one in judged.judgments.nuggets.topics["2"]] == ["rivers carry salt"]
    assert [one.text for one in judged.judgments.nuggets.topics["1"]] == ["same", "one"]


def test_lists_that_are_alike_need_nobody_to_decide(database: Database, tmp_path: Path) -> None:
    """In whatever order they were written."""
    labelled.task(database, tmp_path)
    ada, bob = labelled.people(database, "Ada", "Bob")
    number = labelled.opened(database, "nuggets", (ada, bob), topics=("1",), twice=1.0)
    _write(database, ada, number, one="okay", two="vital")
    _write(database, bob, number, two="vital", one="okay")
    assert list(_settled(database, number).topics) == ["1"]
