"""Operations on the pools of a task: made by a method or of a file, opened, closed, settled."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any

from leaderboard.services import combined, kinds, policy
from leaderboard.services.assessors import settle
from leaderboard.services.assessors.settle import Choice
from leaderboard.services.pools import pools, previews
from leaderboard.services.pools.previews import (
    LARGEST_SEED,
    MOST_PER_TEAM,
    MOST_SECONDS,
    OFFICIAL,
    SECONDS,
    WHICH,
    Plan,
)
from leaderboard.trec.read.bundles import base_name
from leaderboard.web.api import actions, limits
from leaderboard.web.api.drafts import DraftAnswer, PoolMade
from leaderboard.web.api.limits import Filled
from leaderboard.web.api.operations import operation
from leaderboard.web.api.revisions import draft_answer
from leaderboard.web.api.tasks import ORGANISE
from leaderboard.web.rules import SIGNED_IN, Body, Rule
from leaderboard.web.session import finish_reading, reading, viewer, writing

Values = Mapping[str, str | int | float]


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolPlan:
    """How documents are chosen.

    method: its `name` and parameters, the usual one where none is given; then: the second stage of a staged
    one. runs: official, all, or chosen (those of `chosen`). cap: runs of a team. overlap: the share of
    documents that are judged twice. seconds: that a judgment takes.
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
    overlap: Annotated[float, limits.told(minimum=0, maximum=1)] = 0.0
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolFileQuery:
    """What to say of the pool, and how long a judgment takes."""

    note: str = ""
    seconds: Annotated[int, limits.within(1, MOST_SECONDS)] = SECONDS
    file_name: str = "pool"


@dataclass(frozen=True, slots=True, kw_only=True)
class SamplePlan:
    """What of the machine's judgments people judge; seconds: that a judgment takes.

    share: of the documents, from .05 to 1. topics: instead of it, how many topics are judged to the end.
    """

    share: float = 0.2
    topics: int | None = None
    seed: Annotated[int, limits.within(0, LARGEST_SEED)] = 1
    seconds: Annotated[int, limits.within(1, MOST_SECONDS)] = SECONDS
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settling(Choice):
    """How labels become judgments, as the page that settles offers it, and what to say of the revision."""

    note: Filled
    other_scale: bool = False
    """Confirms that labels are added to judgments with higher grades than assessors could give."""


@operation("POST", "/tasks/<slug>/pools", PoolMade, body=PoolPlan, scopes=ORGANISE, status=201)
def make_pool(slug: str, body: PoolPlan) -> PoolMade:
    """Make a pool

    As a draft; open it when its assessors have their topics. Of a task of answers it holds what they cite.
    """
    asker = viewer()
    task = policy.own_task(reading(), asker, slug, policy.knows)
    made = previews.preview(reading(), asker, slug, _plan(body, task.kind))
    with writing() as session:
        number = pools.add(session, asker, made, body.note)
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
    """Make a pool of a file

    The body is the file, in the form of NIST's pools, as CSV or as JSON lines.
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

    It is the draft of a pool. A larger sample with the same seed contains the smaller one.
    """
    with writing() as session:
        number = combined.draw(session, viewer(), slug, **asdict(body))
    return PoolMade(pool=number, state="draft")


@operation(
    "POST", "/tasks/<slug>/pools/<id:number>/settle", DraftAnswer, body=Settling, scopes=ORGANISE, status=201
)
def settle_pool(slug: str, number: int, body: Settling) -> DraftAnswer:
    """Make a draft of a revision from a pool's labels

    Look at what it changes, then publish or discard it.
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
