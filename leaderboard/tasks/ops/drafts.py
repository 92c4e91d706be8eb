"""Requests for a new task: parse files and propose measures before anything is stored."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from sqlalchemy import delete
from sqlalchemy.orm import Session

from leaderboard.core import audit, kinds, policy
from leaderboard.core.kinds import KINDS
from leaderboard.core.phase_rules import ALL_TOPICS
from leaderboard.core.policy import Viewer
from leaderboard.db.engine import lock_key, lock_row, now
from leaderboard.db.tables import FormerSlug, Phase, Task, TaskRole, TopicSet
from leaderboard.errors import Conflict, Invalid, Problem
from leaderboard.qrels import ops as revisions
from leaderboard.qrels.ops import NewRevision
from leaderboard.scoring.ops import board_measures, collections, scored_topics, setting_values
from leaderboard.scoring.ops.collections import PreparedDocuments
from leaderboard.scoring.ops.evaluations import editions
from leaderboard.scoring.ops.qrels import files as qrels
from leaderboard.scoring.ops.qrels.files import PreparedQrels
from leaderboard.scoring.ops.qrels.lines import Origin
from leaderboard.scoring.ops.setting_values import Read
from leaderboard.tasks.ops import entries, phases
from leaderboard.trec.read import forms
from leaderboard.trec.topics import topics as trec_topics
from leaderboard.trec.topics.topics import TopicsFile

LIVING = "living"


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskTemplate:
    """A kind of shared task; limits are per team, None means no limit."""

    key: str
    title: str
    help: str
    visibility: str
    runs_per_day: int | None = None
    runs_in_all: int | None = None
    final_runs: int | None = None


TEMPLATES = {
    template.key: template
    for template in (
        TaskTemplate(
            key=LIVING,
            title="Living benchmark",
            help="Always open: every score is shown at once, and teams can submit any number of runs.",
            visibility="open",
        ),
        TaskTemplate(
            key="trec",
            title="TREC track",
            help="Sealed: no scores until the deadline. Up to 5 runs per team, one marked as its primary "
            "run.",
            visibility="sealed",
            runs_in_all=5,
        ),
        TaskTemplate(
            key="hidden",
            title="Public and hidden topics",
            help="Blind: until the deadline, scores on half of the topics only. 5 runs per day and 30 in "
            "all per team; each team marks 2 final runs.",
            visibility="blind",
            runs_per_day=5,
            runs_in_all=30,
            final_runs=2,
        ),
    )
}


def find_template(key: str) -> TaskTemplate:
    """The template of that key; raises Invalid if unknown."""
    if key not in TEMPLATES:
        rule = f"must be one of {', '.join(TEMPLATES)}."
        problem = Problem(rule, "Choose one of these.", field="template", value=key[:40])
        raise Invalid("This kind of task does not exist.", [problem])
    return TEMPLATES[key]


def limits_of(key: str, visibility: str) -> TaskTemplate:
    """The template whose limits a task has: its own, or else the first with the same visibility.

    Without limits the answers of a blind task would reveal its hidden half.
    """
    if key and find_template(key).visibility == visibility:
        return find_template(key)
    return TEMPLATES["hidden" if visibility == "blind" else LIVING]


SLUG = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?")
RESERVED = frozenset({"new", "import"})
RULE = "must be 1 to 63 lower-case letters, digits or hyphens, and not `new` or `import`."


def is_slug(text: str) -> bool:
    """Whether a task may have the slug, were it free."""
    return bool(SLUG.fullmatch(text)) and text not in RESERVED


def hold_slug(session: Session, slug: str) -> None:
    """Hold a slug until the transaction ends: two at once would both find it free."""
    lock_key(session, f"slug {slug}")


def require_free(session: Session, viewer: Viewer, slug: str) -> None:
    """Raise Conflict if a task that the viewer may know of has or had the slug; hold it before."""
    if policy.known_tasks(session, viewer, slug):
        raise Conflict(f"The slug {slug!r} is already in use; choose another slug.", field="slug")
    if session.get(FormerSlug, slug) is not None:
        raise Conflict(f"The slug {slug!r} belongs to a renamed task; choose another slug.", field="slug")


def rename_slug(session: Session, viewer: Viewer, task: Task, slug: str) -> None:
    """Change the task's slug; the old slug of a published task redirects to it.

    Raises Invalid for an invalid slug, Conflict for one that is taken.
    """
    if not is_slug(slug):
        problem = Problem(RULE, "Change the slug and save again.", field="slug", value=slug[:63])
        raise Invalid("The slug is not valid.", [problem])
    for each in sorted({task.slug, slug}):
        hold_slug(session, each)
    own = session.get(FormerSlug, slug)
    if own is not None and own.task_id == task.id:
        session.delete(own)
        session.flush()
    require_free(session, viewer, slug)
    if task.published_at is not None:
        session.add(FormerSlug(slug=task.slug, task_id=task.id, created_at=now(session)))
    task.slug = slug
    session.flush()


def forget_slug(session: Session, task: Task) -> None:
    """Release the former slugs of a task that is no longer visible."""
    session.execute(delete(FormerSlug).where(FormerSlug.task_id == task.id))


VISIBILITIES = ("open", "blind", "sealed")
DEEPEST = 100_000
GRADED = ("nDCG@10", "AP", "RR@10", "R@1000")
BINARY = ("AP", "nDCG@10", "P@10", "R@1000")
ONE_RELEVANT = ("RR@10", "Success@1", "Success@10")
ALWAYS = "Judged@10"
LIKE_SETTINGS: dict[str, Read] = {
    "description": setting_values.text,
    "links": setting_values.links,
    "agreement": setting_values.text,
}
"""Fields with the names and format of settings."""
MOSTLY = 0.9
"""Minimum share of topics with one relevant document for a known-item task."""


@dataclass(frozen=True, slots=True)
class TaskDraft:
    """An organiser's request for a task; empty measures and primary None mean the proposed ones."""

    slug: str
    name: str
    topics: Path
    topics_name: str = ""
    topic_fields: str = ""
    """The fields to read from the topics file, in the format of `trec.topics.records.parse_fields`."""
    topics_seen: str | None = None
    """The stamp of the reading that the sender saw; None without an interactive sender."""
    description: str = ""
    qrels: Path | None = None
    qrels_name: str = ""
    second: str = ""
    """The content of the second column of the qrels: `subtopics`, `rounds`, or empty to detect it."""
    map: str = ""
    """Mapping for the qrels: grades, columns and topics, in the format of `forms.asked`."""
    collection: str | None = None
    documents: Path | None = None
    depth: int = 1000
    level: int = 1
    dialect: int = 10
    visibility: str = "open"
    measures: tuple[str, ...] = ()
    primary: str | None = None
    origin: str = "human"
    origin_name: str = ""
    grade_names: Mapping[int, str] = field(default_factory=dict)
    note: str = ""
    template: str = ""
    """The template for limits and counted runs; empty: none."""
    links: str = ""
    """One title and address per line."""
    agreement: str = ""
    """The agreement that teams accept when they enter, in Markdown; empty: none."""
    kind: str = "rankings"
    """The kind of its runs: rankings, answers or judges' boards."""


@dataclass(frozen=True, slots=True, eq=False)
class PreparedTask:
    """A draft with its files parsed; made without a session."""

    draft: TaskDraft
    topics: TopicsFile
    qrels: PreparedQrels | None
    documents: PreparedDocuments | None
    measures: tuple[str, ...]
    primary: str


def propose_measures(judgments: Mapping[str, Mapping[bytes, int]] | None) -> tuple[tuple[str, ...], str]:
    """Measures that suit the judgments, and the primary one.

    Several relevant grades: nDCG@10 first; one relevant document in nearly every topic: RR@10; else,
    and where no judgment is known yet, average precision.
    """
    chosen: tuple[str, ...] = BINARY
    positive = [[grade for grade in topic.values() if grade > 0] for topic in (judgments or {}).values()]
    if any(grade > 1 for grades in positive for grade in grades):
        chosen = GRADED
    elif positive and sum(len(grades) <= 1 for grades in positive) >= MOSTLY * len(positive):
        chosen = ONE_RELEVANT
    return (*chosen, ALWAYS), chosen[0]


def usual_visibility(kind: str | None, template: TaskTemplate | None) -> str:
    """The default visibility of a new task: that of its template, but a judges' reference is never open.

    >>> usual_visibility("judges", None), usual_visibility("answers", None)
    ('blind', 'open')
    """
    visibility = template.visibility if template is not None else "open"
    is_free = kind is None or not kinds.is_known(kind) or kinds.of(kind).may_be_open
    return visibility if is_free or visibility != "open" else "blind"


def prepare(draft: TaskDraft) -> PreparedTask:
    """The draft with its files parsed and its measures settled; needs no session.

    Raises Invalid with every problem of the form, or with the lines at fault of a file.
    """
    if draft.template:
        find_template(draft.template)
    problems = list(_form_problems(draft))
    if problems:
        raise Invalid("The task was not created.", problems)
    topics = trec_topics.read(draft.topics, draft.topic_fields)
    if draft.topics_seen is not None:
        topics.require_seen(draft.topics_seen)
    judged = None
    if draft.qrels:
        asked = forms.asked([draft.map], draft.dialect)
        judged = qrels.prepare(draft.qrels, draft.qrels_name, second=draft.second, asked=asked)
        judged = qrels.as_task(judged, {topic.topic_id: topic.title for topic in topics.topics})
    measures, primary = _measures(draft, judged)
    documents = collections.prepare(draft.documents) if draft.documents else None
    return PreparedTask(draft, topics, judged, documents, measures, primary)


def _form_problems(draft: TaskDraft) -> list[Problem]:
    checks = [
        (is_slug(draft.slug), "slug", draft.slug, RULE),
        (0 < len(draft.name.strip()) <= 200, "name", draft.name[:40], "must have 1 to 200 characters."),
        (1 <= draft.depth <= DEEPEST, "depth", str(draft.depth), f"must be from 1 to {DEEPEST}."),
        (1 <= draft.level <= 1000, "level", str(draft.level), "must be a grade from 1 to 1000."),
        (
            draft.dialect in (9, 10),
            "dialect",
            str(draft.dialect),
            "must be 9 or 10 (the version of trec_eval).",
        ),
        (
            draft.visibility in VISIBILITIES,
            "visibility",
            draft.visibility,
            f"must be one of {', '.join(VISIBILITIES)}.",
        ),
        (
            not (draft.collection and draft.documents),
            "documents",
            "",
            "create a new collection; give either a collection or documents.",
        ),
        (draft.origin in ("human", "machine"), "origin", draft.origin, "must be human or machine."),
        (
            kinds.is_known(draft.kind),
            "kind",
            draft.kind[:40],
            f"must be one of {', '.join(filter(kinds.is_known, KINDS))}.",
        ),
        (
            not (draft.kind != "rankings" and draft.qrels),
            "qrels",
            draft.qrels_name,
            "are judgments of documents; add nuggets and labels of answers, or the reference of judges, "
            "once the draft exists.",
        ),
        (
            not (draft.kind == "judges" and draft.visibility == "open"),
            "visibility",
            draft.visibility,
            "must be blind or sealed: the reference judgments are hidden until the task closes.",
        ),
        *(_read(read, field, getattr(draft, field)) for field, read in LIKE_SETTINGS.items()),
    ]
    return [
        Problem(rule, "Change the value and submit the form again.", field=field, value=value)
        for fine, field, value, rule in checks
        if not fine
    ]


def _read(read: Read, field: str, text: str) -> tuple[bool, str, str, str]:
    """Whether a field can be read as the setting it becomes; field, value and the rule it breaks."""
    try:
        read(text)
    except ValueError as error:
        return False, field, text[:40], str(error)
    return True, field, "", ""


def _measures(draft: TaskDraft, judged: PreparedQrels | None) -> tuple[tuple[str, ...], str]:
    if draft.kind != "rankings":
        return _of_kind(draft)
    proposed, proposed_primary = propose_measures(judged.judgments if judged else None)
    wanted = list(draft.measures or proposed)
    primary = draft.primary or (wanted[0] if draft.measures else proposed_primary)
    there = {board_measures.SIZE} if draft.documents or draft.collection else set()
    if judged is None:
        # Judgments that are still to come may be of any kind.
        there |= board_measures.EXTRA_NEEDS
    elif judged.kind == "subtopic":
        there.add("subtopics")
    return board_measures.for_board(wanted, primary, draft.level, there)


def _of_kind(draft: TaskDraft) -> tuple[tuple[str, ...], str]:
    kind = kinds.of(draft.kind)
    bound = [kind.parse(name) for name in draft.measures or kind.usual_measures]
    primary = kind.parse(draft.primary) if draft.primary else bound[0]
    if primary.measure.direction == "none":
        raise Invalid(
            f"{primary.key} has no direction (higher or lower is better), so a board cannot rank by it; "
            "choose another primary measure.",
            field="primary_measure",
        )
    keys = [measure.key for measure in bound]
    return tuple(dict.fromkeys(keys if primary.key in keys else [primary.key, *keys])), primary.key


@dataclass(frozen=True, slots=True)
class CreatedTask:
    """A stored draft."""

    id: int
    slug: str


def create(session: Session, viewer: Viewer, prepared: PreparedTask) -> CreatedTask:
    """Store the task as a draft visible only to its organisers; the viewer becomes one.

    A slug used only by others' drafts is free. Raises Conflict where the slug or the collection's name is
    taken, NotFound for a collection that is not visible to the viewer.
    """
    policy.require_creator(viewer)
    draft = prepared.draft
    hold_slug(session, draft.slug)
    require_free(session, viewer, draft.slug)
    agreement = setting_values.tidy(draft.agreement).strip()
    task = Task(
        slug=draft.slug,
        name=draft.name.strip(),
        description=draft.description,
        links=setting_values.links(draft.links),
        agreement=agreement,
        agreement_version=1 if agreement else 0,
        collection_id=_collection(session, viewer, prepared),
        kind=draft.kind,
        visibility=draft.visibility,
        depth=draft.depth,
        level=draft.level,
        dialect=draft.dialect,
        measures=list(prepared.measures),
        primary_measure=prepared.primary,
        grade_names={str(grade): name for grade, name in draft.grade_names.items()},
        final_runs=find_template(draft.template).final_runs if draft.template else None,
        created_at=now(session),
    )
    session.add(task)
    session.flush()
    if viewer.account_id is not None:
        session.add(TaskRole(task_id=task.id, account_id=viewer.account_id, role="organiser"))
    _add_phase(session, task, draft.template)
    _add_topics(session, task, prepared.topics.topics)
    session.flush()
    phases.require_possible(session, task)
    maker = replace(viewer, organises=viewer.organises | {task.id})
    audit.record(session, viewer, "task.create", f"task:{task.id}", slug=task.slug)
    if prepared.qrels is not None:
        by = Origin(draft.origin, draft.origin_name)
        first = NewRevision(prepared=prepared.qrels, note=draft.note, by=by)
        revisions.revise(session, maker, task.slug, first)
    return CreatedTask(task.id, task.slug)


def publish(session: Session, viewer: Viewer, slug: str) -> None:
    """Publish the task and accept runs from now on; publishing twice changes nothing.

    Raises Conflict where another organiser's task has been published under the slug.
    """
    task = policy.own_task(session, viewer, slug)
    # A revision added at this moment finds the task published, or is found here.
    lock_row(session, Task, task.id)
    if task.published_at is not None:
        return
    hold_slug(session, slug)
    if policy.known_tasks(session, policy.ANONYMOUS, slug) or session.get(FormerSlug, slug) is not None:
        raise Conflict(
            f"A task with the slug {slug!r} was published in the meantime. Create this task "
            "again under another slug."
        )
    task.published_at = now(session)
    session.flush()
    revision = qrels.newest(session, task.id)
    if revision is not None:
        editions.build(session, task, revision)
    entries.tell_all(session, task)
    audit.record(session, viewer, "task.publish", f"task:{task.id}", slug=slug)


def _collection(session: Session, viewer: Viewer, prepared: PreparedTask) -> int:
    draft = prepared.draft
    if draft.collection:
        return collections.named(session, viewer, draft.collection).id
    return collections.add(session, viewer, draft.slug, documents=prepared.documents).id


def _add_phase(session: Session, task: Task, template: str) -> None:
    limits = limits_of(template, task.visibility)
    session.add(
        Phase(task_id=task.id, name="main", runs_per_day=limits.runs_per_day, runs_in_all=limits.runs_in_all)
    )


def _add_topics(session: Session, task: Task, topics: tuple[trec_topics.Topic, ...]) -> None:
    board_measures.insert_all(session, task, topics)
    session.add(TopicSet(task_id=task.id, name=ALL_TOPICS, topics=None))
    if task.visibility == "blind":
        scored_topics.draw_topic_set(session, task)
