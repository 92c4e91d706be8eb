"""Operations that read a run: topic by topic, by every measure, its origin, its file."""

from flask import Response

from leaderboard.pages.runs import measures, upload
from leaderboard.pages.runs import topics as run_topics
from leaderboard.pages.runs.head import ranked_documents, scored_run, seen_run
from leaderboard.web.api.lists import ListQuery, Rows, part
from leaderboard.web.api.operations import Reply, operation
from leaderboard.web.api.reads.tasks import MeasureQuery
from leaderboard.web.runs.files import answer
from leaderboard.web.session import reading, viewer


@operation("GET", "/runs/<id:run_id>/topics", Rows, query=MeasureQuery)
def run_by_topic(run_id: int, query: MeasureQuery) -> Reply:
    """The scores of a run, topic by topic"""
    page = run_topics.topics_page(reading(), scored_run(reading(), viewer(), run_id), query.measure, "topic")
    return part(run_topics.table(page), query, "topic")


@operation("GET", "/runs/<id:run_id>/measures", Rows, query=ListQuery)
def run_by_measure(run_id: int, query: ListQuery) -> Reply:
    """The scores of a run by every measure that fits its judgments"""
    page = measures.measures_page(reading(), ranked_documents(reading(), viewer(), run_id))
    return part(measures.table(page), query, "measure")


@operation("GET", "/runs/<id:run_id>/origin", dict)
def run_origin(run_id: int) -> dict[str, object]:
    """Where the scores of a run come from

    Digests of file, ranking and judgments, versions of measures, and runs that are nearly the same.
    """
    page = measures.origin_page(reading(), seen_run(reading(), viewer(), run_id))
    return dict(measures.ORIGIN_FILES.facts(page))


@operation("GET", "/runs/<id:run_id>/file", bytes)
def run_file(run_id: int) -> Response:
    """The file of a run, as it was sent

    Where you may see it; its ETag is its SHA-256.
    """
    return answer(upload.sent_file(reading(), viewer(), run_id))


OPERATIONS = (run_by_topic, run_by_measure, run_origin, run_file)
