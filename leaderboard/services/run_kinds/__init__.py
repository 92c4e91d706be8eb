"""The kinds of run there are: an object each, in the module of its name, loaded when first asked for."""

from leaderboard.services import kinds
from leaderboard.services.kinds import RunKind


def _rankings() -> RunKind:
    from leaderboard.services.run_kinds import rankings

    return rankings.KIND


def _answers() -> RunKind:
    from leaderboard.services.run_kinds import answers

    return answers.KIND


def _judges() -> RunKind:
    from leaderboard.services.run_kinds import judges

    return judges.KIND


def register() -> None:
    """Make the kinds known; a process does so before it opens a site."""
    kinds.register({kinds.RANKINGS: _rankings, kinds.ANSWERS: _answers, kinds.JUDGES: _judges})
