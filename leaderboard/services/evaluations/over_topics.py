"""Which topics a measure of an edition is over, and runs that are judged on some of them only.

A measure of rankings is over all judged topics. One of answers may be over fewer, which its edition says,
and a run has a value by it only where it is judged on every one of them: not judged is not 0.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from leaderboard.db.tables import Edition, Evaluation, EvaluationMean

if TYPE_CHECKING:
    from leaderboard.services.evaluations.shown import Source


@dataclass(frozen=True, slots=True)
class PartialMean:
    """What a run got on the topics it is judged on, of all that the measure is over; no value to rank by."""

    mean: float
    judged: int
    topics: int


def left_out(edition: Edition, key: str) -> frozenset[str]:
    """The judged topics that a measure of the edition is not over."""
    found = next((measure for measure in edition.measures if measure["key"] == key), {})
    return frozenset(found.get("left_out", ()))


def narrowed(source: "Source", edition: Edition, key: str) -> "Source":
    """The source with the topics that a measure is over; itself for a measure of rankings."""
    without = left_out(edition, key)
    if not without.intersection(source.topics):
        return source
    kept = [at for at, topic in enumerate(source.topics) if topic not in without]
    topics = tuple(source.topics[at] for at in kept)
    return replace(source, topics=topics, places=tuple(source.places[at] for at in kept))


def needed(edition: Edition, topic_set: str) -> dict[str, int]:
    """Key -> on how many topics of a set a run is to be judged; of the measures where it may be on fewer."""
    topics = edition.topic_sets.get(topic_set, {"topics": ()})["topics"]
    return {
        measure["key"]: len(set(topics) - set(measure["left_out"]))
        for measure in edition.measures
        if "left_out" in measure
    }


def partial_means(
    session: Session, edition: Edition, topic_set: str, decimals: int | None = None
) -> dict[int, dict[str, PartialMean]]:
    """Run id -> key -> what it got where it is judged on some topics only; no statement for rankings."""
    whole = needed(edition, topic_set)
    if not whole or topic_set not in edition.topic_sets:
        return {}
    rows = session.execute(
        select(Evaluation.run_id, Evaluation.measure, EvaluationMean.mean, EvaluationMean.topics)
        .join(EvaluationMean, EvaluationMean.evaluation_id == Evaluation.id)
        .where(
            Evaluation.revision_id == edition.revision_id,
            Evaluation.dialect == edition.dialect,
            Evaluation.measure.in_(whole),
            EvaluationMean.topic_set_id == edition.topic_sets[topic_set]["id"],
        )
    )
    found: dict[int, dict[str, PartialMean]] = {}
    for run_id, key, mean, judged in rows:
        if judged < whole[key]:
            value = mean if decimals is None else round(mean, decimals)
            found.setdefault(run_id, {})[key] = PartialMean(value, judged, whole[key])
    return found


def is_whole(needed: Mapping[str, int], key: str, topics: Any) -> bool:
    """Whether a mean over so many topics is one to rank by."""
    return key not in needed or topics >= needed[key]
