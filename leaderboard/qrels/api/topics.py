"""Operations that read topics and their rankings."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from leaderboard import fields
from leaderboard.answers.page import answers
from leaderboard.core import policy
from leaderboard.qrels.page.topics import lists, topic
from leaderboard.qrels.page.topics.topic import Choice
from leaderboard.scoring.ops.board_measures import TopicFields
from leaderboard.trec.topics import topics as trec_topics
from leaderboard.web.api.limits import Filled
from leaderboard.web.api.lists import ListQuery, MeasureQuery, Rows, part
from leaderboard.web.api.operations import ORGANISE, Reply, operation
from leaderboard.web.rules import SIGNED_IN, Body, Rule
from leaderboard.web.session import finish_reading, reading, viewer


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicAnswer:
    """A topic, with the reason if it is excluded from means, otherwise empty."""

    topic: str
    title: str
    description: str
    narrative: str
    excluded: str


@operation("GET", "/tasks/<slug>/topics", Rows, query=MeasureQuery)
def topics(slug: str, query: MeasureQuery) -> Reply:
    """List the topics of a task

    With their difficulty, if visible to you.
    """
    page = lists.topic_list(reading(), viewer(), slug, query.measure)
    return part(lists.list_table(page), query, "topic")


@operation("GET", "/tasks/<slug>/topics/<topic:topic_id>", TopicAnswer)
def show_topic(slug: str, topic_id: str) -> TopicAnswer:
    """Get a topic

    Title, description and narrative.
    """
    page = topic.topic_page(reading(), viewer(), slug, topic_id, Choice(None, "", 0))
    return TopicAnswer(
        topic=page.topic_id,
        title=page.title,
        description=page.description,
        narrative=page.narrative,
        excluded=page.excluded or "",
    )


@operation("GET", "/tasks/<slug>/topics/<topic:topic_id>/runs", Rows, query=MeasureQuery)
def topic_scores(slug: str, topic_id: str, query: MeasureQuery) -> Reply:
    """Get the scores of all runs on a topic"""
    page = topic.topic_page(reading(), viewer(), slug, topic_id, Choice(query.measure, "", 0))
    return part(topic.scores_table(page), query, "run")


@operation("GET", "/tasks/<slug>/topics/<topic:topic_id>/documents", Rows, query=ListQuery)
def topic_documents(slug: str, topic_id: str, query: ListQuery) -> Reply:
    """List the judged documents of a topic

    With their grades and the runs that found them.
    """
    page = topic.topic_page(reading(), viewer(), slug, topic_id, Choice(None, "", None))
    return part(topic.documents_table(page), query, "docno")


OPERATIONS = (topics, show_topic, topic_scores, topic_documents)


@operation("GET", "/runs/<id:run_id>/answers/<topic:topic_id>", dict)
def show_answer(run_id: int, topic_id: str) -> dict[str, object]:
    """Get the answer of a run for a topic

    Its segments with citations, its length and limit, and truncated segments.
    """
    return dict(answers.ANSWER_FILES.facts(answers.answer_page(reading(), viewer(), run_id, topic_id)))


ANSWERS = (show_answer,)


@dataclass(frozen=True, slots=True, kw_only=True)
class FirstTopic:
    """A topic as it would be stored."""

    topic: Filled
    title: str
    """The title shown to assessors and readers."""
    description: str
    narrative: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicsReading:
    """Preview of a topics file.

    names: fields of the file. first: the first topics.
    """

    form: str
    """The format of the file, such as JSON Lines."""
    fields: str
    """The field mapping used. Correct it and send it as the parameter of the same name."""
    names: tuple[str, ...]
    topics: int
    notes: tuple[str, ...]
    """Guesses, omissions and missing values, with numbers and examples."""
    first: tuple[FirstTopic, ...]


@operation(
    "POST",
    "/topics/reading",
    TopicsReading,
    query=fields.as_sent(TopicFields),
    rule=Rule(SIGNED_IN, Body.FILES),
    scopes=ORGANISE,
)
def try_topics(query: Any, file: Path) -> TopicsReading:
    """Read a topics file without storing it

    The body is the file, in any accepted format; the response names the id and title fields.
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
                topic=topic.topic_id,
                title=topic.title,
                description=topic.description,
                narrative=topic.narrative,
            )
            for topic in read.topics[: trec_topics.EXAMPLES]
        ),
    )


CHANGES = (try_topics,)
