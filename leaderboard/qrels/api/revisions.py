"""Operations of organisers on judgments: upload, preview, publish; snapshots of the board."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Annotated, Literal

from leaderboard.answers.page.nuggets import facts as answers_facts
from leaderboard.answers.web.nuggets import uploads
from leaderboard.boards.ops import snapshots
from leaderboard.core import policy
from leaderboard.errors import Invalid
from leaderboard.qrels.ops import revisions
from leaderboard.qrels.page.revisions import judgment_changes, rank_changes
from leaderboard.scoring.ops.qrels import files as qrels
from leaderboard.scoring.ops.qrels.files import MAIN
from leaderboard.scoring.ops.qrels.left_out import LeftOutList, RevisionLeftOut
from leaderboard.trec.qrels.align import read_distractors
from leaderboard.trec.read import forms
from leaderboard.trec.read.bundles import base_name
from leaderboard.web.addresses import absolute
from leaderboard.web.api import actions, limits
from leaderboard.web.api.answers import DraftAnswer, RevisionMade
from leaderboard.web.api.limits import Filled
from leaderboard.web.api.operations import ORGANISE, LinkAnswer, operation
from leaderboard.web.rules import SIGNED_IN, Body, Rule
from leaderboard.web.session import finish_reading, reading, viewer, writing

OF_RANKINGS = ("graded", "preference", "distractors", "left_out")


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgmentsQuery:
    """Contents of the file, origin of the judgments, and change note.

    holds: graded judgments, preferences, a list of distractors, or documents left out by topic; for a task of
    answers, one part of its judgments; or several parts in a zip with files named by part (for rankings:
    qrels, distractors, left_out and changed_docnos). second: meaning of the second column of graded
    judgments, empty for none. origin: `both` is a machine edited by people, for answers only. line: the
    judgment series, empty for the board's. leaves_out: whether topics without vital nuggets are excluded
    from measures of these; unchanged if omitted. earlier: numbers of earlier revisions, such as 1,2, whose
    judged documents are left out; later: for a draft without qrels, the revision whose new judgments are
    used.
    """

    holds: Literal[
        "graded",
        "preference",
        "distractors",
        "left_out",
        "nuggets",
        "assignments",
        "support",
        "argue",
        "parts",
    ] = "graded"
    second: str = ""
    map: str = ""
    """Mapping for graded judgments, such as `relevant=1,nonrelevant=0` or `columns=topic,-,docno,grade` or
    `topics=task`."""
    origin: Literal["human", "machine", "both"] | None = None
    origin_name: str = ""
    note: str = ""
    line: str = MAIN
    file_name: str = ""
    leaves_out: bool | None = None
    earlier: str = ""
    later: int | None = None
    leave_out_query: bool = False
    """Whether to leave out, from each topic, the document whose docno is the topic id."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ResidualBody:
    """Numbers of earlier revisions, the later one (null for the newest), and a change note.

    changed_docnos: docno in the earlier revisions -> current docno, if changed.
    """

    earlier: Annotated[tuple[int, ...], limits.documented(minItems=1)]
    later: int | None = None
    note: Filled
    changed_docnos: Mapping[str, str] = field(default_factory=dict)


@operation(
    "POST",
    "/tasks/<slug>/revisions/drafts",
    DraftAnswer,
    query=JudgmentsQuery,
    rule=Rule(SIGNED_IN, Body.FILES),
    scopes=ORGANISE,
    status=201,
)
def draft_revision(slug: str, query: JudgmentsQuery, file: Path) -> DraftAnswer:
    """Upload judgments

    The body is the file. The judgments are kept as a draft for one day: preview their changes, then publish
    or discard them. Parts of nuggets and labels that are not uploaded stay unchanged.
    """
    asker = viewer()
    task = policy.own_task(reading(), asker, slug)
    takes, asked = task.kind, forms.asked([query.map], task.dialect)
    finish_reading()
    if query.holds not in OF_RANKINGS and not (query.holds == "parts" and takes == "rankings"):
        return _draft_answers(slug, query, file)
    if query.origin == "both":
        raise Invalid(
            "Judgments of rankings are by people or by a machine; each has its own judgment series."
        )
    if query.second and query.holds not in ("graded", "parts"):
        raise Invalid("Only graded judgments have a second column.")
    if query.holds == "parts":
        with revisions.parts_of(file) as files:
            return _draft_rankings(slug, query, files, asked)
    part = query.holds if query.holds in revisions.PARTS else "qrels"
    return _draft_rankings(slug, query, {part: file}, asked)


def _draft_rankings(
    slug: str, query: JudgmentsQuery, files: Mapping[str, Path], asked: forms.Asked
) -> DraftAnswer:
    sent, listed = files.get("qrels"), files.get("distractors")
    kind = "preference" if query.holds == "preference" else "graded"
    name = base_name(query.file_name)
    prepared = None if sent is None else qrels.prepare(sent, name, kind, query.second, asked)
    distractors = None if listed is None else read_distractors(listed)
    changed = files.get("changed_docnos")
    earlier = revisions.numbers(query.earlier)
    listed_docnos, is_query = files.get("left_out"), query.leave_out_query
    leaving_out = revisions.read_left_out(
        listed_docnos, changed, earlier=earlier, later=query.later, query=is_query
    )
    with writing() as session:
        token = revisions.keep_draft(
            session,
            viewer(),
            slug,
            prepared,
            query.note,
            origin=query.origin,
            origin_name=query.origin_name.strip(),
            distractors=distractors,
            left_out=leaving_out,
            line=query.line or MAIN,
        )
    return draft_answer(slug, token)


@operation(
    "POST", "/tasks/<slug>/revisions/residual", DraftAnswer, body=ResidualBody, scopes=ORGANISE, status=201
)
def draft_residual(slug: str, body: ResidualBody) -> DraftAnswer:
    """Create judgments of a residual round

    Documents judged in earlier revisions are left out of every ranking, and the new judgments of a later
    revision are used. The result is kept as a draft for one day, like uploaded judgments.
    """
    given = LeftOutList(renamed={old.encode(): new.encode() for old, new in body.changed_docnos.items()})
    leaving_out = RevisionLeftOut(given, tuple(sorted(set(body.earlier))), body.later)
    if not leaving_out.earlier:
        raise Invalid("A residual round needs the numbers of the earlier revisions.")
    with writing() as session:
        token = revisions.keep_draft(session, viewer(), slug, None, body.note, left_out=leaving_out)
    return draft_answer(slug, token)


@operation(
    "GET", "/tasks/<slug>/revisions/drafts/<token>", DraftAnswer, rule=Rule(SIGNED_IN), scopes=ORGANISE
)
def revision_draft(slug: str, token: str) -> DraftAnswer:
    """Preview the changes of a draft revision"""
    return draft_answer(slug, token)


def _draft_answers(slug: str, query: JudgmentsQuery, file: Path) -> DraftAnswer:
    by, name = (query.origin, query.origin_name), base_name(query.file_name)
    line = query.line or MAIN
    prepared = uploads.sent(slug, query.holds, file, name, by=by, leaves_out=query.leaves_out, line=line)
    finish_reading()
    with writing() as session:
        token = revisions.keep_draft(session, viewer(), slug, prepared, query.note, line=line)
    return draft_answer(slug, token)


OPERATIONS = (
    draft_revision,
    draft_residual,
    revision_draft,
    *actions.operations(
        (*revisions.ACTIONS, snapshots.KEEP),
        answers={
            "keep_snapshot": (
                LinkAnswer,
                lambda kept, **_: LinkAnswer(link=absolute("snapshots.show", address=kept[0])),
            ),
            "publish_revision": (
                RevisionMade,
                lambda made, **_: RevisionMade(line=made.line, number=made.number),
            ),
        },
    ),
)


def _left_out(page: rank_changes.Preview) -> dict[str, object] | None:
    if page.changes.left_out is None:
        return None
    runs = None if page.left_out_of is None else asdict(page.left_out_of)
    return {**judgment_changes.left_out_facts(page.changes.left_out), "runs": runs}


def draft_answer(slug: str, token: str) -> DraftAnswer:
    """A draft as an API answer."""
    page = rank_changes.preview(reading(), viewer(), slug, token)
    total = page.changes.total
    return DraftAnswer(
        draft=page.token,
        line=page.line,
        base=page.base,
        added=total.added,
        changed=total.changed,
        removed=total.removed,
        refused=page.refused,
        lacking=page.lacking,
        read_as=page.read_as,
        left_out=_left_out(page),
        answers=None if page.of_answers is None else answers_facts.facts(page.of_answers),
    )
