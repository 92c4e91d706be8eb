"""What is asked for in a new task: files are parsed and measures proposed before anything is stored."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from leaderboard.errors import Invalid, Problem
from leaderboard.measures.answers import registry as of_answers
from leaderboard.measures.judges import registry as of_judges
from leaderboard.services import collections
from leaderboard.services.collections import PreparedDocuments
from leaderboard.services.qrels import files as qrels
from leaderboard.services.qrels.files import PreparedQrels
from leaderboard.services.tasks import board_measures, setting_values, slugs, templates
from leaderboard.services.tasks.setting_values import Read
from leaderboard.services.tasks.templates import TaskTemplate
from leaderboard.trec.read import forms
from leaderboard.trec.topics import topics as trec_topics
from leaderboard.trec.topics.topics import TopicsFile

VISIBILITIES = ("open", "blind", "sealed")
KINDS = ("rankings", "answers", "judges")
OF_ANSWERS = ("V_strict", "A", "W", "SupportP", "SupportR", "AnswerLength", "NumCitations")
"""The measures of answers that a board has unless others are chosen, the first one ranks it."""
OF_JUDGES = ("BoardTau", "TopicTau", "TopicAccuracy")
"""As those of answers, of judges."""
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
"""Fields that are read as the settings of their names."""
MOSTLY = 0.9
"""Share of topics with one relevant document from which a task counts as looking for that one."""


@dataclass(frozen=True, slots=True)
class TaskDraft:
    """What an organiser asks for; measures empty and primary None mean the proposed ones."""

    slug: str
    name: str
    topics: Path
    topics_name: str = ""
    topic_fields: str = ""
    """Which fields of the topics file are read, as `trec.topics.records.parse_fields` takes it."""
    topics_seen: str | None = None
    """The stamp of the reading that the sender saw; None: nobody is there to be asked."""
    description: str = ""
    qrels: Path | None = None
    qrels_name: str = ""
    second: str = ""
    """What the second column of the qrels is: `subtopics`, `rounds`, or empty for what is seen in it."""
    map: str = ""
    """How the qrels are read: grades, columns and topics, as `forms.asked` takes them."""
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
    """The kind of shared task that limits and the runs that count are taken from; empty: none."""
    links: str = ""
    """A title and an address a line."""
    agreement: str = ""
    """What a team agrees to when it enters, in Markdown; empty: nothing."""
    kind: str = "rankings"
    """What its runs are: rankings, answers or boards of judges."""


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
    """What a new task shows unless that is chosen: as its template, but the reference of judges never openly.

    >>> usual_visibility("judges", None), usual_visibility("answers", None)
    ('blind', 'open')
    """
    visibility = template.visibility if template is not None else "open"
    return "blind" if kind == "judges" and visibility == "open" else visibility


def prepare(draft: TaskDraft) -> PreparedTask:
    """The draft with its files parsed and its measures settled; needs no session.

    Raises Invalid with every problem of the form, or with the lines at fault of a file.
    """
    if draft.template:
        templates.find(draft.template)
    problems = list(_form_problems(draft))
    if problems:
        raise Invalid("The task cannot be made like this.", problems)
    topics = trec_topics.read(draft.topics, draft.topic_fields)
    if draft.topics_seen is not None:
        topics.require_seen(draft.topics_seen)
    judged = None
    if draft.qrels:
        asked = forms.asked([draft.map], draft.dialect)
        judged = qrels.prepare(draft.qrels, draft.qrels_name, second=draft.second, asked=asked)
        judged = qrels.as_task(judged, [topic.topic_id for topic in topics.topics])
    measures, primary = _measures(draft, judged)
    documents = collections.prepare(draft.documents) if draft.documents else None
    return PreparedTask(draft, topics, judged, documents, measures, primary)


def _form_problems(draft: TaskDraft) -> list[Problem]:
    checks = [
        (slugs.is_slug(draft.slug), "slug", draft.slug, slugs.RULE),
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
            "make a new collection; give either a collection or documents.",
        ),
        (draft.origin in ("human", "machine"), "origin", draft.origin, "must be human or machine."),
        (draft.kind in KINDS, "kind", draft.kind[:40], f"must be one of {', '.join(KINDS)}."),
        (
            not (draft.kind != "rankings" and draft.qrels),
            "qrels",
            draft.qrels_name,
            "are judgments of documents; nuggets and labels of answers, or the reference of judges, are "
            "added once the draft is there.",
        ),
        (
            not (draft.kind == "judges" and draft.visibility == "open"),
            "visibility",
            draft.visibility,
            "must be blind or sealed: what the reference of judges says is held back until the task closes.",
        ),
        *(_read(read, field, getattr(draft, field)) for field, read in LIKE_SETTINGS.items()),
    ]
    return [
        Problem(rule, "Change it and send again.", field=field, value=value)
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
        there |= board_measures.BESIDE
    elif judged.kind == "subtopic":
        there.add("subtopics")
    return board_measures.for_board(wanted, primary, draft.level, there)


def _of_kind(draft: TaskDraft) -> tuple[tuple[str, ...], str]:
    parse, usual = (of_answers.parse, OF_ANSWERS) if draft.kind == "answers" else (of_judges.parse, OF_JUDGES)
    bound = [parse(name) for name in draft.measures or usual]
    primary = parse(draft.primary) if draft.primary else bound[0]
    if primary.measure.direction == "none":
        raise Invalid(
            f"{primary.key} has no better or worse, so a board cannot rank by it; choose another primary."
        )
    keys = [one.key for one in bound]
    return tuple(dict.fromkeys(keys if primary.key in keys else [primary.key, *keys])), primary.key
