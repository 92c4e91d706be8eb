"""What the gate promises, on real pairs of runs: `benchmarks.gates`, with few gates."""

from pathlib import Path

import pytest

from benchmarks import gates
from benchmarks.gates import Pair

pytestmark = pytest.mark.trial
GATES = 4000


@pytest.fixture(scope="module")
def pairs(shared_data: Path) -> list[Pair]:
    """Real pairs of runs, each in both directions."""
    return gates.pairs_of(shared_data)


def above(rate: float, trials: int = GATES) -> float:
    """A rate and three standard errors."""
    return rate + 3 * (rate * (1 - rate) / trials) ** 0.5


@pytest.mark.parametrize("topics", gates.TOPICS)
def test_wrong_alarms_are_at_most_five_in_a_hundred(pairs: list[Pair], topics: int) -> None:
    """Of runs that are worse by exactly the margin, where they are likeliest; one comparison or six."""
    assert gates.errors(pairs, topics, GATES)[0] <= above(0.05)
    assert gates.errors_together(pairs, topics, GATES // 4)[0] <= above(0.05, GATES // 4)


@pytest.mark.parametrize("topics", gates.TOPICS)
def test_the_power_that_is_printed_is_the_power(pairs: list[Pair], topics: int) -> None:
    """Within two points, and what so few gates leave to chance; equal runs hardly ever alarm."""
    worse, _, passed, printed = gates.of_equals(pairs, topics, 0.03, GATES)
    assert passed == pytest.approx(printed, abs=0.02 + 3 * (0.25 / GATES) ** 0.5)
    assert worse <= above(0.05)
