"""Choice of runs to pool: chosen ones, primary runs first, and a maximum number per team."""

from collections.abc import Sequence


def chosen_runs(
    teams: Sequence[object], *, primary: Sequence[bool] = (), cap: int | None = None
) -> list[int]:
    """The runs to pool, in priority order: primary runs first, then the stored order.

    teams: the team of every run, in stored order. cap: maximum runs per team (None: all of them); its
    primary runs come before its others. Omitted runs contribute nothing to a pool. Raises ValueError
    if primary is given for some runs only, or the cap is below 1.

    >>> chosen_runs(["a", "a", "b", "a"], primary=[False, True, False, False], cap=2)
    [1, 0, 2]
    """
    if primary and len(primary) != len(teams):
        raise ValueError(f"{len(primary)} primary marks are given for {len(teams)} runs")
    if cap is not None and cap < 1:
        raise ValueError(f"a cap must be a whole number of at least 1, not {cap}")
    first = [run for run, is_primary in enumerate(primary) if is_primary]
    taken: dict[object, int] = {}
    chosen = []
    for run in [*first, *(run for run in range(len(teams)) if run not in set(first))]:
        taken[teams[run]] = taken.get(teams[run], 0) + 1
        if cap is None or taken[teams[run]] <= cap:
            chosen.append(run)
    return chosen
