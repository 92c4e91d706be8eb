"""Operations of organisers on judgments: upload, preview, publish; snapshots of the board."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Annotated

from leaderboard.answers.page.nuggets import facts as answers_facts
from leaderboard.boards.ops import snapshots
from leaderboard.errors import Invalid
from leaderboard.qrels.ops import revisions, sending
from leaderboard.qrels.page.revisions import judgment_changes, rank_changes
from leaderboard.scoring.ops.qrels.left_out import LeftOutList, RevisionLeftOut
from leaderboard.web.addresses import absolute
from leaderboard.web.api import actions, limits
from leaderboard.web.api.answers import DraftAnswer, RevisionMade
from leaderboard.web.api.limits import Filled
from leaderboard.web.api.operations import ORGANISE, LinkAnswer, operation
from leaderboard.web.rules import SIGNED_IN, Rule
from leaderboard.web.session import reading, viewer, writing


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


OPERATIONS = (
    draft_residual,
    revision_draft,
    *actions.operations(
        (sending.SEND, *revisions.ACTIONS, snapshots.KEEP),
        answers={
            "draft_revision": (DraftAnswer, lambda token, slug: draft_answer(slug, token)),
            "keep_snapshot": (
                LinkAnswer,
                lambda kept, **_: LinkAnswer(link=absolute("snapshots.show", address=kept[0])),
            ),
            "publish_revision": (
                RevisionMade,
                lambda revision, **_: RevisionMade(line=revision.line, number=revision.number),
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
