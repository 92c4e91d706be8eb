"""Make the runs of the demo task that need numpy and scipy only; make_neural_run.py makes the other one."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median

from demo import methods
from demo.runfile import System, ranking, write
from demo.texts import Document, Topic, documents, ngrams, topics, words

Score = Callable[[Topic], methods.Scores]
TITLE_WEIGHT = 3.0


@dataclass(frozen=True)
class Indexes:
    """The indexes the methods share."""

    whole: methods.Index
    fields: methods.Index
    titles: methods.Index
    grams: methods.Index


def build(collection: list[Document]) -> Indexes:
    """Index the collection: title and text, title weighted, title only, and character 4-grams."""
    titles = [words(document.title) for document in collection]
    texts = [words(document.text) for document in collection]
    both = [title + text for title, text in zip(titles, texts, strict=True)]
    weights = [
        [TITLE_WEIGHT] * len(title) + [1.0] * len(text) for title, text in zip(titles, texts, strict=True)
    ]
    grams = [ngrams(f"{document.title} {document.text}") for document in collection]
    return Indexes(
        methods.index(both), methods.index(both, weights), methods.index(titles), methods.index(grams)
    )


def on_title(score: Callable[[list[str]], methods.Scores]) -> Score:
    """The method applied to the words of a topic's title."""
    return lambda topic: score(words(topic.title))


def counting(whole: methods.Index) -> list[tuple[System, Score]]:
    """The two simplest systems: words matched, and words counted."""
    boolean = System("boolean", "Number of different title words a document contains", "Boolean", "title", {})
    weak = System("weak-counts", "Occurrences of title words, rare or common alike", "TF-IDF", "title", {})
    return [
        (boolean, on_title(lambda terms: methods.matched(whole, terms))),
        (weak, on_title(lambda terms: methods.counted(whole, terms))),
    ]


def okapi(indexes: Indexes) -> list[tuple[System, Score]]:
    """BM25 on whole documents, with longer requests, with weighted titles, and on titles alone."""
    bm25 = methods.BM25(indexes.whole)
    k1b = {"k1": bm25.k1, "b": bm25.b}
    weighted = k1b | {"title-weight": TITLE_WEIGHT}
    both = "title, description"
    fields = "BM25, a word in a document's title counting three times"
    return [
        (System("bm25", "BM25 on title and text", "BM25", "title", k1b), on_title(bm25)),
        (
            System("bm25-desc", "BM25 with the topic's description too", "BM25", both, k1b),
            lambda topic: bm25(words(f"{topic.title} {topic.description}")),
        ),
        (System("bm25-fields", fields, "BM25", "title", weighted), on_title(methods.BM25(indexes.fields))),
        (
            System("title-only", "BM25 on the documents' titles only", "BM25", "title", k1b),
            on_title(methods.BM25(indexes.titles)),
        ),
    ]


def likelihood(whole: methods.Index) -> list[tuple[System, Score]]:
    """Query likelihood with two ways of smoothing."""
    dirichlet, mixed = methods.Dirichlet(whole), methods.JelinekMercer(whole)
    prior = {"mu": dirichlet.mu}
    mixture = {"collection-weight": mixed.collection_weight}
    family = "language model"
    return [
        (
            System("ql-dirichlet", "Query likelihood with a Dirichlet prior", family, "title", prior),
            on_title(dirichlet),
        ),
        (
            System("ql-jm", "Query likelihood with Jelinek-Mercer smoothing", family, "title", mixture),
            on_title(mixed),
        ),
    ]


def vectors(indexes: Indexes) -> list[tuple[System, Score]]:
    """Cosine of TF-IDF vectors: of words, of character 4-grams, and in latent semantic space."""
    tfidf, grams = methods.TfIdf(indexes.whole), methods.TfIdf(indexes.grams)
    lsi = methods.LSI(tfidf)
    axes = {"dimensions": lsi.dimensions}
    return [
        (System("tfidf", "Cosine of ltc TF-IDF vectors", "TF-IDF", "title", {}), on_title(tfidf)),
        (
            System(
                "char-ngram", "Cosine of TF-IDF vectors of character 4-grams", "TF-IDF", "title", {"n": 4}
            ),
            lambda topic: grams(ngrams(topic.title)),
        ),
        (System("lsi", "Cosine in latent semantic space", "dense vectors", "title", axes), on_title(lsi)),
    ]


def combined(whole: methods.Index) -> list[tuple[System, Score]]:
    """Feedback on BM25, and a fusion of three methods."""
    bm25, dirichlet, lsi = methods.BM25(whole), methods.Dirichlet(whole), methods.LSI(methods.TfIdf(whole))
    rm3 = methods.RM3(bm25)
    feedback = {"documents": rm3.documents, "terms": rm3.terms, "original-weight": rm3.original}
    fusion = "Reciprocal rank fusion of BM25, Dirichlet and LSI (times 100)"

    def fused(terms: list[str]) -> methods.Scores:
        return 100 * methods.reciprocal_ranks([bm25(terms), dirichlet(terms), lsi(terms)])

    return [
        (
            System("bm25-rm3", "BM25 expanded by relevance model 3", "feedback", "title", feedback),
            on_title(rm3),
        ),
        (System("fusion-rrf", fusion, "fusion", "title", {"k": 60, "depth": 1000}), on_title(fused)),
    ]


def make(system: System, score: Score, docnos: list[str], asked: list[Topic]) -> None:
    """Rank every topic, measure each, and write the run."""
    score(asked[0])  # whatever is computed once is not the request's time
    rankings, times = {}, []
    for topic in asked:
        start = time.perf_counter()
        rankings[topic.number] = ranking(docnos, score(topic).tolist())
        times.append(1000 * (time.perf_counter() - start))
    write(system, rankings, median(times))
    print(f"{system.name:14} {sum(map(len, rankings.values())):5} lines, {median(times):8.2f} ms a topic")


def main() -> None:
    """Write every run but the neural one."""
    collection, asked = documents(), topics()
    indexes = build(collection)
    docnos = [document.docno for document in collection]
    systems = [*counting(indexes.whole), *vectors(indexes), *okapi(indexes), *likelihood(indexes.whole)]
    for system, score in [*systems, *combined(indexes.whole)]:
        make(system, score, docnos, asked)


if __name__ == "__main__":
    main()
