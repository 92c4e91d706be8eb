"""How much more people would have to judge to separate the first two runs of a combined board."""

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from leaderboard.measures.binding import BoundMeasure
from leaderboard.services.combined.judged import JudgedSample
from leaderboard.services.combined.scores import CombinedScores, depth_of, worth_of
from leaderboard.stats.combined import whole_topics
from leaderboard.stats.combined.labels import FloatArray, ValueOf
from leaderboard.stats.combined.measures import NOWHERE, discounts, ideal_dcg
from leaderboard.stats.combined.planning import Contrast, Plan, plan
from leaderboard.stats.combined.sample import inclusion
from leaderboard.stats.combined.whole_topics import TopicPlan, WholeTopics

STEP = 0.05
"""Larger shares that are tried lie so far apart."""
ALPHA = 0.05


@dataclass(frozen=True, slots=True)
class MachinePlan:
    """The plan for two runs, the better one first."""

    first: str
    second: str
    plan: Plan | TopicPlan

    @property
    def is_of_topics(self) -> bool:
        """Whether it is about whole topics; else about documents."""
        return isinstance(self.plan, TopicPlan)


def plan_of(
    sample: JudgedSample,
    bound: BoundMeasure,
    scores: CombinedScores,
    runs: tuple[int, int],
    names: tuple[str, str],
) -> MachinePlan | None:
    """What separates two runs, by their places in the scores; None unless the measure sums over ranks."""
    weighed = _weights(sample, bound)
    if weighed is None:
        return None
    weights, value_of = weighed
    first, second = runs
    held = [np.zeros(len(sample.labels.people)) for _ in runs]
    for documents, ranking in zip(held, scores.rankings_of(runs), strict=True):
        places = ranking[:, : weights.shape[1]]
        is_held = places != NOWHERE
        documents[places[is_held]] = weights[is_held]
    contrast = Contrast(scores.combined[first] - scores.combined[second], held[0] - held[1])
    level = ALPHA / max(1, len(scores.combined) - 1)
    return MachinePlan(*names, plan(sample.labels, contrast, value_of, _larger(sample, scores), level=level))


def plan_of_topics(
    whole: WholeTopics, share: float, runs: tuple[int, int], names: tuple[str, str]
) -> MachinePlan:
    """What separates two runs, by their places in the scores, where people judge whole topics."""
    level = ALPHA / max(1, len(whole.people) - 1)
    return MachinePlan(*names, whole_topics.plan(whole, share, runs, level=level))


def facts(made: MachinePlan) -> dict[str, Any]:
    """The plan as plain values."""
    return {"first": made.first, "second": made.second, **asdict(made.plan)}


def _weights(sample: JudgedSample, bound: BoundMeasure) -> tuple[FloatArray, ValueOf] | None:
    """What a document adds to a score at each topic and rank, (topics, ranks), and what it is worth."""
    depth = depth_of(bound)
    ones = np.ones((sample.finished, 1))
    if bound.measure.name == "P":
        return ones / depth * np.ones(depth), worth_of(bound)
    if bound.measure.name in ("nDCG", "DCG"):
        cutoff = bound.params["cutoff"]
        ideal = ideal_dcg(sample.labels, cutoff if isinstance(cutoff, int) else None)
        return discounts(depth) / (ideal[:, None] if bound.measure.name == "nDCG" else ones), worth_of(bound)
    return None


def _larger(sample: JudgedSample, scores: CombinedScores) -> list[FloatArray]:
    """The probabilities of larger samples of the same documents, by what the runs have near their tops."""
    now = sample.labels.probability
    shares = np.arange(sample.share + STEP, 1.0, STEP)
    return [np.maximum(now, inclusion(scores.weight, float(share))) for share in shares]
