"""Settings of a task: what each may be, what it does to the board, what is kept of the change."""

from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import func, select

from leaderboard.boards.ops import board
from leaderboard.core import policy
from leaderboard.core.policy import ANONYMOUS, OPERATOR
from leaderboard.db.engine import Database
from leaderboard.db.tables import Audit, Edition, Phase, Task, TaskChange, TopicSet
from leaderboard.errors import Conflict, Invalid, LeaderboardError
from leaderboard.scoring.ops import board_measures, collections
from leaderboard.tasks.ops import settings
from leaderboard.tasks.ops.settings import SETTINGS, current
from leaderboard.trec.topics import topics as trec_topics
from tests.make import build

RUN = {"1": ["c", "a"], "2": ["d"], "3": ["f", "e"]}
DEEP = {topic: [*"abcdefghijkl"] for topic in ("1", "2", "3", "4")}
FOUR = ("1", "2", "3", "4")


def _set(database: Database, reason: str = "", **given: str) -> tuple[str, ...]:
    with database.write() as session:
        return settings.change_settings(session, OPERATOR, "t", given, reason)


def _task(database: Database, slug: str = "t") -> Task:
    with database.read() as session:
        return session.scalars(select(Task).where(Task.slug == slug)).one()


def _public(database: Database) -> list[str] | None:
    with database.read() as session:
        return session.scalar(select(TopicSet.topics).where(TopicSet.name == "public"))


@pytest.mark.dialect
def test_values_are_read_kept_and_noted(database: Database, tmp_path: Path) -> None:
    """Every kind of setting is changed by its text; a code is in no record; the same again is no change."""
    build.task(database, tmp_path)
    given = {
        "name": "Another",
        "description": "One\r\ntwo",
        "links": "Call https://example.org/; Data https://example.org/data",
        "grade_names": "0 no; 1 yes",
        "final_runs": "3",
        "unmarked": "newest",
        "may_withdraw": "no",
        "entry_rule": "code",
        "entry_code": "opensesame",
        "agreement": "Be fair.",
        "naming": "date",
        "names_at": "2030-05-31T12:00",
    }
    assert set(_set(database, reason="  A new  year ", **given)) == set(given)
    task = _task(database)
    assert (task.description, task.final_runs, task.may_withdraw) == ("One\ntwo", 3, False)
    assert (task.grade_names, task.agreement_version) == ({"0": "no", "1": "yes"}, 1)
    assert task.links[1] == {"title": "Data", "address": "https://example.org/data"}
    with database.read() as session:
        rows = session.scalars(select(TaskChange)).all()
        records = [str(row.detail) for row in session.scalars(select(Audit))]
        values = current(session, session.get_one(Task, task.id))
    assert {row.reason for row in rows} == {"A new year"}
    assert len(rows) == len(given)
    told = [*records, *(row.before + row.after for row in rows)]
    assert not any("opensesame" in text for text in told)
    assert _set(database, **given) == _set(database, **values) == ()
    assert _set(database, agreement="Be fairer.", entry_code="sesame") == ("entry_code", "agreement")
    assert _task(database).agreement_version == 2


@pytest.mark.parametrize(
    ("given", "error", "sentence"),
    [
        ({"nme": "x"}, Invalid, "is not a setting"),
        ({"depth": "0", "final_runs": "-1"}, Invalid, "from 1 to"),
        ({"may_withdraw": "perhaps"}, Invalid, "yes or no"),
        ({"names_at": "soon"}, Invalid, "date and time"),
        ({"links": "javascript:alert(1)"}, Invalid, "https://"),
        ({"grade_names": "1 yes"}, Invalid, "Name grade 0"),
        ({"entry_rule": "code"}, Invalid, "Enter the code"),
        ({"naming": "date"}, Invalid, "Set the date"),
        ({"measures": "nDGC@10"}, Invalid, "nDGC"),
        ({"primary_measure": "Judged@10"}, Invalid, "primary"),
        ({"slug": "Not a slug"}, Invalid, "lower-case"),
        ({"slug": "new"}, Invalid, "lower-case"),
        ({"slug": "other"}, Conflict, "already"),
        ({"collection": "larger"}, Conflict, "same size"),
        ({"dialect": "9"}, Conflict, "clone"),
        ({"comparison": "luck"}, Invalid, "must be one of"),
    ],
)
def test_what_cannot_be_is_said_and_changes_nothing(
    database: Database, tmp_path: Path, given: dict[str, str], error: type[LeaderboardError], sentence: str
) -> None:
    """One bad value keeps the good ones out too."""
    for slug in ("t", "other"):
        build.task(database, tmp_path, slug)
    with database.write() as session:
        collections.add(session, OPERATOR, "larger", size=10)
    with pytest.raises(error) as caught:
        _set(database, name="Kept out", **given)
    problems = getattr(caught.value, "problems", ())
    assert sentence in " ".join([caught.value.message, *map(str, problems)])
    assert _task(database).name == "Task t"


def test_another_level_scores_the_board_anew(database: Database, tmp_path: Path) -> None:
    """Binary measures follow the least relevant grade in a new edition; those with a level written do not."""
    build.task(database, tmp_path, measures=("AP", "P(rel=3)@5", "nDCG@10"))
    build.run(database, tmp_path, RUN)
    build.drain(database)
    assert _set(database, level="2") == ("measures", "primary_measure", "level")
    build.drain(database)
    assert _task(database).measures == ["AP(rel=2)", "P(rel=3)@5", "nDCG@10"]
    with database.read() as session:
        shown = board.board(session, OPERATOR, "t")
    assert shown.rows[0].scores["AP(rel=2)"] == pytest.approx((0.5 + 0 + 0.5) / 3)


def test_several_changes_build_one_edition(database: Database, tmp_path: Path) -> None:
    """Level and measures together: names without a level are read at the new one."""
    build.task(database, tmp_path, measures=("AP",))
    _set(database, level="2", measures="P@5 RR", primary_measure="RR", visibility="blind")
    assert _task(database).measures == ["P(rel=2)@5", "RR(rel=2)"]
    with database.read() as session:
        assert session.scalar(select(func.max(Edition.number))) == 2


@pytest.mark.dialect
def test_a_public_half_is_drawn_once(database: Database, tmp_path: Path) -> None:
    """An open task that becomes blind shows means over a half, the same one whatever it was in between."""
    build.task(database, tmp_path, measures=("AP",))
    build.run(database, tmp_path, RUN)
    build.drain(database)
    _set(database, visibility="blind")
    build.drain(database)
    first = _public(database)
    with database.read() as session:
        shown = board.board(session, ANONYMOUS, "t")
        assert session.scalars(select(Phase.visibility)).all() == [None]
    assert first is not None
    assert len(first) == 2
    assert shown.rows[0].scores["AP"] is not None
    for visibility in ("open", "sealed", "blind"):
        _set(database, visibility=visibility)
    _set(database, slug="renamed")
    assert _public(database) == first


def test_a_draft_may_speak_the_other_dialect(database: Database, tmp_path: Path) -> None:
    """Before there is a board, nothing is too late, and participants are told of nothing."""
    build.task(database, tmp_path, publish=False)
    with database.write() as session:
        collections.add(session, OPERATOR, "larger", size=10)
    assert _set(database, dialect="9", collection="larger", slug="s") == ("slug", "collection", "dialect")
    with database.read() as session:
        assert session.scalars(select(TaskChange)).all() == []
        assert policy.known_tasks(session, OPERATOR, "t") == []


def test_new_topics_have_a_half_of_their_own(database: Database, tmp_path: Path) -> None:
    """Replacing the topics of a blind task draws among them; once there is a run it is too late."""
    build.task(database, tmp_path, visibility="blind")
    new = trec_topics.read(build.topics_file(tmp_path, FOUR))
    with database.write() as session:
        board_measures.replace(session, OPERATOR, "t", new)
    drawn = _public(database)
    assert drawn is not None
    assert (len(drawn), set(drawn) <= set(FOUR)) == (2, True)
    build.run(database, tmp_path, DEEP)
    with pytest.raises(Conflict, match="because a run uses them"), database.write() as session:
        board_measures.replace(session, OPERATOR, "t", new)


def test_every_setting_has_a_column_and_words(database: Database, tmp_path: Path) -> None:
    """What is listed can be read of a task, and its label is what lists of changes say."""
    build.task(database, tmp_path)
    with database.read() as session:
        values: dict[str, Any] = current(session, session.scalars(select(Task)).one())
    assert list(SETTINGS) == [key for key in SETTINGS if key in values]
    assert len({setting.about.title for setting in SETTINGS.values()}) == len(SETTINGS)
