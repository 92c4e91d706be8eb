"""What runs would get from people, by either design: documents drawn in every topic, or whole topics."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from leaderboard.services.combined.judged import JudgedSample
from leaderboard.services.combined.scores import CombinedScores
from leaderboard.services.evaluations.shown import FloatArray
from leaderboard.stats.combined import whole_topics
from leaderboard.stats.combined.whole_topics import WholeTopics
from leaderboard.stats.pairs.methods import PairTable, all_pairs, method
from leaderboard.stats.reliability.power import half_width

IntArray = npt.NDArray[np.int64]

METHOD = "t+holm"


@dataclass(frozen=True, slots=True, eq=False)
class EstimatedScores:
    """Means (runs,) by both with half their 95 % intervals, by the machine and by people's sample alone.

    compare tells the pairs of chosen runs apart, by both or by people's sample alone. believed is the share
    of the machine's scores that a board of whole topics uses, None where documents were drawn.
    """

    combined: FloatArray
    half: FloatArray
    machine: FloatArray
    people: FloatArray
    compare: Callable[[IntArray, str], PairTable]
    whole: WholeTopics | None = None
    believed: float | None = None


def estimated(sample: JudgedSample, scores: CombinedScores, by_machine: FloatArray) -> EstimatedScores:
    """The estimates of a sample; by_machine: (runs, topics), on all of `everything`."""
    return (
        _of_topics(sample, scores, by_machine) if sample.is_of_topics else _of_documents(scores, by_machine)
    )


def _of_documents(scores: CombinedScores, by_machine: FloatArray) -> EstimatedScores:
    of = {"combined": scores.combined, "people": scores.people}
    sds = scores.combined.std(axis=1, ddof=1).tolist()
    topics = scores.combined.shape[1]
    return EstimatedScores(
        combined=scores.combined.mean(axis=1),
        half=np.array([half_width(sd, topics) for sd in sds]),
        machine=by_machine.mean(axis=1),
        people=scores.people.mean(axis=1),
        compare=lambda chosen, order: all_pairs(of[order][chosen], method(METHOD), seed=1),
    )


def _of_topics(sample: JudgedSample, scores: CombinedScores, by_machine: FloatArray) -> EstimatedScores:
    place = {topic: at for at, topic in enumerate(sample.everything.topics)}
    judged = np.array([place[topic] for topic in sample.source.topics], dtype=np.int64)
    whole = WholeTopics(scores.combined, by_machine, judged)
    share = whole_topics.believed(whole)
    made = whole_topics.estimates(whole, share)

    def compare(chosen: IntArray, order: str) -> PairTable:
        part = WholeTopics(whole.people[chosen], whole.machine[chosen], judged)
        return whole_topics.pair_table(part, share if order == "combined" else 0.0)

    return EstimatedScores(
        combined=made.mean,
        half=made.high - made.mean,
        machine=by_machine.mean(axis=1),
        people=scores.combined.mean(axis=1),
        compare=compare,
        whole=whole,
        believed=share,
    )
