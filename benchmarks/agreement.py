"""How many values two outputs in trec_eval's layout do not share: `python -m benchmarks.agreement A B`."""

import sys
from collections import defaultdict
from collections.abc import Sequence
from itertools import zip_longest
from pathlib import Path

from benchmarks import values

Printed = dict[tuple[str, str], list[str]]


def differing(base: Path, other: Path) -> tuple[int, int]:
    """Values that differ, or that one lacks, and how many there are, of the names that both print.

    A name and topic that comes again is another run's: those are compared in their order.
    """
    expected, actual = _read(base), _read(other)
    shared = {name for name, _ in expected} & {name for name, _ in actual}
    wrong = total = 0
    for key in expected.keys() | actual.keys():
        if key[0] in shared:
            pairs = list(zip_longest(expected.get(key, []), actual.get(key, [])))
            total += len(pairs)
            wrong += sum(one != another for one, another in pairs)
    return wrong, total


def _read(path: Path) -> Printed:
    printed: Printed = defaultdict(list)
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            name, topic, value = line.split("\t")
            if name.rstrip() in values.NAMES:
                printed[name.rstrip(), topic].append(value.rstrip("\n"))
    return printed


def main(arguments: Sequence[str]) -> None:
    """Print both numbers."""
    base, other = arguments
    print(*differing(Path(base), Path(other)))


if __name__ == "__main__":
    main(sys.argv[1:])
