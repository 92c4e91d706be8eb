"""On how many of its topics a run has to be judged to have a value by a measure of an edition.

A measure of rankings is over all judged topics. One of answers may be over fewer, which its edition says,
and a run has a value by it only where it is judged on every one of them: not judged is not 0.
"""

from collections.abc import Mapping
from typing import Any

from leaderboard.db.tables import Edition


def left_out(edition: Edition, key: str) -> frozenset[str]:
    """The judged topics that a measure of the edition is not over."""
    found = next((measure for measure in edition.measures if measure["key"] == key), {})
    return frozenset(found.get("left_out", ()))


def needed(edition: Edition, topic_set: str) -> dict[str, int]:
    """Key -> on how many topics of a set a run is to be judged; of the measures where it may be on fewer."""
    topics = edition.topic_sets.get(topic_set, {"topics": ()})["topics"]
    return {
        measure["key"]: len(set(topics) - set(measure["left_out"]))
        for measure in edition.measures
        if "left_out" in measure
    }


def is_whole(needed: Mapping[str, int], key: str, topics: Any) -> bool:
    """Whether a mean over so many topics is one to rank by."""
    return key not in needed or topics >= needed[key]
