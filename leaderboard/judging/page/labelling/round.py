"""A labelling round for its organisers: progress, agreement, results."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from itertools import combinations
from typing import Annotated, Any

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from leaderboard.answers.ops.nuggets import scoring
from leaderboard.core import policy
from leaderboard.core.policy import Viewer
from leaderboard.db.tables import Assessor, LabellingRound, LabellingShare, Task, Topic, WrittenNugget
from leaderboard.errors import NotFound
from leaderboard.judging.ops import judging as judging_services
from leaderboard.judging.ops.judging import GivenLabel, by_place
from leaderboard.judging.ops.labelling import decisions as labelling_decisions
from leaderboard.judging.ops.labelling import labels, rounds, settled
from leaderboard.judging.ops.labelling.labels import (
    KINDS,
    NUGGETS,
    OPEN,
    UNSURE,
    LabelItem,
    RoundKind,
    name_of,
    size,
)
from leaderboard.judging.ops.labelling.rounds import RunChoice
from leaderboard.judging.ops.labelling.settled import (
    USUAL,
    RoundLabels,
    round_labels,
    settled_labels,
    settled_nuggets,
)
from leaderboard.judging.page import judging
from leaderboard.judging.page.judging import PairAgreement
from leaderboard.judging.page.labelling.desk import ReadItem, read_item
from leaderboard.scoring.ops import scored_topics
from leaderboard.stats.assessors import Alpha, alpha
from leaderboard.tables.record import Column, Files, Shown, Table, columns_from


@dataclass(frozen=True, slots=True)
class AssessorProgress:
    """One assessor's progress in a round: labels, or topics if nuggets are written."""

    name: Annotated[str, Shown(key="assessor")]
    topics: int
    asked: Annotated[int, Shown("Of")]
    done: int
    unsure: int
    """Labels `cannot say`."""
    written: int
    """Nuggets that count."""
    last_at: datetime | None


@dataclass(frozen=True, slots=True)
class TopicProgress:
    """A topic of a round: assignments, progress and disagreements."""

    topic_id: Annotated[str, Shown(key="topic")]
    assessors: str
    asked: Annotated[int, Shown("Of")]
    done: int
    twice: Annotated[int, Shown("Done twice")]
    """Items labelled by two assessors; 1 if two wrote nuggets."""
    disagreements: Annotated[int, Shown("Disagreements")]
    open: Annotated[int, Shown("Undecided")]
    """Disagreements without a decision."""


def written_of(session: Session, collected: RoundLabels) -> tuple[WrittenNugget, ...]:
    """The nuggets of a round that count; reads nothing for other kinds of rounds."""
    if collected.here.kind != NUGGETS:
        return ()
    return tuple(
        filter(labelling_decisions.stands, labelling_decisions.written_nuggets(session, collected.here.id))
    )


def by_assessor(collected: RoundLabels, written: Sequence[WrittenNugget]) -> tuple[AssessorProgress, ...]:
    """Every assessor of the round except adjudicators, by name."""
    asked = Counter[int]()
    for share in collected.shares:
        asked[share.assessor_id] += _asked(collected, share)
    topics = Counter(share.assessor_id for share in collected.shares)
    given = {
        judge.id: [label for label in collected.labels if label.judge is judge] for judge in collected.judges
    }
    own = {
        judge.id: [nugget for nugget in written if nugget.assessor_id == judge.id]
        for judge in collected.judges
    }
    return tuple(
        AssessorProgress(
            name=judge.name,
            topics=topics[judge.id],
            asked=asked[judge.id],
            done=len(given[judge.id])
            + sum(_is_done(share) for share in collected.shares if share.assessor_id == judge.id),
            unsure=sum(label.grade is None for label in given[judge.id]),
            written=len(own[judge.id]),
            last_at=max(_moments(given[judge.id], own[judge.id]), default=None),
        )
        for judge in collected.judges
        if not judge.is_adjudicator
    )


def by_topic(
    collected: RoundLabels, open_topics: Sequence[str], open_items: Counter[str]
) -> tuple[TopicProgress, ...]:
    """Every topic; open_topics: topics with differing nugget lists, open_items: undecided items by topic."""
    names = {judge.id: judge.name for judge in collected.judges if not judge.is_adjudicator}
    rows = []
    given = Counter(label.topic_id for label in collected.labels)
    twice = Counter(
        topic_id for (topic_id, _), labels in by_place(collected.labels).items() if len(labels) > 1
    )
    differing = Counter(item.topic_id for item in collected.disagreements)
    for topic_id in collected.topics:
        shares = [
            share for share in collected.shares if share.topic_id == topic_id and share.assessor_id in names
        ]
        is_open = topic_id in open_topics
        rows.append(
            TopicProgress(
                topic_id=topic_id,
                assessors=", ".join(names[share.assessor_id] for share in shares),
                asked=sum(_asked(collected, share) for share in shares),
                done=given[topic_id] + sum(map(_is_done, shares)),
                twice=twice[topic_id] or int(collected.here.kind == NUGGETS and len(shares) > 1),
                disagreements=differing[topic_id] or int(is_open),
                open=open_items[topic_id] or int(is_open),
            )
        )
    return tuple(rows)


def _asked(collected: RoundLabels, share: LabellingShare) -> int:
    """Number of items requested from an assessor on a topic: labels, or one list of nuggets."""
    if collected.here.kind == NUGGETS:
        return 1
    return size(collected.here, collected.topics[share.topic_id], share)


def _moments(given: Sequence[GivenLabel], own: Sequence[WrittenNugget]) -> list[datetime]:
    return [*(label.saved_at for label in given), *(nugget.saved_at for nugget in own)]


def _is_done(share: LabellingShare) -> bool:
    return share.done_at is not None


@dataclass(frozen=True, slots=True)
class ListAgreement:
    """Two assessors' nugget lists of one topic: their sizes, and the number of identical texts."""

    topic_id: Annotated[str, Shown(key="topic")]
    first: str
    second: str
    of_first: Annotated[int, Shown("Nuggets by the first")]
    of_second: Annotated[int, Shown("Nuggets by the second")]
    same: Annotated[int, Shown("Same text")]


@dataclass(frozen=True, slots=True)
class SettledCount:
    """Results of a rule: items or topics settled, undecided, and not labelled yet."""

    settled: int
    open: int
    unsure: int
    left: int
    whole: int
    """Answers, or topics, that a revision would contain."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundPage:
    """A round as its organisers see it."""

    task: Task
    here: LabellingRound
    may_change: bool
    may_publish: bool
    assessors: tuple[AssessorProgress, ...]
    topics: tuple[TopicProgress, ...]
    alpha: Alpha | None
    """Ordinal alpha of all labels; None if nuggets are written."""
    pairs: tuple[PairAgreement, ...]
    lists: tuple[ListAgreement, ...]
    rule: str
    settled: SettledCount
    first_open: str | None
    """Name of the first item or topic without a decision."""

    @property
    def kind(self) -> RoundKind:
        """The kind of the round."""
        return KINDS[self.here.kind]

    @property
    def name(self) -> str:
        """Base name of its tables."""
        return f"{self.task.slug}-labelling-{self.here.number}"

    @property
    def is_open(self) -> bool:
        """Whether it accepts labels."""
        return self.here.state == OPEN

    @property
    def asked(self) -> int:
        """Number of items requested."""
        return sum(assessor.asked for assessor in self.assessors)

    @property
    def done(self) -> int:
        """Number of items done."""
        return sum(assessor.done for assessor in self.assessors)

    @property
    def disagreements(self) -> int:
        """Number of items or topics with disagreements."""
        return sum(topic.disagreements for topic in self.topics)


def round_page(session: Session, viewer: Viewer, slug: str, number: int, rule: str = USUAL) -> RoundPage:
    """The current round, settled by a rule; raises as `seen_round`, and Invalid for an unknown rule."""
    task, labelling_round = rounds.seen_round(session, viewer, slug, number)
    collected = round_labels(session, labelling_round)
    written = written_of(session, collected)
    is_written, table = labelling_round.kind == NUGGETS, judging.ratings(collected.labels)
    topics, items = _open(session, collected)
    first_open = next(iter(topics if is_written else items), None)
    return RoundPage(
        task=task,
        here=labelling_round,
        may_change=policy.coordinates(viewer, task.id),
        may_publish=policy.organises(viewer, task.id),
        assessors=by_assessor(collected, written),
        topics=by_topic(collected, topics, Counter(items.values())),
        alpha=None if is_written else alpha(table, "ordinal"),
        pairs=() if is_written else judging.pairs(table, collected.judges),
        lists=tuple(_lists(collected, written)),
        rule=rule,
        settled=_settled(session, collected, rule),
        first_open=first_open,
    )


def _open(session: Session, collected: RoundLabels) -> tuple[tuple[str, ...], dict[str, str]]:
    """Topics with undecided differing lists; names of undecided items, with their topics."""
    if collected.here.kind == NUGGETS:
        return settled_nuggets(session, collected).open, {}
    return (), {name_of(collected.here.secret, item): item.topic_id for item in collected.undecided}


def _settled(session: Session, collected: RoundLabels, rule: str) -> SettledCount:
    if collected.here.kind == NUGGETS:
        lists = settled_nuggets(session, collected)
        return SettledCount(len(lists.topics), len(lists.open), 0, len(lists.left), len(lists.topics))
    labels = settled_labels(collected, rule)
    whole = len(settled.settled_cells(collected, labels))
    return SettledCount(len(labels.labels), len(labels.open), len(labels.unsure), labels.left, whole)


def _lists(collected: RoundLabels, written: Sequence[WrittenNugget]) -> Sequence[ListAgreement]:
    names = {judge.id: judge.name for judge in collected.judges if not judge.is_adjudicator}
    texts: dict[tuple[str, int], set[str]] = {}
    for nugget in written:
        texts.setdefault((nugget.topic_id, nugget.assessor_id), set()).add(nugget.text)
    agreements = []
    for topic_id in collected.topics if collected.here.kind == NUGGETS else ():
        people = [share.assessor_id for share in collected.shares if share.topic_id == topic_id]
        for first, second in combinations([person for person in people if person in names], 2):
            own, others = texts.get((topic_id, first), set()), texts.get((topic_id, second), set())
            both = len(own & others)
            agreements.append(
                ListAgreement(topic_id, names[first], names[second], len(own), len(others), both)
            )
    return agreements


def facts(page: RoundPage) -> dict[str, Any]:
    """The round as plain values."""
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
    """Progress of each assessor."""
    columns = columns_from(AssessorProgress, "name topics done asked")
    if page.kind.labels:
        columns.append(Column("unsure", lambda row: row.unsure, "Cannot say", digits=0))
    else:
        columns.append(Column("nuggets", lambda row: row.written, "Nuggets", digits=0))
    columns.append(Column("last_at", _last, "Last"))
    what = "labels given, of those assigned" if page.kind.labels else "topics done, of those assigned"
    caption = f"Assessors of round {page.here.number} of {page.task.name}: {what}"
    return Table(f"{page.name}-assessors", caption, columns, page.assessors)


def topics_table(page: RoundPage) -> Table[TopicProgress]:
    """Progress and disagreements of each topic."""
    columns = columns_from(TopicProgress, "topic_id assessors done asked twice disagreements open")
    caption = f"Topics of round {page.here.number} of {page.task.name}"
    return Table(f"{page.name}-topics", caption, columns, page.topics)


def pairs_table(page: RoundPage) -> Table[PairAgreement]:
    """Agreement of pairs of assessors on items that both labelled."""
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
    """Sizes of two assessors' nugget lists by topic, and identical nuggets."""
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
    kind: Annotated[str, Shown("Type")]
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
    """Assessors with valid links."""
    runs: tuple[RunChoice, ...]
    topics: int
    has_nuggets: bool
    may_change: bool


def round_list(session: Session, viewer: Viewer, slug: str) -> RoundList:
    """All rounds of an answer task; raises as `own_task`, and NotFound for a ranking task."""
    task = policy.own_task(session, viewer, slug, policy.knows)
    if task.kind != "answers":
        raise NotFound(f"{task.name} takes rankings, whose documents are judged in pools.")
    rows = session.scalars(
        select(LabellingRound).where(LabellingRound.task_id == task.id).order_by(LabellingRound.number.desc())
    ).all()
    judged = scoring.newest(session, task.id)
    topics = session.scalar(select(func.count()).select_from(Topic).where(Topic.task_id == task.id))
    return RoundList(
        task=task.name,
        slug=task.slug,
        rounds=tuple(_row(session, labelling_round) for labelling_round in rows),
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
    """An item with the assessors' labels, and the decision; None if not given yet."""

    name: str
    topic_id: str
    labels: tuple[tuple[str, str], ...]
    """(assessor, label as text)."""
    decision: str | None


@dataclass(frozen=True, slots=True)
class ReadDisagreement:
    """An item with everything needed to decide; following: the next one without a decision."""

    disagreement: ItemDisagreement
    topic: Topic
    shown: ReadItem
    following: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class DisagreementPage:
    """The disagreements of a round, undecided ones first; one: the selected item."""

    task: Task
    here: LabellingRound
    rows: tuple[ItemDisagreement, ...]
    one: ReadDisagreement | None

    @property
    def kind(self) -> RoundKind:
        """The kind of the round."""
        return KINDS[self.here.kind]

    @property
    def open(self) -> int:
        """Number of undecided items."""
        return sum(row.decision is None for row in self.rows)


def disagreement_page(
    session: Session, viewer: Viewer, slug: str, number: int, name: str = ""
) -> DisagreementPage:
    """The list, with the named item; raises NotFound for an unknown item or a round without labels."""
    task, labelling_round = rounds.seen_round(session, viewer, slug, number)
    if labelling_round.kind == NUGGETS:
        raise NotFound(f"Round {number} makes nuggets; their lists are compared topic by topic.")
    collected = round_labels(session, labelling_round)
    disagreements = dict(_disagreements(collected))
    rows = sorted(disagreements, key=lambda row: row.decision is not None)
    opened = None
    if name:
        row = next((row for row in rows if row.name == name), None)
        if row is None:
            raise NotFound("Assessors do not differ on this item, or the round does not have it.")
        opened = _read(session, task, collected, row, disagreements[row], rows)
    return DisagreementPage(task=task, here=labelling_round, rows=tuple(rows), one=opened)


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


def _disagreements(collected: RoundLabels) -> Mapping[ItemDisagreement, LabelItem]:
    words: dict[int | None, str] = {label.value: label.name for label in KINDS[collected.here.kind].labels}
    # `Cannot say` is not a grade.
    words[None] = words.get(UNSURE, "")
    decisions = sorted(collected.decisions, key=lambda label: label.saved_at)
    decided = {collected.items[label.place]: words[label.grade] for label in decisions}
    items = {}
    for item, given in collected.disagreements.items():
        by_name = sorted(given, key=lambda label: label.assessor)
        row = ItemDisagreement(
            name=name_of(collected.here.secret, item),
            topic_id=item.topic_id,
            labels=tuple((label.assessor, words[label.grade]) for label in by_name),
            decision=decided.get(item),
        )
        items[row] = item
    return items


def _read(
    session: Session,
    task: Task,
    collected: RoundLabels,
    row: ItemDisagreement,
    item: LabelItem,
    rows: list[ItemDisagreement],
) -> ReadDisagreement:
    others = (each.name for each in rows if each.decision is None and each is not row)
    return ReadDisagreement(
        disagreement=row,
        topic=scored_topics.find_topic(session, task, item.topic_id),
        shown=read_item(session, task, collected.here.kind, collected.topics[item.topic_id], item),
        following=next(others, None),
    )
