"""Measurements as Markdown."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median

from benchmarks.measuring import Cost
from benchmarks.tools.commands import BASE, OURS, WITHOUT_KERNEL

TARGETS = {
    ("big", OURS): (1 / 12, 64),
    ("big", WITHOUT_KERNEL): (1 / 3, 96),
    ("many", OURS): (1 / 6, 64),
    ("many", WITHOUT_KERNEL): (1 / 2, 96),
}
"""Workload and tool -> what share of trec_eval's time and how many MB it should take."""

HEADINGS = ("tool", "seconds", "of trec_eval's", "range", "target", "peak MB", "target", "values that differ")


@dataclass
class Row:
    """One tool on one workload: its cost in each repeat, by number, and how its values agree."""

    tool: str
    costs: dict[int, Cost] = field(default_factory=dict)
    agreement: str = ""
    failure: str = ""


def workload(name: str, rows: Sequence[Row]) -> str:
    """The table of one workload, with a line for each tool that failed."""
    base = next((row.costs for row in rows if row.tool.startswith(f"{BASE} ")), {})
    lines = [f"### {name}", "", _line(HEADINGS), _line(["---", *["---:"] * (len(HEADINGS) - 1)])]
    lines += [_line(_cells(name, row, base)) for row in rows if row.costs]
    lines += [f"\n{row.tool} failed: {row.failure}" for row in rows if row.failure]
    return "\n".join(lines) + "\n"


def facts(environment: Mapping[str, str]) -> str:
    """Facts as a list."""
    return "".join(f"- {name}: {value}\n" for name, value in environment.items())


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _cells(name: str, row: Row, base: Mapping[int, Cost]) -> list[str]:
    # Other work on the machine slows neighbours in time alike: only costs of one repeat are divided.
    ratios = sorted(cost.seconds / base[turn].seconds for turn, cost in row.costs.items() if turn in base)
    share, megabytes = TARGETS.get((name, row.tool), (0.0, 0))
    return [
        row.tool,
        f"{median(cost.seconds for cost in row.costs.values()):.2f}",
        _share(median(ratios)) if ratios else "",
        f"{_share(ratios[0])} to {_share(ratios[-1])}" if len(ratios) > 1 else "",
        _share(share) if share else "",
        f"{median(cost.megabytes for cost in row.costs.values()):.0f}",
        str(megabytes or ""),
        row.agreement,
    ]


def _share(ratio: float) -> str:
    return f"1/{1 / ratio:.1f}" if ratio < 1 else f"{ratio:.1f}"
