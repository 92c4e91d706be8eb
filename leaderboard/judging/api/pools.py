"""Operations on the pools of a task, their assessors, and query logs."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from flask import Response

from leaderboard.judging.ops import clicks, combined, judging, side_by_side
from leaderboard.judging.ops.assessors import labels, log, queues, settle
from leaderboard.judging.ops.assessors.labels import ImportedLabels
from leaderboard.judging.ops.clicks import ImportedLog
from leaderboard.judging.ops.judging import PersonalLink
from leaderboard.judging.ops.pools import pools
from leaderboard.judging.page import combined as combined_tables
from leaderboard.judging.page.combined import CombinedChoice, combined_page
from leaderboard.judging.page.pools import pools as pool_pages
from leaderboard.qrels.api.judgments import ORGANISERS, FormQuery
from leaderboard.qrels.api.revisions import draft_answer
from leaderboard.tasks.api.drafts import AssessorLink, AssessorLinks
from leaderboard.web import http
from leaderboard.web.addresses import absolute
from leaderboard.web.api import actions
from leaderboard.web.api.answers import DraftAnswer, PoolMade, RevisionMade
from leaderboard.web.api.lists import ListQuery, Rows, part
from leaderboard.web.api.operations import Reply, operation
from leaderboard.web.session import reading, viewer

OPERATIONS = actions.operations(
    (pools.MAKE, pools.IMPORT, combined.DRAW, *combined.ACTIONS, *pools.ACTIONS, settle.SETTLE),
    answers={
        "make_pool": (PoolMade, lambda pool, **_: PoolMade(pool=pool[0], state="draft")),
        "import_pool": (PoolMade, lambda pool, **_: PoolMade(pool=pool[0], state="draft")),
        "draw_sample": (PoolMade, lambda number, **_: PoolMade(pool=number, state="draft")),
        "change_pool": (PoolMade, lambda state, slug, number: PoolMade(pool=number, state=state)),
        "settle_pool": (DraftAnswer, lambda token, slug, number: draft_answer(slug, token)),
    },
)


@dataclass(frozen=True, slots=True, kw_only=True)
class CombinedQuery:
    """The measure, the sample (its pool number; default: the newest), and the ranking to use."""

    measure: str | None = None
    sample: int | None = None
    by: Literal["combined", "machine", "people"] = "combined"


@operation("GET", "/tasks/<slug>/pools", Rows, query=ListQuery, rule=ORGANISERS)
def pool_list(slug: str, query: ListQuery) -> Reply:
    """List the pools of a task

    For organisers and coordinators.
    """
    return part(pool_pages.list_table(pool_pages.index(reading(), viewer(), slug)), query, "pool")


@operation("GET", "/tasks/<slug>/pools/<id:number>", Rows, query=ListQuery, rule=ORGANISERS)
def show_pool(slug: str, number: int, query: ListQuery) -> Reply:
    """List the topics of a pool

    With the number of documents to judge and judged.
    """
    return part(pool_pages.table(pool_pages.page(reading(), viewer(), slug, number)), query, "topic")


@operation(
    "GET", "/tasks/<slug>/pools/<id:number>/topics/<topic:topic_id>", Rows, query=ListQuery, rule=ORGANISERS
)
def pool_documents(slug: str, number: int, topic_id: str, query: ListQuery) -> Reply:
    """List the documents of a topic in a pool

    In judging order.
    """
    page = pool_pages.topic_page(reading(), viewer(), slug, number, topic_id)
    return part(pool_pages.documents_table(page), query, "docno")


@operation("GET", "/tasks/<slug>/pools/<id:number>/file", bytes, query=FormQuery, rule=ORGANISERS)
def pool_file(slug: str, number: int, query: FormQuery) -> Response:
    """Download all documents of a pool"""
    text = "".join(pools.exported(reading(), viewer(), slug, number, query.form))
    return http.as_text(text, f"{slug}-pool-{number}")


@operation("GET", "/tasks/<slug>/combined", dict, query=CombinedQuery)
def show_combined(slug: str, query: CombinedQuery) -> dict[str, object]:
    """Get the combined board of people and a machine

    Based on a sample of the machine's judgments that people judged. Includes the rankings by each alone and
    the teams and models that the machine favours.
    """
    choice = CombinedChoice(query.measure, query.sample, query.by)
    return combined_tables.combined_facts(combined_page(reading(), viewer(), slug, choice))


READS = (pool_list, show_pool, pool_documents, pool_file, show_combined)


@dataclass(frozen=True, slots=True, kw_only=True)
class LogAnswer:
    """An imported query log."""

    log: int
    sessions: int
    topics: int
    rows: int
    unknown_rows: int


CLICKS = actions.operations(
    (*clicks.ACTIONS, clicks.PUBLISH),
    answers={
        "import_log": (LogAnswer, lambda log, **_: _answer(log)),
        "publish_clicks": (
            RevisionMade,
            lambda revision, **_: RevisionMade(line=revision.line, number=revision.number),
        ),
    },
)


def _answer(log: ImportedLog) -> LogAnswer:
    return LogAnswer(
        log=log.number, sessions=log.sessions, topics=log.topics, rows=log.rows, unknown_rows=log.unknown_rows
    )


ASSESSORS = actions.operations(
    (*judging.ACTIONS, queues.ASSIGN, labels.LABELS, *labels.GUIDELINES, *log.DECISIONS),
    answers={
        "add_assessors": (AssessorLinks, lambda links, **_: linked_all(links)),
        "renew_link": (AssessorLink, lambda link, **_: linked(link)),
        "add_labels": (ImportedLabels, lambda done, **_: done),
    },
)
SIDE_BY_SIDE = actions.operations(
    side_by_side.ACTIONS,
    answers={"add_comparing_assessors": (AssessorLinks, lambda links, **_: linked_all(links))},
)


def linked_all(links: Iterable[PersonalLink]) -> AssessorLinks:
    """Assessors with their personal links, as the API returns them."""
    return AssessorLinks(assessors=tuple(map(linked, links)))


def linked(link: PersonalLink) -> AssessorLink:
    """An assessor with the personal link, as the API returns it."""
    return AssessorLink(
        assessor=link.assessor_id, name=link.name, link=absolute("judging.desk", token=link.token)
    )
