"""An organiser's pages: a new task, its draft, and its management once it is published."""

import re
from dataclasses import asdict, dataclass
from typing import Annotated

from flask import Blueprint, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue

from leaderboard import fields
from leaderboard.errors import Invalid, LeaderboardError, Problem
from leaderboard.fields import Field
from leaderboard.scoring.ops import collections
from leaderboard.tasks.ops import drafts
from leaderboard.tasks.ops import organise as operations
from leaderboard.tasks.ops.drafts import DEEPEST, TaskDraft
from leaderboard.tasks.ops.organise import TaskDates
from leaderboard.tasks.page import organise
from leaderboard.web import actions
from leaderboard.web.errors import refused
from leaderboard.web.rules import ORGANISER, SIGNED_IN, Body, received, rule
from leaderboard.web.session import finish_reading, reading, viewer, writing

blueprint = Blueprint("organise", __name__)

LONGEST = 100_000
"""Characters of a text in Markdown."""


def _filled(text: str) -> str:
    if not text.strip():
        raise ValueError(fields.LACKING)
    return text.strip()


@dataclass(frozen=True, slots=True, kw_only=True)
class NewTask:
    """The fields of the form of a new task, next to its kinds and files; empty texts mean the usual."""

    name: Annotated[str, Field(title="Name", longest=200, read=_filled)]
    topic_fields: Annotated[
        str,
        Field(
            title="Topic fields",
            help="For example “id=qid, title=query”. Leave empty to use the names in the file. If the fields "
            "are guessed, you can review the result before it is stored.",
        ),
    ] = ""
    topics_seen: Annotated[str, Field(title="Reading of the topics", is_carried=True)] = ""
    slug: Annotated[
        str,
        Field(
            title="Slug",
            help="Part of the address: /tasks/slug. Lower-case letters, digits and hyphens. Leave empty to "
            "derive it from the name.",
            longest=63,
            read=str.strip,
        ),
    ] = ""
    description: Annotated[
        str,
        Field(
            title="Description",
            help="Markdown, without raw HTML or images. The draft shows it as readers will see it.",
            longest=LONGEST,
            rows=8,
        ),
    ] = ""
    links: Annotated[
        str,
        Field(
            title="Links",
            help="One title and address per line, such as “Call for papers https://example.org/call”.",
            longest=LONGEST,
            rows=3,
        ),
    ] = ""
    agreement: Annotated[
        str,
        Field(
            title="Agreement",
            help="Markdown text that teams accept when they enter. Leave empty for none.",
            longest=LONGEST,
            rows=4,
        ),
    ] = ""
    collection: Annotated[str, Field(title="Collection")] = ""
    second: Annotated[
        str,
        Field(
            title="Second column of the qrels",
            choices={
                "": "detect: subtopics if a document has several per topic",
                "subtopics": "subtopics",
                "rounds": "a round number or other value to ignore",
            },
        ),
    ] = ""
    map: Annotated[
        str,
        Field(
            title="Mapping",
            help="How to read the judgments, one entry per line: “relevant=1” for a grade given as text, "
            "“grade=1” for a file without grades, “columns=topic,-,docno,grade”, or “topics=task” to rewrite "
            "topic ids as in the task.",
            longest=LONGEST,
            rows=3,
        ),
    ] = ""
    origin: Annotated[str, Field(title="Judged by", choices={"human": "people", "machine": "a machine"})] = (
        "human"
    )
    origin_name: Annotated[str, Field(title="Name of the machine", longest=200, read=str.strip)] = ""
    level: Annotated[
        int,
        Field(
            title="Lowest grade that counts as relevant",
            help="Binary measures count this grade and higher as relevant.",
            most=1000,
        ),
    ] = 1
    measures: Annotated[
        str,
        Field(
            title="Measures",
            help="Separated by spaces, such as “nDCG@10 AP RR@10 R@1000”. Leave empty to choose them from "
            "the judgments.",
            longest=2000,
        ),
    ] = ""
    primary: Annotated[
        str,
        Field(
            title="Primary measure",
            help="The board is ranked by it. Leave empty for the first measure.",
            read=str.strip,
        ),
    ] = ""
    depth: Annotated[int, Field(title="Maximum documents per topic", most=DEEPEST)] = 1000
    dialect: Annotated[
        str, Field(title="Ties and rounding", choices={"10": "trec_eval 10", "9": "trec_eval 9"})
    ] = "10"
    visibility: Annotated[
        str,
        Field(
            title="Visibility before the deadline",
            choices={
                "": "default for the kind of task",
                "open": "open: all scores and judgments",
                "blind": "blind: means over half of the topics",
                "sealed": "sealed: no score",
            },
        ),
    ] = ""


@blueprint.get("/tasks/new")
@rule(ORGANISER)
def new() -> ResponseReturnValue:
    """The form of a new task."""
    return _new_page()


def _new_page(error: LeaderboardError | None = None) -> str:
    form = actions.form(NewTask, error)
    # What a reading guessed is shown in the form, to be confirmed.
    guessed = error.facts if error is not None else {}
    form["typed"] = form["typed"] | {key: guessed[key] for key in fields.empty(NewTask) if guessed.get(key)}
    known = {each.name: each.name for each in collections.choices(reading(), viewer())}
    return render_template(
        "tasks/new.html",
        error=error,
        sent=request.form,
        form=form,
        templates=drafts.TEMPLATES.values(),
        offered={"collection": {"": "new collection, named after the task"} | known},
    )


@blueprint.post("/tasks/new")
@rule(ORGANISER, Body.FILES)
@actions.takes(NewTask)
def create() -> ResponseReturnValue:
    """Make a draft from the form and its files, and show it for a last look."""
    asker = viewer()
    finish_reading()
    try:
        prepared = drafts.prepare(_draft())
        with writing() as session:
            task = drafts.create(session, asker, prepared)
    except LeaderboardError as error:
        return refused(_new_page, error)
    return redirect(url_for("organise.show", slug=task.slug), 303)


def _draft() -> TaskDraft:
    form, topics, judged, documents = request.form, *map(received, ("topics", "qrels", "documents"))
    new_task = _asked(has_topics=topics is not None)
    template = drafts.find_template(form.get("template") or drafts.LIVING)
    kind = form.get("kind") or "rankings"
    values = asdict(new_task) | {
        "slug": new_task.slug or suggested_slug(new_task.name),
        "collection": new_task.collection or None,
        "dialect": int(new_task.dialect),
        "visibility": new_task.visibility or drafts.usual_visibility(kind, template),
        "measures": tuple(re.split(r"[\s;]+", new_task.measures.strip()))
        if new_task.measures.strip()
        else (),
        "primary": new_task.primary or None,
        "documents": documents and documents.path,
    }
    if judged is not None:
        values |= {"qrels": judged.path, "qrels_name": judged.name}
    assert topics is not None, "the form was refused without them"
    return TaskDraft(topics=topics.path, topics_name=topics.name, template=template.key, kind=kind, **values)


def _asked(*, has_topics: bool) -> NewTask:
    """What the form says; raises Invalid with every problem, the missing file among them."""
    problems = [] if has_topics else [Problem(fields.LACKING, "Choose a file.", field="topics")]
    titles = fields.titles(NewTask) | {"topics": "Topics file"}
    try:
        new_task = fields.read(NewTask, {"name": "", **actions.sent(NewTask)})
    except Invalid as error:
        raise Invalid(error.message, [*error.problems, *problems], titles=titles) from None
    if problems:
        raise Invalid("Topics file is missing.", problems, titles=titles)
    return new_task


def suggested_slug(name: str) -> str:
    """A slug derived from a task's name.

    >>> suggested_slug("TREC Robust (2004)")
    'trec-robust-2004'
    """
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:63].strip("-")


@blueprint.get("/tasks/<slug>/organise")
@rule(SIGNED_IN)
def show(slug: str) -> ResponseReturnValue:
    """A task as its organisers see it: draft or published."""
    return _desk_page(slug)


def _desk_page(slug: str, error: LeaderboardError | None = None, **_: object) -> str:
    desk = organise.desk(reading(), viewer(), slug)
    task_dates = TaskDates(opens_at=desk.overview.opens_at, closes_at=desk.overview.closes_at)
    typed = actions.sent(TaskDates) if error and "closes_at" in request.form else {}
    return render_template(
        "tasks/organise.html",
        desk=desk,
        task=desk.overview.of,
        tables={name: table(desk) for name, table in organise.TABLES.items()},
        error=error,
        dates=fields.of(TaskDates),
        typed=fields.texts(task_dates) | typed | {"seen": desk.dates_stamp},
    )


actions.add_to(blueprint, operations.DESK, _desk_page)
