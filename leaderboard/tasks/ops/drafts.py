"""Requests for a new task: parse files and propose measures before anything is stored."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated

from sqlalchemy import delete
from sqlalchemy.orm import Session

from leaderboard import fields
from leaderboard.core import audit, kinds, policy
from leaderboard.core.actions import Action, File, Given
from leaderboard.core.kinds import KINDS, RANKINGS
from leaderboard.core.phase_rules import ALL_TOPICS
from leaderboard.core.policy import Viewer
from leaderboard.db.engine import lock_key, lock_row, now
from leaderboard.db.tables import FormerSlug, Phase, Task, TaskRole, TopicSet
from leaderboard.errors import Conflict, Invalid, Problem
from leaderboard.fields import Field
from leaderboard.qrels.ops import revisions
from leaderboard.qrels.ops.revisions import NewRevision
from leaderboard.scoring.ops import board_measures, collections, scored_topics, setting_values
from leaderboard.scoring.ops.board_measures import FieldsOfTopics, ReadingSeen, TopicFields
from leaderboard.scoring.ops.collections import PreparedDocuments
from leaderboard.scoring.ops.evaluations import editions
from leaderboard.scoring.ops.qrels import files as qrels
from leaderboard.scoring.ops.qrels.files import PreparedQrels
from leaderboard.scoring.ops.qrels.lines import Origin
from leaderboard.tasks.ops import entries, phases
from leaderboard.trec.read import forms
from leaderboard.trec.topics.topics import Topic, TopicsFile

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


def limits_of(key: str, visibility: str) -> TaskTemplate:
    """The template whose limits a task has: its own, or else the first with the same visibility.

    Without limits the answers of a blind task would reveal its hidden half.
    """
    if TEMPLATES[key].visibility == visibility:
        return TEMPLATES[key]
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


DEEPEST = 100_000
GRADED = ("nDCG@10", "AP", "RR@10", "R@1000")
BINARY = ("AP", "nDCG@10", "P@10", "R@1000")
ONE_RELEVANT = ("RR@10", "Success@1", "Success@10")
ALWAYS = "Judged@10"
MOSTLY = 0.9
"""Minimum share of topics with one relevant document for a known-item task."""


def _links(text: str) -> str:
    """The text of links as it is, once each of its lines can be read."""
    setting_values.links(text)
    return text


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskForm:
    """A new task, and the settings that differ from its template; empty texts mean the usual."""

    name: Annotated[
        str, Field(title="Name", help="The name of the task.", longest=200, read=setting_values.line(200, 1))
    ]
    kind: Annotated[
        str,
        Field(
            title="What participants submit",
            help="What participants submit: rankings, answers or judges.",
            choices={kind: kind for kind in KINDS},
        ),
    ] = RANKINGS
    template: Annotated[
        str,
        Field(
            title="Kind of task",
            help="The template for the initial settings.",
            choices={template.key: template.title for template in TEMPLATES.values()},
        ),
    ] = LIVING
    description: Annotated[
        str,
        Field(
            title="Description",
            help="Markdown, without raw HTML or images. The draft shows it as readers will see it.",
            longest=setting_values.TEXT_CHARACTERS,
            rows=8,
            read=setting_values.text,
        ),
    ] = ""
    collection: Annotated[str | None, Field(title="Collection", help="Name of an existing collection.")] = (
        None
    )
    visibility: Annotated[
        str,
        Field(
            title="Visibility before the deadline",
            help="Which scores teams see until a phase closes; by default as usual for the kind of task.",
            choices={
                "": "default for the kind of task",
                "open": "open: all scores and judgments",
                "blind": "blind: means over half of the topics",
                "sealed": "sealed: no score",
            },
        ),
    ] = ""
    depth: Annotated[int, Field(title="Maximum documents per topic", most=DEEPEST)] = 1000
    level: Annotated[
        int,
        Field(
            title="Lowest grade that counts as relevant",
            help="Binary measures count this grade and higher as relevant.",
            most=1000,
        ),
    ] = 1
    measures: Annotated[
        tuple[str, ...],
        Field(
            title="Measures",
            help="Keys such as “nDCG@10 AP RR@10 R@1000”; the first is the primary one unless you choose "
            "another. Leave empty to choose them from the judgments.",
            longest=2000,
            typed="words",
        ),
    ] = ()
    file_name: Annotated[str, Field(title="Name of the topics file", is_of_api=True)] = "topics"
    fields: FieldsOfTopics = ""
    slug: Annotated[
        str,
        Field(
            title="Slug",
            help="Part of the address: /tasks/slug. Lower-case letters, digits and hyphens. Leave empty to "
            "derive it from the name.",
            longest=63,
            read=str.strip,
            is_argument=True,
            is_of_form=True,
        ),
    ] = ""
    topics_seen: ReadingSeen = None
    links: Annotated[
        str,
        Field(
            title="Links",
            help="One title and address per line, such as “Call for papers https://example.org/call”.",
            longest=setting_values.TEXT_CHARACTERS,
            rows=3,
            read=_links,
            is_of_form=True,
        ),
    ] = ""
    agreement: Annotated[
        str,
        Field(
            title="Agreement",
            help="Markdown text that teams accept when they enter. Leave empty for none.",
            longest=setting_values.TEXT_CHARACTERS,
            rows=4,
            read=setting_values.text,
            is_of_form=True,
        ),
    ] = ""
    second: Annotated[
        str,
        Field(
            title="Second column of the qrels",
            choices={
                "": "detect: subtopics if a document has several per topic",
                "subtopics": "subtopics",
                "rounds": "a round number or other value to ignore",
            },
            option="second-column",
            is_of_form=True,
        ),
    ] = ""
    map: Annotated[
        str,
        Field(
            title="Mapping",
            help="How to read the judgments, one entry per line: “relevant=1” for a grade given as text, "
            "“grade=1” for a file without grades, “columns=topic,-,docno,grade”, or “topics=task” to rewrite "
            "topic ids as in the task.",
            longest=setting_values.TEXT_CHARACTERS,
            rows=3,
            is_of_form=True,
        ),
    ] = ""
    origin: Annotated[
        str, Field(title="Judged by", choices={"human": "people", "machine": "a machine"}, is_of_form=True)
    ] = "human"
    origin_name: Annotated[
        str, Field(title="Name of the machine", longest=200, read=str.strip, is_of_form=True)
    ] = ""
    primary: Annotated[
        str,
        Field(
            title="Primary measure",
            help="The board is ranked by it. Leave empty for the first measure.",
            read=str.strip,
            is_of_form=True,
        ),
    ] = ""
    dialect: Annotated[
        str,
        Field(
            title="Ties and rounding",
            help="As in this version of trec_eval.",
            choices={"10": "trec_eval 10", "9": "trec_eval 9"},
            is_of_form=True,
        ),
    ] = "10"


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskDraft(TaskForm):
    """An organiser's request for a task, with its files."""

    topics: Path
    qrels: Path | None = None
    qrels_name: str = ""
    documents: Path | None = None
    grade_names: Mapping[int, str] = field(default_factory=dict)
    note: str = ""


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


def visibility_of(draft: TaskForm) -> str:
    """The chosen visibility, or that of the template; but a judges' reference is never open.

    >>> visibility_of(TaskForm(name="A track", template="trec"))
    'sealed'
    """
    usual = TEMPLATES[draft.template].visibility
    if draft.visibility or usual != "open" or kinds.of(draft.kind).may_be_open:
        return draft.visibility or usual
    return "blind"


def prepare(draft: TaskDraft) -> PreparedTask:
    """The draft with its files parsed and its measures settled; needs no session.

    Raises Invalid with every problem of the form, or with the lines at fault of a file.
    """
    asked = {each.name: getattr(draft, each.name) for each in fields.of(TaskForm)}
    draft = replace(draft, **fields.values(fields.read(TaskForm, asked)))
    problems = list(_form_problems(draft))
    if problems:
        raise Invalid("The task was not created.", problems)
    topics = TopicFields(fields=draft.fields, topics_seen=draft.topics_seen).read(draft.topics)
    judged = None
    if draft.qrels:
        mapping = forms.asked([draft.map], int(draft.dialect))
        judged = qrels.prepare(draft.qrels, draft.qrels_name, second=draft.second, asked=mapping)
        judged = qrels.as_task(judged, {topic.topic_id: topic.title for topic in topics.topics})
    measures, primary = _measures(draft, judged)
    documents = collections.prepare(draft.documents) if draft.documents else None
    return PreparedTask(draft, topics, judged, documents, measures, primary)


def _form_problems(draft: TaskDraft) -> list[Problem]:
    checks = [
        (is_slug(draft.slug), "slug", draft.slug, RULE),
        (
            not (draft.collection and draft.documents),
            "documents",
            "",
            "create a new collection; give either a collection or documents.",
        ),
        (
            kinds.is_known(draft.kind),
            "kind",
            draft.kind,
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
            "open",
            "must be blind or sealed: the reference judgments are hidden until the task closes.",
        ),
    ]
    return [
        Problem(rule, "Change the value and submit the form again.", field=field, value=value)
        for fine, field, value, rule in checks
        if not fine
    ]


def _measures(draft: TaskDraft, judged: PreparedQrels | None) -> tuple[tuple[str, ...], str]:
    if draft.kind != "rankings":
        return _of_kind(draft)
    proposed, proposed_primary = propose_measures(judged.judgments if judged else None)
    measure_names = list(draft.measures or proposed)
    primary = draft.primary or (measure_names[0] if draft.measures else proposed_primary)
    there = {board_measures.SIZE} if draft.documents or draft.collection else set()
    if judged is None:
        # Judgments that are still to come may be of any kind.
        there |= board_measures.EXTRA_NEEDS
    elif judged.kind == "subtopic":
        there.add("subtopics")
    return board_measures.for_board(measure_names, primary, draft.level, there)


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
        name=draft.name,
        description=draft.description,
        links=setting_values.links(draft.links),
        agreement=agreement,
        agreement_version=1 if agreement else 0,
        collection_id=_collection(session, viewer, prepared),
        kind=draft.kind,
        visibility=visibility_of(draft),
        depth=draft.depth,
        level=draft.level,
        dialect=int(draft.dialect),
        measures=list(prepared.measures),
        primary_measure=prepared.primary,
        grade_names={str(grade): name for grade, name in draft.grade_names.items()},
        final_runs=TEMPLATES[draft.template].final_runs,
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


def _add_topics(session: Session, task: Task, topics: tuple[Topic, ...]) -> None:
    board_measures.insert_all(session, task, topics)
    session.add(TopicSet(task_id=task.id, name=ALL_TOPICS, topics=None))
    if task.visibility == "blind":
        scored_topics.draw_topic_set(session, task)


def suggested_slug(name: str) -> str:
    """A slug derived from a task's name.

    >>> suggested_slug("TREC Robust (2004)")
    'trec-robust-2004'
    """
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:63].strip("-")


def _of_files(given: Given, asked: TaskForm) -> PreparedTask:
    judged, documents = given.files.get("qrels"), given.files.get("documents")
    return prepare(
        TaskDraft(
            **fields.values(asked) | {"slug": given.at[0].strip() or suggested_slug(asked.name)},
            topics=given.files["topics"].path,
            qrels=judged.path if judged else None,
            qrels_name=judged.name if judged else "",
            documents=documents.path if documents else None,
        )
    )


MAKE = Action(
    name="make_task",
    summary="Create a task",
    more="The body is the topics file. The task is a draft that only its organisers see; give it settings, "
    "phases and judgments, then publish it. Without measures, they are chosen from the judgments later.",
    method="PUT",
    path="/tasks/<slug>",
    form="/tasks/new",
    named={"slug": "slug"},
    may=lambda _, viewer: policy.require_creator(viewer),
    record=TaskForm,
    file=File(
        field="topics",
        missing="Choose a topics file.",
        others=("qrels", "documents"),
        body="FILES",
        prepare=_of_files,
    ),
    act=lambda session, viewer, _slug, prepared, _: (create(session, viewer, prepared), prepared),
    status=201,
)
