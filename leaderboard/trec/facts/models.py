"""Which families of language models a declaration names."""

import re
from functools import lru_cache

_NO_NAMES = frozenset(
    re.findall(
        r"\w+",
        "a an assistant chat from language large llm llms machine model models no none not open our own "
        "small the unknown using with",
    )
)
"""Words that name no family of models."""


# The same few declarations are held against each other by every pair of a run and a judge.
@lru_cache(maxsize=1024)
def families(declared: str) -> frozenset[str]:
    """The families of the models that are named: of each name the letters of its first word.

    >>> sorted(families("GPT-4o for expansion; Llama 3.1 and gpt-5"))
    ['gpt', 'llama']
    >>> families("none"), families("a language-model assistant")
    (frozenset(), frozenset())
    """
    named = set()
    for name in re.split(r"[,;+/&()]|\band\b", declared.casefold()):
        words = (word for word in re.findall(r"[^\W\d_]+", name) if word not in _NO_NAMES)
        named.add(next(words, ""))
    return frozenset(named - {""})
