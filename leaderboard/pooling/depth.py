"""Depth pools: the union of the tops of all rankings."""

from collections.abc import Iterable, Sequence
from typing import TypeVar

Docno = TypeVar("Docno", str, bytes)


def depth_pool(rankings: Iterable[Sequence[Docno]], depth: int) -> list[Docno]:
    """The documents in the top `depth` of any ranking of one topic, each once, sorted by docno.

    Sorted so that an assessor sees neither rank nor run. Source: Spärck Jones and van Rijsbergen
    1975; as in TREC.

    >>> depth_pool([["d2", "d9", "d1"], ["d2", "d10"]], 2)
    ['d10', 'd2', 'd9']
    """
    return sorted({docno for ranking in rankings for docno in ranking[:depth]})
