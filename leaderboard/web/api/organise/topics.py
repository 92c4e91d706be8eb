"""Operations on the topics of an organiser's task."""

from dataclasses import dataclass
from pathlib import Path

from leaderboard.services import policy
from leaderboard.services.tasks import board_measures
from leaderboard.trec.topics import topics as trec_topics
from leaderboard.web.api.limits import Filled
from leaderboard.web.api.operations import Done, operation
from leaderboard.web.api.organise.tasks import ORGANISE
from leaderboard.web.rules import SIGNED_IN, Body, Rule
from leaderboard.web.session import finish_reading, reading, viewer, wake, writing


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicFields:
    """Which fields of a topics file are read, such as `id=qid, title=query`; empty: as they are called."""

    fields: str = ""
    """Which fields of the file are read, such as `id=qid, title=query`; empty: as they are called."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FirstTopic:
    """A topic as it would be stored."""

    topic: Filled
    title: str
    """The title, as assessors and readers will see it."""
    description: str
    narrative: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicsReading:
    """How a file of topics is read.

    names: the fields that the file has. first: the first topics.
    """

    form: str
    """The form of the file, such as JSON Lines."""
    fields: str
    """The fields that are read. Correct them and send them as the parameter of the same name."""
    names: tuple[str, ...]
    topics: int
    notes: tuple[str, ...]
    """What was guessed, left out or is missing, with numbers and examples."""
    first: tuple[FirstTopic, ...]


@operation(
    "POST",
    "/topics/reading",
    TopicsReading,
    query=TopicFields,
    rule=Rule(SIGNED_IN, Body.FILES),
    scopes=ORGANISE,
)
def try_topics(query: TopicFields, file: Path) -> TopicsReading:
    """Read a topics file without storing it

    The body is the file, in any form that a task takes; the answer says which field is id and title.
    """
    policy.require_creator(viewer())
    finish_reading()
    read = trec_topics.read(file, query.fields)
    return TopicsReading(
        form=read.form,
        fields=read.fields,
        names=read.names,
        topics=len(read.topics),
        notes=tuple(note.text for note in read.notes),
        first=tuple(
            FirstTopic(
                topic=one.topic_id, title=one.title, description=one.description, narrative=one.narrative
            )
            for one in read.topics[: trec_topics.EXAMPLES]
        ),
    )


@operation(
    "PUT", "/tasks/<slug>/topics", Done, query=TopicFields, rule=Rule(SIGNED_IN, Body.FILES), scopes=ORGANISE
)
def replace_topics(slug: str, query: TopicFields, file: Path) -> Done:
    """Replace all topics by those of a file

    Before the first run. `fields` says which field is id and title where their names do not.
    """
    asker = viewer()
    policy.own_task(reading(), asker, slug)
    finish_reading()
    new = trec_topics.read(file, query.fields)
    with writing() as session:
        board_measures.replace(session, asker, slug, new.topics)
    wake()
    return Done(done=f"{len(new.topics)} topics. {new}")


OPERATIONS = (try_topics, replace_topics)
