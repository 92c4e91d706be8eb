"""What the assessors of a pool read first: guidelines and solved examples, set by its organisers."""

from collections.abc import Mapping
from typing import Any

from sqlalchemy.orm import Session

from leaderboard.errors import Invalid, NotFound, Problem
from leaderboard.services import audit, collections, prose
from leaderboard.services.policy import Viewer
from leaderboard.services.pools import pools
from leaderboard.services.tasks import grade_scales

EXAMPLE_CHARACTERS = 20_000
MOST_EXAMPLES = 50


def set_text(session: Session, viewer: Viewer, slug: str, number: int, text: str) -> None:
    """Set what assessors read first, as Markdown; raises Invalid where it is too long."""
    _, pool = pools.own_pool(session, viewer, slug, number)
    if rule := prose.broken_rule(text):
        raise Invalid(f"The guidelines {rule} Write them more simply.")
    pool.guidelines = text.replace("\r\n", "\n").strip()
    audit.record(session, viewer, "pool.guidelines", f"pool:{pool.id}")


def add_example(session: Session, viewer: Viewer, slug: str, number: int, example: Mapping[str, Any]) -> None:
    """Add a solved example: topic, docno (whose text is stored) or text, grade, why.

    Raises Invalid where a part is missing or does not fit.
    """
    task, pool = pools.own_pool(session, viewer, slug, number)
    tidy = {name: str(example.get(name, "")).strip() for name in ("topic", "docno", "text", "why")}
    problems = []
    if len(pool.examples) >= MOST_EXAMPLES:
        problems.append(Problem(f"There are {MOST_EXAMPLES} examples already.", "Remove one first."))
    if example.get("grade") not in grade_scales.grades(task):
        problems.append(Problem("must be one of the task’s grades.", field="grade"))
    if bool(tidy["docno"]) == bool(tidy["text"]):
        remedy = "Give the id of a stored document, or a text of your own."
        problems.append(Problem("One of document id and text is needed, not both.", remedy, field="docno"))
    if tidy["docno"] and not collections.texts(session, task.collection_id, [tidy["docno"]]):
        rule = "must be a document whose text is stored here."
        problems.append(Problem(rule, "Or write its text.", field="docno", value=tidy["docno"][:80]))
    problems += [
        Problem(f"may have at most {EXAMPLE_CHARACTERS:,} characters.", field=name)
        for name, value in tidy.items()
        if len(value) > EXAMPLE_CHARACTERS
    ]
    if problems:
        raise Invalid("This example cannot be added.", problems)
    pool.examples = [*pool.examples, {**tidy, "grade": example["grade"]}]
    audit.record(session, viewer, "pool.example", f"pool:{pool.id}")


def remove_example(session: Session, viewer: Viewer, slug: str, number: int, place: int) -> None:
    """Remove the example at a place, counted from 1; raises NotFound where there is none."""
    _, pool = pools.own_pool(session, viewer, slug, number)
    if not 1 <= place <= len(pool.examples):
        raise NotFound(f"There is no example {place} any more.")
    pool.examples = [example for index, example in enumerate(pool.examples, 1) if index != place]
    audit.record(session, viewer, "pool.example", f"pool:{pool.id}", removed=place)
