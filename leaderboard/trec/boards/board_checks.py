"""What looks wrong about a board file that can be read: the checks of TIRA, as warnings."""

from collections.abc import Collection, Iterator

from leaderboard.errors import Problem
from leaderboard.trec.boards.orders import ALL
from leaderboard.trec.read.lines import shown

LEAST_LINES, LEAST_RUNS = 5, 2


def warnings_of(cells: Collection[tuple[str, str, str]], lines: int) -> tuple[Problem, ...]:
    """The warnings on a file of so many lines whose cells are (measure, run, topic)."""
    return tuple(_found(cells, lines))


def _found(cells: Collection[tuple[str, str, str]], lines: int) -> Iterator[Problem]:
    if lines < LEAST_LINES:
        yield Problem(f"The file has fewer than {LEAST_LINES} lines: {lines}.")
    measures_of: dict[str, set[str]] = {}
    for measure, run, _ in cells:
        measures_of.setdefault(run, set()).add(measure)
    if len(measures_of) < LEAST_RUNS:
        yield Problem(f"The file has fewer than {LEAST_RUNS} runs.")
    every = set().union(*measures_of.values())
    if lacking := [run for run, measures in measures_of.items() if measures != every]:
        rule = "The run lacks a measure that others have."
        yield Problem(rule, "", None, "run", shown(lacking[0]), len(lacking))
    bare = [
        f"{run} {measure}"
        for run, measures in measures_of.items()
        for measure in sorted(measures)
        if (measure, run, ALL) not in cells
    ]
    if bare:
        rule = f"There is no `{ALL}` line for them."
        yield Problem(rule, "", None, "run and measure", shown(bare[0]), len(bare))
