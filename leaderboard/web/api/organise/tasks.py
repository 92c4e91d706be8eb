"""Operations on an organiser's tasks: made, settled, dated, published, cloned, archived, discarded."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from msgspec import Meta

from leaderboard.pages.tasks import settings as settings_pages
from leaderboard.services import collections, policy
from leaderboard.services.policy import Scope
from leaderboard.services.tasks import drafts, organise, settings
from leaderboard.services.tasks.drafts import DEEPEST, VISIBILITIES, TaskDraft
from leaderboard.services.tasks.settings import SETTINGS
from leaderboard.trec.read.bundles import base_name
from leaderboard.web.api import actions, limits
from leaderboard.web.api.limits import Filled
from leaderboard.web.api.operations import operation
from leaderboard.web.api.organise.answers import CollectionAnswer, OwnTask, SettingsAnswer, collection_answer
from leaderboard.web.rules import SIGNED_IN, Body, Rule
from leaderboard.web.session import finish_reading, reading, viewer, wake, writing

ORGANISE = (Scope.ORGANISE,)


@dataclass(frozen=True, slots=True, kw_only=True)
class NewTask:
    """A task's name, and what is not to be as its template says; measures: the first is the primary one."""

    name: Filled
    kind: Literal["rankings", "answers", "judges"] = "rankings"
    template: Annotated[str, limits.one_of(drafts.TEMPLATES)] = drafts.LIVING
    description: str = ""
    collection: str | None = None
    visibility: Annotated[str, limits.one_of([""], VISIBILITIES)] | None = None
    depth: Annotated[int, limits.within(1, DEEPEST)] = 1000
    level: Annotated[int, limits.within(1, 1000)] = 1
    measures: tuple[Annotated[str, Meta(pattern="^[!-~]+$")], ...] = ()
    file_name: str = "topics"
    fields: str = ""
    """Which fields of the topics file are read, such as `id=qid, title=query`; empty: as they are called."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Settings by their keys, as they are typed; those left out stay. reason: for the list of changes."""

    settings: Annotated[Mapping[str, str], limits.names_of(SETTINGS)]
    reason: str = ""


@operation(
    "PUT",
    "/tasks/<slug>",
    OwnTask,
    query=NewTask,
    rule=Rule(SIGNED_IN, Body.FILES),
    scopes=ORGANISE,
    status=201,
)
def make_task(slug: str, query: NewTask, file: Path) -> OwnTask:
    """Make a task

    The body is the topics file. The task is a draft that only its organisers see; give it settings, phases
    and judgments, then publish it. Without measures they are proposed by the judgments to come.
    """
    asker = viewer()
    policy.require_creator(asker)
    finish_reading()
    template = drafts.find_template(query.template)
    draft = TaskDraft(
        slug=slug,
        name=query.name,
        topics=file,
        topics_name=base_name(query.file_name),
        topic_fields=query.fields,
        description=query.description,
        collection=query.collection,
        depth=query.depth,
        level=query.level,
        visibility=query.visibility or drafts.usual_visibility(query.kind, template),
        template=template.key,
        kind=query.kind,
        measures=query.measures,
        primary=next(iter(query.measures), None),
    )
    prepared = drafts.prepare(draft)
    with writing() as session:
        drafts.create(session, asker, prepared)
    return OwnTask(task=slug, name=query.name.strip(), state="draft", topics=str(prepared.topics))


@operation(
    "PUT",
    "/collections/<name>",
    CollectionAnswer,
    rule=Rule(SIGNED_IN, Body.FILES),
    scopes=ORGANISE,
    status=201,
)
def add_collection(name: str, file: Path) -> CollectionAnswer:
    """Add a collection with its documents

    The body is the file of documents, which pages of rankings and assessors then show.
    """
    asker = viewer()
    policy.require_creator(asker)
    finish_reading()
    documents = collections.prepare(file)
    with writing() as session:
        return collection_answer(collections.add(session, asker, name, documents=documents))


@operation("GET", "/tasks/<slug>/settings", SettingsAnswer, rule=Rule(SIGNED_IN))
def task_settings(slug: str) -> SettingsAnswer:
    """The settings of a task

    As their fields show them; for its organisers and who reads everything.
    """
    return _settings(slug)


@operation("PATCH", "/tasks/<slug>/settings", SettingsAnswer, body=Settings, scopes=ORGANISE)
def settle_task(slug: str, body: Settings) -> SettingsAnswer:
    """Change settings of a task

    All of them or none: every problem is told. Where scores depend on one, a new edition of the board is
    built. A new `slug` gives the task another address; the old one leads there.
    """
    with writing() as session:
        changed = settings.change_settings(session, viewer(), slug, body.settings, body.reason[:300])
    wake()
    return _settings(body.settings.get("slug", "").strip() or slug, changed)


def _settings(slug: str, changed: tuple[str, ...] = ()) -> SettingsAnswer:
    page = settings_pages.settings_page(reading(), viewer(), slug)
    return SettingsAnswer(task=page.slug, settings=page.values, changed=changed)


def _own(_: object, slug: str) -> OwnTask:
    page = settings_pages.settings_page(reading(), viewer(), slug)
    state = "archived" if page.of.archived_at else "published" if page.of.published_at else "draft"
    return OwnTask(task=page.slug, name=page.task, state=state)


OPERATIONS = (
    make_task,
    add_collection,
    task_settings,
    settle_task,
    *actions.operations(
        (*organise.DESK, *organise.LIFE, *organise.TOPICS),
        answers={
            **dict.fromkeys(
                ("publish_task", "unpublish_task", "archive_task", "unarchive_task"), (OwnTask, _own)
            ),
            "clone_task": (
                OwnTask,
                lambda made, slug: OwnTask(task=made.slug, name=made.name.strip(), state="draft"),
            ),
        },
    ),
)
