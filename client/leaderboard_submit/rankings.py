"""Rankings as programs hold them, written as TREC lines that trec_eval ranks the same."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from leaderboard_submit.errors import Refused

QUERY = ("qid", "query_id", "topic", "topic_id", "query")
DOCUMENT = ("docno", "doc_id", "docid", "document_id")
Ranked = tuple[Any, Any, Any]
"""Topic, document and score."""


def written(rankings: Any, tag: str = "run") -> bytes:
    """The rankings as a run file.

    rankings: {topic: {docno: score}}; {topic: [docno, ...]} from the best on; a table with the columns qid
    (or query_id), docno (or doc_id) and score (or rank), as pandas, polars and PyTerrier have them; a run of
    ranx; or objects with query_id, doc_id and score, as ir_measures has them. Scores are written so that
    they are read back bit for bit. Raises Refused for what cannot be written.

    >>> written({"q1": {"d1": 0.5, "d2": 1.5}}, "bm25").decode().splitlines()
    ['q1 Q0 d2 1 1.5 bm25', 'q1 Q0 d1 2 0.5 bm25']
    """
    tag = _id("tag", tag)
    by_topic: dict[str, dict[str, float]] = {}
    for topic, docno, score in _ranked(rankings):
        documents = by_topic.setdefault(_id("topic", topic), {})
        document = _id("document", docno)
        if document in documents:
            raise Refused(f"Document {document} occurs twice in topic {topic}.", "Keep one of them.")
        documents[document] = _score(score, topic, document)
    if not by_topic:
        raise Refused("There is no ranking to submit.", "Add at least one topic with a document.")
    return "".join(_lines(by_topic, tag)).encode()


def _lines(by_topic: Mapping[str, Mapping[str, float]], tag: str) -> Iterator[str]:
    for topic, documents in by_topic.items():
        # As trec_eval orders them: by score, of the same score the last docno first.
        ordered = sorted(documents.items(), key=lambda pair: (pair[1], pair[0].encode()), reverse=True)
        for rank, (docno, score) in enumerate(ordered, 1):
            yield f"{topic} Q0 {docno} {rank} {score!r} {tag}\n"


def _ranked(rankings: Any) -> Iterator[Ranked]:
    if hasattr(rankings, "columns"):
        return _of_table(rankings)
    if hasattr(rankings, "to_dict"):
        rankings = rankings.to_dict()
    if isinstance(rankings, Mapping):
        return _of_mapping(rankings)
    if isinstance(rankings, Iterable) and not isinstance(rankings, (str, bytes)):
        return _of_objects(rankings)
    raise Refused(
        f"{type(rankings).__name__} is not a supported type of ranking.",
        "Use a file, a dict, a table with qid, docno and score, or objects with query_id, doc_id, score.",
    )


def _of_mapping(rankings: Mapping[Any, Any]) -> Iterator[Ranked]:
    for topic, documents in rankings.items():
        if isinstance(documents, Mapping):
            yield from ((topic, docno, score) for docno, score in documents.items())
        elif isinstance(documents, Sequence) and not isinstance(documents, (str, bytes)):
            last = len(documents)
            yield from ((topic, docno, float(last - place)) for place, docno in enumerate(documents))
        else:
            raise Refused(
                f"The documents of topic {topic} have an unsupported type.", "Use a dict or a list."
            )


def _of_table(table: Any) -> Iterator[Ranked]:
    names = {str(name) for name in table.columns}
    query = next((name for name in QUERY if name in names), None)
    document = next((name for name in DOCUMENT if name in names), None)
    if query is None or document is None or not names & {"score", "rank"}:
        raise Refused(
            f"The table has the columns {', '.join(sorted(names))}.",
            "It needs qid (or query_id), docno (or doc_id), and score or rank.",
        )
    # A rank alone says the order: a better one is a higher score.
    scores = table["score"] if "score" in names else (-float(rank) for rank in table["rank"])
    return zip(table[query], table[document], scores)


def _of_objects(rankings: Iterable[Any]) -> Iterator[Ranked]:
    for row in rankings:
        try:
            yield row.query_id, row.doc_id, row.score
        except AttributeError:
            raise Refused(
                f"{type(row).__name__} has no query_id, doc_id and score.",
                "Use rows like ScoredDoc of ir_measures.",
            ) from None


def _id(what: str, value: Any) -> str:
    text = str(value)
    if not text or text != "".join(text.split()):
        raise Refused(f"{text!r} is not a valid {what} id: it is empty or contains blanks.", "Rename it.")
    return text


def _score(value: Any, topic: Any, docno: str) -> float:
    try:
        score = float(value)
    except (TypeError, ValueError):
        score = math.nan
    if not math.isfinite(score):
        raise Refused(
            f"The score of {docno} in topic {topic} is {value!r}, which is not a number.",
            "Correct the score.",
        )
    return score
