"""The upload checker: one test for each rule that shows its message."""

import gzip
import json
from functools import partial
from io import BufferedReader, FileIO
from pathlib import Path
from typing import Any, Literal

import pytest

from leaderboard.trec.documents.documents import DocnoFilter
from leaderboard.trec.read.archives import Limits
from leaderboard.trec.runs.check import Report, Rules, read_and_check
from leaderboard.trec.runs.fingerprints import RankingDigest
from tests.trec.conftest import Written

pytestmark = pytest.mark.usefixtures("each_kernel")

GOOD = "1 Q0 a 1 2.5 tag\n1 Q0 b 2 1.5 tag\n2 Q0 a 1 7 tag\n"
TOPICS = ("1", "2")


def report_of(written: Written, content: str | bytes, rules: Rules = Rules(TOPICS)) -> Report:  # noqa: B008
    """The report of a run file under a task's rules."""
    return read_and_check(written(content), rules)[1]


def test_good_run_is_accepted_without_a_word(written: Written) -> None:
    """A run that breaks no rule has no problems and no warnings, and its facts are told."""
    run, report = read_and_check(written(GOOD), Rules(TOPICS, judged=TOPICS))
    assert run is not None
    assert (report.accepted, report.verdict) == (True, "accepted")
    assert (report.problems, report.warnings) == ((), ())
    assert report.facts == {
        "tag": "tag",
        "tags": ["tag"],
        "entries": 3,
        "topics": 2,
        "missing": 0,
        "depth": {"min": 1, "median": 1.5, "max": 2},
        "ties": 0.0,
        "metadata": False,
        "preview": [["1", "a", 2.5], ["1", "b", 1.5]],
    }


def test_parse_problems_become_the_report(written: Written) -> None:
    """What reading refuses is a rejection with the same problems, not an exception."""
    run, report = read_and_check(written(GOOD + "1 Q0 c 3 x tag\n"), Rules(TOPICS))
    assert run is None
    assert report.verdict == "rejected"
    assert [(problem.line, problem.field, problem.value) for problem in report.problems] == [
        (4, "score", "x")
    ]
    assert report.facts == {}


def test_exploding_and_truncated_archives_become_the_report(written: Written) -> None:
    """Archives that are refused reject the run with their sentence."""
    bomb = report_of(written, gzip.compress(bytes(8 * 2**20)))
    assert "expands more than 200 times" in str(bomb.problems[0])
    cut = report_of(written, gzip.compress(GOOD.encode())[:-9])
    assert "The gzip file ends in the middle: it was cut off." in str(cut.problems[0])
    big = read_and_check(written(GOOD * 10), Rules(), Limits(plain_bytes=100))[1]
    assert "larger than" in str(big.problems[0])


@pytest.mark.parametrize(
    ("topics", "sent", "remedy"),
    [
        (("MB051", "MB052"), "51", "Did you mean MB051?"),
        (("MB051", "MB052"), "051", "Did you mean MB051?"),
        (("51", "52"), "MB051", "Did you mean 51?"),
        (("051", "052"), "51", "Did you mean 051?"),
        (("q-1", "q-2"), "Q1", "Did you mean q-1?"),
        (("106_1", "106_2"), "106.1", "Did you mean 106_1?"),
        (("101", "102", "103", "104"), "7", "Valid topic ids include 101, 102, 103."),
        (("a1", "b1"), "1", "Valid topic ids include a1, b1."),
    ],
)
def test_unknown_topic_is_rejected(topics: tuple[str, ...], sent: str, remedy: str, written: Written) -> None:
    """A topic the task lacks rejects the run, naming the one meant where padding or prefix differ."""
    report = report_of(written, f"# c\n{sent} Q0 a 1 1 t\n", Rules(topics))
    assert str(report.problems[0]) == f"line 2: topic '{sent}': The task has no such topic. {remedy}"


def test_too_many_documents_are_rejected(written: Written) -> None:
    """More documents in a topic than the task's depth reject the run; exactly as many do not."""
    assert report_of(written, GOOD, Rules(TOPICS, depth=2)).accepted
    assert report_of(written, GOOD, Rules(TOPICS, depth=None)).accepted
    report = report_of(written, GOOD, Rules(TOPICS, depth=1))
    assert [str(problem) for problem in report.problems] == [
        "line 1: topic '1': The topic has 2 documents; the task accepts at most 1. Keep the 1 best."
    ]


def test_tag_against_the_rule_is_rejected(written: Written) -> None:
    """Only a task with a pattern looks at tags, and proposes one that fits."""
    content = "1 Q0 a 1 1 my+tag\n"
    assert report_of(written, content).accepted
    report = report_of(written, content, Rules(TOPICS, tag_pattern="[A-Za-z-]{1,25}"))
    assert [str(problem) for problem in report.problems] == [
        "tag 'my+tag': Tags of this task must match [A-Za-z-]{1,25} as a whole. "
        "Change the sixth column, for example to my-tag."
    ]
    assert report_of(written, GOOD, Rules(TOPICS, tag_pattern="t.*g")).accepted


def test_tag_rule_that_is_no_pattern_is_said_to_be_the_organisers(written: Written) -> None:
    """A task whose rule does not compile rejects with a sentence instead of failing."""
    report = report_of(written, GOOD, Rules(TOPICS, tag_pattern="["))
    assert "is not a regular expression" in report.problems[0].rule
    assert report.problems[0].remedy == "Tell the organisers."


class _Counted:
    """A file that counts how often it is read from."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.position = 0

    def open(self, mode: Literal["rb"]) -> BufferedReader:
        """The file; where its reader has come to is seen in `position`."""
        counted = self

        class Watched(FileIO):
            def readinto(self, buffer: Any) -> int | None:  # type: ignore[override]
                count = super().readinto(buffer)
                counted.position = self.tell()
                return count

        return BufferedReader(Watched(self.path, mode))  # type: ignore[arg-type]


@pytest.mark.parametrize("entries", [1, 3])
def test_reading_stops_at_10_000_topics_that_break_a_rule(entries: int, written: Written) -> None:
    """A file of nothing but unknown topics, or too deep ones, is not read to its end."""
    topics = range(150_000 // entries)
    lines = (f"{topic} Q0 d{place} 1 1 t\n" for topic in topics for place in range(entries))
    path = written("".join(lines))
    rules = Rules(TOPICS) if entries == 1 else Rules(tuple(map(str, topics)), depth=2)
    counted = _Counted(path)
    scanned, report = read_and_check(counted, rules)
    assert scanned is None
    assert counted.position < path.stat().st_size / 2
    assert [(problem.line, problem.count) for problem in report.problems] == [(1, 10_000)]
    assert report.facts == {}


def test_unknown_topics_do_not_end_the_reading(written: Written) -> None:
    """A run of another task has one problem, with the facts of the whole file."""
    report = report_of(written, GOOD + "".join(f"x{number} Q0 d 1 1 t\n" for number in range(1000)))
    assert [problem.count for problem in report.problems] == [998, 2]
    assert report.problems[0].examples == ("x0", "x3", "x4", "x5", "x6")
    assert report.facts["entries"] == 1003


def test_topics_that_differ_alike_are_one_problem_that_says_how(written: Written) -> None:
    """The pattern is said where several ids share it, with their number; ids that clash have no fix."""
    cases = [
        (("303", "304"), "0303 0304", "All 2 topic ids have extra leading zeros: 0303 is 303.", "topics"),
        (("001", "010", "5"), "1 10 5", "Of 3 topic ids 2 lack leading zeros: 1 is 001.", "topics"),
        (("MB051", "MB052"), "051 052", "All 2 topic ids lack the prefix MB: 051 is MB051.", "topics"),
        (("51", "52"), "MB51 MB52", "All 2 topic ids have the prefix MB too many: MB51 is 51.", "topics"),
        (("qa", "qb"), "QA QB", "All 2 topic ids differ in case: QA is qa.", "topics"),
        (("q-1", "q-2"), "q1 q2", "All 2 topic ids are written differently: q1 is q-1.", "topics"),
        (("303", "304"), "0303 303 0304", "Of 3 topic ids 2 have extra leading zeros: 0303 is 303.", ""),
    ]
    faults = []
    for topics, sent, rule, fix in cases:
        content = "".join(f"{topic} Q0 a 1 1 t\n" for topic in sent.split())
        problem = report_of(written, content, Rules(topics)).problems[0]
        if (problem.rule, problem.fix) != (rule, fix):
            faults.append((sent, problem.rule, problem.fix))
    assert faults == []


def test_problems_alike_are_one_line(written: Written) -> None:
    """What breaks the same rule in many lines is said once, with how often and some of the values."""
    report = report_of(written, "".join(f"1 Q0 d{line} 1 x{line} t\n" for line in range(7)) + "1 2\n")
    assert [(problem.line, problem.count, problem.examples) for problem in report.problems] == [
        (1, 7, ("x0", "x1", "x2", "x3", "x4")),
        (8, 1, ()),
    ]
    assert "(and 6 more like it)" in str(report.problems[0])


def warned(report: Report) -> str:
    """The only warning of an accepted run."""
    assert report.verdict == "accepted with warnings"
    assert len(report.warnings) == 1
    return str(report.warnings[0])


def test_missing_topics_are_warned_of(written: Written) -> None:
    """Topics without documents are listed."""
    report = report_of(written, "2 Q0 a 1 1 t\n", Rules(("1", "2", "10")))
    assert warned(report) == (
        "The run has no documents for 2 topics (1, 10). They score as rankings without documents."
    )
    assert report.facts["missing"] == 2


def test_many_missing_topics_are_counted(written: Written) -> None:
    """Twenty topics are named, the others counted."""
    topics = tuple(str(number) for number in range(1000, 2500))
    assert "1,499 topics (1001, " in warned(report_of(written, "1000 Q0 a 1 1 t\n", Rules(topics)))
    assert " and 1,479 more)" in warned(report_of(written, "1000 Q0 a 1 1 t\n", Rules(topics)))


def test_topics_without_judgments_are_warned_of(written: Written) -> None:
    """Topics that no judgment covers are named, unless the task is known to have them."""
    report = report_of(written, GOOD, Rules(judged=("1",)))
    assert warned(report) == "There are no judgments for 1 topic (2). They do not count in the means."
    assert report_of(written, GOOD, Rules(TOPICS, judged=("1",))).warnings == ()


def test_only_topics_that_are_scored_are_missed(written: Written) -> None:
    """A run without the topics that do not count is whole."""
    report = report_of(written, GOOD, Rules((*TOPICS, "3", "4"), scored=(*TOPICS, "4")))
    assert "no documents for 1 topic (4)" in warned(report)
    assert report_of(written, GOOD, Rules((*TOPICS, "3"), scored=TOPICS)).warnings == ()


def test_rank_against_score_is_warned_of(written: Written) -> None:
    """What reading noted is among the warnings."""
    report = report_of(written, "1 Q0 a 1 1 t\n1 Q0 b 2 2 t\n2 Q0 a 1 1 t\n")
    assert "line 2: rank '2': The rank contradicts the score" in warned(report)


def test_many_ties_are_warned_of(written: Written) -> None:
    """From a fifth of neighbours with equal scores on, ties are pointed out."""
    scores = [9, 8, 8, 8, 7, 6]
    content = "".join(f"1 Q0 d{place} {place} {score} t\n" for place, score in enumerate(scores))
    report = report_of(written, content, Rules(("1",)))
    assert "40.0% of neighbouring documents have equal scores. Ties are ordered by docno" in warned(report)
    assert report.facts["ties"] == pytest.approx(0.4)


def test_constant_scores_are_warned_of(written: Written) -> None:
    """A topic whose documents all have one score is named."""
    report = report_of(written, "1 Q0 a 1 1 t\n1 Q0 b 2 1 t\n", Rules(("1",)))
    assert "All documents have the same score in 1 topic (1)." in warned(report)


def test_unknown_docnos_are_warned_of(written: Written) -> None:
    """Documents the collection lacks are counted, and five of them shown."""
    known = DocnoFilter.build([b"a"])
    content = GOOD + "".join(f"2 Q0 u{number} 2 {-number} tag\n" for number in range(9))
    rules = Rules(TOPICS, unknown_docnos=partial(DocnoFilter.unknown, known))
    assert warned(report_of(written, content, rules)) == (
        "The collection does not have the documents of 10 of 12 entries (for example b, u0, u1, u2, u3). "
        "They count as not relevant; check that the run is of this collection."
    )


def test_split_topics_are_warned_of(written: Written) -> None:
    """Topics in several parts are named."""
    report = report_of(written, GOOD + "1 Q0 c 3 1 tag\n")
    assert "The lines of 1 topic (1) are not all together." in warned(report)


def test_several_tags_are_warned_of(written: Written) -> None:
    """More than one tag is named, and which one is taken."""
    report = report_of(written, "1 Q0 a 1 1 x\n2 Q0 a 1 1 y\n")
    assert (
        warned(report) == "tag 'y': The file has more than one tag (x, y). The tag of the last line is used."
    )


def test_run_of_other_topics_than_the_qrels_is_rejected(written: Written) -> None:
    """Where only judgments are known, a run that meets none of their topics is rejected."""
    rules = Rules(judged=("401", "402"))
    report = report_of(written, "q401 Q0 a 1 1 t\n", rules)
    assert (
        str(report.problems[0]) == "line 1: topic 'q401': The qrels file has no such topic. Did you mean 401?"
    )
    partly = report_of(written, "401 Q0 a 1 1 t\n999 Q0 a 1 1 t\n", rules)
    assert partly.verdict == "accepted with warnings"


def test_report_survives_json(written: Written) -> None:
    """A report is stored as JSON and comes back equal."""
    rules = Rules(TOPICS, depth=1, tag_pattern="x")
    report = report_of(written, GOOD + "3 Q0 a\x85 1 1 tag\n", rules)
    assert len(report.problems) == 3
    assert Report.from_json(json.loads(json.dumps(report.as_json()))) == report


def test_digest_depends_on_the_order_alone(written: Written) -> None:
    """Runs that rank alike have one digest, whatever their lines, scores and tags; others have another."""

    def digest(content: str) -> str:
        scanned, _ = read_and_check(written(content), Rules(), Limits(), RankingDigest)
        assert scanned is not None
        digest = scanned.consumer.others[0]
        assert isinstance(digest, RankingDigest)
        return digest.hexdigest()

    assert digest(GOOD) == digest("2 Q0 a 1 0.1 x\n1 Q0 b 1 -5 x\n1 Q0 a 1 -4 x\n")
    assert digest("1 Q0 a 1 1 t\n1 Q0 b 2 1 t\n") == digest("1 Q0 b 1 2 t\n1 Q0 a 2 1 t\n")
    assert digest(GOOD) != digest("1 Q0 a 1 1 t\n1 Q0 b 2 2 t\n2 Q0 a 1 7 t\n")
    assert digest("1 Q0 ab 1 1 t\n") != digest("1 Q0 a 1 1 t\n1 Q0 b 2 0 t\n")


def test_a_topic_the_task_does_not_have_is_not_also_called_unjudged(tmp_path: Path) -> None:
    """An unknown topic is one problem, not a problem and a warning."""
    path = tmp_path / "run"
    path.write_text("1 Q0 a 1 2 t\n2 Q0 a 1 2 t\n9 Q0 a 1 2 t\n")
    _, report = read_and_check(path, Rules(topics=("1", "2"), judged=("1",)))
    assert [problem.value for problem in report.problems] == ["9"]
    assert report.warnings == ()
