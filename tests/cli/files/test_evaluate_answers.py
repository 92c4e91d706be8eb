"""`leaderboard evaluate --kind answers`: the three layouts, what is not judged, what is said beside."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from leaderboard.cli import main
from tests.make.answers import answer, assigned, jsonl, nuggets


@pytest.fixture
def files(tmp_path: Path) -> dict[str, Path]:
    """A run of two topics, of which one was judged."""
    lines = {
        "run": [answer("1", ("Air.", ["d4"])), answer("2", ("Rain.", []))],
        "nuggets": [nuggets("1", a="vital", b="okay"), nuggets("2", c="vital")],
        "assignments": [assigned("1", {"a": ("vital", "support"), "b": ("okay", "not_support")})],
    }
    return {name: jsonl(tmp_path / f"{name}.jsonl", rows) for name, rows in lines.items()}


def evaluate(files: dict[str, Path], *options: object) -> Result:
    """The outcome of the command on these files."""
    given = ["--nuggets", files["nuggets"], "--assignments", files["assignments"]]
    arguments = ["evaluate", "--kind", "answers", files["run"], *given, *options]
    return CliRunner().invoke(main, list(map(str, arguments)))


def test_lines_as_trec_eval_prints_them(files: dict[str, Path]) -> None:
    """Topics with -q, then the run, the number of topics, the means; what to know on standard error."""
    done = evaluate(files, "-m", "V_strict", "-m", "NumCitations", "-q")
    assert done.exit_code == 0
    assert done.stdout.splitlines() == [
        "NuggetRecall(set='vital',strict=1)\t1\t1.0000",
        "NuggetRecall(set='vital',strict=1)\t2\tnot_judged",
        "NumCitations          \t1\t1",
        "NumCitations          \t2\t0",
        "runid                 \tall\tone",
        "num_q                 \tall\t2",
        "NuggetRecall(set='vital',strict=1)\tall\t1.0000",
        "NumCitations          \tall\t0.5000",
    ]
    assert done.stderr == (
        "warning: Run one is judged on 1 of 2 topics by NuggetRecall(set='vital',strict=1); "
        "the others are left out.\n"
    )


def test_tsv(files: dict[str, Path]) -> None:
    """Values in full."""
    done = evaluate(files, "-m", "W", "--format", "tsv", "--per-topic", "--missing", "zero")
    assert done.stdout.splitlines() == [
        "run\tmeasure\ttopic\tvalue",
        "one\tNuggetRecall(set='weighted')\t1\t0.6666666666666666",
        "one\tNuggetRecall(set='weighted')\t2\t0.0",
        "one\tNuggetRecall(set='weighted')\tall\t0.3333333333333333",
    ]


def test_json(files: dict[str, Path]) -> None:
    """Not judged is null, and on how many topics a mean rests is there."""
    done = evaluate(files, "-m", "A", "--format", "json", "-q")
    key = "NuggetRecall(set='all')"
    assert json.loads(done.stdout) == {
        "kind": "answers",
        "missing": "mean-of-present",
        "runs": [
            {
                "run": "one",
                "scores": {key: 0.5},
                "judged": {key: 1},
                "topics": {key: 2},
                "per_topic": {"1": {key: 0.5}, "2": {key: None}},
            }
        ],
    }
    zeros = json.loads(evaluate(files, "-m", "A", "--format", "json", "-q", "--missing", "zero").stdout)[
        "runs"
    ][0]
    assert (zeros["scores"][key], zeros["judged"][key]) == (0.25, 1)
    assert zeros["per_topic"]["2"][key] == 0.0


def test_nothing_is_scored_where_that_is_asked_for(files: dict[str, Path]) -> None:
    """--missing error names the cells."""
    done = evaluate(files, "-m", "V", "--missing", "error")
    assert (done.exit_code, done.stdout) == (1, "")
    assert "Run one is not judged on topic 2 by NuggetRecall(set='vital')." in done.stderr


def test_a_run_that_nobody_judged_has_no_number(files: dict[str, Path]) -> None:
    """Neither 0 nor an error."""
    jsonl(
        files["assignments"],
        [assigned("1", {"a": ("vital", "support"), "b": ("okay", "support")}, run="two")],
    )
    done = evaluate(files, "-m", "V", "--format", "json")
    assert json.loads(done.stdout)["runs"][0]["scores"] == {"NuggetRecall(set='vital')": None}
    assert evaluate(files, "-m", "V").stdout.splitlines()[-1] == "NuggetRecall(set='vital')\tall\tnot_judged"


def test_options_of_the_other_kind_are_refused(files: dict[str, Path]) -> None:
    """They would do nothing; and rankings need judgments before runs."""
    done = evaluate(files, "--depth", 5)
    assert (done.exit_code, done.stdout) == (2, "")
    assert "--depth has no effect with --kind answers. Leave it out." in done.stderr
    run = str(files["run"])
    done = CliRunner().invoke(main, ["evaluate", run, run, "--nuggets", run])
    assert "--nuggets has no effect with --kind rankings" in done.stderr
    done = CliRunner().invoke(main, ["evaluate", run])
    assert done.exit_code == 2
    assert "Missing argument 'RUN...'." in done.stderr
