"""From the labels of a pool to one grade a document: by a rule, of people or of one machine, never both."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from sqlalchemy import select
from sqlalchemy.orm import Session

from leaderboard.db.tables import PoolTopic, Task
from leaderboard.errors import Conflict, Invalid
from leaderboard.services import kinds, revisions
from leaderboard.services.assessors import log
from leaderboard.services.assessors.log import JudgedPool, PoolFacts
from leaderboard.services.judging import GivenLabel, Place, settled_by
from leaderboard.services.policy import Viewer
from leaderboard.services.pools import previews as pool_documents
from leaderboard.services.pools.previews import PoolDocument
from leaderboard.services.qrels import files, lines
from leaderboard.services.qrels.files import MAIN, Change, PreparedQrels
from leaderboard.stats.assessors import RULES, RuleKey
from leaderboard.trec.qrels.packed_judgments import unpack_judgments
from leaderboard.trec.read.lines import bytes_of

UNJUDGED = -1
PEOPLE = "human"
MACHINE = "machine:"
"""What comes before a machine's name in a choice of whose labels are settled."""
MODES = {
    "merge": "the newest revision with these added; of the same document these count",
    "replace": "these alone; nothing of the newest revision stays",
}
BLANKS = {"out": "left out: not judged", "unjudged": "grade −1: pooled, not judged"}
"""What becomes of documents of the pool without a grade."""
OPEN = {**BLANKS, "majority": "by majority, of equally many the lower"}
"""What becomes of documents that the rule leaves open."""
DEFAULT_RULE: RuleKey = "adjudicated"
WORDS = {PEOPLE: "people", "click": "clicks", "machine": "a machine"}
_RULES: dict[str, RuleKey] = {str(key): key for key in RULES}

Bodies = tuple[tuple[str, bytes], ...]
"""Topic and packed documents of a pool."""


@dataclass(frozen=True, slots=True)
class Choice:
    """How labels are settled, and how they become a revision."""

    rule: str = DEFAULT_RULE
    whose: str = PEOPLE
    """`human`, or `machine:` and the name of one machine."""
    open: str = "out"
    skipped: str = "out"
    unjudged: str = "out"
    reused: bool = True
    """Whether the judgments that the pool uses again are among them."""
    mode: str = "merge"

    @property
    def origin(self) -> str:
        """Whose judgments these are: of people or of a machine."""
        return PEOPLE if self.whose == PEOPLE else "machine"

    @property
    def machine(self) -> str:
        """The name of the machine; empty for people."""
        return self.whose.removeprefix(MACHINE) if self.origin == "machine" else ""


@dataclass(frozen=True, slots=True)
class Counts:
    """What became of the documents of a pool."""

    settled: int
    """With a grade from labels."""
    disagreed: int
    """Of all that were judged, those with different grades."""
    open: int
    """That the rule leaves without a grade."""
    skipped: int
    """Shown, but graded by nobody."""
    unjudged: int
    """Not shown to anybody yet."""
    reused: int
    """With an earlier judgment, used again."""
    undrawn: int
    """That a sample left out: grade −1."""


@dataclass(frozen=True, slots=True, eq=False)
class SettledPool:
    """The judgments that a choice makes of a pool's labels."""

    pool: PoolFacts
    choice: Choice
    whose: tuple[tuple[str, str], ...]
    """Every choice of whose labels, and how a form calls it."""
    judgments: dict[str, dict[bytes, int]]
    """Topic -> docno -> grade; without topics that have none."""
    documents: dict[Place, PoolDocument]
    """Of the pool: stratum and probability of each."""
    counts: Counts
    line: str
    """The line of judgments they belong to: the board's where that is of the same origin, else their own."""
    board_origin: str
    """Who judged the board's line, in words; empty where there is none."""
    before: int | None
    """Number of the line's newest revision; None where there is none."""
    prepared: PreparedQrels | None
    """The revision there would be; None where there is no judgment."""
    change: Change
    """Of the newest revision by that one."""
    highest_before: int
    """The highest grade of the newest revision; 0 where there is none."""

    @property
    def is_other_scale(self) -> bool:
        """Whether these are added to judgments with higher grades than assessors could give."""
        highest = self.pool.scale[-1].value
        return self.choice.mode == "merge" and self.highest_before > highest and self.choice.origin == PEOPLE

    @property
    def grades(self) -> dict[int, int]:
        """Grade -> how many documents have it."""
        counted = Counter(grade for topic in self.judgments.values() for grade in topic.values())
        return dict(sorted(counted.items()))

    @property
    def is_boards(self) -> bool:
        """Whether the board will rest on them."""
        return self.line == MAIN

    @property
    def size(self) -> int:
        """How many judgments there are."""
        return sum(map(len, self.judgments.values()))

    @property
    def is_sampled(self) -> bool:
        """Whether documents were drawn with other probabilities than 1."""
        return any(document.stratum or document.probability != 1.0 for document in self.documents.values())


@dataclass
class _Sorting:
    """Grades of the documents of a pool as they are collected."""

    grades: dict[Place, int] = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter)

    def put(self, place: Place, kind: str, fate: str) -> None:
        """Count a document without a grade, and give it −1 where that is asked for."""
        self.counts[kind] += 1
        if fate == "unjudged":
            self.grades[place] = UNJUDGED


def settled_pool(session: Session, viewer: Viewer, slug: str, number: int, choice: Choice) -> SettledPool:
    """The judgments a choice makes of the labels that are there now.

    Raises Invalid for a choice that cannot be, NotFound, SignInNeeded or Forbidden unless the viewer
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


def keep(
    session: Session,
    viewer: Viewer,
    slug: str,
    number: int,
    choice: Choice,
    note: str,
    other_scale: bool = False,
) -> str:
    """Keep the settled judgments as a draft of a revision; the token it is found by.

    What it changes is looked at before it is published, see `revisions.drafts`. other_scale confirms that
    labels are added to judgments with higher grades than assessors could give. Raises Conflict where that is
    not confirmed and where there is no judgment, Invalid without a note, and as `settled_pool`.
    """
    settled = settled_pool(session, viewer, slug, number, choice)
    if settled.prepared is None:
        raise Conflict("There is no judgment to publish yet.")
    if settled.is_other_scale and not other_scale:
        raise Conflict(
            f"Assessors could give grades up to {settled.pool.scale[-1].value}, but revision "
            f"{settled.before} has grades up to {settled.highest_before}. Confirm that the labels may be "
            "added on their own scale, or replace the revision."
        )
    return revisions.keep_draft(
        session,
        viewer,
        slug,
        settled.prepared,
        note,
        origin=choice.origin,
        origin_name=choice.machine,
        line=settled.line,
    )


def _line(session: Session, task: Task, choice: Choice) -> tuple[str, str]:
    """The line that the judgments belong to, and who judged the board's."""
    board = lines.find(session, task.id, MAIN)
    if board is None:
        # The board of a task of answers never rests on grades of documents.
        return MAIN if kinds.of(task.kind).ranks_documents else choice.machine or WORDS[PEOPLE], ""
    words = f"the machine {board.origin_name}" if board.origin == "machine" else WORDS[board.origin]
    same = board.origin == choice.origin and board.origin_name in ("", choice.machine)
    return (MAIN if same and board.kind == "graded" else choice.machine or WORDS[PEOPLE]), words


def _whose(pool: JudgedPool) -> tuple[tuple[str, str], ...]:
    machines = sorted({label.judge.machine for label in pool.labels if label.judge.is_machine})
    return ((PEOPLE, "people"), *((f"{MACHINE}{name}", f"the machine {name}") for name in machines))


def _check(choice: Choice, whose: Mapping[str, str]) -> None:
    known = (
        (choice.rule, RULES),
        (choice.whose, whose),
        (choice.open, OPEN),
        (choice.skipped, BLANKS),
        (choice.unjudged, BLANKS),
        (choice.mode, MODES),
    )
    for value, values in known:
        if value not in values:
            raise Invalid(f"{value[:40]!r} is not one of {', '.join(values)}.")


def documents_of(session: Session, pool_id: int) -> dict[Place, PoolDocument]:
    """The documents of a pool by topic and docno; one statement."""
    return unpacked(bodies_of(session, pool_id))


def bodies_of(session: Session, pool_id: int) -> Bodies:
    """The documents of a pool as they are stored; one statement."""
    rows = session.execute(select(PoolTopic.topic_id, PoolTopic.body).where(PoolTopic.pool_id == pool_id))
    return tuple((topic_id, body) for topic_id, body in rows)


def unpacked(bodies: Bodies) -> dict[Place, PoolDocument]:
    """The documents that bodies_of gave, by topic and docno."""
    return {
        (topic_id, document.docno): document
        for topic_id, body in bodies
        for document in pool_documents.unpack(body)
    }


def settled_grades(
    pool: JudgedPool, documents: Mapping[Place, PoolDocument], choice: Choice
) -> dict[Place, int]:
    """The grades that a choice makes of the labels of a pool with these documents, those used again too."""
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
    """The labels that count: of people with adjudicators' decisions, or of one machine."""
    if choice.origin == PEOPLE:
        return (*pool.labels_of("human"), *pool.decisions)
    return tuple(label for label in pool.labels_of("machine") if label.judge.machine == choice.machine)


def _spared(
    mode: str, before: Mapping[str, Mapping[bytes, int]], grades: Mapping[Place, int]
) -> dict[Place, int]:
    """The grades without those that would say of a judged document that it is not judged."""
    return {
        (topic_id, docno): grade
        for (topic_id, docno), grade in grades.items()
        if mode != "merge" or grade != UNJUDGED or bytes_of(docno) not in before.get(topic_id, {})
    }
