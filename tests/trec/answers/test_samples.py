"""Real and sample files of several tracks, where they are at hand; none of them is part of the repository."""

from pathlib import Path

import pytest

from leaderboard.trec.answers.check import AnswerRules, check_answers
from leaderboard.trec.answers.record import nfkc_words, read_answer_topics
from leaderboard.trec.nuggets.scoring import read_answers
from leaderboard.trec.nuggets.sets import read_nuggets


def there(shared_data: Path, *names: str) -> list[Path]:
    """The files; skips where they are not among the shared data."""
    paths = [shared_data / name for name in names]
    if missing := [path for path in paths if not path.exists()]:
        pytest.skip(f"no {missing[0]} among the shared data")
    return paths


def test_autojudges_kiddie_runs(shared_data: Path) -> None:
    """Five topics, four runs without references; the documents beside each answer are passed over."""
    topics, *runs = there(
        shared_data,
        "autojudge-kiddie/topics.jsonl",
        *(f"autojudge-kiddie/runs/run{n}.jsonl" for n in range(1, 5)),
    )
    known = read_answer_topics(topics)
    assert len(known) == 5
    for path in runs:
        report = check_answers(path, AnswerRules(topics=known))
        assert [one.rule for one in report.warnings] == [
            "The line has no references; the cited documents are used instead."
        ]
        assert (report.verdict, report.facts["answers"]) == ("accepted with warnings", 5)


def test_autojudges_three_forms_of_citations(shared_data: Path) -> None:
    """A list, a map, a list; one cites what is not among its empty references."""
    names = ("my_best_run_01", "my_best_run_02", "my_best_run_02_with_citations")
    reports = [
        check_answers(path, AnswerRules())
        for path in there(shared_data, *(f"autojudge-spotcheck/runs/{name}.jsonl" for name in names))
    ]
    assert [report.verdict for report in reports] == ["accepted with warnings", "accepted", "accepted"]
    assert [report.facts["citations"] for report in reports] == [1, 1, 1]


def test_odd_cases_of_autojudge(shared_data: Path) -> None:
    """A number as topic id, dots in names; citing what is not among the references is an error of rag25."""
    dots, strangers, manual = there(
        shared_data,
        *(
            f"autojudge-spotcheck/odd/{name}.jsonl"
            for name in ("team.org-run.v1", "team1-run1", "team2-run2")
        ),
    )
    assert list(read_answers(dots)[1]) == ["995"]
    report = check_answers(strangers, AnswerRules())
    assert {one.rule.partition(" cites ")[2] for one in report.problems} == {
        "a document that is not among the references."
    }
    assert check_answers(manual, AnswerRules()).accepted


def test_the_examples_of_the_validator(shared_data: Path) -> None:
    """Two runs in one file, so a topic twice; what they cite is not a reference, as the track allows."""
    (path,) = there(shared_data, "rag-run-validator/readme-examples.jsonl")
    report = check_answers(path, AnswerRules())
    assert [one.rule for one in report.problems] == ["The topic is on line 1 already."]
    assert [one.count for one in report.warnings] == [6]


def test_the_nuggetizers_answer(shared_data: Path) -> None:
    """A line of rag24 whose response_length is what is counted here."""
    (path,) = there(shared_data, "nuggetizer-readme/answer.rag24.jsonl")
    report = check_answers(path, AnswerRules(dialects=("rag24",)))
    assert (report.verdict, report.problems, report.warnings) == ("accepted", (), ())
    (answer,) = read_answers(path)[1].values()
    assert nfkc_words(answer.texts) == 192


def test_runs_of_ragtime_2026(shared_data: Path) -> None:
    """Three reports of 103 topics with confidences, each within 5,000 characters; and a nugget bank."""
    *runs, bank = there(
        shared_data,
        *(f"ragtime26-runs/T1_run_{number}.jsonl.gz" for number in (1, 2, 3)),
        "ragtime26-runs/T3_run_1.jsonl.gz",
    )
    for path in runs:
        report = check_answers(path, AnswerRules(limit=5000, over="refuse"))
        assert report.verdict == "accepted"
        assert report.facts["answers"] == 103
        assert report.facts["length"]["max"] <= 5000
    nuggets = read_nuggets(bank)
    assert len(nuggets.topics) == 103
    assert nuggets.topics["2000"][0].answers[0].documents == (
        "5f91a162-7a1e-4e5e-af0e-6b1bab774964_374756147",
    )


def test_nuggets_of_a_judge(shared_data: Path) -> None:
    """The v3 form: questions without importance, which count as okay and are said to."""
    (path,) = there(shared_data, "autojudge-kiddie/example-judge/nuggets.v3.jsonl")
    nuggets = read_nuggets(path)
    assert len(nuggets.topics) == 122
    assert any("they count as okay" in note.rule for note in nuggets.notes)
