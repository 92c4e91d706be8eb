"""A judge's board as a reference sees it, in both ways."""

import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from leaderboard.errors import Invalid
from leaderboard.trec.boards.align import (
    AlignedBoard,
    Reference,
    align,
    align_as_autojudge,
    measure_of,
    reference_of,
)
from leaderboard.trec.boards.board_files import BoardFile, read_board

Written = Callable[[str | bytes], Path]
RUNS, TOPICS = "ABCDE", ("t1", "t2")
Rows = dict[str, tuple[float | None, float | None]]
REFERENCE: Rows = {"A": (0.9, 0.7), "B": (0.8, 0.6), "C": (0.5, 0.7), "D": (0.6, 0.6), "E": (0.2, 0.4)}
JUDGE: Rows = {"A": (0.9, 0.9), "B": (0.6, 0.6), "C": (0.7, 0.8), "D": (0.5, 0.7), "E": (0.1, 0.3)}


def board(written: Written, rows: Rows, totals: dict[str, float] | None = None) -> BoardFile:
    """A board of the measure M; None is a value that is not there."""
    lines = [
        f"{run} {topic} M {value}\n"
        for run, values in rows.items()
        for topic, value in zip(TOPICS, values, strict=True)
        if value is not None
    ]
    lines += [f"{run} all M {value}\n" for run, value in (totals or {}).items()]
    return read_board(written("".join(lines)), order="ir_measures")


@pytest.fixture
def reference(written: Written) -> Reference:
    """Five runs on two topics, two of them tied."""
    return reference_of(board(written, REFERENCE))


def held(aligned: AlignedBoard) -> tuple[list[int], list[int], list[float]]:
    """Runs, topics and means."""
    return aligned.runs.tolist(), aligned.topics.tolist(), aligned.means.tolist()


def test_means_are_computed_from_topics(written: Written, reference: Reference) -> None:
    """Also the reference's; ties stay ties whatever the rounding."""
    assert reference.means.tolist() == [0.8, 0.7, 0.6, 0.6, 0.3]
    assert held(align(board(written, JUDGE), "M", reference)) == (
        [0, 1, 2, 3, 4],
        [0, 1],
        [0.9, 0.6, 0.75, 0.6, 0.2],
    )


def test_an_all_line_that_is_not_the_mean_is_told(written: Written, reference: Reference) -> None:
    """Both numbers are named; what is as near as 0.001 is not told."""
    aligned = align(board(written, JUDGE, {"A": 1.8, "B": 1.2, "C": 0.7509}), "M", reference)
    (warning,) = aligned.warnings
    assert "M of run A over all topics is given as 1.8, and its mean over the topics is 0.9." in str(warning)
    assert warning.count == 2
    assert aligned.means[0] == 0.9
    (said,) = reference_of(board(written, REFERENCE, {"E": 0.6})).warnings
    assert "given as 0.6, and its mean over the topics is 0.3" in str(said)


def test_only_all_lines_give_numbers_without_tests(written: Written, reference: Reference) -> None:
    """Then there is no topic, and that is said."""
    totals = {run: number / 10 for number, run in enumerate(RUNS)}
    aligned = align(board(written, {}, totals), "M", reference)
    assert held(aligned) == ([0, 1, 2, 3, 4], [], [0.0, 0.1, 0.2, 0.3, 0.4])
    assert "no tests" in str(aligned.warnings[0])
    bare = reference_of(board(written, {}, totals))
    assert (bare.topics, bare.means.tolist()) == ((), [0.0, 0.1, 0.2, 0.3, 0.4])
    assert align(board(written, JUDGE), "M", bare).means.tolist() == [0.9, 0.6, 0.75, 0.6, 0.2]


def test_a_missing_run_is_missing(written: Written, reference: Reference) -> None:
    """It is never 0, as that rewards leaving out bad runs."""
    aligned = align(board(written, {run: JUDGE[run] for run in "ABCD"}), "M", reference)
    assert (aligned.missing, held(aligned)[2]) == (("E",), [0.9, 0.6, 0.75, 0.6])
    assert aligned.is_enough
    assert not align(board(written, {run: JUDGE[run] for run in "AB"}), "M", reference).is_enough


def test_a_topic_of_a_run_that_is_missing_is_left_out_for_all(written: Written, reference: Reference) -> None:
    """The number is kept, and no `all` line is held against a mean of other topics."""
    rows = {**JUDGE, "B": (0.6, None)}
    aligned = align(board(written, rows, {"A": 0.5}), "M", reference)
    assert (aligned.left_out, held(aligned)) == (("t2",), ([0, 1, 2, 3, 4], [0], [0.9, 0.6, 0.7, 0.5, 0.1]))
    assert aligned.warnings == ()


def test_a_measure_is_named_or_the_only_one(written: Written) -> None:
    """Anything else is an error that names what there is."""
    two = read_board(written("A t1 M 1\nA t1 N 1\n"), order="ir_measures")
    assert measure_of(two, "N") == "N"
    with pytest.raises(Invalid, match="has 2 measures: M, N. Name one"):
        measure_of(two)
    with pytest.raises(Invalid, match="has no measure X; it has M, N"):
        measure_of(two, "X")


def test_a_reference_is_whole(written: Written) -> None:
    """A run of it that lacks a topic is an error."""
    with pytest.raises(Invalid, match=r"no value of M for run B on topic t2 \(1 of 2 are missing\)"):
        reference_of(board(written, {**REFERENCE, "B": (0.6, None)}))


class TestAsAutojudge:
    """autojudge-evaluate's ways with what is missing."""

    def test_aggregates_are_taken_as_given(self, written: Written, reference: Reference) -> None:
        """Unless they are recomputed; then over the topics that are there."""
        judge = board(written, {**JUDGE, "B": (0.6, None)}, dict.fromkeys(RUNS, 5.0))
        assert align_as_autojudge(judge, "M", reference, "error").means.tolist() == [5.0] * 5
        again = align_as_autojudge(judge, "M", reference, "error", recompute=True)
        assert again.means.tolist() == [0.9, 0.6, 0.75, 0.6, 0.2]
        assert again.topics.tolist() == [0]

    def test_a_missing_run(self, written: Written, reference: Reference) -> None:
        """`error` refuses, `warn` and `skip` leave it out, `default` gives it 0."""
        judge = board(written, {run: JUDGE[run] for run in "ABCD"})
        with pytest.raises(Invalid, match=r"has no run E \(1 of 5\)"):
            align_as_autojudge(judge, "M", reference, "error")
        warned, skipped = (align_as_autojudge(judge, "M", reference, way) for way in ("warn", "skip"))
        assert (len(warned.warnings), len(skipped.warnings)) == (1, 0)
        assert warned.means.tolist() == skipped.means.tolist() == [0.9, 0.6, 0.75, 0.6]
        zeroed = align_as_autojudge(judge, "M", reference, "default")
        assert zeroed.means.tolist() == [0.9, 0.6, 0.75, 0.6, 0.0]
        assert (zeroed.missing, zeroed.scores[4].tolist()) == ((), [0.0, 0.0])

    def test_a_missing_measure(self, written: Written, reference: Reference) -> None:
        """All zeros by `default`, else an error."""
        judge = board(written, JUDGE)
        assert align_as_autojudge(judge, "X", reference, "default").means.tolist() == [0.0] * 5
        for way in ("error", "warn", "skip"):
            with pytest.raises(Invalid, match="has no measure X"):
                align_as_autojudge(judge, "X", reference, way)


def test_the_mean_does_not_depend_on_the_order_of_topics(written: Written) -> None:
    """Sums of the same values tie, whatever their order."""
    rows: Rows = {"A": (0.1, 0.7), "B": (0.7, 0.1), "C": (0.3, 0.5)}
    means = reference_of(board(written, rows)).means
    assert len(set(means.tolist())) == 1
    assert math.isclose(means[0], 0.4)
    assert isinstance(means, np.ndarray)
