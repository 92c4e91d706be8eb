"""A board on some of its topics: the means of the runs on these, and why nothing more is said of them."""

from collections.abc import Collection, Sequence
from dataclasses import replace

import numpy as np
from sqlalchemy.orm import Session

from leaderboard.db.tables import Evaluation
from leaderboard.errors import Invalid, Problem
from leaderboard.measures.naming import parse
from leaderboard.services.boards.rows import Row
from leaderboard.services.evaluations.columns import MeasureColumn
from leaderboard.services.evaluations.damaged import stored_scores
from leaderboard.services.evaluations.shown import ShownEdition, Source
from leaderboard.services.policy import Sight
from leaderboard.tables.words import counted

MOST_NAMED = 10


def narrowed(shown: ShownEdition, sight: Sight, topics: Collection[str]) -> tuple[ShownEdition, str]:
    """The edition with its source on the chosen topics only, and why there are no verdicts then.

    All of it and nothing where no topic is chosen. Raises Invalid while scores by topic are held back, and
    for what is no topic that counts.
    """
    if not topics:
        return shown, ""
    source = shown.source
    if source is None or shown.basis is None or not sight.details:
        raise Invalid("Scores by topic are not shown, so there is no board on some topics.")
    chosen, known = set(topics), set(source.topics)
    if strange := sorted(chosen - known):
        named = ", ".join(topic[:40] for topic in strange[:MOST_NAMED])
        problem = Problem("is a topic that counts.", field="topics", value=named)
        raise Invalid(f"The board does not rest on the topic {named}.", [problem])
    kept = [(topic, at) for topic, at in zip(source.topics, source.places, strict=True) if topic in chosen]
    names, places = (tuple(column) for column in zip(*kept, strict=True))
    of_topics = replace(
        shown,
        source=replace(source, topics=names, places=places),
        basis=replace(shown.basis, topics=len(names)),
    )
    return of_topics, _sentence(len(names), len(source.topics))


def on_topics(
    session: Session, source: Source | None, measures: Sequence[MeasureColumn], rows: Sequence[Row]
) -> list[Row]:
    """The rows with each run's value on the topics of a source in place of its own; one statement."""
    assert source is not None, "narrowed refuses what has none"
    versions = {measure.key: measure.version for measure in measures}
    wanted = (
        Evaluation.revision_id == source.revision_id,
        Evaluation.dialect == source.dialect,
        Evaluation.measure.in_(versions),
        Evaluation.run_id.in_([row.run_id for row in rows]),
    )
    places = np.array(source.places, dtype=np.int64)
    values: dict[int, dict[str, float | None]] = {}
    for run_id, _, measure, version, _, _, scores, parts in stored_scores(session, *wanted):
        if versions[measure] == version:
            if parts is not None:
                parts = parts.reshape(-1, len(scores))[:, places]
            values.setdefault(run_id, {})[measure] = parse(measure).aggregate(scores[places], parts)
    return [
        replace(
            row,
            scores={
                key: None if score is None else values.get(row.run_id, {}).get(key)
                for key, score in row.scores.items()
            },
        )
        for row in rows
    ]


def _sentence(chosen: int, of: int) -> str:
    return (
        f"Means over {counted(chosen, 'topic')} chosen of {of:,}. There are no verdicts: topics chosen after "
        "their scores were seen say nothing of other topics."
    )
