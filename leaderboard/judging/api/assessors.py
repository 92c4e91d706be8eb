"""Operations on the assessors of a pool: links, topics, guidelines, imported labels, decisions."""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated

from msgspec import Meta

from leaderboard.core import policy
from leaderboard.core.policy import Scope
from leaderboard.judging.ops import judging, side_by_side
from leaderboard.judging.ops.assessors import labels, log, queues
from leaderboard.judging.ops.assessors.labels import ImportedLabels
from leaderboard.judging.ops.assessors.log import Decision
from leaderboard.judging.ops.assessors.queues import Plan
from leaderboard.judging.ops.judging import PersonalLink
from leaderboard.judging.ops.pools import pools
from leaderboard.judging.ops.side_by_side import ComparisonRequest
from leaderboard.scoring.ops import setting_values
from leaderboard.tasks.api.drafts import AssessorLink, AssessorLinks
from leaderboard.web.addresses import absolute
from leaderboard.web.api import actions, limits
from leaderboard.web.api.limits import Filled
from leaderboard.web.api.operations import ORGANISE, Done, operation
from leaderboard.web.rules import SIGNED_IN, Body, Rule
from leaderboard.web.session import finish_reading, reading, settings, viewer, writing

JUDGE = (Scope.JUDGE, Scope.ORGANISE)


@dataclass(frozen=True, slots=True, kw_only=True)
class NewAssessors:
    """Names of people; role: assessor or adjudicator."""

    names: Annotated[tuple[Filled, ...], limits.documented(minItems=1, maxItems=judging.MOST_AT_ONCE)]
    role: str = judging.ASSESSOR


@dataclass(frozen=True, slots=True, kw_only=True)
class AssignmentBody(Plan):
    """An assignment of topics to assessors.

    way: topic (one assessor per topic), share (each topic is divided) or all. overlap: the share of
    documents that two assessors judge. order: the order of documents. topics: empty for all.
    """

    seed: Annotated[int, limits.within(0, queues.LARGEST_SEED)] = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelsQuery:
    """The source of imported labels: an assessor's name, human or machine, and which machine."""

    name: str
    origin: str = "human"
    origin_name: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Guidelines:
    """Guidelines in Markdown."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class GradeName:
    """A grade and its name."""

    grade: int
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class GradeNames:
    """All named grades."""

    grades: tuple[GradeName, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    """A worked example: a topic, a stored document or your own text, its grade, and the reason."""

    topic: str
    grade: int
    docno: str = ""
    text: str = ""
    why: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionBody(Decision):
    """An adjudicator's grade of a document; key: chosen by you, so that a repeated request is stored once."""

    note: str = ""
    key: Annotated[str, Meta(min_length=1, max_length=64)]


@operation(
    "POST",
    "/tasks/<slug>/pools/<id:number>/assessors",
    AssessorLinks,
    body=NewAssessors,
    scopes=ORGANISE,
    status=201,
)
def add_assessors(slug: str, number: int, body: NewAssessors) -> AssessorLinks:
    """Add assessors

    Each gets a personal link, which is returned only once: send it to them.
    """
    with writing() as session:
        pools.own_pool(session, viewer(), slug, number)
        links = judging.add_link(
            session, viewer(), slug, body.names, body.role, settings().assessor_link_days
        )
    return AssessorLinks(assessors=tuple(map(linked, links)))


@operation("PUT", "/tasks/<slug>/pools/<id:number>/assignments", Done, body=AssignmentBody, scopes=ORGANISE)
def assign(slug: str, number: int, body: AssignmentBody) -> Done:
    """Assign a pool's documents to assessors"""
    with writing() as session:
        count = queues.assign(session, viewer(), slug, number, body)
    return Done(done=f"{count} assignments")


@operation(
    "POST",
    "/tasks/<slug>/pools/<id:number>/labels",
    ImportedLabels,
    query=LabelsQuery,
    rule=Rule(SIGNED_IN, Body.FILES),
    scopes=JUDGE,
    status=201,
)
def add_labels(slug: str, number: int, query: LabelsQuery, file: Path) -> ImportedLabels:
    """Import labels of an assessor or a machine

    The body is the file, in qrels format or as exported from a pool (CSV, JSON lines). Labels that are
    already known are counted and kept.
    """
    asker = viewer()
    pools.own_pool(reading(), asker, slug, number)
    finish_reading()
    prepared = labels.prepare(file, query.name)
    with writing() as session:
        done = labels.add(
            session,
            asker,
            slug,
            number,
            prepared,
            name=query.name,
            origin=query.origin,
            origin_name=query.origin_name,
        )
    return done


@operation("PUT", "/tasks/<slug>/pools/<id:number>/guidelines", Done, body=Guidelines, scopes=ORGANISE)
def write_guidelines(slug: str, number: int, body: Guidelines) -> Done:
    """Set the guidelines of a pool"""
    with writing() as session:
        labels.set_text(session, viewer(), slug, number, body.text)
    return Done(done="guidelines saved")


@operation("PUT", "/tasks/<slug>/pools/<id:number>/grades", Done, body=GradeNames, scopes=ORGANISE)
def name_grades(slug: str, number: int, body: GradeNames) -> Done:
    """Name the grades that assessors give

    The grades apply to all pools of the task.
    """
    with writing() as session:
        pools.own_pool(session, viewer(), slug, number)
        setting_values.rename_grades(
            session, viewer(), slug, {named.grade: named.name for named in body.grades}
        )
    return Done(done="grades saved")


@operation(
    "POST", "/tasks/<slug>/pools/<id:number>/examples", Done, body=Example, scopes=ORGANISE, status=201
)
def add_example(slug: str, number: int, body: Example) -> Done:
    """Add a worked example to the guidelines"""
    with writing() as session:
        labels.add_example(session, viewer(), slug, number, asdict(body))
    return Done(done="example added")


@operation("DELETE", "/tasks/<slug>/pools/<id:number>/examples/<id:place>", Done, scopes=ORGANISE)
def remove_example(slug: str, number: int, place: int) -> Done:
    """Remove a worked example from the guidelines

    Identified by its position, from 1.
    """
    with writing() as session:
        labels.remove_example(session, viewer(), slug, number, place)
    return Done(done="example removed")


@operation(
    "POST", "/tasks/<slug>/pools/<id:number>/decisions", Done, body=DecisionBody, scopes=JUDGE, status=201
)
def decide(slug: str, number: int, body: DecisionBody) -> Done:
    """Decide on a document with different grades"""
    with writing() as session:
        is_new = log.decide(session, viewer(), slug, number, body)
    return Done(done="decided" if is_new else "decision already stored")


@operation("POST", "/tasks/<slug>/pools/<id:number>/decisions/undo", Done, scopes=JUDGE)
def undo_decision(slug: str, number: int) -> Done:
    """Undo your last decision"""
    with writing() as session:
        topic_id, docno = log.undo(session, viewer(), slug, number)
    return Done(done=f"decision on {docno} for topic {topic_id} withdrawn")


OPERATIONS = (
    add_assessors,
    *actions.operations(
        judging.ACTIONS, answers={"renew_link": (AssessorLink, lambda link, **_: linked(link))}
    ),
    assign,
    add_labels,
    write_guidelines,
    name_grades,
    add_example,
    remove_example,
    decide,
    undo_decision,
)


def linked(link: PersonalLink) -> AssessorLink:
    """An assessor with the personal link, as the API returns it."""
    return AssessorLink(
        assessor=link.assessor_id, name=link.name, link=absolute("judging.desk", token=link.token)
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class AskBody(ComparisonRequest):
    """A run, the runs to compare it with, and the assessors.

    topics: empty for all. sample: number of topics to draw at random. each: assessors per topic.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparingAssessors:
    """Names of people."""

    names: Annotated[tuple[Filled, ...], limits.documented(minItems=1, maxItems=judging.MOST_AT_ONCE)]


@dataclass(frozen=True, slots=True, kw_only=True)
class TwoRuns:
    """Two runs."""

    first: int
    second: int


@operation("POST", "/tasks/<slug>/side-by-side", Done, body=AskBody, scopes=ORGANISE, status=201)
def ask_people(slug: str, body: AskBody) -> Done:
    """Request comparisons of a run with others"""
    asker = viewer()
    policy.own_task(reading(), asker, slug)
    with writing() as session:
        count = side_by_side.ask_pair(session, asker, slug, body)
    return Done(done=f"{count} comparisons requested")


@operation(
    "POST",
    "/tasks/<slug>/side-by-side/assessors",
    AssessorLinks,
    body=ComparingAssessors,
    scopes=ORGANISE,
    status=201,
)
def add_comparing_assessors(slug: str, body: ComparingAssessors) -> AssessorLinks:
    """Add assessors for comparisons

    Each gets a personal link, which is returned only once.
    """
    policy.own_task(reading(), viewer(), slug)
    with writing() as session:
        links = judging.add_link(session, viewer(), slug, body.names, days=settings().assessor_link_days)
    return AssessorLinks(assessors=tuple(map(linked, links)))


@operation("POST", "/tasks/<slug>/side-by-side/end", Done, body=TwoRuns, scopes=ORGANISE)
def end_comparison(slug: str, body: TwoRuns) -> Done:
    """Stop requesting answers for two runs"""
    policy.own_task(reading(), viewer(), slug)
    with writing() as session:
        side_by_side.end(session, viewer(), slug, body.first, body.second)
    return Done(done="ended")


SIDE_BY_SIDE = (ask_people, add_comparing_assessors, end_comparison)
