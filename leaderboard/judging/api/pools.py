"""Operations on the pools of a task: create, import, open, close, settle."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from flask import Response

from leaderboard.core import kinds, policy
from leaderboard.judging.ops import combined
from leaderboard.judging.ops.assessors import settle
from leaderboard.judging.ops.assessors.settle import Choice
from leaderboard.judging.ops.pools import pools, previews
from leaderboard.judging.ops.pools.previews import (
    LARGEST_SEED,
    MOST_PER_TEAM,
    MOST_SECONDS,
    OFFICIAL,
    SECONDS,
    WHICH,
    Plan,
)
from leaderboard.judging.page import combined as combined_tables
from leaderboard.judging.page.combined import CombinedChoice, combined_page
from leaderboard.judging.page.pools import pools as pool_pages
from leaderboard.qrels.api.judgments import ORGANISERS, FormQuery
from leaderboard.qrels.api.revisions import draft_answer
from leaderboard.trec.read.bundles import base_name
from leaderboard.web import responses
from leaderboard.web.api import actions, limits
from leaderboard.web.api.answers import DraftAnswer, PoolMade
from leaderboard.web.api.limits import Filled
from leaderboard.web.api.lists import ListQuery, Rows, part
from leaderboard.web.api.operations import ORGANISE, Reply, operation
from leaderboard.web.rules import SIGNED_IN, Body, Rule
from leaderboard.web.session import finish_reading, reading, viewer, writing

Values = Mapping[str, str | int | float]


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolPlan:
    """Selection of documents.

    method: its `name` and parameters, default if none is given; then: the second stage of a staged
    method. runs: official, all, or chosen (those in `chosen`). cap: maximum runs per team. overlap: the share
    of documents judged twice. seconds: judging time per document.
    """

    method: Values | None = None
    then: Values | None = None
    runs: Annotated[str, limits.one_of(WHICH)] = OFFICIAL
    chosen: tuple[int, ...] = ()
    primary_first: bool = False
    cap: Annotated[int, limits.within(1, MOST_PER_TEAM)] | None = None
    reuse: bool = True
    seed: Annotated[int, limits.within(0, LARGEST_SEED)] = 1
    seconds: Annotated[int, limits.within(1, MOST_SECONDS)] = SECONDS
    overlap: Annotated[float, limits.documented(minimum=0, maximum=1)] = 0.0
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolFileQuery:
    """A note on the pool, and the judging time per document."""

    note: str = ""
    seconds: Annotated[int, limits.within(1, MOST_SECONDS)] = SECONDS
    file_name: str = "pool"


@dataclass(frozen=True, slots=True, kw_only=True)
class SamplePlan:
    """The part of the machine's judgments for people to judge; seconds: judging time per document.

    share: of the documents, from .05 to 1. topics: instead, the number of topics to judge completely.
    """

    share: float = 0.2
    topics: int | None = None
    seed: Annotated[int, limits.within(0, LARGEST_SEED)] = 1
    seconds: Annotated[int, limits.within(1, MOST_SECONDS)] = SECONDS
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settling(Choice):
    """The settling rule and revision mode, as on the page that publishes, and the change note."""

    note: Filled
    other_scale: bool = False
    """Confirms that labels may be added to judgments with higher grades than assessors could give."""


@operation("POST", "/tasks/<slug>/pools", PoolMade, body=PoolPlan, scopes=ORGANISE, status=201)
def make_pool(slug: str, body: PoolPlan) -> PoolMade:
    """Create a pool

    Creates a draft; open it when its assessors have topics. For answers, it contains the cited documents.
    """
    asker = viewer()
    task = policy.own_task(reading(), asker, slug, policy.knows)
    preview = previews.preview(reading(), asker, slug, _plan(body, task.kind))
    with writing() as session:
        number = pools.add(session, asker, preview, body.note)
    return PoolMade(pool=number, state="draft")


@operation(
    "POST",
    "/tasks/<slug>/pools/import",
    PoolMade,
    query=PoolFileQuery,
    rule=Rule(SIGNED_IN, Body.UPLOAD),
    scopes=ORGANISE,
    status=201,
)
def import_pool(slug: str, query: PoolFileQuery, file: Path) -> PoolMade:
    """Import a pool from a file

    The body is the file, in NIST's pool format, as CSV or as JSON lines.
    """
    asker = viewer()
    policy.own_task(reading(), asker, slug, policy.coordinates)
    finish_reading()
    pool = pools.read_pool_file(file)
    name = base_name(query.file_name)
    with writing() as session:
        number = pools.bring_in(session, asker, slug, pool, name, note=query.note, seconds=query.seconds)
    return PoolMade(pool=number, state="draft")


@operation("POST", "/tasks/<slug>/samples", PoolMade, body=SamplePlan, scopes=ORGANISE, status=201)
def draw_sample(slug: str, body: SamplePlan) -> PoolMade:
    """Draw a sample of the machine's judgments for people to judge

    Creates a draft pool. A larger sample with the same seed contains the smaller one.
    """
    with writing() as session:
        number = combined.draw(session, viewer(), slug, **asdict(body))
    return PoolMade(pool=number, state="draft")


@operation(
    "POST", "/tasks/<slug>/pools/<id:number>/settle", DraftAnswer, body=Settling, scopes=ORGANISE, status=201
)
def settle_pool(slug: str, number: int, body: Settling) -> DraftAnswer:
    """Create a draft revision from a pool's labels

    Review its changes, then publish or discard it.
    """
    given = asdict(body)
    note, other_scale = given.pop("note"), given.pop("other_scale")
    with writing() as session:
        token = settle.keep(session, viewer(), slug, number, Choice(**given), note, other_scale)
    return draft_answer(slug, token)


OPERATIONS = (
    make_pool,
    import_pool,
    draw_sample,
    *actions.operations(
        (*combined.ACTIONS, *pools.ACTIONS),
        answers={"change_pool": (PoolMade, lambda state, slug, number: PoolMade(pool=number, state=state))},
    ),
    settle_pool,
)


def _plan(body: PoolPlan, task_kind: str) -> Plan:
    spec: dict[str, Any] = dict(body.method if body.method is not None else kinds.of(task_kind).usual_pool)
    if body.then is not None:
        spec["then"] = dict(body.then)
    facts = asdict(body)
    return Plan(spec=spec, **{key: facts[key] for key in facts if key not in ("method", "then", "note")})


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
    return responses.as_text(text, f"{slug}-pool-{number}")


@operation("GET", "/tasks/<slug>/combined", dict, query=CombinedQuery)
def show_combined(slug: str, query: CombinedQuery) -> dict[str, object]:
    """Get the combined board of people and a machine

    Based on a sample of the machine's judgments that people judged. Includes the rankings by each alone and
    the teams and models that the machine favours.
    """
    choice = CombinedChoice(query.measure, query.sample, query.by)
    return combined_tables.combined_facts(combined_page(reading(), viewer(), slug, choice))


READS = (pool_list, show_pool, pool_documents, pool_file, show_combined)
