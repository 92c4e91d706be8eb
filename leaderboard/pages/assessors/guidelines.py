"""What assessors read before they judge: the guidelines of a pool with its grades and solved examples."""

from dataclasses import dataclass

from sqlalchemy.orm import Session

from leaderboard.db.tables import Pool, Task
from leaderboard.pages.assessors import judging
from leaderboard.pages.assessors.judging import JudgingTopic
from leaderboard.services import collections
from leaderboard.services.assessors import links, log
from leaderboard.services.policy import Viewer
from leaderboard.services.tasks import grade_scales
from leaderboard.services.tasks.grade_scales import Grade


@dataclass(frozen=True, slots=True)
class SolvedExample:
    """A document, its grade and why."""

    topic: str
    title: str
    text: str
    grade: Grade | None
    why: str


@dataclass(frozen=True, slots=True)
class GuidelinesPage:
    """What assessors of a pool read first."""

    assessor_id: int
    task: str
    number: int
    text: str
    """Markdown."""
    grades: tuple[Grade, ...]
    examples: tuple[SolvedExample, ...]
    topics: tuple[JudgingTopic, ...]


@dataclass(frozen=True, slots=True)
class GuidelinesForm:
    """A pool's guidelines as its organisers edit them."""

    task: str
    slug: str
    number: int
    text: str
    shown: tuple[SolvedExample, ...]
    grades: tuple[Grade, ...]


def guidelines_page(session: Session, token: str, number: int) -> GuidelinesPage:
    """The guidelines of a pool with its solved examples; raises NotFound."""
    assessor, pool = log.assessor_and_pool(session, token, number)
    task = session.get_one(Task, pool.task_id)
    return GuidelinesPage(
        assessor_id=assessor.id,
        task=task.name,
        number=pool.number,
        text=pool.guidelines,
        grades=grade_scales.scale(task),
        examples=solved_examples(session, task, pool),
        topics=judging.topics(session, assessor, [pool])[pool.id],
    )


def guidelines_form(session: Session, viewer: Viewer, slug: str, number: int) -> GuidelinesForm:
    """A pool's guidelines to be edited."""
    task, pool = links.seen_pool(session, viewer, slug, number)
    return GuidelinesForm(
        task=task.name,
        slug=slug,
        number=number,
        text=pool.guidelines,
        shown=solved_examples(session, task, pool),
        grades=grade_scales.scale(task),
    )


def solved_examples(session: Session, task: Task, pool: Pool) -> tuple[SolvedExample, ...]:
    """A pool's solved examples, with the text of documents that are named by their docno."""
    grades = {grade.value: grade for grade in grade_scales.scale(task)}
    docnos = [str(stored["docno"]) for stored in pool.examples if stored.get("docno")]
    texts = collections.texts(session, task.collection_id, docnos)
    examples = []
    for stored in pool.examples:
        docno = str(stored.get("docno", ""))
        document = texts.get(docno)
        examples.append(
            SolvedExample(
                topic=str(stored.get("topic", "")),
                title=document.title if document else docno,
                text=document.text if document else str(stored.get("text", "")),
                grade=grades.get(int(stored["grade"])),
                why=str(stored.get("why", "")),
            )
        )
    return tuple(examples)
