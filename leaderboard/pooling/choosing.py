"""Which runs are pooled: chosen ones, primary runs first, and at most a given number of a team."""

from collections.abc import Sequence


def chosen_runs(
    teams: Sequence[object], *, primary: Sequence[bool] = (), cap: int | None = None
) -> list[int]:
    """The runs to pool in the order in which they count: primary runs first, then the stored order.

    teams: the team of every run, in stored order. cap: the most runs of one team (None: all of them); its
    primary runs go before its others. Runs that are left out add nothing to a pool. Raises ValueError
    where primary is given for some runs only, or the cap is below 1.

    >>> chosen_runs(["a", "a", "b", "a"], primary=[False, True, False, False], cap=2)
    [1, 0, 2]
    """
    if primary and len(primary) != len(teams):
        raise ValueError(f"{len(primary)} runs are marked as primary or not, of {len(teams)}")
    if cap is not None and cap < 1:
        raise ValueError(f"a cap is a whole number from 1 up, not {cap}")
    first = [run for run, is_primary in enumerate(primary) if is_primary]
    taken: dict[object, int] = {}
    chosen = []
    for run in [*first, *(run for run in range(len(teams)) if run not in set(first))]:
        taken[teams[run]] = taken.get(teams[run], 0) + 1
        if cap is None or taken[teams[run]] <= cap:
            chosen.append(run)
    return chosen
