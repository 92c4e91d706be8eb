"""The second machine that labels the demo's answers: a program that counts shared words, and reads nothing.

An answer holds a nugget where it has the nugget's words, a document bears a segment out where it has the
segment's; a word counts by ln(N / df). Assignments are made on half of the topics, support labels on all.
"""

from demo.answer_files import CHOSEN
from demo.answer_labels import HELD, IN_PART, NOT_HELD, Answers, Support, cited, key_of, nuggets
from demo.answering import Weights, weights
from demo.texts import documents, words

WHOLE, PART = 0.7, 0.4
"""Least share of the nugget's weight that counts as held, and as held in part."""
BORNE_OUT, SOME = 0.9, 0.6
"""Least share of the segment's weight that the document has for full and for partial support."""
ASSIGNED = CHOSEN[::2]
"""The topics on which it assigns nuggets."""

Assigned = dict[tuple[str, str], list[int]]
"""(run, topic) -> a label a nugget: NOT_HELD, IN_PART or HELD."""


def assignments(answers: Answers) -> Assigned:
    """The labels of the nuggets of some topics in every answer."""
    weighted, sets = weights(documents()), nuggets()
    return {
        (run, topic): [
            _label(_share(weighted, one["text"], " ".join(text for text, _ in by_topic[topic])), WHOLE, PART)
            for one in sets[topic]
        ]
        for run, by_topic in answers.items()
        for topic in ASSIGNED
    }


def support(answers: Answers) -> Support:
    """The labels of every segment and document it cites."""
    by_docno = {document.docno: document for document in documents()}
    weighted = weights(list(by_docno.values()))
    labels: Support = {}
    for topic, text, docno in cited(answers):
        document = by_docno[docno]
        share = _share(weighted, text, f"{document.title} {document.text}")
        labels[topic, key_of(text), docno] = _label(share, BORNE_OUT, SOME)
    return labels


def _share(weighted: Weights, of: str, within: str) -> float:
    """The share of a text's weight that another text has, 1 for a text without a word that counts."""
    wanted = frozenset(words(of))
    whole = weighted.of(wanted)
    return weighted.of(wanted & frozenset(words(within))) / whole if whole else 1.0


def _label(share: float, whole: float, part: float) -> int:
    return HELD if share >= whole else IN_PART if share >= part else NOT_HELD
