"""Matching of topic ids that differ only by padding, prefix, suffix or case."""

import re
from collections import defaultdict
from collections.abc import Collection

from leaderboard.trec.read.lines import shown

EXAMPLES = 3

_SUFFIX = re.compile(r"(?<=.)[._-][^._-]+$")
_NUMBER_AT_END = re.compile(r"(\d+)\D*$", re.ASCII)


class TopicNames:
    """The topic ids of a task, with a guess at which of them another id means."""

    def __init__(self, topics: Collection[str]) -> None:
        self._topics = dict.fromkeys(topics)
        self._alike: defaultdict[str, list[str]] = defaultdict(list)
        for topic in self._topics:
            for key in _keys(topic):
                self._alike[key].append(topic)

    def __contains__(self, topic: object) -> bool:
        return topic in self._topics

    def meant(self, topic: str) -> str:
        """The one known id that differs by padding, prefix, suffix or case alone; '' without one.

        >>> TopicNames(["MB051", "MB052"]).meant("51")
        'MB051'
        """
        for key in _keys(topic):
            if len(alike := self._alike.get(key, [])) == 1:
                return alike[0]
        return ""

    @staticmethod
    def difference(topic: str, meant: str) -> str:
        """Difference between an id and the likely one, to follow "the ids".

        >>> TopicNames.difference("51", "051"), TopicNames.difference("51", "MB051")
        ('lack leading zeros', 'lack the prefix MB0')
        """
        if topic.lstrip("0") == meant.lstrip("0"):
            return "lack leading zeros" if len(topic) < len(meant) else "have extra leading zeros"
        if topic.casefold() == meant.casefold():
            return "differ in case"
        if meant.endswith(topic):
            return f"lack the prefix {shown(meant.removesuffix(topic))}"
        if topic.endswith(meant):
            return f"have the prefix {shown(topic.removesuffix(meant))} too many"
        if topic.startswith(meant):
            return f"have the suffix {shown(topic.removeprefix(meant))} too many"
        if meant.startswith(topic):
            return f"lack the suffix {shown(meant.removeprefix(topic))}"
        return "are written differently"

    def examples(self) -> str:
        """The first few ids, for a message."""
        return ", ".join(shown(topic) for topic in list(self._topics)[:EXAMPLES])


def _keys(topic: str) -> list[str]:
    """The keys of an id: without case and signs, then its last number without zeros; most specific first."""
    letters = re.sub(r"[\W_]+", "", topic.casefold())
    number = _NUMBER_AT_END.search(topic)
    without_zeros = re.sub(r"(?<!\d)0+(?=\d)", "", letters)
    keys = ["=" + letters, "0" + without_zeros, "." + _SUFFIX.sub("", topic)]
    return [*keys, "#" + number[1].lstrip("0")] if number else keys
