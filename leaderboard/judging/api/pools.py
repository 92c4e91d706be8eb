"""Operations on the pools of a task: create, import, open, close, settle."""

from dataclasses import dataclass
from typing import Literal

from flask import Response

from leaderboard.judging.ops import combined
from leaderboard.judging.ops.assessors import settle
from leaderboard.judging.ops.pools import pools
from leaderboard.judging.page import combined as combined_tables
from leaderboard.judging.page.combined import CombinedChoice, combined_page
from leaderboard.judging.page.pools import pools as pool_pages
from leaderboard.qrels.api.judgments import ORGANISERS, FormQuery
from leaderboard.qrels.api.revisions import draft_answer
from leaderboard.web import http
from leaderboard.web.api import actions
from leaderboard.web.api.answers import DraftAnswer, PoolMade
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
