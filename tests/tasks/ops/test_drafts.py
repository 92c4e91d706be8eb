"""Tasks as they are made: what a draft shows, what it proposes, what it refuses."""

from pathlib import Path

import pytest

from leaderboard.core.policy import OPERATOR
from leaderboard.db.engine import Database
from leaderboard.errors import Conflict, Invalid
from leaderboard.tasks.ops import drafts, organise
from leaderboard.tasks.page import landing
from tests.make import build

pytestmark = pytest.mark.dialect

GOOD = {"1": ["a", "c", "x"], "2": ["d", "a"], "3": ["x", "e", "f"]}


def test_the_overview_names_what_does_not_fit(database: Database, tmp_path: Path) -> None:
    """Counts, grades and ids on one side only are there before anything is published."""
    judgments = {"1": {"a": 2, "b": 0}, "2": {"c": 0}, "77": {"a": 1}}
    build.task(database, tmp_path, judgments=judgments, publish=False)
    with database.read() as session:
        shown = landing.overview(session, OPERATOR, "t")
    assert shown.grades == {0: 2, 1: 1, 2: 1}
    assert shown.topics_without_judgments == ("3",)
    assert shown.judged_not_topics == ("77",)
    assert shown.topics_without_relevant == ("2",)
    assert shown.is_draft
    assert shown.of.measures == ["nDCG@10", "AP", "RR@10", "R@1000", "Judged@10"]


@pytest.mark.parametrize(
    ("judgments", "primary"),
    [
        ({"1": {"a": 2, "b": 1}}, "nDCG@10"),
        ({"1": {"a": 1, "b": 1}}, "AP"),
        ({"1": {"a": 1, "b": 0}, "2": {"c": 1}}, "RR@10"),
        (None, "AP"),
    ],
)
def test_measures_are_proposed_from_the_grades(
    judgments: dict[str, dict[str, int]] | None, primary: str
) -> None:
    """Graded, binary, one relevant a topic and unknown judgments each get fitting measures."""
    as_bytes = judgments and {
        topic: {docno.encode(): grade for docno, grade in grades.items()}
        for topic, grades in judgments.items()
    }
    measures, proposed = drafts.propose_measures(as_bytes)
    assert proposed == measures[0] == primary
    assert measures[-1] == "Judged@10"


def test_the_level_goes_into_the_measures_that_take_one(database: Database, tmp_path: Path) -> None:
    """A task whose relevant documents start at grade 2 says so in its measures' names."""
    build.task(database, tmp_path, level=2, measures=("AP", "nDCG@10"), publish=False)
    with database.read() as session:
        assert landing.overview(session, OPERATOR, "t").of.measures == ["AP(rel=2)", "nDCG@10"]


def test_a_draft_can_be_discarded_and_a_published_task_cannot(database: Database, tmp_path: Path) -> None:
    """Discarding takes a draft's topics and judgments along."""
    build.task(database, tmp_path, "draft", publish=False)
    build.task(database, tmp_path, "shown")
    with database.write() as session:
        organise.discard(session, OPERATOR, "draft")
    with database.read() as session:
        assert [row.slug for row in landing.listing(session, OPERATOR)] == ["shown"]
    with pytest.raises(Conflict, match="published"), database.write() as session:
        organise.discard(session, OPERATOR, "shown")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"slug": "New Task"}, "lower-case"),
        ({"slug": "new"}, "not `new`"),
        ({"name": " "}, "1 to 200"),
        ({"depth": 0}, "from 1 to"),
        ({"dialect": 8}, "one of 10, 9"),
        ({"visibility": "secret"}, "one of open"),
    ],
)
def test_a_bad_form_is_refused_with_the_rule(
    tmp_path: Path, options: dict[str, object], message: str
) -> None:
    """Each field's rule is said with the offending value."""
    good = {"slug": "t", "name": "T", "topics": build.topics_file(tmp_path)}
    with pytest.raises(Invalid) as caught:
        drafts.prepare(drafts.TaskDraft(**{**good, **options}))  # type: ignore[arg-type]
    assert message in str(caught.value.problems[0])
