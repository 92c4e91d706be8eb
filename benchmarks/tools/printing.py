"""What the tools of the comparison have in common: files in, lines as trec_eval's out."""

import gzip
import sys
from collections.abc import Mapping
from typing import TextIO


def opened(path: str) -> TextIO:
    """A text file that may be a .gz."""
    return gzip.open(path, "rt") if path.endswith(".gz") else open(path)


def print_run(scores: Mapping[str, Mapping[str, float]]) -> None:
    """Scores by name and topic: a line for each, by topic, then the means."""
    topics = list(next(iter(scores.values())))
    for topic in topics:
        for name, values in scores.items():
            sys.stdout.write(f"{name:<22}\t{topic}\t{values[topic]:6.4f}\n")
    for name, values in scores.items():
        sys.stdout.write(f"{name:<22}\tall\t{sum(values.values()) / len(values):6.4f}\n")
