"""What scores of answers rest on, as every board says it; loaded where there are rankings too."""

from dataclasses import dataclass, replace
from importlib import import_module

from sqlalchemy.orm import Session

from leaderboard.services.evaluations.shown import ShownEdition
from leaderboard.services.policy import Sight
from leaderboard.trec.facts.models import families

KIND = "answers"
"""What judgments of answers are called among kinds of judgments."""


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
    # Where there are rankings only, no module of answers is ever loaded.
    said = import_module("leaderboard.services.nuggets.said")
    line_scores = import_module("leaderboard.services.nuggets.line_scores")
    basis: AnswersBasis = said.basis(session, shown.edition.revision_id)
    return replace(basis, lines=line_scores.beside_board(session, shown.edition.task_id))
