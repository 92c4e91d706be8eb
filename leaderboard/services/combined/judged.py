"""A sample as far as people have judged it: the topics that are done, with all labels of their documents."""

import hashlib
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np
from sqlalchemy.orm import Session

from leaderboard.db.tables import Pool, QrelsRevision, Task
from leaderboard.memory import keep
from leaderboard.services.combined import samples
from leaderboard.services.combined.samples import SampledGrades
from leaderboard.services.evaluations import alignments
from leaderboard.services.evaluations.shown import Source
from leaderboard.services.pools import pools, previews
from leaderboard.stats.combined.labels import NOT_JUDGED, IntArray, Labels
from leaderboard.stats.combined.measures import NOWHERE
from leaderboard.trec.qrels.align import CompiledJudgments


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class JudgedSample:
    """A sample of a machine's judgments, and what of it people have judged.

    labels are of the topics of the source: those whose drawn documents are all judged, and when all of these
    are done those of which none was drawn. places gives each of the machine revision's judgments its place in
    them, NOWHERE where it has none. everything is what the machine's scores are of: the same topics, or all
    that the machine judged where whole topics were drawn.
    """

    number: int
    state: str
    shown_at: datetime | None
    is_of_topics: bool
    """Whether whole topics were drawn; else documents of every topic."""
    share: float
    """Of the documents, or of the topics."""
    seed: int
    revision: int
    machine: str
    documents: int
    """That the machine judged, of the topics that were drawn from."""
    drawn: int
    judged: int
    topics: int
    """Of the sample, done or not."""
    source: Source
    everything: Source
    labels: Labels
    places: IntArray

    @property
    def finished(self) -> int:
        """Topics that are done."""
        return len(self.source.topics)

    @property
    def drawn_by_topic(self) -> float:
        """Documents that are expected to be drawn a topic, of those done; 0 where none is."""
        return float(self.labels.probability.sum()) / self.finished if self.finished else 0.0

    @property
    def digest(self) -> str:
        """Of all labels and probabilities, and the order of the documents, by which results are kept."""
        labels = self.labels
        parts = (labels.topic, labels.machine, labels.people, labels.probability, self.places)
        return hashlib.sha256(b"".join(part.tobytes() for part in parts)).hexdigest()


def judged_sample(session: Session, task: Task, pool: Pool) -> JudgedSample:
    """The sample of a pool as it is now; whoever asks may see the task's judgments."""
    revision = session.get_one(QrelsRevision, pool.revision_id)
    grades = samples.people_grades(session, task, pool)
    counted = previews.titles_of(session, task)
    waiting = {topic for topic, docno in grades.drawn if (topic, docno) not in grades.judged} & counted.keys()
    sampled = {topic for topic, _ in grades.probability if topic in counted}
    drawn = {topic for topic, _ in grades.drawn}
    # A topic of which nothing was drawn is done from the start: taken before all others are, it would stand
    # for the machine alone.
    ready = drawn - waiting if drawn & waiting else sampled
    source = _source(task, revision, [topic for topic in counted if topic in ready & sampled])
    compiled = alignments.compiled_judgments(session, source)
    is_of_topics = pool.method["name"] == pools.SAMPLED_TOPICS
    by_machine = _judged_topics(compiled, revision, counted)
    labels, places = _labels(compiled, source, grades)
    return JudgedSample(
        number=pool.number,
        state=pool.state,
        shown_at=pool.shown_at,
        is_of_topics=is_of_topics,
        share=len(sampled) / max(1, len(by_machine)) if is_of_topics else pool.method["share"],
        seed=pool.seed,
        revision=pool.method["revision"],
        machine=samples.machine_line(session, task).origin_name,
        documents=sum(count for topic, count in by_machine.items() if is_of_topics or topic in sampled),
        drawn=sum(topic in counted for topic, _ in grades.drawn),
        judged=sum(topic in counted for topic, _ in grades.judged),
        topics=len(sampled),
        source=source,
        everything=_source(task, revision, list(by_machine)) if is_of_topics else source,
        labels=labels,
        places=places,
    )


def _source(task: Task, revision: QrelsRevision, topics: Sequence[str]) -> Source:
    """The machine's judgments of some topics."""
    place = {topic: at for at, topic in enumerate(revision.topics)}
    return Source(
        edition_id=0,
        revision_id=revision.id,
        revision_sha256=revision.sha256,
        dialect=task.dialect,
        topic_set="",
        topics=tuple(topics),
        places=tuple(place[topic] for topic in topics),
    )


def _judged_topics(
    compiled: CompiledJudgments, revision: QrelsRevision, counted: Collection[str]
) -> dict[str, int]:
    """Topic that counts -> how many of its documents the machine judged."""
    grades, place = compiled.judgments.grades, {topic: at for at, topic in enumerate(revision.topics)}
    known = {
        topic: int(np.count_nonzero(grades[slice(*compiled.judgments.listed(place[topic]))] >= 0))
        for topic in counted
        if topic in place
    }
    return {topic: count for topic, count in known.items() if count}


# By the very grades that are kept for the labels as they are now: they are made anew with any other label.
@keep
def _labels(compiled: CompiledJudgments, source: Source, grades: SampledGrades) -> tuple[Labels, IntArray]:
    """The labels of the source's topics, and where each of the compiled judgments stands in them."""
    judgments = compiled.judgments
    places = np.full(len(judgments.grades), NOWHERE, dtype=np.int64)
    rows: list[tuple[int, int, int]] = []
    probability: list[float] = []
    for at, (name, place) in enumerate(zip(source.topics, source.places, strict=True)):
        here = np.arange(*judgments.listed(place))
        for index, docno in zip(here.tolist(), alignments.docnos(compiled, here), strict=True):
            chance = grades.probability.get((name, docno))
            if chance is not None:
                places[index] = len(rows)
                people = max(grades.judged.get((name, docno), NOT_JUDGED), NOT_JUDGED)
                rows.append((at, int(judgments.grades[index]), people))
                probability.append(chance)
    columns = np.array(rows, dtype=np.int64).reshape(-1, 3).T
    labels = Labels(
        topic=columns[0],
        machine=columns[1],
        people=columns[2],
        probability=np.array(probability, dtype=np.float64),
        topics=len(source.topics),
    )
    return labels, places
