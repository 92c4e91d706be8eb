"""All checks of a site, in order: the quick ones of the whole first."""

from leaderboard.services.checks import judgments, kept, runs, scores, whole
from leaderboard.services.checks.damage import DamageCheck


def checks(*, with_scores: bool = False) -> tuple[DamageCheck, ...]:
    """The checks of every kind of stored data; with_scores also computes scores again from rankings."""
    every = (*whole.CHECKS, *runs.checks(), *judgments.CHECKS, *scores.CHECKS, *kept.CHECKS)
    return (*every, *scores.AGAIN) if with_scores else every
