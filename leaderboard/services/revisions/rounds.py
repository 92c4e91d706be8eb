"""Judgments as they are asked for with documents left out: sent, unchanged, or new in a residual round."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from sqlalchemy import select
from sqlalchemy.orm import Session

from leaderboard.db.tables import Qrels, QrelsRevision
from leaderboard.errors import Invalid, Problem
from leaderboard.services.qrels import judged_inputs, left_out, lines
from leaderboard.services.qrels.files import PreparedQrels
from leaderboard.services.qrels.judged_inputs import MAIN
from leaderboard.services.qrels.left_out import LeftOutList, RevisionLeftOut
from leaderboard.services.revisions import publish
from leaderboard.trec.qrels.left_out import with_queries


def judged(
    session: Session, task_id: int, prepared: PreparedQrels | None, wish: RevisionLeftOut | None
) -> tuple[PreparedQrels, LeftOutList | None]:
    """The judgments, None for the board's newest ones, and what they leave out: None where nothing is asked.

    Of a residual round they are those sent, else those of the later revision that none of the earlier ones
    judges. Raises Invalid for a revision that the task does not have, or whose judgments are not graded, and
    for one that is both earlier and later.
    """
    made, given = _judged(session, task_id, prepared, wish)
    if wish is not None and wish.query:
        given = given or LeftOutList()
        given = replace(given, listed=with_queries(given.listed, made.topics))
    return made, given


def _judged(
    session: Session, task_id: int, prepared: PreparedQrels | None, wish: RevisionLeftOut | None
) -> tuple[PreparedQrels, LeftOutList | None]:
    if wish is None or not wish.earlier:
        return prepared or publish.unchanged(session, task_id), None if wish is None else wish.given
    if wish.given.path is not None:
        raise Invalid("Documents left out are those of a file, or those of earlier revisions, not both.")
    revisions = _graded(session, task_id, wish)
    renamed = wish.given.renamed
    earlier = {number: revisions[number].judgments for number in wish.earlier}
    if prepared is not None:
        return prepared, LeftOutList(left_out.judged_before(earlier, renamed), None, renamed)
    later = max(revisions) if wish.later is None else wish.later
    if later in earlier:
        raise Invalid(
            f"Revision {later} is to be left out, and its judgments are to stay.",
            [Problem("is an earlier round already.", "Send judgments, or choose another.", field="later")],
        )
    new, gone = left_out.residual(revisions[later].judgments, earlier, renamed)
    named = replace(new, file_name=revisions[later].file_name)
    return named, LeftOutList(gone, None, renamed)


def wished(
    path: Path | None,
    changed: Path | None = None,
    *,
    earlier: Sequence[int] = (),
    later: int | None = None,
    drop: bool = False,
    query: bool = False,
) -> RevisionLeftOut | None:
    """What is asked for of documents left out: a list, a residual round, nothing (drop); None: as before.

    changed: a file of docnos that changed; query: the document whose docno is the topic's id too. Raises
    Invalid with the lines at fault, and for what contradicts.
    """
    if drop and (path is not None or earlier or query):
        raise Invalid("Documents are to be left out, and none are to be left out: choose one of these.")
    if later is not None and not earlier:
        raise Invalid("New judgments of a later revision need earlier ones that they are new against.")
    if changed is not None and path is None and not earlier:
        raise Invalid("Changed docnos are those of documents left out; name a list of them too.")
    if path is None and not earlier and not drop and not query:
        return None
    return RevisionLeftOut(left_out.listed(path, changed), tuple(earlier), later, query)


def numbers(text: str) -> tuple[int, ...]:
    """Numbers of revisions from a text, such as `1, 2`; raises Invalid for anything else.

    >>> numbers("2 1,2"), numbers("")
    ((1, 2), ())
    """
    words = text.replace(",", " ").split()
    if not all(word.isascii() and word.isdigit() and len(word) < MOST_DIGITS for word in words):
        problem = Problem(
            "lists the numbers of earlier revisions.", "Write them as 1, 2.", field="earlier", value=text[:40]
        )
        raise Invalid("Earlier revisions are given by their numbers, such as 1, 2.", [problem])
    return tuple(sorted({int(word) for word in words}))


MOST_DIGITS = 10


def _graded(session: Session, task_id: int, wish: RevisionLeftOut) -> dict[int, PreparedQrels]:
    """Number -> what is judged, of the revisions that are asked for, and of the newest."""
    rows: Sequence[QrelsRevision] = session.scalars(
        select(QrelsRevision)
        .join(Qrels, Qrels.id == QrelsRevision.qrels_id)
        .where(Qrels.task_id == task_id, Qrels.name == MAIN, Qrels.kind == "graded")
        .order_by(QrelsRevision.number)
        .options(*judged_inputs.WHOLE)
    ).all()
    known = {row.number: row for row in rows}
    asked = [*wish.earlier, *([] if wish.later is None else [wish.later])]
    if missing := [number for number in asked if number not in known]:
        has = ", ".join(map(str, known)) or "none"
        problem = Problem(
            "The task has no such revision of graded judgments.",
            f"It has {has}.",
            field="earlier",
            value=str(missing[0]),
        )
        raise Invalid(f"There is no revision {missing[0]} of graded judgments; there is {has}.", [problem])
    return {number: lines.stored(session, known[number]) for number in {*asked, max(known)}}
