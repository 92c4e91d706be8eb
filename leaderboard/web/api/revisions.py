"""Operations on the judgments of an organiser's task: sent, looked at, published; snapshots of its board."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Annotated, Literal

from leaderboard.errors import Invalid
from leaderboard.pages.nuggets import facts as answers_facts
from leaderboard.pages.revisions import judgment_changes, rank_changes
from leaderboard.services import policy, revisions, snapshots
from leaderboard.services.judges import imported
from leaderboard.services.judges.sending import PreparedReference
from leaderboard.services.qrels import files as qrels
from leaderboard.services.qrels.files import MAIN
from leaderboard.services.qrels.left_out import LeftOutList, RevisionLeftOut
from leaderboard.trec.qrels.distractors import read_distractors
from leaderboard.trec.read import forms
from leaderboard.trec.read.bundles import base_name
from leaderboard.web.addresses import absolute
from leaderboard.web.api import actions, limits
from leaderboard.web.api.drafts import DraftAnswer, RevisionMade
from leaderboard.web.api.limits import Filled
from leaderboard.web.api.operations import WRITE, LinkAnswer, operation
from leaderboard.web.api.tasks import ORGANISE
from leaderboard.web.nuggets import uploads
from leaderboard.web.rules import SIGNED_IN, Body, Rule
from leaderboard.web.session import finish_reading, reading, viewer, writing

OF_RANKINGS = ("graded", "preference", "distractors", "left_out")


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgmentsQuery:
    """What the file holds, who judged, and what to say of it.

    holds: graded judgments, preferences, a list of distractors, or one of documents left out by topic; of
    a task of answers one part of its judgments; or several parts in a zip whose files are named by them,
    of rankings qrels, distractors, left_out and changed_docnos. second: what the second column of graded
    judgments is, empty for nothing. origin: both is a machine edited by people, of answers
    only. line: which line of judgments, empty for the board's. leaves_out: whether topics without vital
    nuggets are left out of measures of these; as before where nothing is said. earlier: numbers of
    earlier revisions, such as 1,2, whose judged documents are left out; later: of a draft without qrels,
    whose new judgments stay.
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
    """How graded judgments are read, such as `relevant=1,nonrelevant=0` or `columns=topic,-,docno,grade` or
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
    """Whether to leave out, from each topic, the document whose docno is the id of the topic."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ResidualBody:
    """Earlier revisions by their numbers, the later one, null for the newest, and what to say of it.

    changed_docnos: docnos of the earlier revisions -> what they are today, where they changed.
    """

    earlier: Annotated[tuple[int, ...], limits.told(minItems=1)]
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
    """Send judgments

    The body is the file as it is. They are kept as a draft for a day: look at what they change, then
    publish or discard them. Of nuggets and labels, parts that are not sent stay as they are.
    """
    asker = viewer()
    task = policy.own_task(reading(), asker, slug)
    takes, asked = task.kind, forms.asked([query.map], task.dialect)
    finish_reading()
    if query.holds not in OF_RANKINGS and not (query.holds == "parts" and takes == "rankings"):
        return _draft_answers(slug, query, file)
    if query.origin == "both":
        raise Invalid("Judgments of rankings are by people or by a machine; each has a line of its own.")
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
    wish = revisions.wished(listed_docnos, changed, earlier=earlier, later=query.later, query=is_query)
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
            left_out=wish,
            line=query.line or MAIN,
        )
    return draft_answer(slug, token)


@operation(
    "POST", "/tasks/<slug>/revisions/residual", DraftAnswer, body=ResidualBody, scopes=ORGANISE, status=201
)
def draft_residual(slug: str, body: ResidualBody) -> DraftAnswer:
    """Make judgments of a residual round

    Whatever earlier revisions judge is left out of every ranking, and the judgments of a later one stay that
    they do not have. They are kept as a draft for a day, as judgments that are sent.
    """
    given = LeftOutList(renamed={old.encode(): new.encode() for old, new in body.changed_docnos.items()})
    wish = RevisionLeftOut(given, tuple(sorted(set(body.earlier))), body.later)
    if not wish.earlier:
        raise Invalid("A residual round needs the numbers of the earlier revisions.")
    with writing() as session:
        token = revisions.keep_draft(session, viewer(), slug, None, body.note, left_out=wish)
    return draft_answer(slug, token)


@operation(
    "GET", "/tasks/<slug>/revisions/drafts/<token>", DraftAnswer, rule=Rule(SIGNED_IN), scopes=ORGANISE
)
def revision_draft(slug: str, token: str) -> DraftAnswer:
    """What a draft of a revision would change"""
    return draft_answer(slug, token)


@operation("POST", "/tasks/<slug>/snapshots", LinkAnswer, scopes=WRITE, status=201)
def keep_snapshot(slug: str) -> LinkAnswer:
    """Freeze the board as the public sees it now

    The address never changes what it shows, and can be cited.
    """
    asker = viewer()
    frozen = snapshots.freeze(reading(), asker, slug)
    with writing() as session:
        address = snapshots.keep(session, asker, frozen)
    return LinkAnswer(link=absolute("snapshots.show", address=address))


def _draft_answers(slug: str, query: JudgmentsQuery, file: Path) -> DraftAnswer:
    by, name = (query.origin, query.origin_name), base_name(query.file_name)
    line = query.line or MAIN
    made = uploads.sent(slug, query.holds, file, name, by=by, leaves_out=query.leaves_out, line=line)
    finish_reading()
    with writing() as session:
        token = revisions.keep_draft(session, viewer(), slug, made, query.note, line=line)
    return draft_answer(slug, token)


OPERATIONS = (
    draft_revision,
    draft_residual,
    revision_draft,
    *actions.operations(
        revisions.ACTIONS,
        answers={
            "publish_revision": (
                RevisionMade,
                lambda made, **_: RevisionMade(line=made.line, number=made.number),
            )
        },
    ),
    keep_snapshot,
)


def _left_out(page: rank_changes.Preview) -> dict[str, object] | None:
    if page.changes.left_out is None:
        return None
    held = None if page.left_out_of is None else asdict(page.left_out_of)
    return {**judgment_changes.left_out_facts(page.changes.left_out), "runs": held}


def draft_answer(slug: str, token: str) -> DraftAnswer:
    """A draft as the API says it."""
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


@dataclass(frozen=True, slots=True, kw_only=True)
class ReferenceBody:
    """source: the task whose board it is, by its name in addresses. measure: empty for what it ranks by."""

    source: str
    measure: str = ""
    note: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ReferenceQuery:
    """measure: of a board file with several. is_machine: whether a machine judged it."""

    measure: str = ""
    is_machine: bool = False
    note: str = ""
    file_name: str = ""


@operation("POST", "/tasks/<slug>/reference", DraftAnswer, body=ReferenceBody, scopes=ORGANISE, status=201)
def choose_reference(slug: str, body: ReferenceBody) -> DraftAnswer:
    """Choose the board of a task as the reference of a task of judges

    Its ranked runs under the names that everybody reads. It is kept as a draft for a day: look at it, then
    publish it as a draft of judgments is.
    """
    made = imported.from_task(reading(), viewer(), slug, body.source.strip(), body.measure.strip())
    return _kept(slug, made, body.note)


@operation(
    "POST",
    "/tasks/<slug>/reference/file",
    DraftAnswer,
    query=ReferenceQuery,
    rule=Rule(SIGNED_IN, Body.FILES),
    scopes=ORGANISE,
    status=201,
)
def send_reference(slug: str, query: ReferenceQuery, file: Path) -> DraftAnswer:
    """Send a board file as the reference of a task of judges

    The body is the file as it is, or a zip of it and `declared.csv` with what its runs declare (columns run,
    team, llm, reranker). It is kept as a draft for a day, as a board of a task is.
    """
    with imported.files_of(file, base_name(query.file_name)) as sent:
        made = imported.from_file(
            reading(),
            viewer(),
            slug,
            sent.board,
            sent.name,
            query.measure.strip(),
            sent.declared,
            is_machine=query.is_machine,
        )
    return _kept(slug, made, query.note)


REFERENCES = (choose_reference, send_reference)


def _kept(slug: str, made: PreparedReference, note: str) -> DraftAnswer:
    finish_reading()
    with writing() as session:
        token = revisions.keep_draft(session, viewer(), slug, made, note)
    return draft_answer(slug, token)
