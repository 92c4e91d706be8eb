"""Items that assessors of a round label differently: the list, and one with all that was said of it."""

from collections.abc import Mapping
from dataclasses import dataclass

from sqlalchemy.orm import Session

from leaderboard.db.tables import LabellingRound, Task, Topic
from leaderboard.errors import NotFound
from leaderboard.pages.labelling.shown import ReadItem, read_item
from leaderboard.services.labelling import rounds
from leaderboard.services.labelling.items import KINDS, NUGGETS, UNSURE, LabelItem, RoundKind, name_of
from leaderboard.services.labelling.settled import RoundLabels, round_labels
from leaderboard.services.policy import Viewer
from leaderboard.services.tasks import topics
from leaderboard.tables.record import Column, Table


@dataclass(frozen=True, slots=True)
class ItemDisagreement:
    """An item with what assessors said, and the decision; None where there is none yet."""

    name: str
    topic_id: str
    labels: tuple[tuple[str, str], ...]
    """(assessor, label in words)."""
    decision: str | None


@dataclass(frozen=True, slots=True)
class ReadDisagreement:
    """One of them with all that is needed to decide; following: the next without a decision."""

    disagreement: ItemDisagreement
    topic: Topic
    shown: ReadItem
    following: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class DisagreementPage:
    """The disagreements of a round, undecided ones first; one: the one that is looked at."""

    task: Task
    here: LabellingRound
    rows: tuple[ItemDisagreement, ...]
    one: ReadDisagreement | None

    @property
    def kind(self) -> RoundKind:
        """What the round makes."""
        return KINDS[self.here.kind]

    @property
    def open(self) -> int:
        """How many have no decision."""
        return sum(row.decision is None for row in self.rows)


def disagreement_page(
    session: Session, viewer: Viewer, slug: str, number: int, name: str = ""
) -> DisagreementPage:
    """The list, with the item of a name; raises NotFound for another item or a round without labels."""
    task, here = rounds.seen_round(session, viewer, slug, number)
    if here.kind == NUGGETS:
        raise NotFound(f"Round {number} makes nuggets; their lists are compared topic by topic.")
    made = round_labels(session, here)
    found = dict(_disagreements(made))
    rows = sorted(found, key=lambda row: row.decision is not None)
    one = None
    if name:
        row = next((row for row in rows if row.name == name), None)
        if row is None:
            raise NotFound("Assessors do not differ on this item, or the round does not have it.")
        one = _read(session, task, made, row, found[row], rows)
    return DisagreementPage(task=task, here=here, rows=tuple(rows), one=one)


def rows_table(page: DisagreementPage) -> Table[ItemDisagreement]:
    """The disagreements of a round."""
    columns: list[Column[ItemDisagreement]] = [
        Column("item", lambda row: row.name, "Item"),
        Column("topic", lambda row: row.topic_id, "Topic"),
        Column(
            "labels",
            lambda row: "; ".join(f"{assessor}: {label}" for assessor, label in row.labels),
            "Labels",
        ),
        Column("decision", lambda row: row.decision, "Decision"),
    ]
    number = page.here.number
    caption = f"Items that assessors of round {number} label differently, undecided ones first"
    return Table(f"{page.task.slug}-labelling-{number}-differ", caption, columns, page.rows)


def _disagreements(made: RoundLabels) -> Mapping[ItemDisagreement, LabelItem]:
    words: dict[int | None, str] = {label.value: label.name for label in KINDS[made.here.kind].labels}
    # Who could not say gave no grade.
    words[None] = words.get(UNSURE, "")
    decisions = sorted(made.decisions, key=lambda label: label.saved_at)
    decided = {made.items[label.place]: words[label.grade] for label in decisions}
    found = {}
    for item, labels in made.disagreements.items():
        by_name = sorted(labels, key=lambda label: label.assessor)
        row = ItemDisagreement(
            name=name_of(made.here.secret, item),
            topic_id=item.topic_id,
            labels=tuple((label.assessor, words[label.grade]) for label in by_name),
            decision=decided.get(item),
        )
        found[row] = item
    return found


def _read(
    session: Session,
    task: Task,
    made: RoundLabels,
    row: ItemDisagreement,
    item: LabelItem,
    rows: list[ItemDisagreement],
) -> ReadDisagreement:
    others = (each.name for each in rows if each.decision is None and each is not row)
    return ReadDisagreement(
        disagreement=row,
        topic=topics.find(session, task, item.topic_id),
        shown=read_item(session, task, made.here.kind, made.topics[item.topic_id], item),
        following=next(others, None),
    )
