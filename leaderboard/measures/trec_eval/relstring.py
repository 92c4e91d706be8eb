"""The grades at the top of a ranking as a string."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from leaderboard.measures.judged import Judged
from leaderboard.measures.record import CUTOFF_REQUIRED, JUDGED_ONLY, Measure, TrecName

_CHARACTERS = np.frombuffer(b".0123456789>", dtype=np.uint8)
"""Of grade -1 and below, 0 to 9, and above."""


def relevance_string(judged: Judged, *, cutoff: int) -> NDArray[Any]:
    """The grades of the top cutoff documents, one character each, strings (topics,).

    `0` to `9` are grades, `>` is a higher one, `.` a negative one, `-` a document that is not in the
    judgments; shorter where fewer were retrieved. Source: trec_eval `relstring`.

    >>> from leaderboard.measures.richer_examples import judged
    >>> relevance_string(judged({1: 2, 3: -1, 4: 12}, retrieved=20), cutoff=5)
    array(['2-.>-'], dtype='<U5')
    """
    length = np.minimum(judged.retrieved, cutoff)
    starts = np.cumsum(length) - length
    characters = np.full(int(length.sum()), ord("-"), dtype=np.uint8)
    shown = judged.rank <= cutoff
    place = starts[judged.topic[shown]] + judged.rank[shown] - 1
    characters[place] = _CHARACTERS[np.clip(judged.grade[shown], -1, 10) + 1]
    text = characters.tobytes().decode("ascii")
    # Strings are cut one by one: there is no array of strings of different lengths to cut at once.
    bounds = zip(starts.tolist(), (starts + length).tolist(), strict=True)
    return np.array([text[start:end] for start, end in bounds], dtype=np.str_)


REL_STRING = Measure(
    name="RelString",
    title="Grades of the top k as a string",
    formula="one character per rank: the grade, > above 9, . below 0, - not in the judgments",
    citation="trec_eval, relstring",
    compute=relevance_string,
    parameters=(CUTOFF_REQUIRED, JUDGED_ONLY),
    trec_names=(TrecName("relstring", fixed=(("cutoff", 10),)), TrecName("relstring", "cutoff")),
    direction="none",
    aggregate="none",
    text=True,
    note="trec_eval prints the string in quotes, for topics only.",
)
