"""Judgments as search teams exchange them: Quepid's CSV, and OpenSearch's Search Relevance Workbench.

Both name a topic by the text of its query (https://quepid.com/docs,
https://docs.opensearch.org/latest/search-plugins/search-relevance/judgments/). `read.converted` reads them.
"""

import csv
import io
import json
from collections import Counter
from collections.abc import Iterator, Mapping

from leaderboard.trec.read.converted import as_topic

Judged = Mapping[str, Mapping[bytes, int]]
"""Topic -> docno -> grade."""
Ratings = Iterator[tuple[str, dict[str, int]]]


def by_query(titles: Mapping[str, str]) -> dict[str, str]:
    """Query as a topic id -> topic, of the topics whose title is unique and not a topic's id.

    >>> by_query({"1": "red dress", "2": "jeans", "3": "jeans", "4": ""})
    {'red_dress': '1'}
    """
    queries = {topic: as_topic(title) for topic, title in titles.items()}
    counts = Counter(queries.values())
    return {
        query: topic
        for topic, query in queries.items()
        if query and counts[query] == 1 and query not in titles
    }


def quepid(judged: Judged, titles: Mapping[str, str]) -> str:
    """Quepid's basic CSV: query, docid and rating."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(("query", "docid", "rating"))
    for query, ratings in _rated(judged, titles):
        writer.writerows((query, docno, grade) for docno, grade in ratings.items())
    return text.getvalue()


def opensearch(judged: Judged, titles: Mapping[str, str], name: str) -> str:
    """The body of a request that imports judgments into the workbench."""
    lists = [
        {
            "query": query,
            "ratings": [{"docId": docno, "rating": f"{grade:.3f}"} for docno, grade in ratings.items()],
        }
        for query, ratings in _rated(judged, titles)
    ]
    body = {"name": name, "description": "", "type": "IMPORT_JUDGMENT", "judgmentRatings": lists}
    return json.dumps(body, ensure_ascii=False, indent=1) + "\n"


def _rated(judged: Judged, titles: Mapping[str, str]) -> Ratings:
    """Query and ratings of each topic: ratings start at 0, so negative grades have none."""
    queries = {topic: " ".join(titles[topic].split()) for topic in by_query(titles).values()}
    for topic, grades in judged.items():
        ratings = {docno.decode(): grade for docno, grade in sorted(grades.items()) if grade >= 0}
        if ratings:
            yield queries.get(topic, topic), ratings
