"""Operations on the judgments of an organiser's task: sent, looked at, published; snapshots of its board."""

from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Literal

from leaderboard.errors import Invalid
from leaderboard.pages.nuggets import facts as answers_facts
from leaderboard.pages.revisions import previews
from leaderboard.services import policy, snapshots
from leaderboard.services.accounts.tokens import Scope
from leaderboard.services.qrels import files as qrels
from leaderboard.services.qrels.judged_inputs import MAIN
from leaderboard.services.revisions import drafts
from leaderboard.trec.qrels.distractors import read_distractors
from leaderboard.trec.read.bundles import base_name
from leaderboard.web.addresses import absolute
from leaderboard.web.api.operations import operation
from leaderboard.web.api.organise.answers import Done, DraftAnswer, LinkAnswer, RevisionMade
from leaderboard.web.api.organise.tasks import ORGANISE
from leaderboard.web.rules import SIGNED_IN, Body, Rule
from leaderboard.web.session import finish_reading, reading, viewer, wake, writing

OF_RANKINGS = ("graded", "preference", "distractors")
ANY_WRITE = (Scope.SUBMIT, Scope.ORGANISE)


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgmentsQuery:
    """What the file holds, who judged, and what to say of it.

    holds: graded judgments, preferences, or a list of distractors; of a task of answers one part of its
    judgments, or several in a zip whose files are named by them. second: what the second column of graded
    judgments is, empty for nothing. origin: both is a machine edited by people, of answers only. line: which
    line of judgments, empty for the board's. leaves_out: whether topics without vital nuggets are left out of
    measures of these; as before where nothing is said.
    """

    holds: Literal[
        "graded", "preference", "distractors", "nuggets", "assignments", "support", "argue", "parts"
    ] = "graded"
    second: str = ""
    origin: Literal["human", "machine", "both"] | None = None
    origin_name: str = ""
    note: str = ""
    line: str = MAIN
    file_name: str = ""
    leaves_out: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Publication:
    """base: the number of the revision that the changes were looked at against; null: whatever is newest."""

    base: int | None = None


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
    policy.own_task(reading(), asker, slug)
    finish_reading()
    if query.holds not in OF_RANKINGS:
        return _draft_answers(slug, query, file)
    if query.origin == "both":
        raise Invalid("Judgments of rankings are by people or by a machine; each has a line of its own.")
    listed = query.holds == "distractors"
    if query.second and query.holds != "graded":
        raise Invalid("Only graded judgments have a second column.")
    name = base_name(query.file_name)
    prepared = None if listed else qrels.prepare(file, name, query.holds, query.second)
    distractors = read_distractors(file) if listed else None
    with writing() as session:
        token = drafts.keep(
            session,
            asker,
            slug,
            prepared,
            query.note,
            origin=query.origin,
            origin_name=query.origin_name.strip(),
            distractors=distractors,
            line=query.line or MAIN,
        )
    return draft_answer(slug, token)


@operation(
    "GET", "/tasks/<slug>/revisions/drafts/<token>", DraftAnswer, rule=Rule(SIGNED_IN), scopes=ORGANISE
)
def revision_draft(slug: str, token: str) -> DraftAnswer:
    """What a draft of a revision would change"""
    return draft_answer(slug, token)


@operation(
    "POST",
    "/tasks/<slug>/revisions/drafts/<token>/publish",
    RevisionMade,
    body=Publication,
    scopes=ORGANISE,
    status=201,
)
def publish_revision(slug: str, token: str, body: Publication) -> RevisionMade:
    """Make a revision of a draft

    Every run is scored under it, and the board changes when all are.
    """
    with writing() as session:
        made = drafts.publish(session, viewer(), slug, token, base=body.base)
    wake()
    return RevisionMade(line=made.line, number=made.number)


@operation("DELETE", "/tasks/<slug>/revisions/drafts/<token>", Done, scopes=ORGANISE)
def discard_revision(slug: str, token: str) -> Done:
    """Discard a draft of a revision"""
    with writing() as session:
        drafts.discard(session, viewer(), slug, token)
    return Done(done="draft discarded")


@operation("POST", "/tasks/<slug>/snapshots", LinkAnswer, scopes=ANY_WRITE, status=201)
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
    # Where there are rankings only, no module of answers is ever loaded.
    uploads = import_module("leaderboard.web.nuggets.uploads")
    by, name = (query.origin, query.origin_name), base_name(query.file_name)
    made = uploads.sent(slug, query.holds, file, name, by=by, leaves_out=query.leaves_out)
    finish_reading()
    with writing() as session:
        token = drafts.keep(session, viewer(), slug, made, query.note)
    return draft_answer(slug, token)


OPERATIONS = (draft_revision, revision_draft, publish_revision, discard_revision, keep_snapshot)


def draft_answer(slug: str, token: str) -> DraftAnswer:
    """A draft as the API says it."""
    page = previews.preview(reading(), viewer(), slug, token)
    total = page.changes.total
    return DraftAnswer(
        draft=page.token,
        line=page.line,
        base=page.base,
        added=total.added,
        changed=total.changed,
        removed=total.removed,
        refused=page.refused,
        answers=None if page.of_answers is None else answers_facts.facts(page.of_answers),
    )
