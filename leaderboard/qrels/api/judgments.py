"""Operations that read judgments: revisions and their files, other series and their boards."""

from dataclasses import dataclass
from typing import Literal

from flask import Response

from leaderboard.answers.page.nuggets import line
from leaderboard.qrels.page.revisions import lists, revision
from leaderboard.web import http
from leaderboard.web.api.lists import ListQuery, Rows, part
from leaderboard.web.api.operations import Reply, operation
from leaderboard.web.rules import COMPUTED, SIGNED_IN, Rule
from leaderboard.web.session import hands_out_judgments, reading, viewer

ORGANISERS = Rule(SIGNED_IN)


@dataclass(frozen=True, slots=True, kw_only=True)
class RevisionQuery:
    """The measure of the ranks before and after."""

    measure: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PartQuery:
    """The judgments, an additional list, or one part of answer judgments."""

    part: Literal["qrels", "distractors", "left_out", "nuggets", "assignments", "support", "argue"] = "qrels"


@dataclass(frozen=True, slots=True, kw_only=True)
class FormQuery:
    """NIST format, CSV or JSON Lines."""

    form: Literal["nist", "csv", "jsonl"] = "nist"


@operation("GET", "/tasks/<slug>/revisions", Rows, query=ListQuery)
def revisions(slug: str, query: ListQuery) -> Reply:
    """List the revisions of a task's judgments"""
    return part(lists.table(lists.revision_list(reading(), viewer(), slug)), query, "revision")


@operation("GET", "/tasks/<slug>/revisions/<id:number>", dict, query=RevisionQuery)
def show_revision(slug: str, number: int, query: RevisionQuery) -> dict[str, object]:
    """Get a revision

    Its changes, and the rank of every run before and after.
    """
    page = revision.revision_page(reading(), viewer(), slug, number, query.measure)
    return dict(revision.FILES.facts(page))


@operation("GET", "/tasks/<slug>/revisions/<id:number>/file", bytes, query=PartQuery)
@hands_out_judgments
def revision_file(slug: str, number: int, query: PartQuery) -> Response:
    """Download the judgments of a revision

    In an accepted input format; answer judgments are JSON Lines, with runs by name.
    """
    text = revision.of_revision(reading(), viewer(), slug, number, query.part)
    return http.as_text(text, f"{slug}-{number}-{query.part}")


@operation("GET", "/tasks/<slug>/lines", Rows, query=ListQuery)
def line_list(slug: str, query: ListQuery) -> Reply:
    """List the separate judgment series of a task

    Series other than the board's. In an answer task, each has its own board.
    """
    return part(lists.lines_table(lists.revision_list(reading(), viewer(), slug)), query, "line")


@operation("GET", "/tasks/<slug>/lines/<id:line_id>", dict, query=RevisionQuery, rule=COMPUTED)
def show_line(slug: str, line_id: int, query: RevisionQuery) -> dict[str, object]:
    """Get the leaderboard by a separate judgment series

    For an answer task: all runs under the newest revision of the series, and agreement with the task's
    board.
    """
    return dict(line.LINE_FILES.facts(line.line_page(reading(), viewer(), slug, line_id, query.measure)))


OPERATIONS = (revisions, show_revision, revision_file, line_list, show_line)
