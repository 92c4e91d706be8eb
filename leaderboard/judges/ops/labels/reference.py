"""The judgments behind the reference of a judge task, for viewers who may see them at their source.

They belong to another task, whose rules decide who sees them, regardless of the judge task.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated

from sqlalchemy import select
from sqlalchemy.orm import Session

from leaderboard.answers.ops.nuggets.scoring import opened
from leaderboard.checksums import belonging_to
from leaderboard.core import policy
from leaderboard.core.policy import Viewer
from leaderboard.db.tables import Edition, Run, Task
from leaderboard.errors import NotFound
from leaderboard.measures.answers.judged import Importance
from leaderboard.measures.judged import UNJUDGED
from leaderboard.scoring.ops.evaluations.shown import shown_edition
from leaderboard.scoring.ops.qrels import files
from leaderboard.tables.record import Shown
from leaderboard.trec.boards.answer_labels import as_grades
from leaderboard.trec.boards.judge_labels import JudgeLabels
from leaderboard.trec.boards.packing import KeptReference, Origin
from leaderboard.trec.nuggets.packing import Part
from leaderboard.trec.nuggets.sets import Nugget
from leaderboard.trec.qrels.packed import unpack_judgments

NO_ORIGIN = "The judgments behind the reference are not on this site."
GONE = "The judgments behind the reference are hidden from you or no longer exist."


@dataclass(frozen=True, slots=True, eq=False)
class ReferenceLabels:
    """The judgments of a reference's topics; slug: of the source task, as the viewer knows it.

    key: identifies these judgments. run_ids: the reference's runs by name, if
    their answers are judged, and nuggets: those of the topics that the viewer may see judged, by topic.
    """

    slug: str
    labels: JudgeLabels
    key: str
    run_ids: Mapping[str, int] = field(default_factory=dict)
    nuggets: Mapping[str, tuple[Nugget, ...]] = field(default_factory=dict)


def reference_labels(
    session: Session, viewer: Viewer, kept: KeptReference, part: Part | None = None
) -> ReferenceLabels:
    """The judgments behind a reference, on topics that the viewer may see judged; a few statements.

    part: the kind of judgments of answers, None for those of documents. Excludes documents that were pooled
    but not judged. Raises NotFound if the reference has no judgments on this site, or if the viewer
    may not see them; Forbidden as the policy does.
    """
    if kept.origin is None:
        raise NotFound(NO_ORIGIN)
    slug, topics = _seen_topics(session, viewer, kept.origin)
    edition = session.get(Edition, kept.origin.edition_id)
    if edition is None or edition.shown_from is None:
        raise NotFound(GONE)
    inputs = files.inputs(session, edition.revision_id)
    if (inputs.kind == "answers") != (part is not None):
        raise NotFound("The reference has no judgments of the kind that this judge labelled.")
    with belonging_to(inputs.name):
        judgments = (
            _of_answers(session, kept, inputs.judgments, part) if part else unpack_judgments(inputs.judgments)
        )
    shown_topics = [topic for topic in kept.reference.topics if topic in topics and topic in judgments]
    labels = {
        topic: {docno: grade for docno, grade in judgments[topic].items() if grade != UNJUDGED}
        for topic in shown_topics
    }
    key = f"{session.get_bind().engine.url} {edition.revision_id} {part} {' '.join(shown_topics)}"
    shown_labels = ReferenceLabels(slug, JudgeLabels(labels, {}, "", ()), key)
    if part is None:
        return shown_labels
    nuggets = opened(inputs.judgments).judgments.nuggets.topics
    return replace(
        shown_labels,
        run_ids=dict(zip(kept.reference.runs, kept.origin.run_ids, strict=True)),
        nuggets={topic: nuggets.get(topic, ()) for topic in kept.reference.topics if topic in topics},
    )


def _of_answers(
    session: Session, kept: KeptReference, packed: bytes, part: Part
) -> dict[str, dict[bytes, int]]:
    """Grades of labelled items in the answers of the reference's runs, which judgments identify by digest."""
    assert kept.origin is not None, "judgments are of a board of this site"
    rows = session.execute(select(Run.id, Run.ranking_sha256).where(Run.id.in_(kept.origin.run_ids)))
    digests = {run_id: sha256 for run_id, sha256 in rows}
    pairs = zip(kept.reference.runs, kept.origin.run_ids, strict=True)
    # Runs with the same answers share labels, so the name of one of them is enough.
    names = {digests[run_id]: name for name, run_id in pairs if run_id in digests}
    return as_grades(opened(packed), part, names)


def _seen_topics(session: Session, viewer: Viewer, origin: Origin) -> tuple[str, frozenset[str]]:
    """Slug of the reference's source task, and its topics with visible judgments."""
    task = session.get(Task, origin.task_id)
    if task is None:
        raise NotFound(GONE)
    # An edition or phase requested for the judge task does not apply to this task.
    seen_task, access = policy.visible_task(session, replace(viewer, edition=None, phase=""), task.slug)
    if seen_task.id != origin.task_id:
        raise NotFound(GONE)
    if not access.details:
        raise NotFound(f"{GONE} {access.why}".strip())
    shown = shown_edition(session, seen_task, access)
    if shown.source is None:
        raise NotFound(GONE)
    return seen_task.slug, frozenset(shown.source.topics)


Nuggets = Mapping[str, Sequence[Nugget]]
"""Topic -> its nuggets."""


@dataclass(frozen=True, slots=True)
class ComparedNugget:
    """A nugget with its importance in both sets; None if a set does not have it."""

    topic: str
    text: Annotated[str, Shown(key="nugget")]
    reference: Annotated[Importance | None, Shown("In the judgments", key="judgments")]
    judge: Annotated[Importance | None, Shown("By the judge")]


@dataclass(frozen=True, slots=True)
class NuggetsOfTopic:
    """The nuggets of a topic, those of the reference first, each set in its own order."""

    topic: str
    nuggets: tuple[ComparedNugget, ...]

    @property
    def same(self) -> int:
        """Number of nuggets with identical wording in both sets."""
        return sum(None not in (nugget.reference, nugget.judge) for nugget in self.nuggets)

    @property
    def reference(self) -> int:
        """Number of nuggets of the reference."""
        return sum(nugget.reference is not None for nugget in self.nuggets)

    @property
    def judge(self) -> int:
        """Number of nuggets of the judge."""
        return sum(nugget.judge is not None for nugget in self.nuggets)

    @property
    def reference_vital(self) -> int:
        """Number of vital nuggets of the reference."""
        return sum(nugget.reference == "vital" for nugget in self.nuggets)

    @property
    def judge_vital(self) -> int:
        """Number of vital nuggets of the judge."""
        return sum(nugget.judge == "vital" for nugget in self.nuggets)


def hold_nuggets(topics: Iterable[str], reference: Nuggets, judge: Nuggets) -> tuple[NuggetsOfTopic, ...]:
    """The nuggets of the reference and of a judge on these topics, in order, where either has any.

    Empty if one of the two has none on any topic, because there are no two sets to compare.
    """
    topics = list(topics)
    if not all(any(side.get(topic) for topic in topics) for side in (reference, judge)):
        return ()
    compared = (
        NuggetsOfTopic(topic, _pair(topic, reference.get(topic, ()), judge.get(topic, ())))
        for topic in topics
    )
    return tuple(each for each in compared if each.nuggets)


def _pair(topic: str, reference: Sequence[Nugget], judge: Sequence[Nugget]) -> tuple[ComparedNugget, ...]:
    sides = [{nugget.text: nugget.importance for nugget in side} for side in (reference, judge)]
    texts = dict.fromkeys((*sides[0], *sides[1]))
    return tuple(ComparedNugget(topic, text, sides[0].get(text), sides[1].get(text)) for text in texts)
