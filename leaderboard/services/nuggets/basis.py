"""What scores of answers rest on, as every board says it."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from statistics import median

from sqlalchemy import ColumnElement, select
from sqlalchemy.orm import Session

from leaderboard.db.tables import Qrels
from leaderboard.memory import keep
from leaderboard.services.evaluations.shown import ShownEdition
from leaderboard.services.nuggets import stored
from leaderboard.services.nuggets.reading import WORDS
from leaderboard.services.policy import Sight
from leaderboard.services.qrels.judged_inputs import MAIN
from leaderboard.services.qrels.lines import DRAFT
from leaderboard.trec.facts.models import families
from leaderboard.trec.nuggets.judgments import MANY_FAILED
from leaderboard.trec.nuggets.packing import PARTS, PackedAnswers

KIND = "answers"
"""What judgments of answers are called among kinds of judgments."""
NAMED = 20
"""Topics named in a sentence."""


@dataclass(frozen=True, slots=True)
class AnswersBasis:
    """Who made the judgments of an edition, and how good they are.

    made_by: (part, who made it) in words. families: those of the language models that made any part.
    median_vital: of the topics with nuggets the median number of vital ones, None where there are none.
    failed: the share of assignments that failed, None without assignments. warning: what is wrong with them
    where these are many, else empty; sentences: all that a board has to say, the warning among it.
    """

    made_by: tuple[tuple[str, str], ...]
    families: frozenset[str]
    median_vital: float | None
    failed: float | None
    warning: str = ""
    lines: tuple[tuple[int, str], ...] = ()
    """Number and name of the other lines of judgments, which have boards of their own."""
    sentences: tuple[str, ...] = ()

    def shared_with(self, *stated: str) -> frozenset[str]:
        """The families that what a run states of its models has in common with the judgments.

        >>> AnswersBasis((), frozenset({"gpt"}), None, None).shared_with("GPT-4o mini", "monoT5")
        frozenset({'gpt'})
        """
        return self.families & frozenset().union(*map(families, stated))


def of_edition(session: Session, shown: ShownEdition, sight: Sight) -> AnswersBasis | None:
    """What the scores of an edition rest on; None for rankings, and while judgments are held back."""
    if KIND not in shown.kinds or shown.edition is None or not sight.details:
        return None
    basis = of_packed(stored.packed_of(session, shown.edition.revision_id))
    return replace(basis, lines=beside_board(session, shown.edition.task_id))


def beside_board(session: Session, task_id: int) -> tuple[tuple[int, str], ...]:
    """Number and name of each line of judgments of answers beside the board's, by name; one statement."""
    lines = select(Qrels.id, Qrels.name).where(*beside(task_id)).order_by(Qrels.name)
    return tuple((line_id, name) for line_id, name in session.execute(lines))


def beside(task_id: int) -> tuple[ColumnElement[bool], ...]:
    """Which lines of a task are judgments of answers beside the board's."""
    return (
        Qrels.task_id == task_id,
        Qrels.kind == KIND,
        Qrels.name != MAIN,
        Qrels.name.not_like(f"{DRAFT}%"),
    )


# Counting over all labels takes longer than the rest of a board, which opens the same judgments each time.
@keep
def of_packed(packed: bytes) -> AnswersBasis:
    """What scores under judgments rest on, of these as they are stored; raises Damaged."""
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
