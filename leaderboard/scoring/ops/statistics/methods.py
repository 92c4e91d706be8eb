"""The comparison method of a task's board: test and correction chosen by its organisers."""

from sqlalchemy.orm import Session

from leaderboard.core import audit, policy
from leaderboard.core.policy import Viewer
from leaderboard.errors import Invalid
from leaderboard.scoring.ops.statistics import prepared
from leaderboard.stats.pairs.methods import Method, method

OF_A_BOARD = ("t", "guarded_t", "wilcoxon", "sign", "randomisation")
FAMILIES = ("holm", "bonferroni", "bh")
WITH_THEIR_OWN_TEST = ("tukey", "randomised_tukey")


def choices() -> tuple[Method, ...]:
    """Every method a board may be compared by, the default first.

    >>> choices()[0].key
    't+holm'
    """
    methods = [method(f"{test}+{family}") for test in OF_A_BOARD for family in FAMILIES]
    return (*methods, *(method(name) for name in WITH_THEIR_OWN_TEST))


def choose(session: Session, viewer: Viewer, slug: str, key: str) -> Method:
    """Change the test or correction of all boards of a task.

    Raises Invalid for an unknown method, Forbidden unless the viewer organises the task.
    """
    task, _ = policy.visible_task(session, viewer, slug)
    policy.require_organiser(viewer, task)
    methods = {method.key: method for method in choices()}
    if key not in methods:
        raise Invalid(f"Runs cannot be compared by {key!r}; choose one of {', '.join(methods)}.")
    task.comparison = key
    audit.record(session, viewer, "task.comparison", f"task:{task.id}", comparison=key)
    prepared.prepare(session, task.id)
    return methods[key]
