"""What counts on a board: the topics that it scores, its measures, and the runs that teams chose.

A task may have more topics than were judged, and selects those it scores. After it closes, a team's runs are
the marked ones, else the best or the newest.
"""

import hashlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from functools import lru_cache
from typing import Annotated, Any

from sqlalchemy import Select, bindparam, delete, select
from sqlalchemy.orm import Session, aliased

from leaderboard.core import audit, phase_rules, policy
from leaderboard.core.phase_rules import ALL_TOPICS, PUBLIC_TOPICS, PhaseRule, public_part
from leaderboard.core.policy import TaskAccess, Viewer
from leaderboard.core.shown_names import ShownNames
from leaderboard.db.engine import lock_row, now
from leaderboard.db.tables import Edition, Phase, Qrels, QrelsRevision, Run, Task, Topic, TopicSet, Upload
from leaderboard.errors import Conflict, Invalid, NotFound, Problem
from leaderboard.measures.grammar import BoundMeasure
from leaderboard.measures.naming import parse
from leaderboard.scoring.ops.evaluations import editions
from leaderboard.scoring.ops.evaluations.shown import Basis, ShownEdition, means
from leaderboard.scoring.ops.qrels import files
from leaderboard.scoring.ops.qrels.files import MAIN
from leaderboard.tables.record import Place, Shown


@dataclass(frozen=True, slots=True)
class MeasureColumn:
    """A measure as a column: canonical key, long title and number format."""

    key: Annotated[str, Shown(key="measure")]
    title: str
    direction: Annotated[str, Shown(shown=Place.DATA)]
    digits: int
    version: Annotated[int, Shown(shown=Place.DATA)]
    aggregate: str
    """mean or sum: how topic scores are aggregated."""

    @property
    def short(self) -> str:
        """The short name, by default the key."""
        return short_name(self.key)

    @property
    def lower_is_better(self) -> bool:
        """Whether lower values are better."""
        return self.direction == "lower"

    @property
    def sign(self) -> int:
        """Factor that makes higher values better: -1 if lower is better, else 1."""
        return -1 if self.lower_is_better else 1


def column(bound: BoundMeasure) -> MeasureColumn:
    """A measure as a column."""
    measure = bound.measure
    return MeasureColumn(
        bound.key, measure.title, measure.direction, measure.digits, measure.version, measure.aggregate
    )


@lru_cache(maxsize=1024)
def column_of(key: str) -> MeasureColumn:
    """The column of a measure key; cached, since a key always means the same."""
    return column(parse(key))


@lru_cache(maxsize=1024)
def short_name(key: str) -> str:
    """The short name of a measure of answers with parameters; its key if it has none.

    >>> short_name("NuggetRecall(set='vital',strict=1)"), short_name("P(rel=2)@5")
    ('V_strict', 'P(rel=2)@5')
    """
    if "(" not in key:
        return key
    called = getattr(parse(key).measure, "called", ())
    return next((name for name, form in called if parse(form).key == key), key)


def ranked_by(by: MeasureColumn) -> str:
    """A run's value by the measure as text, such as `mean AP`."""
    words = {"mean": f"mean {by.short}", "sum": f"{by.short}, summed over topics"}
    words["geometric"] = f"{by.short}, the geometric mean over topics"
    words["micro"] = f"{by.short}, all topics pooled"
    return words.get(by.aggregate, by.short)


RANKED_KIND = "official"
NOT_CHOSEN = "not chosen"
"""Kind shown for an official run that does not count and is therefore unranked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChosenRun:
    """A candidate run: team, whether it is marked, public score (higher is better).

    is_late: received after the close; counts only if too few runs were in time.
    """

    run_id: int
    team_id: int
    is_marked: bool = False
    score: float | None = None
    is_late: bool = False


def counting(runs: Iterable[ChosenRun], most: int | None, unmarked: str) -> frozenset[int]:
    """The runs that count, at most `most` of a team (None: all of them).

    If a team marked runs, these count. Otherwise its best by score count (unmarked is `best`; ties in order
    of submission, unscored runs last) or its newest (`newest`). With too many marked runs, the same rule
    selects among them. Late runs fill the remaining places.
    """
    if most is None:
        return frozenset(run.run_id for run in runs)
    order: Callable[[ChosenRun], tuple[Any, ...]] = _best_first if unmarked == "best" else _newest_first
    teams: dict[int, list[ChosenRun]] = {}
    for run in runs:
        teams.setdefault(run.team_id, []).append(run)
    chosen: set[int] = set()
    for own in teams.values():
        in_time = _of_team([run for run in own if not run.is_late], order)[:most]
        late = _of_team([run for run in own if run.is_late], order)[: most - len(in_time)]
        chosen.update(run.run_id for run in (*in_time, *late))
    return frozenset(chosen)


def _of_team(own: list[ChosenRun], order: Callable[[ChosenRun], tuple[Any, ...]]) -> list[ChosenRun]:
    return sorted([run for run in own if run.is_marked] or own, key=order)


def _best_first(run: ChosenRun) -> tuple[bool, float, int]:
    return run.score is None, -(run.score or 0.0), run.run_id


def _newest_first(run: ChosenRun) -> tuple[int]:
    return (-run.run_id,)


def is_over(session: Session, phase_id: int, at: datetime | None = None) -> bool:
    """Whether the closing time of a phase has passed, at a given time or now."""
    closes = session.scalar(select(Phase.closes_at).where(Phase.id == phase_id))
    return closes is not None and closes <= (at or now(session))


def not_chosen(session: Session, task: Task, at: datetime | None = None) -> frozenset[int]:
    """Official runs on the board that do not count; empty before their phase closes.

    Teams choose per phase. At most four statements, none if all runs of the task count.
    """
    if task.final_runs is None:
        return frozenset()
    is_late = (Upload.created_at >= Phase.closes_at).label("is_late")
    runs = session.execute(
        select(Run.id, Run.team_id, Run.phase_id, Run.final_at, is_late)
        .join(Phase, Phase.id == Run.phase_id)
        .join(Upload, Upload.id == Run.upload_id)
        .where(
            Run.task_id == task.id,
            Run.kind == RANKED_KIND,
            Run.withdrawn_at.is_(None),
            Phase.closes_at <= (at or now(session)),
        )
    ).all()
    scores = _public_scores(session, task) if runs and task.unmarked == "best" else {}
    phases: dict[int, list[ChosenRun]] = {}
    for run in runs:
        is_marked, score = run.final_at is not None, scores.get(run.phase_id, {}).get(run.id)
        candidate = ChosenRun(
            run_id=run.id, team_id=run.team_id, is_marked=is_marked, score=score, is_late=run.is_late
        )
        phases.setdefault(run.phase_id, []).append(candidate)
    chosen = (counting(candidates, task.final_runs, task.unmarked) for candidates in phases.values())
    return frozenset(run.id for run in runs) - frozenset[int]().union(*chosen)


def shown_kind(run_id: int, kind: str, left_out: frozenset[int]) -> str:
    """The kind shown for a run, given the runs that do not count."""
    return NOT_CHOSEN if run_id in left_out else kind


def rule_in_words(task: Task) -> str:
    """The rule for the runs that count, as a sentence for participants; empty if all count."""
    if task.final_runs is None:
        return ""
    is_one = task.final_runs == 1
    marked = "the run that it marked" if is_one else f"up to {task.final_runs} runs that it marked"
    qualifier = "by the public score" if task.unmarked == "best" else "that it sent"
    which = {"best": "best", "newest": "newest"}[task.unmarked]
    others = f"its {which} {qualifier}" if is_one else f"its {task.final_runs} {which} {qualifier}"
    return f"At the end count, of each team, {marked} before the close; of a team that marked none, {others}."


def _public_scores(session: Session, task: Task) -> dict[int, dict[int, float]]:
    """Phase id -> run id -> score (higher is better), on the public topics of a blind phase, else on all."""
    edition = session.scalar(select(Edition).where(Edition.task_id == task.id, Edition.state == "current"))
    if edition is None:
        return {}
    key = edition.primary_measure
    sign = column_of(key).sign
    sets = {rule.id: _scored_on(rule, edition) for rule in phase_rules.rules_of(session, task)}
    scores = {
        name: {
            run_id: sign * values[key]
            for run_id, values in means(session, edition, name, keys=(key,)).items()
        }
        for name in set(sets.values())
    }
    return {phase_id: scores[name] for phase_id, name in sets.items()}


def _scored_on(rule: PhaseRule, edition: Edition) -> str:
    public = phase_rules.public_part(rule.topic_set)
    return public if rule.visibility == "blind" and public in edition.topic_sets else rule.topic_set


def put_topic_set(
    session: Session, task: Task, name: str, topic_ids: list[str] | None, seed: str = ""
) -> TopicSet:
    """Create or replace the task's topic set of that name."""
    named = (TopicSet.task_id == task.id, TopicSet.name == name)
    topic_set = session.scalar(select(TopicSet).where(*named))
    if topic_set is None:
        topic_set = TopicSet(task_id=task.id, name=name)
        session.add(topic_set)
    topic_set.topics, topic_set.seed = topic_ids, seed
    session.flush()
    return topic_set


def put_public(session: Session, task: Task, name: str) -> bool:
    """Create the public part of a set if absent; public topics stay public. Returns whether created."""
    if name == ALL_TOPICS:
        return draw_topic_set(session, task)
    public = public_part(name)
    named = (TopicSet.task_id == task.id, TopicSet.name == public)
    if session.scalar(select(TopicSet.id).where(*named)) is not None:
        return False
    whole = session.scalar(select(TopicSet.topics).where(TopicSet.task_id == task.id, TopicSet.name == name))
    seed = f"{task.slug} {name}"
    put_topic_set(session, task, public, half(seed, whole or topic_set_ids(session, task)), seed)
    return True


def drop_topic_set(session: Session, task: Task, name: str) -> None:
    """Delete a set and its public part."""
    named = TopicSet.name.in_((name, public_part(name)))
    session.execute(delete(TopicSet).where(TopicSet.task_id == task.id, named))


def topic_set_ids(session: Session, task: Task) -> list[str]:
    """The ids of the task's topics, in order."""
    return list(
        session.scalars(select(Topic.topic_id).where(Topic.task_id == task.id).order_by(Topic.position))
    )


def read_topic_set(session: Session, task: Task, text: str) -> list[str]:
    """The topics in a list separated by spaces, commas or newlines; raises Invalid for unknown ones."""
    topic_ids = topic_set_ids(session, task)
    requested = dict.fromkeys(text.replace(",", " ").split())
    unknown = [topic for topic in requested if topic not in set(topic_ids)]
    if unknown:
        problems = [
            Problem("is not a topic of this task.", "Use an id from the list of topics.", value=topic[:80])
            for topic in unknown[:25]
        ]
        raise Invalid("Some topics do not exist in this task.", problems)
    return [topic for topic in topic_ids if topic in requested]


def find_public(session: Session, task: Task) -> TopicSet | None:
    """The task's public topics; None if never drawn."""
    return session.scalar(select(TopicSet).where(TopicSet.task_id == task.id, TopicSet.name == PUBLIC_TOPICS))


def draw_topic_set(session: Session, task: Task) -> bool:
    """Draw the public half if not drawn before; returns whether it was drawn."""
    if find_public(session, task) is not None:
        return False
    drawn = half(task.slug, topic_set_ids(session, task))
    session.add(TopicSet(task_id=task.id, name=PUBLIC_TOPICS, topics=drawn, seed=task.slug))
    session.flush()
    return True


def draw_again(session: Session, task: Task) -> None:
    """Draw the public half again, if there is one, after the task's topics changed."""
    drawn = find_public(session, task)
    if drawn is not None:
        seed = drawn.seed or task.slug
        drawn.topics, drawn.seed = half(seed, topic_set_ids(session, task)), seed


def half(seed: str, topic_ids: Sequence[str]) -> list[str]:
    """Half of the topics, in order; reproducible by seed."""
    ordered = sorted(topic_ids, key=lambda topic: hashlib.sha256(f"{seed}\0{topic}".encode()).digest())
    chosen = set(ordered[: (len(ordered) + 1) // 2])
    return [topic for topic in topic_ids if topic in chosen]


NOT_JUDGED = "Not judged."
"""The reason of topics excluded by `score_judged`. It is public: the organiser publishes with it which
topics are scored, unlike with other reasons, such as that nothing is relevant."""


def scored(session: Session, task: Task) -> tuple[str, ...]:
    """The topics for file rules: those that a submitter may know to be scored, in task order.

    For an open task: judged topics that are not excluded, or all non-excluded topics before there are
    judgments. While judgments are hidden: all topics except publicly excluded ones, because a warning would
    reveal the others.
    """
    rows = session.execute(
        select(Topic.topic_id, Topic.excluded).where(Topic.task_id == task.id).order_by(Topic.position)
    ).all()
    if not policy.is_shown(session, task):
        return tuple(row.topic_id for row in rows if row.excluded != NOT_JUDGED)
    counted = tuple(row.topic_id for row in rows if not row.excluded)
    judged = set(_judged(session, task.id))
    return tuple(topic for topic in counted if topic in judged) or counted


def why_left_out(excluded: str, access: TaskAccess) -> str:
    """Why a topic is excluded from means, if the viewer may know; otherwise empty."""
    return excluded if access.details or excluded == NOT_JUDGED else ""


def score_judged(session: Session, viewer: Viewer, slug: str) -> int:
    """Exclude topics without judgments from means and rules; returns their number.

    No mean changes. Topics excluded earlier that have judgments by now count again, in a new edition of the
    board. Raises Conflict if nothing is judged.
    """
    task = policy.own_task(session, viewer, slug)
    lock_row(session, Task, task.id)
    topics = _topics(session, task)
    judged = set(_judged(session, task.id))
    if not judged & {topic.topic_id for topic in topics}:
        raise Conflict("No topic of this task has judgments yet; add judgments first.")
    left_out = _leave_out(session, task, topics, lambda topic: topic.topic_id not in judged)
    audit.record(session, viewer, "task.score_judged", f"task:{task.id}", left_out=left_out)
    return left_out


def score_all(session: Session, viewer: Viewer, slug: str) -> int:
    """Undo `score_judged`: every topic counts as soon as it has judgments; 0, the number excluded."""
    task = policy.own_task(session, viewer, slug)
    lock_row(session, Task, task.id)
    _leave_out(session, task, _topics(session, task), lambda _: False)
    audit.record(session, viewer, "task.score_all", f"task:{task.id}")
    return 0


def _leave_out(session: Session, task: Task, topics: list[Topic], is_out: Callable[[Topic], bool]) -> int:
    """Exclude the given topics and include the others; returns the number excluded."""
    had = [topic.topic_id for topic in topics if topic.excluded != NOT_JUDGED]
    returning = set()
    for topic in topics:
        if is_out(topic):
            topic.excluded = topic.excluded or NOT_JUDGED
        elif topic.excluded == NOT_JUDGED:
            topic.excluded = ""
            returning.add(topic.topic_id)
    left = [topic.topic_id for topic in topics if topic.excluded != NOT_JUDGED]
    session.flush()
    if task.published_at is None:
        _draw_again(session, task, had, left)
    revision = files.newest(session, task.id)
    if task.published_at is not None and revision is not None and returning & set(revision.topics):
        editions.build(session, task, revision)
    return len(topics) - len(left)


def _draw_again(session: Session, task: Task, had: list[str], left: list[str]) -> None:
    """Draw the public half of a blind draft among the included topics, unless chosen by hand."""
    public = session.scalar(
        select(TopicSet).where(TopicSet.task_id == task.id, TopicSet.name == PUBLIC_TOPICS)
    )
    seed = public.seed or task.slug if public is not None else ""
    if public is not None and public.topics == half(seed, had):
        public.topics = half(seed, left)


def _judged(session: Session, task_id: int) -> list[str]:
    """The topics of the board's newest judgments, without reading these judgments."""
    newest = select(QrelsRevision.topics).join(Qrels, Qrels.id == QrelsRevision.qrels_id)
    of_board = newest.where(Qrels.task_id == task_id, Qrels.name == MAIN)
    return session.scalar(of_board.order_by(QrelsRevision.number.desc()).limit(1)) or []


def _topics(session: Session, task: Task) -> list[Topic]:
    return list(session.scalars(select(Topic).where(Topic.task_id == task.id).order_by(Topic.position)))


@dataclass(frozen=True, slots=True, kw_only=True)
class OfTask:
    """Base of pages about a task that the reader may see."""

    of: Task

    @property
    def task(self) -> str:
        """The task's name."""
        return self.of.name

    @property
    def slug(self) -> Annotated[str, Shown(key="task")]:
        """The slug of the task."""
        return self.of.slug

    @property
    def is_draft(self) -> bool:
        """Whether only its organisers can see it."""
        return self.of.published_at is None

    @property
    def level(self) -> int:
        """Lowest grade that counts as relevant."""
        return self.of.level


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskHead(OfTask):
    """The head of a task's page; basis is None without judgments, and if scores are hidden."""

    access: TaskAccess
    basis: Basis | None = None

    @property
    def head(self) -> dict[str, Any]:
        """These fields, for another page of the same task."""
        return {field.name: getattr(self, field.name) for field in fields(TaskHead)}


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicHead(TaskHead):
    """The head of a page of one topic; previous, following: neighbours in task order, if linked."""

    topic: Topic
    previous: str | None = None
    following: str | None = None

    @property
    def topic_id(self) -> str:
        """The topic id in files."""
        return self.topic.topic_id

    @property
    def title(self) -> str:
        """The topic's title."""
        return self.topic.title

    @property
    def description(self) -> str:
        """The description of the topic, in one sentence."""
        return self.topic.description

    @property
    def narrative(self) -> str:
        """The narrative: the relevant and the others."""
        return self.topic.narrative

    @property
    def excluded(self) -> str:
        """Why it is excluded from means; otherwise empty."""
        return why_left_out(self.topic.excluded, self.access)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOnTopic(TopicHead):
    """The head of a page of one run on a topic."""

    run_id: int
    run: str
    team: str
    is_own: bool


PlacedTopic = tuple[Topic, str | None, str | None]
"""A topic with the ids of the one before it and the one after it in the task's order."""


def task_head(task: Task, placed: PlacedTopic, access: TaskAccess, shown: ShownEdition) -> dict[str, Any]:
    """The fields of TopicHead."""
    topic, previous, following = placed
    return {
        "of": task,
        "access": access,
        "basis": shown.basis,
        "topic": topic,
        "previous": previous,
        "following": following,
    }


def of_run(viewer: Viewer, names: ShownNames, run: Run) -> dict[str, Any]:
    """The additional fields of RunOnTopic: run and team, by names visible to the viewer."""
    return {
        "run_id": run.id,
        "run": names.run(run.id, run.name),
        "team": names.team(run.team_id),
        "is_own": policy.owns(viewer, run.team_id),
    }


def find_topic(session: Session, task: Task, topic_id: str) -> Topic:
    """The task's topic of that id; raises NotFound."""
    topic = session.scalar(select(Topic).where(Topic.task_id == task.id, Topic.topic_id == topic_id))
    if topic is None:
        raise _no_topic(task, topic_id)
    return topic


def _placed() -> Select[Any]:
    other = aliased(Topic)
    around = select(other.topic_id).where(other.task_id == Topic.task_id).limit(1)
    before = around.where(other.position < Topic.position).order_by(other.position.desc())
    after = around.where(other.position > Topic.position).order_by(other.position)
    return select(Topic, before.scalar_subquery(), after.scalar_subquery()).where(
        Topic.task_id == bindparam("task"), Topic.topic_id == bindparam("topic")
    )


# Built once: building it took a twentieth of a page.
_PLACED = _placed()


def placed_topic(session: Session, task: Task, topic_id: str) -> PlacedTopic:
    """As `find_topic`, with its neighbours; one statement."""
    row = session.execute(_PLACED, {"task": task.id, "topic": topic_id}).one_or_none()
    if row is None:
        raise _no_topic(task, topic_id)
    return row[0], row[1], row[2]


def _no_topic(task: Task, topic_id: str) -> NotFound:
    return NotFound(f"Task {task.name} has no topic {topic_id!r}.", topic=topic_id)


def grade_names(task: Task) -> dict[int, str]:
    """Grade -> its name in this task."""
    return {int(grade): str(name) for grade, name in task.grade_names.items()}
