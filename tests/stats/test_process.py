"""Procedures in a process of their own: the same numbers, progress, and an end to everything."""

import subprocess
import sys

import numpy as np
import pytest

from leaderboard.stats import process
from leaderboard.stats.arrays import unpack
from leaderboard.stats.procedures import PROCEDURES

pytestmark = pytest.mark.trial

SCORES = np.random.default_rng(3).random((6, 12))
OPTIONS = {"method": "randomisation+none", "seed": 5}


def test_the_result_is_that_of_this_process() -> None:
    """To the bit, whatever is random."""
    told: list[float] = []
    elsewhere = unpack(process.run("pairs", SCORES, OPTIONS, told.append))
    here = PROCEDURES["pairs"](SCORES, OPTIONS, lambda _: None)
    assert elsewhere.keys() == here.keys()
    for name, array in here.items():
        np.testing.assert_array_equal(elsewhere[name], array)
    assert told == sorted(told)
    assert all(0 <= share <= 1 for share in told)


def test_a_failure_says_what_was_wrong() -> None:
    """The last line of the other process is the message."""
    with pytest.raises(process.ProcedureFailed, match="ValueError"):
        process.run("pairs", SCORES, {"method": "luck+holm", "seed": 5}, lambda _: None)


def test_a_reader_that_stops_listening_ends_the_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """An exception while progress is told, such as a lost lease, kills the process."""
    started: list[subprocess.Popen[bytes]] = []
    real = subprocess.Popen

    def starting(*arguments: object, **options: object) -> "subprocess.Popen[bytes]":
        started.append(real(*arguments, **options))  # type: ignore[call-overload]
        return started[-1]

    monkeypatch.setattr(process.subprocess, "Popen", starting)

    def stop(_: float) -> None:
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        process.run("pairs", SCORES, {"method": "randomisation+holm", "seed": 5}, stop)
    assert started[0].wait(timeout=120) != 0


def test_an_evaluator_does_not_load_scipy() -> None:
    """It would cost as much memory as everything else it holds."""
    code = "import sys, leaderboard.worker; sys.exit(sum('scipy' in name for name in sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
