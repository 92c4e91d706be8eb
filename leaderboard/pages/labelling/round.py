"""One round of labelling as its organisers see it: progress, agreement, what came of it."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from itertools import combinations
from typing import Annotated, Any

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from leaderboard.db.tables import Assessor, LabellingRound, LabellingShare, Task, Topic, WrittenNugget
from leaderboard.errors import NotFound
from leaderboard.pages import judging
from leaderboard.pages.judging import PairAgreement
from leaderboard.pages.labelling.desk import ReadItem, read_item
from leaderboard.services import judging as judging_services
from leaderboard.services import policy
from leaderboard.services.judging import GivenLabel, by_place
from leaderboard.services.labelling import decisions as labelling_decisions
from leaderboard.services.labelling import labels, rounds, settled
from leaderboard.services.labelling.labels import (
    KINDS,
    NUGGETS,
    OPEN,
    UNSURE,
    LabelItem,
    RoundKind,
    name_of,
    size,
)
from leaderboard.services.labelling.rounds import RunChoice
from leaderboard.services.labelling.settled import (
    USUAL,
    RoundLabels,
    round_labels,
    settled_labels,
    settled_nuggets,
)
from leaderboard.services.nuggets import scoring
from leaderboard.services.policy import Viewer
from leaderboard.services.tasks import scored_topics
from leaderboard.stats.assessors import Alpha, alpha
from leaderboard.tables.record import Column, Files, Shown, Table, columns_from


@dataclass(frozen=True, slots=True)
class AssessorProgress:
    """One assessor's work in a round: labels, or topics where nuggets are written."""

    name: Annotated[str, Shown(key="assessor")]
    topics: int
    asked: Annotated[int, Shown("Of")]
    done: int
    unsure: int
    """Labels that say that the assessor could not."""
    written: int
    """Nuggets that count."""
    last_at: datetime | None


@dataclass(frozen=True, slots=True)
class TopicProgress:
    """A topic of a round: what was asked of its assessors together, and where they differ."""

    topic_id: Annotated[str, Shown(key="topic")]
    assessors: str
    asked: Annotated[int, Shown("Of")]
    done: int
    twice: Annotated[int, Shown("Made twice")]
    """Items with the labels of two assessors; 1 where two wrote nuggets."""
    disagreements: Annotated[int, Shown("Differ")]
    open: Annotated[int, Shown("Undecided")]
    """Of them those without a decision."""


def written_of(session: Session, made: RoundLabels) -> tuple[WrittenNugget, ...]:
    """The nuggets of a round that count; of other kinds of rounds nothing is read."""
    if made.here.kind != NUGGETS:
        return ()
    return tuple(
        filter(labelling_decisions.stands, labelling_decisions.written_nuggets(session, made.here.id))
    )


def by_assessor(made: RoundLabels, written: Sequence[WrittenNugget]) -> tuple[AssessorProgress, ...]:
    """Every assessor of the round but those who decide, by name."""
    asked = Counter[int]()
    for share in made.shares:
        asked[share.assessor_id] += _asked(made, share)
    topics = Counter(share.assessor_id for share in made.shares)
    given = {one.id: [label for label in made.labels if label.judge is one] for one in made.judges}
    own = {one.id: [nugget for nugget in written if nugget.assessor_id == one.id] for one in made.judges}
    return tuple(
        AssessorProgress(
            name=one.name,
            topics=topics[one.id],
            asked=asked[one.id],
            done=len(given[one.id])
            + sum(_is_done(share) for share in made.shares if share.assessor_id == one.id),
            unsure=sum(label.grade is None for label in given[one.id]),
            written=len(own[one.id]),
            last_at=max(_moments(given[one.id], own[one.id]), default=None),
        )
        for one in made.judges
        if not one.is_adjudicator
    )


def by_topic(
    made: RoundLabels, open_topics: Sequence[str], open_items: Counter[str]
) -> tuple[TopicProgress, ...]:
    """Every topic; open_topics: those whose lists of nuggets differ, open_items: undecided items by topic."""
    names = {one.id: one.name for one in made.judges if not one.is_adjudicator}
    found = []
    given = Counter(label.topic_id for label in made.labels)
    twice = Counter(topic_id for (topic_id, _), labels in by_place(made.labels).items() if len(labels) > 1)
    differing = Counter(item.topic_id for item in made.disagreements)
    for topic_id in made.topics:
        shares = [share for share in made.shares if share.topic_id == topic_id and share.assessor_id in names]
        is_open = topic_id in open_topics
        found.append(
            TopicProgress(
                topic_id=topic_id,
                assessors=", ".join(names[share.assessor_id] for share in shares),
                asked=sum(_asked(made, share) for share in shares),
                done=given[topic_id] + sum(map(_is_done, shares)),
                twice=twice[topic_id] or int(made.here.kind == NUGGETS and len(shares) > 1),
                disagreements=differing[topic_id] or int(is_open),
                open=open_items[topic_id] or int(is_open),
            )
        )
    return tuple(found)


def _asked(made: RoundLabels, share: LabellingShare) -> int:
    """What an assessor is asked for a topic: labels, or one list of nuggets."""
    if made.here.kind == NUGGETS:
        return 1
    return size(made.here, made.topics[share.topic_id], share)


def _moments(given: Sequence[GivenLabel], own: Sequence[WrittenNugget]) -> list[datetime]:
    return [*(label.saved_at for label in given), *(nugget.saved_at for nugget in own)]


def _is_done(share: LabellingShare) -> bool:
    return share.done_at is not None


@dataclass(frozen=True, slots=True)
class ListAgreement:
    """Two assessors' lists of nuggets of one topic: how many each has, and how many texts are the same."""

    topic_id: Annotated[str, Shown(key="topic")]
    first: str
    second: str
    of_first: Annotated[int, Shown("Nuggets of the first")]
    of_second: Annotated[int, Shown("of the second")]
    same: Annotated[int, Shown("Same text")]


@dataclass(frozen=True, slots=True)
class SettledCount:
    """What a rule makes of the round: items or topics with an outcome, without one, not labelled yet."""

    settled: int
    open: int
    unsure: int
    left: int
    whole: int
    """Answers, or topics, that a revision would hold."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundPage:
    """All that organisers see of a round."""

    task: Task
    here: LabellingRound
    may_change: bool
    may_publish: bool
    assessors: tuple[AssessorProgress, ...]
    topics: tuple[TopicProgress, ...]
    alpha: Alpha | None
    """Of all labels, their order counting; None where nuggets are written."""
    pairs: tuple[PairAgreement, ...]
    lists: tuple[ListAgreement, ...]
    rule: str
    settled: SettledCount
    first_open: str | None
    """The name of the first item, or the topic, that waits for a decision."""

    @property
    def kind(self) -> RoundKind:
        """What it makes."""
        return KINDS[self.here.kind]

    @property
    def name(self) -> str:
        """What its tables are called."""
        return f"{self.task.slug}-labelling-{self.here.number}"

    @property
    def is_open(self) -> bool:
        """Whether it takes labels."""
        return self.here.state == OPEN

    @property
    def asked(self) -> int:
        """All that is asked for."""
        return sum(one.asked for one in self.assessors)

    @property
    def done(self) -> int:
        """How much of it is done."""
        return sum(one.done for one in self.assessors)

    @property
    def disagreements(self) -> int:
        """Items, or topics, on which assessors differ."""
        return sum(topic.disagreements for topic in self.topics)


def round_page(session: Session, viewer: Viewer, slug: str, number: int, rule: str = USUAL) -> RoundPage:
    """A round as it is now, settled by a rule; raises as `seen_round`, and Invalid for another rule."""
    task, here = rounds.seen_round(session, viewer, slug, number)
    made = round_labels(session, here)
    written = written_of(session, made)
    is_written, table = here.kind == NUGGETS, judging.ratings(made.labels)
    topics, items = _open(session, made)
    first_open = next(iter(topics if is_written else items), None)
    return RoundPage(
        task=task,
        here=here,
        may_change=policy.coordinates(viewer, task.id),
        may_publish=policy.organises(viewer, task.id),
        assessors=by_assessor(made, written),
        topics=by_topic(made, topics, Counter(items.values())),
        alpha=None if is_written else alpha(table, "ordinal"),
        pairs=() if is_written else judging.pairs(table, made.judges),
        lists=tuple(_lists(made, written)),
        rule=rule,
        settled=_settled(session, made, rule),
        first_open=first_open,
    )


def _open(session: Session, made: RoundLabels) -> tuple[tuple[str, ...], dict[str, str]]:
    """Topics whose lists differ undecided; names of items that do, with their topics."""
    if made.here.kind == NUGGETS:
        return settled_nuggets(session, made).open, {}
    return (), {name_of(made.here.secret, item): item.topic_id for item in made.undecided}


def _settled(session: Session, made: RoundLabels, rule: str) -> SettledCount:
    if made.here.kind == NUGGETS:
        found = settled_nuggets(session, made)
        return SettledCount(len(found.topics), len(found.open), 0, len(found.left), len(found.topics))
    labels = settled_labels(made, rule)
    whole = len(settled.settled_cells(made, labels))
    return SettledCount(len(labels.labels), len(labels.open), len(labels.unsure), labels.left, whole)


def _lists(made: RoundLabels, written: Sequence[WrittenNugget]) -> Sequence[ListAgreement]:
    names = {one.id: one.name for one in made.judges if not one.is_adjudicator}
    texts: dict[tuple[str, int], set[str]] = {}
    for one in written:
        texts.setdefault((one.topic_id, one.assessor_id), set()).add(one.text)
    found = []
    for topic_id in made.topics if made.here.kind == NUGGETS else ():
        people = [share.assessor_id for share in made.shares if share.topic_id == topic_id]
        for first, second in combinations([person for person in people if person in names], 2):
            own, others = texts.get((topic_id, first), set()), texts.get((topic_id, second), set())
            both = len(own & others)
            found.append(ListAgreement(topic_id, names[first], names[second], len(own), len(others), both))
    return found


def facts(page: RoundPage) -> dict[str, Any]:
    """The round in plain values."""
    return {
        "task": page.task.slug,
        "round": page.here.number,
        "kind": page.kind.part,
        "open": page.is_open,
        "revision": page.here.revision,
        "every_citation": page.here.every_citation,
        "twice": page.here.twice,
        "asked": page.asked,
        "done": page.done,
        "disagreements": page.disagreements,
        "alpha": page.alpha.value if page.alpha else None,
        "rule": page.rule,
        "settled": asdict(page.settled),
    }


def assessors_table(page: RoundPage) -> Table[AssessorProgress]:
    """How far each assessor is."""
    columns = columns_from(AssessorProgress, "name topics done asked")
    if page.kind.labels:
        columns.append(Column("unsure", lambda row: row.unsure, "Cannot say", digits=0))
    else:
        columns.append(Column("nuggets", lambda row: row.written, "Nuggets", digits=0))
    columns.append(Column("last_at", _last, "Last"))
    what = "labels given, of those asked for" if page.kind.labels else "topics done, of those asked for"
    caption = f"Assessors of round {page.here.number} of {page.task.name}: {what}"
    return Table(f"{page.name}-assessors", caption, columns, page.assessors)


def topics_table(page: RoundPage) -> Table[TopicProgress]:
    """How far each topic is, and where its assessors differ."""
    columns = columns_from(TopicProgress, "topic_id assessors done asked twice disagreements open")
    caption = f"Topics of round {page.here.number} of {page.task.name}"
    return Table(f"{page.name}-topics", caption, columns, page.topics)


def pairs_table(page: RoundPage) -> Table[PairAgreement]:
    """How far two assessors agree on what both labelled."""
    columns = columns_from(
        PairAgreement,
        Column("first", lambda row: row.first.name, "First"),
        Column("second", lambda row: row.second.name, "Second"),
        Column("items", lambda row: row.documents, "Items", digits=0),
        "raw.value plain.value plain.low plain.high",
        Column("linear", lambda row: row.linear.value, "κ, linear", digits=3),
    )
    caption = f"Agreement in round {page.here.number} of {page.task.name}: Cohen's κ with its 95% interval"
    return Table(f"{page.name}-agreement", caption, columns, page.pairs)


def lists_table(page: RoundPage) -> Table[ListAgreement]:
    """How many nuggets two assessors wrote for a topic, and how many alike."""
    caption = f"Topics of round {page.here.number} of {page.task.name} that two assessors have"
    return Table(f"{page.name}-lists", caption, columns_from(ListAgreement), page.lists)


FILES = Files(
    facts=lambda page: {
        **facts(page),
        "assessors": assessors_table(page).facts(),
        "topics": topics_table(page).facts(),
        "pairs": pairs_table(page).facts(),
        "lists": lists_table(page).facts(),
    },
    tables={"assessors": assessors_table, "topics": topics_table, "pairs": pairs_table, "lists": lists_table},
)


def _last(row: AssessorProgress) -> Any:
    return row.last_at.astimezone(UTC).isoformat(timespec="seconds") if row.last_at else None


@dataclass(frozen=True, slots=True)
class RoundRow:
    """A round in the list."""

    number: Annotated[int, Shown(key="round")]
    kind: Annotated[str, Shown("What is made")]
    state: str
    topics: int
    assessors: int
    asked: Annotated[int, Shown("Of")]
    done: int
    created_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundList:
    """The rounds of a task, newest first; has_nuggets: whether there is a nugget set to assign."""

    task: str
    slug: str
    rounds: tuple[RoundRow, ...]
    assessors: dict[int, str]
    """Those whose links work."""
    runs: tuple[RunChoice, ...]
    topics: int
    has_nuggets: bool
    may_change: bool


def round_list(session: Session, viewer: Viewer, slug: str) -> RoundList:
    """All rounds of a task of answers; raises as `own_task`, and NotFound for a task of rankings."""
    task = policy.own_task(session, viewer, slug, policy.knows)
    if task.kind != "answers":
        raise NotFound(f"{task.name} takes rankings, whose documents are judged in pools.")
    found = session.scalars(
        select(LabellingRound).where(LabellingRound.task_id == task.id).order_by(LabellingRound.number.desc())
    ).all()
    judged = scoring.newest(session, task.id)
    topics = session.scalar(select(func.count()).select_from(Topic).where(Topic.task_id == task.id))
    return RoundList(
        task=task.name,
        slug=task.slug,
        rounds=tuple(_row(session, here) for here in found),
        assessors=judging_services.able(session, task.id),
        runs=rounds.runs(session, task.id),
        topics=topics or 0,
        has_nuggets=judged is not None and bool(judged.judgments.nuggets.topics),
        may_change=policy.coordinates(viewer, task.id),
    )


def rounds_table(page: RoundList) -> Table[RoundRow]:
    """The rounds of a task."""
    columns = columns_from(RoundRow, "number kind state topics assessors done asked")
    caption = f"Rounds of labelling of {page.task}, newest first"
    return Table(f"{page.slug}-labelling", caption, columns, page.rounds)


def index_facts(page: RoundList) -> dict[str, Any]:
    """The rounds as plain values."""
    return {"task": page.slug, "rounds": rounds_table(page).facts()}


INDEX_FILES = Files(facts=index_facts, tables={"rounds": rounds_table})


def _row(session: Session, here: LabellingRound) -> RoundRow:
    topics = {topic.topic_id: topic for topic in rounds.topics_of(session, here.id)}
    deciding = session.scalars(
        select(Assessor.id).where(
            Assessor.task_id == here.task_id, Assessor.role == judging_services.ADJUDICATOR
        )
    ).all()
    shares = [share for share in rounds.shares_of(session, here.id) if share.assessor_id not in deciding]
    if here.kind == NUGGETS:
        asked, done = len(shares), sum(share.done_at is not None for share in shares)
    else:
        asked = sum(size(here, topics[share.topic_id], share) for share in shares)
        done = labels.count(session, here.id)
    return RoundRow(
        number=here.number,
        kind=KINDS[here.kind].title,
        state=here.state,
        topics=len(topics),
        assessors=len({share.assessor_id for share in shares}),
        asked=asked,
        done=done,
        created_at=here.created_at,
    )


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
    for item, given in made.disagreements.items():
        by_name = sorted(given, key=lambda label: label.assessor)
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
        topic=scored_topics.find_topic(session, task, item.topic_id),
        shown=read_item(session, task, made.here.kind, made.topics[item.topic_id], item),
        following=next(others, None),
    )
