"""Operations that read topics and what runs ranked for them."""

from dataclasses import dataclass

from leaderboard.pages.rankings import ranking
from leaderboard.pages.rankings import ranking as ranking_tables
from leaderboard.pages.topics import lists, topic
from leaderboard.pages.topics.topic import Choice
from leaderboard.web.api.lists import ListQuery, Rows, part
from leaderboard.web.api.operations import Reply, operation
from leaderboard.web.api.reads.tasks import MeasureQuery
from leaderboard.web.session import reading, viewer


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
    return part(ranking_tables.ranking_table(page), query, "docno")


OPERATIONS = (topics, show_topic, topic_scores, topic_documents, show_ranking)
