"""`leaderboard check --kind answers`: what it says, where, and with which exit code."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from leaderboard.cli import main
from tests.make.answers import jsonl, line


def check(*arguments: object) -> Result:
    """The outcome of the command."""
    return CliRunner().invoke(main, ["check", "--kind", "answers", *map(str, arguments)])


@pytest.fixture
def topics(tmp_path: Path) -> Path:
    """Topics in JSON lines, the second one with a limit of its own."""
    rows = [{"id": "7", "title": "why is the sky blue"}, {"id": "8", "title": "salt", "limit": 10}]
    return jsonl(tmp_path / "topics.jsonl", rows)


def test_accepted_answers(tmp_path: Path, topics: Path) -> None:
    """Run, dialect, counts; warnings do not change the exit code."""
    run = jsonl(tmp_path / "run.jsonl", [line("rag25")])
    done = check(run, "--topics", topics)
    assert (done.exit_code, done.stderr) == (0, "")
    assert done.stdout.splitlines() == [
        "run.jsonl: accepted with warnings",
        "  run u2, rag25: answers 1, length 5 to 5 nfkc-words, segments 1 (0 without citations), citations 2",
        "  warning: There is no answer for 1 topic (8). They score 0.",
    ]
    assert check(run, "--topics", topics, "--subset").stdout.splitlines()[0] == "run.jsonl: accepted"


def test_rejected_answers(tmp_path: Path, topics: Path) -> None:
    """The report goes to standard error, exit code 1; as JSON it is the site's."""
    run = jsonl(tmp_path / "run.jsonl", [line("report", "metadata.topic_id", "9")])
    done = check(run, "--topics", topics)
    assert (done.exit_code, done.stdout) == (1, "")
    assert "problem: line 1: topic '9': The task does not have this topic." in done.stderr
    done = check(run, "--topics", topics, "--format", "json")
    assert json.loads(done.stderr)["problems"][0]["rule"] == "The task does not have this topic."


def test_limits(tmp_path: Path, topics: Path) -> None:
    """The limit of the command, of a topic, and what becomes of longer answers."""
    run = jsonl(tmp_path / "run.jsonl", [line("report"), line("report", "metadata.topic_id", "8")])
    done = check(run, "--topics", topics, "--limit", 2000, "--over", "refuse")
    assert (
        "line 2: topic '8': The answer has 29 characters; at most 10 are allowed. Shorten it." in done.stderr
    )
    done = check(run, "--limit", 4, "--unit", "words", "--over", "cut")
    assert "The answer has 5 words; at most 4 are allowed." in done.stdout
    assert "  cut 2, empty 2" in done.stdout.splitlines()


def test_dialects_and_docnos(tmp_path: Path) -> None:
    """A dialect that is not allowed, a pattern that is none, references that do not match it."""
    run = jsonl(tmp_path / "run.jsonl", [line("rag24")])
    assert (
        "The file is in the dialect rag24; rag25, report are accepted."
        in check(run, "--dialect", "rag25", "--dialect", "report").stderr
    )
    assert "'(' is not a regular expression" in check(run, "--docno-pattern", "(").stderr
    done = check(run, "--docno-pattern", "x.*")
    assert done.exit_code == 1
    assert "reference 'd9': References must match x.* as a whole." in done.stderr


@pytest.mark.parametrize("option", ["--depth=5", "--tag-pattern=x", "--by-rank"])
def test_options_of_rankings_are_refused(tmp_path: Path, option: str) -> None:
    """They would do nothing."""
    done = check(jsonl(tmp_path / "run.jsonl", [line("rag24")]), option)
    assert done.exit_code == 2
    assert "has no effect with --kind answers. Leave it out." in done.stderr


def test_options_of_answers_are_refused_for_rankings(tmp_path: Path) -> None:
    """The same the other way round."""
    (tmp_path / "run").write_text("1 Q0 a 1 2 tag\n")
    done = CliRunner().invoke(main, ["check", str(tmp_path / "run"), "--limit", "400"])
    assert done.exit_code == 2
    assert "--limit has no effect with --kind rankings" in done.stderr
