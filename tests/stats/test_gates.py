"""Verdicts of a gate: against SciPy's tests, at their ends, under Holm, and where nothing varies."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.stats import nct, t, ttest_1samp

from leaderboard.stats.gates import ALPHA, Compared, Gated, gate
from leaderboard.stats.reliability import one_sided_power

FloatArray = NDArray[np.float64]
TOPICS = 40
OLD = np.random.default_rng(5).uniform(0.2, 0.8, TOPICS)


def noisy(shift: float, sd: float = 0.05, seed: int = 1, topics: int = TOPICS) -> FloatArray:
    """Differences by topic whose mean and standard deviation are exactly these."""
    drawn = np.random.default_rng(seed).normal(size=topics)
    drawn -= drawn.mean()
    return drawn / drawn.std(ddof=1) * sd + shift


def one(difference: FloatArray, margin: float = 0.01, *, lower: bool = False) -> Gated:
    """The verdict on one run that differs from the baseline so on each topic."""
    old = np.resize(OLD, len(difference))
    (found,) = gate([Compared(old + difference, old, margin, lower)])
    return found


@pytest.mark.parametrize(
    ("shift", "margin", "verdict"),
    [
        (0.03, 0.01, "better"),
        (0.0, 0.02, "no worse"),
        (-0.06, 0.01, "worse"),
        (0.0, 0.01, "cannot tell"),
        (-0.02, 0.01, "cannot tell"),
        (0.03, 0.0, "better"),
        (0.0, 0.0, "cannot tell"),
        (-0.03, 0.0, "worse"),
    ],
)
def test_the_four_verdicts(shift: float, margin: float, verdict: str) -> None:
    """By the mean difference and its spread, against the margin; also where lower is better."""
    assert one(noisy(shift), margin).verdict == verdict
    turned = one(-noisy(shift), margin, lower=True)
    plain = one(noisy(shift), margin)
    assert turned.verdict == verdict
    assert turned.difference == pytest.approx(-plain.difference)
    assert plain.low is not None
    assert plain.high is not None
    assert (turned.low, turned.high) == (pytest.approx(-plain.high), pytest.approx(-plain.low))


def test_p_values_and_ends_are_those_of_scipys_paired_test() -> None:
    """The lower end is a one-sided bound at 95 %; the upper one reaches at least as far."""
    difference = noisy(-0.004)
    found = one(difference, 0.015)
    above = ttest_1samp(difference, -0.015, alternative="greater")
    assert found.p.no_worse == pytest.approx(above.pvalue)
    assert found.p.better == pytest.approx(ttest_1samp(difference, 0, alternative="greater").pvalue)
    assert found.p.worse >= ttest_1samp(difference, -0.015, alternative="less").pvalue
    assert found.low == pytest.approx(above.confidence_interval(0.95).low)
    assert found.high is not None
    assert found.high >= ttest_1samp(difference, 0, alternative="less").confidence_interval(0.95).high - 1e-12


def test_an_alarm_allows_for_skew() -> None:
    """Rare large gains that the sample may lack make *worse* harder to say than a t test does; Hall's t."""
    difference = np.full(25, -0.05)
    difference[:3] = (0.35, 0.3, 0.1)
    found = one(difference - difference.mean() - 0.035, 0.0)
    mean, sd = -0.035, difference.std(ddof=1)
    skew = ((difference - difference.mean()) ** 3).mean() / sd**3
    x = mean / sd
    hall = x + skew * x**2 / 3 + skew**2 * x**3 / 27 + skew / (6 * 25)
    assert found.p.worse == pytest.approx(max(t.cdf(hall * 5, 24), t.cdf(x * 5, 24)))
    assert t.cdf(hall * 5, 24) > t.cdf(x * 5, 24)


def test_power_is_that_of_the_noncentral_t() -> None:
    """Of a run as good as the baseline; the topics for 80 % are the fewest."""
    found = one(noisy(-0.003, sd=0.1), 0.03)
    critical = t.ppf(1 - ALPHA, TOPICS - 1)
    assert found.power == pytest.approx(nct.sf(critical, TOPICS - 1, 0.3 * TOPICS**0.5), abs=1e-6)
    needed = found.topics_for_power
    assert needed is not None
    assert one_sided_power(0.03, 0.1, needed) >= 0.8 > one_sided_power(0.03, 0.1, needed - 1)


def test_topics_that_would_settle_it_are_on_the_side_of_the_difference() -> None:
    """With the difference that was seen; none where it lies on the margin, or was settled."""
    above, below = one(noisy(0.0), 0.01), one(noisy(-0.02), 0.01)
    assert (above.verdict, below.verdict) == ("cannot tell", "cannot tell")
    assert above.topics_needed == below.topics_needed
    assert above.topics_needed is not None
    assert one_sided_power(0.01, 0.05, above.topics_needed) >= 0.8
    assert above.topics_needed > TOPICS
    assert one(noisy(-0.01), 0.01).topics_needed is None
    assert one(noisy(0.03), 0.01).topics_needed is None
    assert one(noisy(-0.0101), 0.01).topics_needed is None


def test_where_nothing_varies_the_difference_decides() -> None:
    """The same run is no worse by any margin; a shift within it is allowed, one beyond it is worse."""
    same, within, beyond, ahead = (one(np.full(TOPICS, shift)) for shift in (0.0, -0.005, -0.02, 0.02))
    assert [each.verdict for each in (same, within, beyond, ahead)] == [
        "no worse",
        "no worse",
        "worse",
        "better",
    ]
    assert all(each.low is each.high is None and each.is_constant for each in (same, within))
    assert [each.is_loss for each in (same, within, beyond, ahead)] == [False, True, True, False]
    assert same.power == 1


def test_one_topic_cannot_tell() -> None:
    """Whatever the difference."""
    found = one(np.array([-0.5]))
    assert (found.verdict, found.low, found.power, found.topics_needed) == ("cannot tell", None, None, None)
    assert not found.is_constant


def test_holm_corrects_over_all_comparisons_of_a_gate() -> None:
    """What one alone shows at 5 %, three together do not; what is far enough off still shows."""
    shifts = (-0.0245, 0.0, -0.06)
    alone = [one(noisy(shift, seed=seed)) for seed, shift in enumerate(shifts)]
    together = gate([Compared(OLD + noisy(shift, seed=seed), OLD, 0.01) for seed, shift in enumerate(shifts)])
    assert [each.verdict for each in alone] == ["worse", "cannot tell", "worse"]
    assert [each.verdict for each in together] == ["cannot tell", "cannot tell", "worse"]
    assert together[0].p.worse == pytest.approx(2 * alone[0].p.worse)
    assert together[2].p.worse == pytest.approx(3 * alone[2].p.worse)
    assert together[1].levels.no_worse == pytest.approx(ALPHA / 3)
    assert together[1].power is not None
    assert alone[1].power is not None
    assert together[1].power < alone[1].power


@given(
    st.lists(
        st.tuples(st.floats(-0.1, 0.1), st.floats(0, 0.05), st.integers(0, 99), st.booleans()),
        min_size=1,
        max_size=6,
    ),
    st.integers(2, 60),
)
def test_intervals_agree_with_verdicts(cases: list[tuple[float, float, int, bool]], topics: int) -> None:
    """No end contradicts what is said, one comparison or several, whatever the skew."""
    compared = []
    for shift, margin, seed, lower in cases:
        drawn = np.random.default_rng(seed).gamma(0.5, 0.1, topics) * (1 if seed % 2 else -1) + shift
        compared.append(Compared(drawn, np.zeros(topics), margin, lower))
    for asked, found in zip(compared, gate(compared), strict=True):
        if found.low is None or found.high is None:
            continue
        low, high = (-found.high, -found.low) if asked.lower_is_better else (found.low, found.high)
        assert (low > 0) == (found.verdict == "better")
        assert (low > -asked.margin) == (found.verdict in ("better", "no worse"))
        assert (high < -asked.margin) == (found.verdict == "worse")
        assert low <= (-found.difference if asked.lower_is_better else found.difference) <= high


@pytest.mark.parametrize(
    ("scores", "margin"), [(np.zeros(0), 0.01), (np.zeros(3), -0.01), (np.zeros(3), float("nan"))]
)
def test_what_is_no_gate_is_refused(scores: FloatArray, margin: float) -> None:
    """No topic, a margin below 0 or none."""
    with pytest.raises(ValueError, match="topic|margin"):
        gate([Compared(scores, scores, margin)])
    with pytest.raises(ValueError, match="run"):
        gate([])
