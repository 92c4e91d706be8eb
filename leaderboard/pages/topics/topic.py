"""One topic: its statement, its judgments and who found them, every run's scores."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from sqlalchemy.orm import Session

from leaderboard.db.tables import Edition, QrelsRevision
from leaderboard.pages.scores import fields
from leaderboard.pages.topics import found_documents, run_scores
from leaderboard.pages.topics.documents import Documents, documents
from leaderboard.pages.topics.run_scores import RunScore, ScoredRuns
from leaderboard.services import policy
from leaderboard.services.evaluations import alignments
from leaderboard.services.evaluations.choices import RANKED_KIND
from leaderboard.services.evaluations.columns import MeasureColumn
from leaderboard.services.evaluations.shown import Source, shown_edition
from leaderboard.services.policy import Viewer
from leaderboard.services.tasks import topics
from leaderboard.services.tasks.topics import TopicHead


@dataclass(frozen=True, slots=True, kw_only=True)
class RunContrast:
    """Two runs whose rankings of this topic are worth reading side by side; differences by the measure."""

    first_id: int
    first: str
    second_id: int
    second: str
    here: float
    """First less second on this topic."""
    over_all: float | None
    """The same over all topics, where it goes the other way."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicPage(TopicHead):
    """One topic; judgments and scores are empty where they are held back."""

    subtopics: tuple[dict[str, Any], ...]
    takes: str
    """What the task's runs are."""
    grade_names: dict[int, str]
    documents: Documents
    measure: MeasureColumn | None
    """The one the runs are in the order of; None where there is no score."""
    measures: tuple[MeasureColumn, ...]
    scores: tuple[RunScore, ...]
    contrasts: tuple[RunContrast, ...]

    @property
    def place(self) -> int | None:
        """Where the measure stands among the measures."""
        return self.measures.index(self.measure) if self.measure is not None else None


@dataclass(frozen=True, slots=True)
class Choice:
    """What a reader chose: a measure, which documents (a name of documents.KINDS), how many at most."""

    measure: str | None = None
    kind: str = ""
    limit: int | None = None


def topic_page(
    session: Session, viewer: Viewer, slug: str, topic_id: str, choice: Choice | None = None
) -> TopicPage:
    """One topic; raises NotFound for an unknown one, UnknownMeasure, Invalid for an unknown kind."""
    choice = choice or Choice()
    task, sight = policy.visible_task(session, viewer, slug)
    topic = topics.find(session, task, topic_id)
    shown = shown_edition(session, task, sight)
    judged, column = Documents(), None
    measures: tuple[MeasureColumn, ...] = ()
    scores: tuple[RunScore, ...] = ()
    contrasts: tuple[RunContrast, ...] = ()
    if shown.edition is not None and shown.source is not None and sight.details:
        measures = fields.columns_of(shown.edition)
        column = fields.chosen(measures, shown.edition.primary_measure, choice.measure)
        place = _place(session, shown.edition, topic_id)
        # Judges are held against each other on pages of their own.
        if place is not None and task.kind != "judges":
            scored = run_scores.scored_runs(session, viewer, task, sight, shown.edition)
            seen = None
            if task.kind == "rankings":
                compiled = alignments.compiled_judgments(session, shown.source)
                seen = found_documents.found(session, shown.source, scored.runs, task.level)
                judged = documents(
                    session, task, compiled, place, scored.runs, seen, choice.kind, choice.limit
                )
                contrasts = _contrasts(scored, shown.source, column, place)
            scores = run_scores.in_order(viewer, scored, measures, column, place, seen)
    return TopicPage(
        **topics.head(session, task, topic, sight, shown),
        subtopics=tuple(topic.subtopics),
        takes=task.kind,
        grade_names=topics.grade_names(task),
        documents=judged,
        measure=column if scores else None,
        measures=measures,
        scores=scores,
        contrasts=contrasts,
    )


def _place(session: Session, edition: Edition, topic_id: str) -> int | None:
    """Where the topic stands in stored scores; None where nobody judged it. The revision was read before."""
    judged = session.get_one(QrelsRevision, edition.revision_id).topics
    return judged.index(topic_id) if topic_id in judged else None


def _contrasts(scored: ScoredRuns, source: Source, by: MeasureColumn, place: int) -> tuple[RunContrast, ...]:
    """The best and the worst run here, and the two that go most against their order over all topics."""
    runs = [run for run in scored.runs if run.kind == RANKED_KIND]
    if len(runs) < 2:
        return ()
    scores = np.array([scored.arrays[run.run_id][by.key] for run in runs])
    sign = by.sign
    here = scores[:, place]
    best, worst = int((sign * here).argmax()), int((sign * here).argmin())
    if here[best] == here[worst]:
        return ()

    def pair(first: int, second: int, over_all: float | None) -> RunContrast:
        one, two = runs[first], runs[second]
        return RunContrast(
            first_id=one.run_id,
            first=one.name,
            second_id=two.run_id,
            second=two.name,
            here=float(here[first] - here[second]),
            over_all=over_all,
        )

    contrasts = [pair(best, worst, None)]
    if not source.places:
        return tuple(contrasts)
    mean = scores[:, list(source.places)].mean(axis=1)
    gain = sign * (here - mean)
    up, down = int(gain.argmax()), int(gain.argmin())
    if sign * (here[up] - here[down]) > 0 > sign * (mean[up] - mean[down]):
        contrasts.append(pair(up, down, float(mean[up] - mean[down])))
    return tuple(contrasts)
