"""What assessors read before they judge: the guidelines of a pool with its grades and solved examples."""

from dataclasses import dataclass

from sqlalchemy.orm import Session

from leaderboard.db.tables import Assessor, Pool, Task
from leaderboard.pages.assessors import judging
from leaderboard.pages.judging.desk import DeskTopic
from leaderboard.services import collections
from leaderboard.services.assessors import log
from leaderboard.services.assessors.judged_pools import PoolFacts, pool_facts
from leaderboard.services.policy import Viewer
from leaderboard.services.pools import pools
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

    assessor: Assessor
    task: Task
    pool: Pool
    grades: tuple[Grade, ...]
    examples: tuple[SolvedExample, ...]
    topics: tuple[DeskTopic, ...]


@dataclass(frozen=True, slots=True)
class GuidelinesForm:
    """A pool's guidelines as its organisers edit them."""

    pool: PoolFacts
    text: str
    shown: tuple[SolvedExample, ...]


def guidelines_page(session: Session, token: str, number: int) -> GuidelinesPage:
    """The guidelines of a pool with its solved examples; raises NotFound."""
    assessor, pool = log.assessor_and_pool(session, token, number)
    task = session.get_one(Task, pool.task_id)
    return GuidelinesPage(
        assessor=assessor,
        task=task,
        pool=pool,
        grades=grade_scales.scale(task),
        examples=solved_examples(session, task, pool),
        topics=judging.topics(session, assessor, [pool])[pool.id],
    )


def guidelines_form(session: Session, viewer: Viewer, slug: str, number: int) -> GuidelinesForm:
    """A pool's guidelines to be edited."""
    task, pool = pools.seen_pool(session, viewer, slug, number)
    shown = solved_examples(session, task, pool)
    return GuidelinesForm(pool_facts(session, task, pool), pool.guidelines, shown)


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
