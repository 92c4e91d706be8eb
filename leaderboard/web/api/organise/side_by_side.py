"""Operations on comparisons by people: asked for, their assessors, ended."""

from dataclasses import dataclass
from typing import Annotated

from leaderboard.services import judging, policy, side_by_side
from leaderboard.services.side_by_side import ComparisonRequest
from leaderboard.web.api import limits
from leaderboard.web.api.limits import Filled
from leaderboard.web.api.operations import Done, operation
from leaderboard.web.api.organise.answers import AssessorLinks
from leaderboard.web.api.organise.assessors import linked
from leaderboard.web.api.organise.tasks import ORGANISE
from leaderboard.web.session import reading, settings, viewer, writing


@dataclass(frozen=True, slots=True, kw_only=True)
class AskBody:
    """A run and those that assessors compare it with.

    topics: these only, empty for all. sample: so many topics, drawn. each: assessors a topic.
    """

    run: int
    others: tuple[int, ...]
    assessors: tuple[int, ...]
    topics: tuple[str, ...] = ()
    sample: int | None = None
    each: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparingAssessors:
    """Names of people."""

    names: Annotated[tuple[Filled, ...], limits.told(minItems=1, maxItems=judging.MOST_AT_ONCE)]


@dataclass(frozen=True, slots=True, kw_only=True)
class TwoRuns:
    """Two runs."""

    first: int
    second: int


@operation("POST", "/tasks/<slug>/side-by-side", Done, body=AskBody, scopes=ORGANISE, status=201)
def ask_people(slug: str, body: AskBody) -> Done:
    """Have assessors compare a run with others"""
    asked = ComparisonRequest(body.run, body.others, body.assessors, body.topics, body.sample, body.each)
    asker = viewer()
    policy.own_task(reading(), asker, slug)
    with writing() as session:
        made = side_by_side.ask_pair(session, asker, slug, asked)
    return Done(done=f"{made} comparisons asked for")


@operation(
    "POST",
    "/tasks/<slug>/side-by-side/assessors",
    AssessorLinks,
    body=ComparingAssessors,
    scopes=ORGANISE,
    status=201,
)
def add_comparing_assessors(slug: str, body: ComparingAssessors) -> AssessorLinks:
    """Add assessors who compare

    Each gets a personal link, which cannot be read again.
    """
    policy.own_task(reading(), viewer(), slug)
    with writing() as session:
        made = judging.add_link(session, viewer(), slug, body.names, days=settings().assessor_link_days)
    return AssessorLinks(assessors=tuple(map(linked, made)))


@operation("POST", "/tasks/<slug>/side-by-side/end", Done, body=TwoRuns, scopes=ORGANISE)
def end_comparison(slug: str, body: TwoRuns) -> Done:
    """Ask for nothing more of two runs"""
    policy.own_task(reading(), viewer(), slug)
    with writing() as session:
        side_by_side.end(session, viewer(), slug, body.first, body.second)
    return Done(done="ended")


OPERATIONS = (ask_people, add_comparing_assessors, end_comparison)
