"""Items that assessors of a round label differently: the list, and one with all that was said of it."""

from collections.abc import Mapping
from dataclasses import dataclass

from sqlalchemy.orm import Session

from leaderboard.db.tables import Task
from leaderboard.errors import NotFound
from leaderboard.pages.labelling.shown import ReadItem, TopicHead, head_of, read_item
from leaderboard.services.labelling import rounds
from leaderboard.services.labelling.items import LabelItem, name_of
from leaderboard.services.labelling.kinds import KINDS, NUGGETS, UNSURE, RoundKind
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
    topic: TopicHead
    shown: ReadItem
    following: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class DisagreementPage:
    """The disagreements of a round, undecided ones first; one: the one that is looked at."""

    task: str
    slug: str
    number: int
    kind: RoundKind
    rows: tuple[ItemDisagreement, ...]
    one: ReadDisagreement | None

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
    return DisagreementPage(
        task=task.name, slug=slug, number=number, kind=KINDS[here.kind], rows=tuple(rows), one=one
    )


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
    caption = f"Items that assessors of round {page.number} label differently, undecided ones first"
    return Table(f"{page.slug}-labelling-{page.number}-differ", caption, columns, page.rows)


def _disagreements(made: RoundLabels) -> Mapping[ItemDisagreement, LabelItem]:
    words = {label.value: label.name for label in KINDS[made.here.kind].labels}
    names = {one.id: one.name for one in made.assessors}
    decided = {one.item: one.label for one in made.given if one.assessor_id in made.adjudicators}
    found = {}
    for item, labels in sorted(made.by_item.items()):
        given = {person: label for person, label in labels.items() if person not in made.adjudicators}
        if len(set(given.values()) - {UNSURE}) > 1:
            row = ItemDisagreement(
                name=name_of(made.here.secret, item),
                topic_id=item.topic_id,
                labels=tuple(
                    (names[person], words[given[person]]) for person in sorted(given, key=names.__getitem__)
                ),
                decision=words[decided[item]] if item in decided else None,
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
        topic=head_of(topics.find(session, task, item.topic_id)),
        shown=read_item(session, task, made.here.kind, made.topics[item.topic_id], item),
        following=next(others, None),
    )
