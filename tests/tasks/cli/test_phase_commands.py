"""Runs sent to a phase of a task from the command line: its topics and its largest file hold."""

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from leaderboard.cli import main
from tests.make import build


@pytest.fixture
def data(data_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A site with one task of three topics."""
    monkeypatch.setenv("LEADERBOARD_DATA", str(data_folder))
    made = _call("task", "create", "t", "--name", "T", "--topics", build.topics_file(tmp_path))
    assert made.exit_code == 0, made.output
    return tmp_path


def _call(*arguments: object) -> Result:
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


def _phase(*arguments: object) -> Result:
    done = _call("task", "phase", *arguments)
    assert done.exit_code == 0, done.output
    return done


def test_runs_are_sent_to_a_phase(data: Path) -> None:
    """`run add --phase` takes the rules of that phase: its topics and its largest file."""
    _phase("add", "t", "small", "--topics", "1", "--largest-bytes", 20)
    _phase("add", "t", "one", "--topics", "1")
    path = build.run_file(data, {"1": ["a", "c"]})
    refused = _call("run", "add", "t", path, "--team", "Lab", "--phase", "small")
    assert refused.exit_code == 1
    assert "The phase small accepts files of at most 20 bytes" in refused.stderr
    assert _call("run", "add", "t", path, "--team", "Lab", "--phase", "none").exit_code == 1
    taken = _call("run", "add", "t", path, "--team", "Lab", "--phase", "one")
    assert taken.exit_code == 0, taken.output
    assert "warning" not in taken.output
    assert "left" not in taken.output


def test_what_is_left_of_a_limit_is_said(data: Path) -> None:
    """After the runs, with the rule they are counted by and when the next day begins."""
    _phase("add", "t", "few", "--topics", "1", "--runs-per-day", 3, "--runs-in-all", 9)
    path = build.run_file(data, {"1": ["a", "c"]})
    taken = _call("run", "add", "t", path, "--team", "Lab", "--phase", "few")
    said = "Lab: 2 left today (3 runs per day for Lab), 8 left in total, the daily limit resets 20"
    assert said in taken.output
    assert "UTC. Accepted runs (including withdrawn ones)" in taken.output


def test_hidden_scores_without_an_end_are_warned_of(data: Path) -> None:
    """Where a phase is made or changed so that its scores are never shown."""
    added = _phase("add", "t", "test", "--visibility", "sealed")
    assert "closing date" in added.stderr
    changed = _phase("change", "t", "test", "--closes", "2030-05-01T12:00", "--reason", "Said late.")
    assert changed.stderr == ""


def test_what_is_not_given_of_a_phase_stays_as_it_is(data: Path) -> None:
    """And the help says so; moments are not moved by another zone."""
    assert "Omitted settings keep their values;" in _phase("change", "--help").output
    _phase("change", "t", "main", "--closes", "2031-06-30", "--kind", "late")
    _phase("change", "t", "main", "--zone", "AoE", "--runs-per-day", "3")
    assert "until 2031-06-30 23:59:59 UTC" in _phase("list", "t").output
