"""The systems behind the demo's answers: each picks sentences from the top documents of a ranking.

No language model is used and nothing is reworded. A system takes a topic and the documents that its ranking
has first, and gives segments: a sentence and the documents it cites, the one it is from first.
"""

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from demo.sentences import Sentence, sentences
from demo.texts import Document, Topic, words

Segment = tuple[str, tuple[str, ...]]
Documents = Sequence[Document]
Answer = Callable[["Weights", Topic, Documents], list[Segment]]

SENTENCES = 5
"""How many sentences a usual answer has."""


@dataclass(frozen=True)
class Weights:
    """ln(N / df) of the collection's terms, by which words that are in few documents count more."""

    idf: dict[str, float]

    def of(self, terms: frozenset[str]) -> float:
        """The weight of a set of terms, 0 for terms that the collection does not have."""
        return math.fsum(self.idf.get(term, 0.0) for term in sorted(terms))

    def similarity(self, one: frozenset[str], other: frozenset[str]) -> float:
        """The cosine of two sets of weighted terms, 0 where one is empty."""
        norm = math.sqrt(self._squares(one) * self._squares(other))
        return round(self._squares(one & other) / norm, 9) if norm else 0.0

    def _squares(self, terms: frozenset[str]) -> float:
        return math.fsum(self.idf.get(term, 0.0) ** 2 for term in sorted(terms))


def weights(collection: Documents) -> Weights:
    """The weights of all terms in titles and texts of a collection."""
    counts: Counter[str] = Counter()
    for document in collection:
        counts.update(set(words(f"{document.title} {document.text}")))
    return Weights({term: math.log(len(collection) / count) for term, count in counts.items()})


def request(topic: Topic) -> frozenset[str]:
    """The terms of a topic's title and description."""
    return frozenset(words(f"{topic.title} {topic.description}"))


def lead(_: Weights, topic: Topic, ranked: Documents) -> list[Segment]:
    """The first sentence of each document, down to five; each cites its document."""
    firsts = [own[0] for document in ranked if (own := sentences(document))]
    return _cited(_distinct(firsts)[:SENTENCES])


def by_query(weighted: Weights, topic: Topic, ranked: Documents) -> list[Segment]:
    """The five sentences of the first five documents that are most similar to title and description."""
    return _cited(_best(weighted, topic, ranked[:5])[:SENTENCES])


def diverse(weighted: Weights, topic: Topic, ranked: Documents) -> list[Segment]:
    """Maximal marginal relevance over the first ten documents (Carbonell and Goldstein 1998), lambda .6."""
    asked, left, taken = request(topic), _best(weighted, topic, ranked[:10])[:60], list[Sentence]()

    def gain(one: Sentence) -> float:
        again = max((weighted.similarity(one.terms, other.terms) for other in taken), default=0.0)
        return 0.6 * weighted.similarity(one.terms, asked) - 0.4 * again

    while left and len(taken) < SENTENCES:
        taken.append(max(left, key=gain))
        left.remove(taken[-1])
    return _cited(taken)


def long(weighted: Weights, topic: Topic, ranked: Documents) -> list[Segment]:
    """The first four sentences of each of the first three documents: long on purpose."""
    return _cited(_distinct([one for document in ranked[:3] for one in sentences(document)[:4]]))


def one_document(weighted: Weights, topic: Topic, ranked: Documents) -> list[Segment]:
    """Three sentences of the first document in their order, of which the first alone has a citation."""
    best = sorted(_best(weighted, topic, ranked[:1])[:3], key=lambda one: one.place)
    return [(one.text, (one.docno,) if number == 0 else ()) for number, one in enumerate(best)]


def cited_twice(weighted: Weights, topic: Topic, ranked: Documents) -> list[Segment]:
    """As `by_query` with three sentences, each citing the most similar other document of five as well."""
    segments = []
    for one in _best(weighted, topic, ranked[:5])[:3]:
        others = [document for document in ranked[:5] if document.docno != one.docno]
        most = max(others, key=lambda other: weighted.similarity(one.terms, frozenset(words(other.text))))
        segments.append((one.text, (one.docno, most.docno)))
    return segments


def cited_by_rank(weighted: Weights, topic: Topic, ranked: Documents) -> list[Segment]:
    """As `by_query` with four sentences, each citing the ranking's first document wherever it is from."""
    best = _best(weighted, topic, ranked[:5])[:4]
    return [(one.text, (ranked[0].docno,)) for one in best]


def _best(weighted: Weights, topic: Topic, ranked: Documents) -> list[Sentence]:
    """All sentences of the documents, those most similar to the request first, equal ones as ranked."""
    asked = request(topic)
    every = _distinct([one for document in ranked for one in sentences(document)])
    return sorted(every, key=lambda one: -weighted.similarity(one.terms, asked))


def _distinct(given: Sequence[Sentence]) -> list[Sentence]:
    """Sentences without those that an earlier one repeats word for word."""
    return list({one.text: one for one in reversed(given)}.values())[::-1]


def _cited(given: Sequence[Sentence]) -> list[Segment]:
    return [(one.text, (one.docno,)) for one in given]
