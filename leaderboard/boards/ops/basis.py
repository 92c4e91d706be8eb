"""The basis of the scores on a board of answers."""

from dataclasses import dataclass

from leaderboard.trec.facts import families


@dataclass(frozen=True, slots=True)
class AnswersBasis:
    """Origin and quality of the judgments of an edition.

    made_by: (part, maker) as text. families: families of the language models that made any part.
    median_vital: median number of vital nuggets per topic with nuggets, None without nuggets.
    failed: the share of assignments that failed, None without assignments. warning: a warning
    if many failed, else empty; sentences: everything the board says about them, including the warning.
    """

    made_by: tuple[tuple[str, str], ...]
    families: frozenset[str]
    median_vital: float | None
    failed: float | None
    warning: str = ""
    lines: tuple[tuple[int, str], ...] = ()
    """Number and name of the other judgment series, which have their own boards."""
    sentences: tuple[str, ...] = ()

    def shared_with(self, *stated: str) -> frozenset[str]:
        """Model families that a run declares and that also made the judgments.

        >>> AnswersBasis((), frozenset({"gpt"}), None, None).shared_with("GPT-4o mini", "monoT5")
        frozenset({'gpt'})
        """
        return self.families & frozenset().union(*map(families, stated))
