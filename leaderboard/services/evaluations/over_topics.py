"""Scores by measures that are not over all topics, and what runs got that are judged on some only."""

from dataclasses import dataclass, replace

from sqlalchemy import select
from sqlalchemy.orm import Session

from leaderboard.db.tables import Edition, Evaluation, EvaluationMean, QrelsRevision
from leaderboard.measures.naming import is_of_answers, parse
from leaderboard.services.evaluations.damaged import MEANS, whole_means
from leaderboard.services.evaluations.judged_topics import left_out, needed
from leaderboard.services.evaluations.shown import Source, source_of


@dataclass(frozen=True, slots=True)
class PartialMean:
    """What a run got on the topics it is judged on, of all that the measure is over; no value to rank by."""

    mean: float
    judged: int
    topics: int


def narrowed(source: Source, edition: Edition, key: str) -> Source:
    """The source with the topics that a measure is over; itself for a measure of rankings."""
    without = left_out(edition, key)
    if not without.intersection(source.topics):
        return source
    kept = [at for at, topic in enumerate(source.topics) if topic not in without]
    topics = tuple(source.topics[at] for at in kept)
    return replace(source, topics=topics, places=tuple(source.places[at] for at in kept))


def source_by(session: Session, source: Source, key: str) -> Source:
    """Where the scores by another measure of the source's edition are, which may be over other topics."""
    if not is_of_answers(parse(key).measure):
        return source
    edition = session.get_one(Edition, source.edition_id)
    revision = session.get_one(QrelsRevision, source.revision_id)
    return narrowed(source_of(edition, revision, source.topic_set), edition, key)


def partial_means(
    session: Session, edition: Edition, topic_set: str, decimals: int | None = None
) -> dict[int, dict[str, PartialMean]]:
    """Run id -> key -> what it got where it is judged on some topics only; no statement for rankings."""
    whole = needed(edition, topic_set)
    if not whole or topic_set not in edition.topic_sets:
        return {}
    rows = session.execute(
        select(*MEANS)
        .join(EvaluationMean, EvaluationMean.evaluation_id == Evaluation.id)
        .where(
            Evaluation.revision_id == edition.revision_id,
            Evaluation.dialect == edition.dialect,
            Evaluation.measure.in_(whole),
            EvaluationMean.topic_set_id == edition.topic_sets[topic_set]["id"],
        )
    ).all()
    found: dict[int, dict[str, PartialMean]] = {}
    for row, mean, judged in whole_means(session, rows):
        key = row.measure
        if judged < whole[key]:
            value = mean if decimals is None else round(mean, decimals)
            found.setdefault(row.run_id, {})[key] = PartialMean(value, judged, whole[key])
    return found
