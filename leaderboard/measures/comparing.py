"""Measures by which runs can be compared topic by topic."""

from leaderboard.measures.record import Measure

COMPARED_AGGREGATES = ("mean", "sum")
"""Aggregates for which differences by topic explain a run's value."""


def refusal(measure: Measure) -> str:
    """Why runs cannot be compared by a measure; otherwise empty."""
    if measure.direction == "none":
        return (
            f"{measure.name} has no direction (higher or lower is better), so runs cannot be compared by it."
        )
    if measure.aggregate not in COMPARED_AGGREGATES:
        return (
            f"A run's {measure.name} is not a mean over topics, so differences by topic do not explain it; "
            "compare by a measure that is a mean over topics."
        )
    return ""
