"""Which runs to look at next from one run's ranking of a topic: those scored just above and below it."""

from dataclasses import dataclass

import numpy as np

from leaderboard.pages.scores.fields import Field
from leaderboard.services.evaluations.columns import MeasureColumn


@dataclass(frozen=True, slots=True)
class Neighbour:
    """Another run and its score on the topic."""

    run_id: int
    run: str
    score: float


@dataclass(frozen=True, slots=True)
class Neighbours:
    """A run among the others on one topic, by the primary measure."""

    measure: MeasureColumn
    rank: int | None
    """Among the ranked runs on this topic, of which there are `of`; None where the run is not one of them."""
    of: int
    better: Neighbour | None
    """The run just above, equal scores by name."""
    worse: Neighbour | None
    rival: Neighbour | None
    """The run with the best mean over all topics, other than this one."""


def neighbours(field: Field, run_id: int, topic_id: str) -> Neighbours | None:
    """Who stands beside a run on a topic; None where the run or the topic has no score."""
    column = field.place.get(topic_id)
    ids = [run.run_id for run in field.runs]
    if column is None or run_id not in ids:
        return None
    mine = ids.index(run_id)
    scores = field.sign * field.scores[:, column]
    ordered = np.lexsort((np.arange(len(ids)), -scores)).tolist()
    at = ordered.index(mine)
    compared = field.compared
    means = np.where(compared, field.sign * field.scores.mean(axis=1), -np.inf)
    means[mine] = -np.inf
    rival = int(np.argmax(means))

    def neighbour(place: int) -> Neighbour:
        return Neighbour(ids[place], field.runs[place].name, float(field.scores[place, column]))

    return Neighbours(
        measure=field.measure,
        rank=1 + int((scores[compared] > scores[mine]).sum()) if compared[mine] else None,
        of=int(compared.sum()),
        better=neighbour(ordered[at - 1]) if at else None,
        worse=neighbour(ordered[at + 1]) if at + 1 < len(ids) else None,
        rival=neighbour(rival) if np.isfinite(means[rival]) else None,
    )
