"""The judgments that the reference of a task of judges rests on, for who may see them where they are from.

They belong to another task. Its rules say who reads them, whatever the task of judges shows.
"""

from dataclasses import dataclass, replace

from sqlalchemy.orm import Session

from leaderboard.checksums import belonging_to
from leaderboard.db.tables import Edition, Task
from leaderboard.errors import NotFound
from leaderboard.measures.judged import UNJUDGED
from leaderboard.services import policy
from leaderboard.services.evaluations.shown import shown_edition
from leaderboard.services.policy import Viewer
from leaderboard.services.qrels import judged_inputs
from leaderboard.trec.boards.packing import KeptReference, Origin
from leaderboard.trec.qrels.judge_labels import JudgeLabels
from leaderboard.trec.qrels.packed_judgments import unpack_judgments

NO_ORIGIN = "The reference is a board file: there are no judgments to hold labels against."
GONE = "The judgments that the reference rests on are not shown to you, or are gone."


@dataclass(frozen=True, slots=True, eq=False)
class ReferenceLabels:
    """The judgments of a reference's topics; slug: of the task that they are from, as the viewer knows it.

    key: what tells these judgments apart from others.
    """

    slug: str
    labels: JudgeLabels
    key: str


def reference_labels(session: Session, viewer: Viewer, kept: KeptReference) -> ReferenceLabels:
    """The judgments behind a reference, of the topics that the viewer sees judged; a few statements.

    A document that was pooled and not judged is none of them. Raises NotFound where the reference has no
    judgments of this site, and where the viewer may not see them; Forbidden as the policy does.
    """
    if kept.origin is None:
        raise NotFound(NO_ORIGIN)
    slug, topics = _seen_topics(session, viewer, kept.origin)
    edition = session.get(Edition, kept.origin.edition_id)
    if edition is None or edition.shown_from is None:
        raise NotFound(GONE)
    inputs = judged_inputs.inputs(session, edition.revision_id)
    with belonging_to(inputs.name):
        judgments = unpack_judgments(inputs.judgments)
    wanted = [topic for topic in kept.reference.topics if topic in topics and topic in judgments]
    labels = {
        topic: {docno: grade for docno, grade in judgments[topic].items() if grade != UNJUDGED}
        for topic in wanted
    }
    key = f"{session.get_bind().engine.url} {edition.revision_id} {' '.join(wanted)}"
    return ReferenceLabels(slug, JudgeLabels(labels, {}, "", ()), key)


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
