"""The judgments that the reference of a task of judges rests on, for who may see them where they are from.

They belong to another task. Its rules say who reads them, whatever the task of judges shows.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated

from sqlalchemy import select
from sqlalchemy.orm import Session

from leaderboard.checksums import belonging_to
from leaderboard.db.tables import Edition, Run, Task
from leaderboard.errors import NotFound
from leaderboard.measures.answers.judged import Importance
from leaderboard.measures.judged import UNJUDGED
from leaderboard.services import policy
from leaderboard.services.evaluations.shown import shown_edition
from leaderboard.services.nuggets.scoring import opened
from leaderboard.services.policy import Viewer
from leaderboard.services.qrels import files
from leaderboard.tables.record import Shown
from leaderboard.trec.boards.answer_labels import as_grades
from leaderboard.trec.boards.judge_labels import JudgeLabels
from leaderboard.trec.boards.packing import KeptReference, Origin
from leaderboard.trec.nuggets.packing import Part
from leaderboard.trec.nuggets.sets import Nugget
from leaderboard.trec.qrels.packed_judgments import unpack_judgments

NO_ORIGIN = "The judgments that the reference rests on are not on this site."
GONE = "The judgments that the reference rests on are not shown to you, or are gone."


@dataclass(frozen=True, slots=True, eq=False)
class ReferenceLabels:
    """The judgments of a reference's topics; slug: of the task that they are from, as the viewer knows it.

    key: what tells these judgments apart from others. run_ids: the reference's runs by their names, where
    what is judged is their answers, and nuggets: those of the topics that the viewer sees judged, by topic.
    """

    slug: str
    labels: JudgeLabels
    key: str
    run_ids: Mapping[str, int] = field(default_factory=dict)
    nuggets: Mapping[str, tuple[Nugget, ...]] = field(default_factory=dict)


def reference_labels(
    session: Session, viewer: Viewer, kept: KeptReference, part: Part | None = None
) -> ReferenceLabels:
    """The judgments behind a reference, of the topics that the viewer sees judged; a few statements.

    part: which judgments of answers, None for those of documents. A document that was pooled and not judged
    is none of them. Raises NotFound where the reference has no judgments of this site, and where the viewer
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
        raise NotFound("The reference does not rest on judgments of what this judge labelled.")
    with belonging_to(inputs.name):
        judgments = (
            _of_answers(session, kept, inputs.judgments, part) if part else unpack_judgments(inputs.judgments)
        )
    wanted = [topic for topic in kept.reference.topics if topic in topics and topic in judgments]
    labels = {
        topic: {docno: grade for docno, grade in judgments[topic].items() if grade != UNJUDGED}
        for topic in wanted
    }
    key = f"{session.get_bind().engine.url} {edition.revision_id} {part} {' '.join(wanted)}"
    found = ReferenceLabels(slug, JudgeLabels(labels, {}, "", ()), key)
    if part is None:
        return found
    nuggets = opened(inputs.judgments).judgments.nuggets.topics
    return replace(
        found,
        run_ids=dict(zip(kept.reference.runs, kept.origin.run_ids, strict=True)),
        nuggets={topic: nuggets.get(topic, ()) for topic in kept.reference.topics if topic in topics},
    )


def _of_answers(
    session: Session, kept: KeptReference, packed: bytes, part: Part
) -> dict[str, dict[bytes, int]]:
    """Grades of what was labelled of the answers of the reference's runs, which judgments know by digest."""
    assert kept.origin is not None, "judgments are of a board of this site"
    rows = session.execute(select(Run.id, Run.ranking_sha256).where(Run.id.in_(kept.origin.run_ids)))
    digests = {run_id: sha256 for run_id, sha256 in rows}
    pairs = zip(kept.reference.runs, kept.origin.run_ids, strict=True)
    # Runs with the same answers share labels; one name of them is enough.
    names = {digests[run_id]: name for name, run_id in pairs if run_id in digests}
    return as_grades(opened(packed), part, names)


def _seen_topics(session: Session, viewer: Viewer, origin: Origin) -> tuple[str, frozenset[str]]:
    """The name in addresses of the task a reference is from, and its topics whose judgments are shown."""
    task = session.get(Task, origin.task_id)
    if task is None:
        raise NotFound(GONE)
    # What was asked for of the task of judges, an edition or a phase, is not of this one.
    known, sight = policy.visible_task(session, replace(viewer, edition=None, phase=""), task.slug)
    if known.id != origin.task_id:
        raise NotFound(GONE)
    if not sight.details:
        raise NotFound(f"{GONE} {sight.why}".strip())
    shown = shown_edition(session, known, sight)
    if shown.source is None:
        raise NotFound(GONE)
    return known.slug, frozenset(shown.source.topics)


Nuggets = Mapping[str, Sequence[Nugget]]
"""Topic -> its nuggets."""


@dataclass(frozen=True, slots=True)
class HeldNugget:
    """A nugget with its importance in either set; None where the set does not have it."""

    topic: str
    text: Annotated[str, Shown(key="nugget")]
    reference: Annotated[Importance | None, Shown("In the judgments", key="judgments")]
    judge: Annotated[Importance | None, Shown("By the judge")]


@dataclass(frozen=True, slots=True)
class NuggetsOfTopic:
    """The nuggets of a topic, those of the reference first, each set in its own order."""

    topic: str
    nuggets: tuple[HeldNugget, ...]

    @property
    def same(self) -> int:
        """How many both sets have in the same words."""
        return sum(None not in (one.reference, one.judge) for one in self.nuggets)

    @property
    def reference(self) -> int:
        """How many the reference has."""
        return sum(one.reference is not None for one in self.nuggets)

    @property
    def judge(self) -> int:
        """How many the judge has."""
        return sum(one.judge is not None for one in self.nuggets)

    @property
    def reference_vital(self) -> int:
        """How many of the reference are vital."""
        return sum(one.reference == "vital" for one in self.nuggets)

    @property
    def judge_vital(self) -> int:
        """How many of the judge are vital."""
        return sum(one.judge == "vital" for one in self.nuggets)


def hold_nuggets(topics: Iterable[str], one: Nuggets, two: Nuggets) -> tuple[NuggetsOfTopic, ...]:
    """The nuggets of the reference and of a judge on these topics, in their order, where either has any.

    Nothing where one of the two has none on any of them: then there are no two sets.
    """
    topics = list(topics)
    if not all(any(side.get(topic) for topic in topics) for side in (one, two)):
        return ()
    found = (NuggetsOfTopic(topic, _held(topic, one.get(topic, ()), two.get(topic, ()))) for topic in topics)
    return tuple(each for each in found if each.nuggets)


def _held(topic: str, one: Sequence[Nugget], two: Sequence[Nugget]) -> tuple[HeldNugget, ...]:
    sides = [{nugget.text: nugget.importance for nugget in side} for side in (one, two)]
    texts = dict.fromkeys((*sides[0], *sides[1]))
    return tuple(HeldNugget(topic, text, sides[0].get(text), sides[1].get(text)) for text in texts)
