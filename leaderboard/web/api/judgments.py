"""Operations that read judgments: revisions with their files, pools with their documents and boards."""

from dataclasses import dataclass
from typing import Literal

from flask import Response

from leaderboard.pages import combined as combined_tables
from leaderboard.pages.combined import CombinedChoice, combined_page
from leaderboard.pages.nuggets import line
from leaderboard.pages.pools import pools
from leaderboard.pages.revisions import lists, revision
from leaderboard.services.pools import pools as pool_files
from leaderboard.web import responses
from leaderboard.web.api.lists import ListQuery, Rows, part
from leaderboard.web.api.operations import Reply, operation
from leaderboard.web.api.tasks import COMPUTED
from leaderboard.web.requests import hands_out_judgments
from leaderboard.web.rules import SIGNED_IN, Rule
from leaderboard.web.session import reading, viewer

ORGANISERS = Rule(SIGNED_IN)


@dataclass(frozen=True, slots=True, kw_only=True)
class RevisionQuery:
    """By which measure the ranks of runs before and after are told."""

    measure: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PartQuery:
    """The judgments, a list beside them, or one part of the judgments of answers."""

    part: Literal["qrels", "distractors", "left_out", "nuggets", "assignments", "support", "argue"] = "qrels"


@dataclass(frozen=True, slots=True, kw_only=True)
class FormQuery:
    """NIST's form, CSV or JSON lines."""

    form: Literal["nist", "csv", "jsonl"] = "nist"


@dataclass(frozen=True, slots=True, kw_only=True)
class CombinedQuery:
    """By which measure, of which sample (the number of its pool, else the newest), in whose order."""

    measure: str | None = None
    sample: int | None = None
    by: Literal["combined", "machine", "people"] = "combined"


@operation("GET", "/tasks/<slug>/revisions", Rows, query=ListQuery)
def revisions(slug: str, query: ListQuery) -> Reply:
    """The revisions of a task's judgments"""
    return part(lists.table(lists.revision_list(reading(), viewer(), slug)), query, "revision")


@operation("GET", "/tasks/<slug>/revisions/<id:number>", dict, query=RevisionQuery)
def show_revision(slug: str, number: int, query: RevisionQuery) -> dict[str, object]:
    """A revision

    What it changed, and the rank of every run before and after.
    """
    page = revision.revision_page(reading(), viewer(), slug, number, query.measure)
    return dict(revision.FILES.facts(page))


@operation("GET", "/tasks/<slug>/revisions/<id:number>/file", bytes, query=PartQuery)
@hands_out_judgments
def revision_file(slug: str, number: int, query: PartQuery) -> Response:
    """The judgments of a revision as a file

    In the form they are read in; those of answers are JSON lines, with each run by its name.
    """
    text = revision.of_revision(reading(), viewer(), slug, number, query.part)
    return responses.as_text(text, f"{slug}-{number}-{query.part}")


@operation("GET", "/tasks/<slug>/lines", Rows, query=ListQuery)
def line_list(slug: str, query: ListQuery) -> Reply:
    """The other lines of judgments of a task

    Beside the one that its board rests on. In a task of answers each has a board of its own.
    """
    return part(lists.lines_table(lists.revision_list(reading(), viewer(), slug)), query, "line")


@operation("GET", "/tasks/<slug>/lines/<id:line_id>", dict, query=RevisionQuery, rule=COMPUTED)
def show_line(slug: str, line_id: int, query: RevisionQuery) -> dict[str, object]:
    """The board by another line of judgments

    Of a task of answers: every run by the newest revision of the line, and how far the task's board agrees.
    """
    return dict(line.LINE_FILES.facts(line.line_page(reading(), viewer(), slug, line_id, query.measure)))


@operation("GET", "/tasks/<slug>/pools", Rows, query=ListQuery, rule=ORGANISERS)
def pool_list(slug: str, query: ListQuery) -> Reply:
    """The pools of a task

    For who organises it or looks after its assessors.
    """
    return part(pools.list_table(pools.index(reading(), viewer(), slug)), query, "pool")


@operation("GET", "/tasks/<slug>/pools/<id:number>", Rows, query=ListQuery, rule=ORGANISERS)
def show_pool(slug: str, number: int, query: ListQuery) -> Reply:
    """The topics of a pool

    With how many documents are to judge and judged.
    """
    return part(pools.table(pools.page(reading(), viewer(), slug, number)), query, "topic")


@operation(
    "GET", "/tasks/<slug>/pools/<id:number>/topics/<topic:topic_id>", Rows, query=ListQuery, rule=ORGANISERS
)
def pool_documents(slug: str, number: int, topic_id: str, query: ListQuery) -> Reply:
    """The documents of a topic in a pool

    In the order they are judged in.
    """
    page = pools.topic_page(reading(), viewer(), slug, number, topic_id)
    return part(pools.documents_table(page), query, "docno")


@operation("GET", "/tasks/<slug>/pools/<id:number>/file", bytes, query=FormQuery, rule=ORGANISERS)
def pool_file(slug: str, number: int, query: FormQuery) -> Response:
    """All documents of a pool as a file"""
    text = "".join(pool_files.exported(reading(), viewer(), slug, number, query.form))
    return responses.as_text(text, f"{slug}-pool-{number}")


@operation("GET", "/tasks/<slug>/combined", dict, query=CombinedQuery)
def show_combined(slug: str, query: CombinedQuery) -> dict[str, object]:
    """The board by people and a machine together

    Of a sample of the machine's judgments that people judged, with both alone beside it and whom the machine
    favours.
    """
    choice = CombinedChoice(query.measure, query.sample, query.by)
    return combined_tables.combined_facts(combined_page(reading(), viewer(), slug, choice))


OPERATIONS = (
    revisions,
    show_revision,
    revision_file,
    line_list,
    show_line,
    pool_list,
    show_pool,
    pool_documents,
    pool_file,
    show_combined,
)
