"""What can be made in a round of labelling, and the labels that each kind has."""

from dataclasses import dataclass

from leaderboard.trec.nuggets.packing import Part

NUGGETS: Part = "nuggets"
ASSIGNMENTS: Part = "assignments"
SUPPORT: Part = "support"
UNSURE = -1
"""The label of who could not say."""


@dataclass(frozen=True, slots=True)
class LabelChoice:
    """One label that an assessor can give: its number, its name, what it means and the key that gives it."""

    value: int
    name: str
    meaning: str
    key: str


@dataclass(frozen=True, slots=True)
class RoundKind:
    """One thing that people make: what it is called, what is asked, and the labels; none where they write."""

    part: Part
    title: str
    asked: str
    labels: tuple[LabelChoice, ...] = ()

    @property
    def values(self) -> frozenset[int]:
        """The labels by number."""
        return frozenset(label.value for label in self.labels)


KINDS: dict[str, RoundKind] = {
    kind.part: kind
    for kind in (
        RoundKind(
            SUPPORT,
            "Support labels",
            "Does the cited document bear the segment out?",
            (
                LabelChoice(2, "full support", "the document bears out all that the segment says", "2"),
                LabelChoice(1, "partial support", "it bears out some of it", "1"),
                LabelChoice(0, "no support", "it bears out nothing of it", "0"),
                LabelChoice(UNSURE, "cannot say", "the text is missing or cannot be judged", "c"),
            ),
        ),
        RoundKind(
            ASSIGNMENTS,
            "Assignments",
            "Does the answer hold the nugget?",
            (
                LabelChoice(2, "support", "the answer says all of it", "2"),
                LabelChoice(1, "partial support", "it says some of it", "1"),
                LabelChoice(0, "not support", "it says nothing of it, or the contrary", "0"),
            ),
        ),
        RoundKind(NUGGETS, "Nuggets", "Which facts does a good answer hold?"),
    )
}
"""Kind of a round -> what it makes, in the order of the form."""
