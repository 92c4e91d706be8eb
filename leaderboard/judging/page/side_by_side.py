"""The pages of side-by-side comparisons, for organisers and assessors."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC
from typing import Annotated, Any, NamedTuple

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from leaderboard.answers.ops import answers as answers_services
from leaderboard.core import policy, shown_names
from leaderboard.core.policy import TaskAccess, Viewer
from leaderboard.db.tables import Assessor, Run, SideBySide, SideBySidePair, Task, Topic
from leaderboard.errors import NotFound
from leaderboard.judging.ops import judging, side_by_side
from leaderboard.judging.ops.side_by_side import Answer, AskedQuestion, Pair, Questions, pair_of
from leaderboard.judging.page.judging import DocumentReading, ReadDocument
from leaderboard.scoring.ops.evaluations.shown import means, shown_edition
from leaderboard.scoring.ops.rankings import ordered
from leaderboard.stats.assessors import Mean, Satisfaction, Votes, majority_sign, satisfaction, votes
from leaderboard.tables.record import Column, Files, Place, Shown, Table, columns_from, counted
from leaderboard.trec.documents.marking import Piece, snippet

LEFT, RIGHT = "left", "right"


@dataclass(frozen=True, slots=True)
class TopicAnswers:
    """Answers on one topic."""

    topic_id: str
    title: str
    first: int
    equal: int
    second: int
    sign: int
    """1 if more answers prefer the first run, -1 the second, 0 neither."""
    satisfaction: tuple[float, float]
    """Means over the answers."""


@dataclass(frozen=True, eq=False)
class Results:
    """Results of a comparison of two runs."""

    task: str
    slug: str
    run_ids: Pair
    names: tuple[str, str]
    topics: tuple[TopicAnswers, ...]
    """In the task's order."""
    by_topic: Votes
    by_answer: Votes
    by_side: Votes
    """Wins of the left over the right, whichever run it was."""
    satisfaction: Satisfaction
    answers: int
    assessors: int
    outstanding: int
    """Outstanding answers."""

    @property
    def tables(self) -> dict[str, Table[Any]]:
        """The tables by name."""
        return {name: make(self) for name, make in RESULTS_TABLES.items()}


class Count(NamedTuple):
    """A count with its interpretation."""

    counted: str
    votes: Votes
    meaning: str


class Rating(NamedTuple):
    """Mean satisfaction with a run, or the difference of two."""

    name: Annotated[str, Shown(key="with")]
    mean: Mean
    is_difference: bool = False


def results(
    session: Session, viewer: Viewer, task: Task, access: TaskAccess, first: int, second: int
) -> Results | None:
    """The results of two runs; None without answers, or if they are hidden from this viewer.

    Organisers always see them. Others see them if scores by topic are visible to them, once no answer is
    outstanding: an assessor who still has to answer must not know the other answers.
    """
    pair = pair_of(first, second)
    given = side_by_side.pair_answers(session, task.id, pair)
    if not given or not access.details:
        return None
    left = outstanding(side_by_side.pairs(session, task.id, pair), given)
    if left and not access.organises:
        return None
    rows = session.execute(select(Run.id, Run.name).where(Run.task_id == task.id, Run.id.in_(pair)))
    shown = shown_names.shown_names(session, viewer, task)
    names = {row.id: shown.run(row.id, row.name) for row in rows}
    topics = _by_topic(session, task, given, first)
    means = [topic.satisfaction for topic in topics]
    return Results(
        task=task.name,
        slug=task.slug,
        run_ids=(first, second),
        names=(names[first], names[second]),
        topics=topics,
        by_topic=votes([topic.sign for topic in topics]),
        by_answer=votes([sign(answer, first) for answer in given]),
        by_side=votes([sign(answer, answer.left_run_id) for answer in given]),
        satisfaction=satisfaction(
            [first_mean for first_mean, _ in means], [second_mean for _, second_mean in means]
        ),
        answers=len(given),
        assessors=len({answer.assessor_id for answer in given}),
        outstanding=left,
    )


def results_of(session: Session, viewer: Viewer, slug: str, first: int, second: int) -> Results:
    """The results of two runs of a task; raises NotFound if this viewer has none."""
    task, access = policy.visible_task(session, viewer, slug)
    page = results(session, viewer, task, access, first, second) if first != second else None
    if page is None:
        raise NotFound(f"No assessor has compared these two runs of {task.name} side by side.")
    return page


def sign(answer: Answer, run_id: int) -> int:
    """1 if the answer prefers that run, -1 if it prefers the other, 0 if neither."""
    if answer.verdict not in (LEFT, RIGHT):
        return 0
    preferred = answer.left_run_id if answer.verdict == LEFT else answer.right_run_id
    return 1 if preferred == run_id else -1


def majorities(given: Sequence[Answer], run_id: int) -> dict[str, int]:
    """Topic -> 1 if most of its answers prefer that run, -1 the other one, 0 neither."""
    signs: dict[str, list[int]] = {}
    for answer in given:
        signs.setdefault(answer.topic_id, []).append(sign(answer, run_id))
    return {topic: majority_sign(of_topic) for topic, of_topic in signs.items()}


def outstanding(asked: Sequence[SideBySidePair], given: Sequence[Answer]) -> int:
    """Number of outstanding answers."""
    answered = {answer.place for answer in given}
    places = (
        (row.assessor_id, topic, (row.first_run_id, row.second_run_id))
        for row in asked
        for topic in row.topics
    )
    return sum(place not in answered for place in places)


def results_facts(page: Results) -> dict[str, Any]:
    """The results as plain values at full precision."""
    return {
        "task": page.slug,
        "a": {"run": page.names[0], "run_id": page.run_ids[0]},
        "b": {"run": page.names[1], "run_id": page.run_ids[1]},
        "answers": page.answers,
        "assessors": page.assessors,
        "outstanding": page.outstanding,
        "by_topic": page.by_topic._asdict(),
        "by_answer": page.by_answer._asdict(),
        "left_or_right": page.by_side._asdict(),
        "satisfaction": {
            name: {"mean": mean.value, "low": mean.low, "high": mean.high}
            for name, mean in zip(("a", "b", "difference"), page.satisfaction, strict=True)
        },
        "topics": {
            topic.topic_id: {
                "a": topic.first,
                "equal": topic.equal,
                "b": topic.second,
                "satisfaction": list(topic.satisfaction),
            }
            for topic in page.topics
        },
    }


def topics_table(page: Results) -> Table[TopicAnswers]:
    """The answers by topic."""
    first, second = page.names
    columns: list[Column[TopicAnswers]] = [
        Column("topic", lambda row: row.topic_id, "Topic"),
        Column("title", lambda row: row.title, "Title", shown=~Place.PRINT),
        Column(f"for {first}", lambda row: row.first, f"Prefer {first}", digits=0),
        Column("equal", lambda row: row.equal, "Equal", digits=0),
        Column(f"for {second}", lambda row: row.second, f"Prefer {second}", digits=0),
        Column("preferred", lambda row: preferred(page, row), "Preferred", shown=~Place.PAGE),
        Column(
            f"satisfaction with {first}", lambda row: row.satisfaction[0], f"Satisfaction {first}", digits=2
        ),
        Column(
            f"satisfaction with {second}", lambda row: row.satisfaction[1], f"Satisfaction {second}", digits=2
        ),
    ]
    test, means = page.by_topic, page.satisfaction
    caption = (
        f"{page.task}: {first} and {second} side by side, unlabelled; answers of {page.assessors} assessors: "
        f"{page.answers}, topics: {len(page.topics)}. {first} is preferred on {test.wins} topics, "
        f"{second} on {test.losses}, neither on {test.ties} (exact sign test over topics, p = {test.p:.4f}). "
        f"Satisfaction from 0 to 4: {means.first.value:.2f} and {means.second.value:.2f}."
    )
    return Table(_name(page), caption, columns, page.topics)


def counts_table(page: Results) -> Table[Count]:
    """Wins, ties and losses, by topic and by answer."""
    rows = [
        Count("Topics", page.by_topic, "Main test: topics are independent of each other"),
        Count(
            "Answers",
            page.by_answer,
            "Answers on one topic are not independent, so this p is too small where topics have several",
        ),
    ]
    first, second = page.names
    columns: list[Column[Count]] = [
        Column("counted", lambda row: row.counted, "Unit"),
        Column("first", lambda row: row.votes.wins, first, digits=0),
        Column("equal", lambda row: row.votes.ties, "Equal", digits=0),
        Column("second", lambda row: row.votes.losses, second, digits=0),
        Column("p", lambda row: row.votes.p, digits=4),
        Column("meaning", lambda row: row.meaning, "Interpretation", shown=Place.PAGE),
    ]
    caption = (
        f"{counted(page.answers, 'answer')} of {counted(page.assessors, 'assessor')} who saw the first ten "
        "documents of both, unlabelled, in random left-right order. A topic counts for the run that more of "
        "its answers prefer. Ties are left out of the test."
    )
    return Table(f"{_name(page)}-counts", caption, columns, rows)


def satisfaction_table(page: Results) -> Table[Rating]:
    """Mean satisfaction with both runs, and the difference."""
    rows = [
        Rating(page.names[0], page.satisfaction.first),
        Rating(page.names[1], page.satisfaction.second),
        Rating("Difference", page.satisfaction.difference, is_difference=True),
    ]
    columns = columns_from(
        Rating,
        "name mean.value mean.low",
        Column("low", lambda row: row.mean.low, "From", digits=2, shown=~Place.PAGE),
        "mean.high",
    )
    topics = counted(len(page.topics), "topic")
    scale = "Satisfaction from 0 (not at all) to 4 (fully)"
    caption = f"{scale}: means over {topics} with 95% t intervals. Higher is better."
    return Table(f"{_name(page)}-satisfaction", caption, columns, rows)


RESULTS_TABLES: Mapping[str, Callable[[Results], Table[Any]]] = {
    "topics": topics_table,
    "counts": counts_table,
    "satisfaction": satisfaction_table,
}
RESULTS_FILES = Files(facts=results_facts, tables=RESULTS_TABLES)


def preferred(page: Results, topic: TopicAnswers) -> str:
    """The run that most answers on a topic prefer, `equal` if neither."""
    return {1: page.names[0], -1: page.names[1]}.get(topic.sign, "equal")


def _name(page: Results) -> str:
    return f"{page.names[0]}-{page.names[1]}-side-by-side"


def _by_topic(session: Session, task: Task, given: Sequence[Answer], first: int) -> tuple[TopicAnswers, ...]:
    by_topic: dict[str, list[Answer]] = {}
    for answer in given:
        by_topic.setdefault(answer.topic_id, []).append(answer)
    rows = session.execute(
        select(Topic.topic_id, Topic.title)
        .where(Topic.task_id == task.id, Topic.topic_id.in_(by_topic))
        .order_by(Topic.position)
    )
    return tuple(_topic(row.topic_id, row.title, by_topic[row.topic_id], first) for row in rows)


def _topic(topic_id: str, title: str, given: Sequence[Answer], first: int) -> TopicAnswers:
    signs = [sign(answer, first) for answer in given]
    rated = [_rated(answer, first) for answer in given]
    return TopicAnswers(
        topic_id=topic_id,
        title=title,
        first=signs.count(1),
        equal=signs.count(0),
        second=signs.count(-1),
        sign=majority_sign(signs),
        satisfaction=(
            sum(first_rating for first_rating, _ in rated) / len(rated),
            sum(second_rating for _, second_rating in rated) / len(rated),
        ),
    )


def _rated(answer: Answer, first: int) -> tuple[int, int]:
    """Satisfaction with the first run and with the second."""
    left, right = answer.left_satisfaction, answer.right_satisfaction
    return (left, right) if answer.left_run_id == first else (right, left)


@dataclass(frozen=True, slots=True)
class PairRow:
    """Two compared runs with their results so far."""

    run_ids: Pair
    names: tuple[str, str]
    assessors: int
    topics: int
    answers: int
    outstanding: int
    by_topic: Votes
    comparable: Annotated[bool, Shown(key="results", shown=Place.PAGE)]
    """Whether both have scores, so that a page compares them."""


@dataclass(frozen=True, slots=True)
class AssessorRow:
    """An assessor of comparisons; asked counts the answers requested so far."""

    assessor_id: int
    name: str
    able: bool
    """Whether the personal link works."""
    asked: int
    answered: int


@dataclass(frozen=True, slots=True)
class DeskPage:
    """The organiser's page and its options."""

    task: str
    slug: str
    is_open: bool
    """Whether everyone may now see scores by topic, so that finished comparisons are public."""
    pairs: tuple[PairRow, ...]
    assessors: tuple[AssessorRow, ...]
    runs: dict[int, str]
    topics: int
    answers: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LoggedAnswer:
    """An answer with the names of assessor and runs; in_force unless a later one replaced it."""

    answer: SideBySide
    assessor: str
    left_run: str
    right_run: str
    in_force: bool

    @property
    def preferred_run(self) -> str:
        """The better run; empty if neither is."""
        return {"left": self.left_run, "right": self.right_run}.get(self.answer.verdict, "")


@dataclass(frozen=True, slots=True)
class AnswersPage:
    """All answers ever submitted for a task."""

    task: str
    slug: str
    answers: tuple[LoggedAnswer, ...]


def desk_page(session: Session, viewer: Viewer, slug: str) -> DeskPage:
    """A task's comparisons; raises NotFound, SignInNeeded or Forbidden unless the viewer organises it."""
    task = policy.own_task(session, viewer, slug, policy.reads)
    asked, given = side_by_side.pairs(session, task.id), side_by_side.pair_answers(session, task.id)
    topics = session.scalars(select(Topic.id).where(Topic.task_id == task.id)).all()
    return DeskPage(
        task=task.name,
        slug=task.slug,
        is_open=task.visibility == "open",
        pairs=_pairs(session, task, asked, given, _scored(session, viewer, task)),
        assessors=_assessors(session, task, asked, given),
        runs=side_by_side.comparable_runs(session, task.id),
        topics=len(topics),
        answers=len(given),
    )


def desk_facts(page: DeskPage) -> dict[str, Any]:
    """The pairs as plain values."""
    return {"task": page.slug, "pairs": pairs_table(page).facts()}


def pairs_table(page: DeskPage) -> Table[PairRow]:
    """The compared pairs of runs."""
    columns = columns_from(
        PairRow,
        Column("first", lambda row: row.names[0], "First"),
        Column("second", lambda row: row.names[1], "Second"),
        "assessors topics answers outstanding by_topic.wins by_topic.ties by_topic.losses",
        Column(
            "p",
            lambda row: row.by_topic.p,
            words=lambda row: f"{row.by_topic.p:.4f}" if row.answers else None,
            digits=4,
        ),
        "comparable",
        Column("end", lambda row: row.outstanding, "End", shown=Place.PAGE),
    )
    caption = (
        f"{page.task}: runs compared side by side, unlabelled. Wins, ties and losses of the first run, "
        "counted over topics by the majority of answers; p is from the exact sign test over topics."
    )
    return Table(f"{page.slug}-side-by-side", caption, columns, page.pairs)


def assessors_table(page: DeskPage) -> Table[AssessorRow]:
    """The assessors that are asked or available."""
    columns = columns_from(
        AssessorRow,
        "name asked answered",
        Column("link", lambda row: "works" if row.able else "revoked", "Link"),
    )
    caption = "Assessors of this task, and the number of comparisons assigned to each"
    return Table(f"{page.slug}-side-by-side-assessors", caption, columns, page.assessors)


DESK_FILES = Files(facts=desk_facts, tables={"pairs": pairs_table, "assessors": assessors_table})


def answers_page(session: Session, viewer: Viewer, slug: str) -> AnswersPage:
    """Every answer, in order, including those that a later one replaced."""
    task = policy.own_task(session, viewer, slug, policy.reads)
    runs = _names(session, task)
    rows = session.execute(
        select(SideBySide, Assessor.name)
        .join(Assessor, Assessor.id == SideBySide.assessor_id)
        .where(SideBySide.task_id == task.id)
        .order_by(SideBySide.saved_at, SideBySide.id)
    ).all()
    last = {_place(answer): answer.id for answer, _ in rows if not answer.undone}
    in_force = set(last.values())
    answers = tuple(
        LoggedAnswer(
            answer=answer,
            assessor=name,
            left_run=runs[answer.left_run_id],
            right_run=runs[answer.right_run_id],
            in_force=answer.id in in_force,
        )
        for answer, name in rows
    )
    return AnswersPage(task=task.name, slug=task.slug, answers=answers)


def answers_table(page: AnswersPage) -> Table[LoggedAnswer]:
    """Every answer, in order."""
    columns: list[Column[LoggedAnswer]] = [
        Column("saved_at", _saved_at, "Saved"),
        Column("assessor", lambda row: row.assessor, "Assessor"),
        Column("topic", lambda row: row.answer.topic_id, "Topic"),
        Column("left_run", lambda row: row.left_run, "Left"),
        Column("right_run", lambda row: row.right_run, "Right"),
        Column("verdict", lambda row: row.answer.verdict, "Better"),
        Column("preferred_run", lambda row: row.preferred_run, "Preferred"),
        Column("left_satisfaction", lambda row: row.answer.left_satisfaction, "Satisfaction left", digits=0),
        Column(
            "right_satisfaction", lambda row: row.answer.right_satisfaction, "Satisfaction right", digits=0
        ),
        Column("in_force", lambda row: row.in_force, "In force"),
        Column("note", lambda row: row.answer.note, "Note"),
    ]
    caption = f"{page.task}: every answer on which of two rankings is better, in order of submission."
    return Table(f"{page.slug}-side-by-side-answers", caption, columns, page.answers)


def answers_facts(page: AnswersPage) -> dict[str, Any]:
    """Every answer as plain values."""
    return {"task": page.slug, "answers": answers_table(page).facts()}


ANSWERS = Files(facts=answers_facts, tables={"answers": answers_table})


def _saved_at(row: LoggedAnswer) -> str:
    return row.answer.saved_at.astimezone(UTC).isoformat(timespec="seconds")


def _place(row: SideBySide) -> side_by_side.Place:
    return row.assessor_id, row.topic_id, side_by_side.pair_of(row.left_run_id, row.right_run_id)


def _names(session: Session, task: Task) -> dict[int, str]:
    rows = session.execute(select(Run.id, Run.name).where(Run.task_id == task.id))
    return {row.id: row.name for row in rows}


def _scored(session: Session, viewer: Viewer, task: Task) -> set[int]:
    """Scored runs that are not withdrawn."""
    access = policy.access_of(session, viewer, task)
    shown = shown_edition(session, task, access)
    if shown.edition is None:
        return set()
    runs = side_by_side.comparable_runs(session, task.id)
    return set(means(session, shown.edition, access.topic_set, runs, [task.primary_measure]))


def _pairs(
    session: Session, task: Task, asked: Sequence[SideBySidePair], given: Sequence[Answer], scored: set[int]
) -> tuple[PairRow, ...]:
    names = _names(session, task)
    of_pair: dict[Pair, list[SideBySidePair]] = {}
    for row in asked:
        of_pair.setdefault((row.first_run_id, row.second_run_id), []).append(row)
    answered: dict[Pair, list[Answer]] = {}
    for answer in given:
        answered.setdefault(answer.pair, []).append(answer)
    return tuple(
        _pair(pair, names, of_pair.get(pair, []), answered.get(pair, []), scored)
        for pair in of_pair | answered
    )


def _pair(
    pair: Pair,
    names: dict[int, str],
    asked: Sequence[SideBySidePair],
    given: Sequence[Answer],
    scored: set[int],
) -> PairRow:
    return PairRow(
        run_ids=pair,
        names=(names[pair[0]], names[pair[1]]),
        assessors=len({row.assessor_id for row in asked} | {answer.assessor_id for answer in given}),
        topics=len({topic for row in asked for topic in row.topics} | {answer.topic_id for answer in given}),
        answers=len(given),
        outstanding=outstanding(asked, given),
        by_topic=votes(list(majorities(given, pair[0]).values())),
        comparable=scored.issuperset(pair),
    )


def _assessors(
    session: Session, task: Task, asked: Sequence[SideBySidePair], given: Sequence[Answer]
) -> tuple[AssessorRow, ...]:
    able = judging.able(session, task.id)
    rows = (
        AssessorRow(
            assessor_id=assessor.id,
            name=assessor.name,
            able=assessor.id in able,
            asked=sum(len(row.topics) for row in asked if row.assessor_id == assessor.id),
            answered=sum(answer.assessor_id == assessor.id for answer in given),
        )
        for assessor in judging.of_task(session, task.id)
    )
    return tuple(row for row in rows if row.able or row.asked)


SIDES = ("left", "right")
SHOWN = 10
"""Maximum documents of either ranking."""
SNIPPET = 240
OPENED = 4000
"""Characters of a document shown in place; a longer one also has a separate page."""


@dataclass(frozen=True, slots=True)
class ListedDocument(ReadDocument):
    """A document of a ranking; text is its beginning, and length its total number of characters."""

    place: int
    snippet: tuple[Piece, ...]
    length: int


@dataclass(frozen=True, slots=True)
class AnswerSegment:
    """A segment of an answer, and the positions of its cited documents on its side."""

    text: str
    cited: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class _Side:
    """A run's output for the topic: documents and, for an answer, segments that cite them."""

    docnos: tuple[str, ...]
    segments: tuple[AnswerSegment, ...] = ()


@dataclass(frozen=True, slots=True)
class RankingSide:
    """The top documents of a run; for an answer, its segments and cited documents."""

    documents: tuple[ListedDocument, ...]
    segments: tuple[AnswerSegment, ...]


@dataclass(frozen=True, slots=True)
class QuestionPage:
    """Two unlabelled rankings or answers for one topic."""

    mine: Questions
    asked: AskedQuestion
    left: RankingSide
    right: RankingSide
    key: str
    """Key of the next answer, so that a repeated submission is stored once."""

    @property
    def number(self) -> int:
        """Position among the assessor's questions, from 1."""
        return self.mine.asked.index(self.asked) + 1

    @property
    def given(self) -> Answer | None:
        """The answer in force."""
        return self.mine.answer(self.asked)

    @property
    def later(self) -> AskedQuestion | None:
        """The next unanswered one."""
        return self.mine.following(self.asked)


@dataclass(frozen=True, slots=True)
class TextPage:
    """The full text of a document."""

    mine: Questions
    asked: AskedQuestion
    document: ReadDocument


def list_table(mine: Questions) -> Table[AskedQuestion]:
    """All comparisons of the assessor."""
    columns: list[Column[AskedQuestion]] = [
        Column("topic", lambda row: row.topic.topic_id, "Topic"),
        Column("answer", lambda row: "given" if mine.answer(row) else None, "Answer"),
    ]
    caption = "Your comparisons, in the order they are asked"
    return Table("comparisons", caption, columns, mine.asked)


def question_page(session: Session, token: str, item: str) -> QuestionPage:
    """One question; raises NotFound for an invalid link or a question of another assessor."""
    mine = side_by_side.of_link(session, token)
    asked = mine.find(item)
    left, right = (_side(session, mine.task, run_id, asked.topic) for run_id in asked.runs)
    reading = _reading(session, mine, asked, (*left.docnos, *right.docnos))
    return QuestionPage(
        mine=mine,
        asked=asked,
        left=RankingSide(_listed(reading, left.docnos), left.segments),
        right=RankingSide(_listed(reading, right.docnos), right.segments),
        key=f"{item}-{_times(session, asked)}",
    )


def text_page(session: Session, token: str, item: str, side: str, place: int) -> TextPage:
    """A document of one of the rankings; raises NotFound if absent at that position."""
    mine = side_by_side.of_link(session, token)
    asked = mine.find(item)
    docnos = (
        _side(session, mine.task, asked.runs[SIDES.index(side)], asked.topic).docnos if side in SIDES else ()
    )
    if not 1 <= place <= len(docnos):
        raise NotFound("No document at this position.")
    docno = docnos[place - 1]
    return TextPage(mine, asked, _reading(session, mine, asked, [docno]).document(docno))


def _reading(
    session: Session, mine: Questions, asked: AskedQuestion, docnos: Sequence[str]
) -> DocumentReading:
    return DocumentReading.of(session, mine.task, docnos, asked.topic.title, asked.topic.description)


def _listed(reading: DocumentReading, docnos: Sequence[str]) -> tuple[ListedDocument, ...]:
    numbered = ((place, docno, reading.texts.get(docno)) for place, docno in enumerate(docnos, start=1))
    return tuple(
        ListedDocument(
            **reading.fields(docno, OPENED),
            place=place,
            snippet=snippet(document.text, reading.words, SNIPPET) if document else (),
            length=len(document.text) if document else 0,
        )
        for place, docno, document in numbered
    )


def _side(session: Session, task: Task, run_id: int, topic: Topic) -> _Side:
    """The first documents of a ranking; for an answer, its segments and all cited documents in order."""
    if task.kind != "answers":
        return _Side(ordered(session, run_id, topic.topic_id, task.dialect).docnos[:SHOWN])
    answer = answers_services.of_topic(session, run_id, topic.topic_id)
    segments = answer.segments if answer else ()
    docnos = tuple(dict.fromkeys(each.docno for segment in segments for each in segment.citations))
    place = {docno: at for at, docno in enumerate(docnos, start=1)}
    parts = (
        AnswerSegment(segment.text, tuple(place[each.docno] for each in segment.citations))
        for segment in segments
    )
    return _Side(docnos, tuple(parts))


def _times(session: Session, asked: AskedQuestion) -> int:
    """Number of times the question was answered."""
    return session.scalars(
        select(func.count())
        .select_from(SideBySide)
        .where(
            SideBySide.assessor_id == asked.assessor_id,
            SideBySide.topic_id == asked.topic.topic_id,
            SideBySide.left_run_id.in_(asked.pair),
            SideBySide.right_run_id.in_(asked.pair),
        )
    ).one()
