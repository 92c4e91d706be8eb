"""What a board under a revision of judgments of answers has to say of these."""

from collections.abc import Iterator
from statistics import median

from sqlalchemy.orm import Session

from leaderboard.memory import keep
from leaderboard.services.nuggets import stored
from leaderboard.services.nuggets.basis import AnswersBasis
from leaderboard.services.nuggets.reading import WORDS
from leaderboard.trec.facts.models import families
from leaderboard.trec.nuggets.judgments import MANY_FAILED
from leaderboard.trec.nuggets.packing import PARTS, PackedAnswers

NAMED = 20
"""Topics named in a sentence."""


def basis(session: Session, revision_id: int) -> AnswersBasis:
    """What the scores under a revision rest on; one statement; raises Damaged."""
    return of_packed(stored.packed_of(session, revision_id))


# Counting over all labels takes longer than the rest of a board, which opens the same judgments each time.
@keep
def of_packed(packed: bytes) -> AnswersBasis:
    """The same of judgments as they are stored; raises Damaged."""
    judged = stored.opened(packed)
    assigned = judged.judgments.assignments
    nuggets = [given for given in judged.judgments.nuggets.topics.values() if given]
    vital = [sum(nugget.importance == "vital" for nugget in given) for given in nuggets]
    middle = float(median(vital)) if vital else None
    failed = None if assigned is None else assigned.failed_share
    machines = [maker.name for maker in judged.made_by.values() if maker.kind != "human"]
    return AnswersBasis(
        made_by=tuple((WORDS[part], str(judged.made_by[part])) for part in PARTS if part in judged.made_by),
        families=frozenset().union(*map(families, machines)),
        median_vital=middle,
        failed=failed,
        warning=(warning := _warning(failed)),
        sentences=tuple(filter(None, (warning, *_sentences(judged, middle)))),
    )


def _warning(failed: float | None) -> str:
    if failed is None or failed <= MANY_FAILED:
        return ""
    return f"Warning: {failed:.1%} of all assignments failed; they count as not held."


def _sentences(judged: PackedAnswers, middle: float | None) -> Iterator[str]:
    if middle is not None:
        nuggets = "nugget" if middle == 1 else "nuggets"
        yield (
            f"A topic has {middle:g} vital {nuggets} in the median, so its scores are coarse, and their "
            "differences often skewed: where topics are few, the guarded paired t allows for that."
        )
    if judged.leaves_out and judged.without_vital:
        left = ", ".join(judged.without_vital[:NAMED])
        yield f"Measures of vital nuggets leave out topics without any: {left}."
