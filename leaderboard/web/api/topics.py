"""Operations that read topics and what runs ranked for them."""

from dataclasses import dataclass
from pathlib import Path

from leaderboard.pages import answers
from leaderboard.pages.rankings import ranking
from leaderboard.pages.topics import lists, topic
from leaderboard.pages.topics.topic import Choice
from leaderboard.services import policy
from leaderboard.services.tasks import board_measures
from leaderboard.trec.topics import topics as trec_topics
from leaderboard.web.api.limits import Filled
from leaderboard.web.api.lists import ListQuery, Rows, part
from leaderboard.web.api.operations import Done, Reply, operation
from leaderboard.web.api.tasks import ORGANISE, MeasureQuery
from leaderboard.web.rules import SIGNED_IN, Body, Rule
from leaderboard.web.session import finish_reading, reading, viewer, wake, writing


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicAnswer:
    """What a topic asks for; why it is left out of the means, empty where it is not."""

    topic: str
    title: str
    description: str
    narrative: str
    excluded: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RankingQuery(ListQuery):
    """titles: whether documents have their titles, where the site holds them."""

    titles: bool = False


@operation("GET", "/tasks/<slug>/topics", Rows, query=MeasureQuery)
def topics(slug: str, query: MeasureQuery) -> Reply:
    """The topics of a task

    With what is known of their difficulty where you may see it.
    """
    page = lists.topic_list(reading(), viewer(), slug, query.measure)
    return part(lists.list_table(page), query, "topic")


@operation("GET", "/tasks/<slug>/topics/<topic:topic_id>", TopicAnswer)
def show_topic(slug: str, topic_id: str) -> TopicAnswer:
    """A topic

    What it asks for.
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
    """The scores of all runs on a topic"""
    page = topic.topic_page(reading(), viewer(), slug, topic_id, Choice(query.measure, "", 0))
    return part(topic.scores_table(page), query, "run")


@operation("GET", "/tasks/<slug>/topics/<topic:topic_id>/documents", Rows, query=ListQuery)
def topic_documents(slug: str, topic_id: str, query: ListQuery) -> Reply:
    """The judged documents of a topic

    With their grades, and which runs found them.
    """
    page = topic.topic_page(reading(), viewer(), slug, topic_id, Choice(None, "", None))
    return part(topic.documents_table(page), query, "docno")


@operation("GET", "/runs/<id:run_id>/topics/<topic:topic_id>", Rows, query=RankingQuery)
def show_ranking(run_id: int, topic_id: str, query: RankingQuery) -> Reply:
    """What a run ranked for a topic

    In the order it was scored in, with grades where you may see them.
    """
    page = ranking.ranking_page(
        reading(), viewer(), run_id, topic_id, None, read="titles" if query.titles else "nothing"
    )
    return part(ranking.ranking_table(page), query, "docno")


OPERATIONS = (topics, show_topic, topic_scores, topic_documents, show_ranking)


@operation("GET", "/runs/<id:run_id>/answers/<topic:topic_id>", dict)
def show_answer(run_id: int, topic_id: str) -> dict[str, object]:
    """What a run of answers says on a topic

    Its segments with the documents they cite, its length and the limit, and what was cut off.
    """
    return dict(answers.ANSWER_FILES.facts(answers.answer_page(reading(), viewer(), run_id, topic_id)))


ANSWERS = (show_answer,)


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


CHANGES = (try_topics, replace_topics)
