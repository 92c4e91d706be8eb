"""The retrieval methods behind the demo runs: each gives a score to every document for one topic.

Plain implementations on one sparse matrix of term counts, short enough to check against their papers.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
from scipy.sparse import csc_matrix
from scipy.sparse.linalg import svds

from demo.texts import vocabulary

Scores = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Index:
    """Term counts of a collection, one row a document and one column a term."""

    counts: csc_matrix
    columns: dict[str, int]

    @cached_property
    def lengths(self) -> Scores:
        """The number of terms in each document."""
        return np.asarray(self.counts.sum(axis=1), dtype=float).ravel()

    @cached_property
    def frequencies(self) -> Scores:
        """The number of documents each term is in."""
        return np.asarray(np.diff(self.counts.indptr), dtype=float)

    @cached_property
    def totals(self) -> Scores:
        """The number of times each term occurs in the collection."""
        return np.asarray(self.counts.sum(axis=0), dtype=float).ravel()

    def known(self, terms: Sequence[str]) -> dict[int, float]:
        """The columns of the terms the collection has, each with its count in the request."""
        counted = Counter(term for term in terms if term in self.columns)
        return {self.columns[term]: float(count) for term, count in counted.items()}

    def column(self, term: int) -> tuple[npt.NDArray[np.int32], Scores]:
        """The rows a term occurs in, and how often."""
        part = slice(self.counts.indptr[term], self.counts.indptr[term + 1])
        return self.counts.indices[part], self.counts.data[part]


def index(texts: Sequence[Sequence[str]], weights: Sequence[Sequence[float]] | None = None) -> Index:
    """The index of tokenised texts; with weights, an occurrence counts as much as its weight."""
    columns = vocabulary(texts)
    lengths = [len(terms) for terms in texts]
    rows = np.repeat(np.arange(len(texts)), lengths)
    cols = np.array([columns[term] for terms in texts for term in terms])
    data = np.ones(len(cols)) if weights is None else np.concatenate([np.asarray(w) for w in weights])
    return Index(csc_matrix((data, (rows, cols)), shape=(len(texts), len(columns))), columns)


def matched(source: Index, terms: Sequence[str]) -> Scores:
    """How many different terms of the request a document contains (coordination level)."""
    scores = np.zeros(len(source.lengths))
    for term in source.known(terms):
        scores[source.column(term)[0]] += 1
    return scores


def counted(source: Index, terms: Sequence[str]) -> Scores:
    """How often a document contains words of the request, common or rare alike: deliberately weak."""
    scores = np.zeros(len(source.lengths))
    for term in source.known(terms):
        rows, counts = source.column(term)
        scores[rows] += counts
    return scores


@dataclass(frozen=True)
class TfIdf:
    """Cosine of (1 + ln tf) ln(N / df) vectors (Salton and Buckley 1988, ltc.ltc)."""

    source: Index

    @cached_property
    def idf(self) -> Scores:
        """ln(N / df) of every term."""
        return np.log(len(self.source.lengths) / self.source.frequencies)

    @cached_property
    def matrix(self) -> csc_matrix:
        """The document vectors, each of length one."""
        weighted = self.source.counts.copy()
        weighted.data = 1 + np.log(weighted.data)
        weighted = weighted.multiply(self.idf).tocsc()
        norms = np.sqrt(np.asarray(weighted.power(2).sum(axis=1)).ravel())
        return weighted.multiply(1 / np.maximum(norms, 1e-12)[:, None]).tocsc()

    def vector(self, terms: Sequence[str]) -> Scores:
        """The vector of a request, of length one."""
        vector = np.zeros(len(self.idf))
        for term, count in self.source.known(terms).items():
            vector[term] = (1 + np.log(count)) * self.idf[term]
        return vector / max(float(np.linalg.norm(vector)), 1e-12)

    def __call__(self, terms: Sequence[str]) -> Scores:
        """The cosine of every document with the request."""
        return np.asarray(self.matrix @ self.vector(terms))


@dataclass(frozen=True)
class BM25:
    """BM25 with the idf of Lucene, ln(1 + (N - df + 0.5) / (df + 0.5)) (Robertson and Zaragoza 2009)."""

    source: Index
    k1: float = 0.9
    b: float = 0.4

    def weighted(self, request: dict[int, float]) -> Scores:
        """Scores for a request of weighted columns."""
        source = self.source
        scores = np.zeros(len(source.lengths))
        norm = self.k1 * (1 - self.b + self.b * source.lengths / source.lengths.mean())
        for term, weight in request.items():
            rows, counts = source.column(term)
            document_frequency = source.frequencies[term]
            idf = np.log(1 + (len(source.lengths) - document_frequency + 0.5) / (document_frequency + 0.5))
            scores[rows] += weight * idf * counts * (self.k1 + 1) / (counts + norm[rows])
        return scores

    def __call__(self, terms: Sequence[str]) -> Scores:
        """The BM25 score of every document."""
        return self.weighted(self.source.known(terms))


@dataclass(frozen=True)
class Dirichlet:
    """Query likelihood smoothed with a Dirichlet prior (Zhai and Lafferty 2004), rank-equivalent form."""

    source: Index
    mu: float = 400.0

    def __call__(self, terms: Sequence[str]) -> Scores:
        """The log likelihood of the request, less what all documents of a length share; never matched: 0."""
        source, request = self.source, self.source.known(terms)
        scores = sum(request.values()) * np.log(self.mu / (source.lengths + self.mu))
        hit = np.zeros(len(scores), dtype=bool)
        for term, weight in request.items():
            rows, counts = source.column(term)
            prior = self.mu * source.totals[term] / source.lengths.sum()
            scores[rows] += weight * np.log(1 + counts / prior)
            hit[rows] = True
        return np.where(hit, scores - scores.min() + 1e-6, 0.0)


@dataclass(frozen=True)
class JelinekMercer:
    """Query likelihood mixed with the collection model (Zhai and Lafferty 2004), rank-equivalent form."""

    source: Index
    collection_weight: float = 0.7

    def __call__(self, terms: Sequence[str]) -> Scores:
        """The sum of ln(1 + document share / collection share) over the request's terms."""
        source = self.source
        scores = np.zeros(len(source.lengths))
        for term, weight in source.known(terms).items():
            rows, counts = source.column(term)
            document = (1 - self.collection_weight) * counts / source.lengths[rows]
            collection = self.collection_weight * source.totals[term] / source.lengths.sum()
            scores[rows] += weight * np.log(1 + document / collection)
        return scores


@dataclass(frozen=True)
class RM3:
    """Relevance model 3 on BM25 (Lavrenko and Croft 2001; Abdul-Jaleel et al. 2004)."""

    first: BM25
    documents: int = 10
    terms: int = 20
    original: float = 0.6

    def __call__(self, terms: Sequence[str]) -> Scores:
        """BM25 scores of the request mixed with terms of its best documents."""
        source = self.first.source
        request = source.known(terms)
        scores = self.first.weighted(request)
        best = np.argsort(-scores, kind="stable")[: self.documents]
        shares = source.counts[best].multiply(1 / source.lengths[best][:, None])
        model = np.asarray(shares.T @ scores[best]).ravel() / max(float(scores[best].sum()), 1e-12)
        chosen = np.argsort(-model, kind="stable")[: self.terms]
        total, kept = sum(request.values()), float(model[chosen].sum())
        mixed = {term: self.original * weight / total for term, weight in request.items()}
        for term in chosen:
            mixed[int(term)] = mixed.get(int(term), 0.0) + (1 - self.original) * model[term] / kept
        return self.first.weighted(mixed)


@dataclass(frozen=True)
class LSI:
    """Cosine in the space of the largest singular vectors of the TF-IDF matrix (Deerwester et al. 1990)."""

    weights: TfIdf
    dimensions: int = 150

    @cached_property
    def space(self) -> tuple[Scores, Scores]:
        """The documents in the space, each of length one, and the terms' axes."""
        start = np.ones(min(self.weights.matrix.shape)) / 100
        left, values, right = svds(self.weights.matrix, k=self.dimensions, v0=start)
        points = left * values
        return points / np.maximum(np.linalg.norm(points, axis=1), 1e-12)[:, None], right.T

    def __call__(self, terms: Sequence[str]) -> Scores:
        """The cosine of every document with the request in the space, shifted so that none is negative."""
        points, axes = self.space
        vector = self.weights.vector(terms) @ axes
        return np.asarray(1 + points @ vector / max(float(np.linalg.norm(vector)), 1e-12))


def reciprocal_ranks(lists: Sequence[Scores], k: int = 60, depth: int = 1000) -> Scores:
    """The sum of 1 / (k + rank) over several score lists (Cormack, Clarke and Buettcher 2009)."""
    fused = np.zeros(len(lists[0]))
    for scores in lists:
        order = np.argsort(-scores, kind="stable")[:depth]
        order = order[scores[order] > 0]
        fused[order] += 1 / (k + np.arange(1, len(order) + 1))
    return fused
