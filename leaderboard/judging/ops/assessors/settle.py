"""Settle the labels of a pool: one grade per document by a rule, from people or one machine, never both."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated

from sqlalchemy import select
from sqlalchemy.orm import Session

from leaderboard.core import kinds
from leaderboard.core.actions import Action
from leaderboard.core.policy import Viewer
from leaderboard.db.tables import PoolTopic, Task
from leaderboard.errors import Conflict, Invalid
from leaderboard.fields import Field
from leaderboard.judging.ops.assessors import log
from leaderboard.judging.ops.assessors.log import JudgedPool, PoolFacts
from leaderboard.judging.ops.judging import GivenLabel, Place, settled_by
from leaderboard.judging.ops.pools import pools
from leaderboard.judging.ops.pools import previews as pool_documents
from leaderboard.judging.ops.pools.previews import PoolDocument
from leaderboard.qrels.ops import revisions
from leaderboard.scoring.ops.qrels import files, lines
from leaderboard.scoring.ops.qrels.files import MAIN, Change, PreparedQrels
from leaderboard.stats.assessors import RULES, RuleKey
from leaderboard.trec.qrels.packed import unpack_judgments
from leaderboard.trec.read.lines import bytes_of

UNJUDGED = -1
PEOPLE = "human"
MACHINE = "machine:"
"""Prefix of a machine's name in a choice of labels."""
MODES = {
    "merge": "add to the newest revision; these labels win for the same document",
    "replace": "replace the newest revision with these labels only",
}
BLANKS = {"out": "left out: not judged", "unjudged": "grade −1: pooled, not judged"}
"""Treatment of documents without a grade."""
OPEN = {**BLANKS, "majority": "by majority; if tied, the lower grade"}
"""Treatment of documents that the rule leaves open."""
DEFAULT_RULE: RuleKey = "adjudicated"
WORDS = {PEOPLE: "people", "click": "clicks", "machine": "a machine"}
_RULES: dict[str, RuleKey] = {str(key): key for key in RULES}

Bodies = tuple[tuple[str, bytes], ...]
"""Topic and packed documents of a pool."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """Choice of how labels are settled and become a revision."""

    rule: Annotated[str, Field(title="Rule for several grades of one document")] = DEFAULT_RULE
    whose: Annotated[str, Field(title="Labels by", help="human, or machine: and the name of a machine.")] = (
        PEOPLE
    )
    open: Annotated[str, Field(title="Documents left undecided by the rule")] = "out"
    skipped: Annotated[str, Field(title="Documents skipped by all assessors")] = "out"
    unjudged: Annotated[str, Field(title="Unjudged documents")] = "out"
    reused: Annotated[
        bool, Field(title="Reused judgments", help="Whether to include the judgments that the pool reuses.")
    ] = True
    mode: Annotated[str, Field(title="The new revision", help="merge or replace.")] = "merge"

    @property
    def origin(self) -> str:
        """Origin of the judgments: people or a machine."""
        return PEOPLE if self.whose == PEOPLE else "machine"

    @property
    def machine(self) -> str:
        """Name of the machine; empty for people."""
        return self.whose.removeprefix(MACHINE) if self.origin == "machine" else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settling(Choice):
    """The settling rule and revision mode, as on the page that publishes, and the change note."""

    note: Annotated[str, Field(title="Change note")]
    other_scale: Annotated[
        bool,
        Field(
            title="Add the labels on their own scale anyway",
            help="Confirms that labels may be added to judgments with higher grades than assessors could "
            "give.",
        ),
    ] = False


@dataclass(frozen=True, slots=True)
class Counts:
    """Counts of a pool's documents by outcome."""

    settled: int
    """Graded by labels."""
    disagreed: int
    """Judged documents with different grades."""
    open: int
    """Left without a grade by the rule."""
    skipped: int
    """Shown but not graded."""
    unjudged: int
    """Not shown yet."""
    reused: int
    """With a reused earlier judgment."""
    undrawn: int
    """Left out by a sample: grade −1."""


@dataclass(frozen=True, slots=True, eq=False)
class SettledPool:
    """The judgments that a choice derives from a pool's labels."""

    pool: PoolFacts
    choice: Choice
    whose: tuple[tuple[str, str], ...]
    """Choices of labels to settle, with their labels in forms."""
    judgments: dict[str, dict[bytes, int]]
    """Topic -> docno -> grade; only topics with judgments."""
    documents: dict[Place, PoolDocument]
    """Stratum and probability of each document of the pool."""
    counts: Counts
    line: str
    """Judgment series they belong to: the board's if it has the same origin, else a separate one."""
    board_origin: str
    """Origin of the board's judgments as text; empty if absent."""
    before: int | None
    """Number of the newest revision of the series; None if absent."""
    prepared: PreparedQrels | None
    """The revision that would result; None without judgments."""
    change: Change
    """Changes from the newest revision to that one."""
    highest_before: int
    """Highest grade of the newest revision; 0 if absent."""

    @property
    def is_other_scale(self) -> bool:
        """Whether the labels are added to judgments with higher grades than assessors could give."""
        highest = self.pool.scale[-1].value
        return self.choice.mode == "merge" and self.highest_before > highest and self.choice.origin == PEOPLE

    @property
    def grades(self) -> dict[int, int]:
        """Grade -> number of documents."""
        counted = Counter(grade for topic in self.judgments.values() for grade in topic.values())
        return dict(sorted(counted.items()))

    @property
    def is_boards(self) -> bool:
        """Whether the board will use these judgments."""
        return self.line == MAIN

    @property
    def size(self) -> int:
        """Number of judgments."""
        return sum(map(len, self.judgments.values()))

    @property
    def is_sampled(self) -> bool:
        """Whether documents have inclusion probabilities other than 1."""
        return any(document.stratum or document.probability != 1.0 for document in self.documents.values())


@dataclass
class _Sorting:
    """Collector of grades of a pool's documents."""

    grades: dict[Place, int] = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter)

    def put(self, place: Place, kind: str, fate: str) -> None:
        """Count a document without a grade, and grade it −1 if requested."""
        self.counts[kind] += 1
        if fate == "unjudged":
            self.grades[place] = UNJUDGED


def settled_pool(session: Session, viewer: Viewer, slug: str, number: int, choice: Choice) -> SettledPool:
    """The judgments that a choice derives from the current labels.

    Raises Invalid for an invalid choice, NotFound, SignInNeeded or Forbidden unless the viewer
    organises the task.
    """
    task, pool = log.judged_pool(session, viewer, slug, number)
    whose = _whose(pool)
    _check(choice, dict(whose))
    documents = documents_of(session, pool.facts.id)
    sorting = _sorted(pool, documents, choice)
    line, board_origin = _line(session, task, choice)
    newest = files.newest(session, task.id, line)
    before = unpack_judgments(newest.packed) if newest is not None else {}
    judgments: dict[str, dict[bytes, int]] = {}
    for (topic_id, docno), grade in sorted(_spared(choice.mode, before, sorting.grades).items()):
        judgments.setdefault(topic_id, {})[bytes_of(docno)] = grade
    prepared = None
    if judgments:
        prepared = revisions.settled(session, task.id, judgments, mode=choice.mode, line=line)
    old = files.of_grades(before, "").facts
    return SettledPool(
        pool=pool.facts,
        choice=choice,
        whose=whose,
        judgments=judgments,
        documents=documents,
        counts=Counts(**{name: sorting.counts[name] for name in Counts.__slots__}),
        line=line,
        board_origin=board_origin,
        before=newest.number if newest is not None else None,
        prepared=prepared,
        change=files.compare(old, prepared.facts if prepared is not None else old),
        highest_before=max((grade for grades in before.values() for grade in grades.values()), default=0),
    )


def keep(session: Session, viewer: Viewer, slug: str, number: int, choice: Settling) -> str:
    """Keep the settled judgments as a draft revision; return its token.

    Its changes are reviewed before it is published, see `revisions.drafts`. Raises Conflict if another
    scale is not confirmed and if there are no judgments, Invalid without a note, and as `settled_pool`.
    """
    settled = settled_pool(session, viewer, slug, number, choice)
    if settled.prepared is None:
        raise Conflict("There are no judgments to publish yet.")
    if settled.is_other_scale and not choice.other_scale:
        raise Conflict(
            f"Assessors could give grades up to {settled.pool.scale[-1].value}, but revision "
            f"{settled.before} contains grades up to {settled.highest_before}. Confirm that the labels may "
            "be added on their own scale, or replace the revision."
        )
    return revisions.keep_draft(
        session,
        viewer,
        slug,
        settled.prepared,
        choice.note,
        origin=choice.origin,
        origin_name=choice.machine,
        line=settled.line,
    )


SETTLE = Action(
    name="settle_pool",
    summary="Create a draft revision from a pool's labels",
    more="Review its changes, then publish or discard it.",
    path="/tasks/<slug>/pools/<id:number>/settle",
    form="/tasks/<slug>/pools/<id:number>/publish",
    page="settled.show",
    may=pools.own_pool,
    record=Settling,
    act=keep,
    status=201,
)


def _line(session: Session, task: Task, choice: Choice) -> tuple[str, str]:
    """The judgment series of the judgments, and the origin of the board's."""
    board = lines.find(session, task.id, MAIN)
    if board is None:
        # The board of an answer task is never based on grades of documents.
        return MAIN if kinds.of(task.kind).ranks_documents else choice.machine or WORDS[PEOPLE], ""
    words = f"the machine {board.origin_name}" if board.origin == "machine" else WORDS[board.origin]
    same = board.origin == choice.origin and board.origin_name in ("", choice.machine)
    return (MAIN if same and board.kind == "graded" else choice.machine or WORDS[PEOPLE]), words


def _whose(pool: JudgedPool) -> tuple[tuple[str, str], ...]:
    machines = sorted({label.judge.machine for label in pool.labels if label.judge.is_machine})
    return ((PEOPLE, "people"), *((f"{MACHINE}{name}", f"the machine {name}") for name in machines))


def _check(choice: Choice, whose: Mapping[str, str]) -> None:
    choices = (
        (choice.rule, RULES),
        (choice.whose, whose),
        (choice.open, OPEN),
        (choice.skipped, BLANKS),
        (choice.unjudged, BLANKS),
        (choice.mode, MODES),
    )
    for value, values in choices:
        if value not in values:
            raise Invalid(f"{value[:40]!r} is not one of {', '.join(values)}.")


def documents_of(session: Session, pool_id: int) -> dict[Place, PoolDocument]:
    """The documents of a pool by topic and docno; one statement."""
    return unpacked(bodies_of(session, pool_id))


def bodies_of(session: Session, pool_id: int) -> Bodies:
    """The documents of a pool in their stored form; one statement."""
    rows = session.execute(select(PoolTopic.topic_id, PoolTopic.body).where(PoolTopic.pool_id == pool_id))
    return tuple((topic_id, body) for topic_id, body in rows)


def unpacked(bodies: Bodies) -> dict[Place, PoolDocument]:
    """The documents returned by bodies_of, by topic and docno."""
    return {
        (topic_id, document.docno): document
        for topic_id, body in bodies
        for document in pool_documents.unpack(body)
    }


def settled_grades(
    pool: JudgedPool, documents: Mapping[Place, PoolDocument], choice: Choice
) -> dict[Place, int]:
    """The grades that a choice derives from the labels of a pool, including reused judgments."""
    return _sorted(pool, documents, choice).grades


def _sorted(pool: JudgedPool, documents: Mapping[Place, PoolDocument], choice: Choice) -> _Sorting:
    labels = _labels(pool, choice)
    settled = settled_by(labels, _RULES[choice.rule])
    sorting = _Sorting()
    for place in settled.open:
        sorting.put(place, "open", choice.open)
    if choice.open == "majority":
        by_majority = settled_by(labels, "majority").grades
        sorting.grades.update({place: by_majority[place] for place in settled.open})
    for place in settled.skipped:
        sorting.put(place, "skipped", choice.skipped)
    sorting.grades.update(settled.grades)
    sorting.counts.update(settled=len(settled.grades), disagreed=len(settled.disagreed))
    judged = {*settled.grades, *settled.open, *settled.skipped}
    for place, document in documents.items():
        if place in judged:
            continue
        if document.grade is None:
            sorting.put(place, "unjudged", choice.unjudged)
            continue
        sorting.counts["reused" if document.grade != UNJUDGED else "undrawn"] += 1
        if choice.reused:
            sorting.grades[place] = document.grade
    return sorting


def _labels(pool: JudgedPool, choice: Choice) -> tuple[GivenLabel, ...]:
    """The labels to settle: of people with adjudicators' decisions, or of one machine."""
    if choice.origin == PEOPLE:
        return (*pool.labels_of("human"), *pool.decisions)
    return tuple(label for label in pool.labels_of("machine") if label.judge.machine == choice.machine)


def _spared(
    mode: str, before: Mapping[str, Mapping[bytes, int]], grades: Mapping[Place, int]
) -> dict[Place, int]:
    """The grades without those that would mark a judged document as unjudged."""
    return {
        (topic_id, docno): grade
        for (topic_id, docno), grade in grades.items()
        if mode != "merge" or grade != UNJUDGED or bytes_of(docno) not in before.get(topic_id, {})
    }
