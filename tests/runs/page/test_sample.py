"""Sample runs: files that the task's own check accepts."""

from functools import partial
from pathlib import Path

import pytest

from leaderboard.answers.ops.kind import KIND as ANSWERS
from leaderboard.core.kinds import RunKind, UploadRules
from leaderboard.runs.ops import prepare
from leaderboard.runs.ops.kind import KIND as RANKINGS
from leaderboard.trec.answers.check import AnswerRules
from leaderboard.trec.answers.dialects import DIALECTS, LONGEVAL
from leaderboard.trec.answers.record import AnswerTopic
from leaderboard.trec.documents.docno_filter import DocnoFilter, DocnoFilterBuilder
from leaderboard.trec.read.lines import Limits
from leaderboard.trec.runs.check import Report, Rules

TOPICS = tuple(f"t{number}" for number in range(1, 21))
DOCNOS = [f"d{number}" for number in range(1, 11)]


def _known() -> bytes:
    builder = DocnoFilterBuilder()
    builder.add([docno.encode() for docno in DOCNOS])
    return builder.build()


def _report(folder: Path, kind: RunKind, rules: UploadRules) -> Report:
    assert kind.sample is not None
    path = folder / "sample.txt"
    path.write_text("".join(f"{line}\n" for line in kind.sample(rules, DOCNOS)), encoding="utf-8")
    report = prepare.check_only(path, rules, Limits())
    assert report is not None
    return report


@pytest.mark.parametrize(
    ("rules", "warnings"),
    [
        (Rules(topics=TOPICS, depth=1000, unknown_docnos=partial(DocnoFilter.unknown, _known())), 0),
        (Rules(topics=TOPICS, depth=3), 0),
        (Rules(topics=TOPICS, depth=1000, tag_pattern="[A-Z]{3}-[0-9]"), 1),
        (Rules(topics=TOPICS, depth=1000, scored=TOPICS[:5]), 0),
    ],
    ids=["known documents", "shallow", "a pattern of tags", "some topics scored"],
)
def test_a_sample_of_rankings_is_accepted(tmp_path: Path, rules: Rules, warnings: int) -> None:
    """By the strictest task too, a blind one, where it is deep enough."""
    is_blind = rules.depth is not None and rules.depth >= 10
    report = _report(tmp_path, RANKINGS, UploadRules(1, RANKINGS, rules, is_blind))
    assert (report.problems, len(report.warnings)) == ((), warnings)


@pytest.mark.parametrize("dialect", [name for name in DIALECTS if name != LONGEVAL.name])
def test_a_sample_of_answers_is_accepted(tmp_path: Path, dialect: str) -> None:
    """In the dialect that the task takes, with the official text of each topic."""
    topics = {topic: AnswerTopic(topic, (f"Where is “{topic}”?",)) for topic in TOPICS}
    own = AnswerRules(topics=topics, dialects=(dialect,))
    report = _report(tmp_path, ANSWERS, UploadRules(1, ANSWERS, Rules(topics=TOPICS), True, own=own))
    assert report.problems == ()
