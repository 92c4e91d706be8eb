"""Judgment lists of Quepid and OpenSearch: what is written is read back."""

import json
from pathlib import Path

import pytest

from leaderboard.errors import Invalid
from leaderboard.scoring.ops.qrels import files
from leaderboard.trec.qrels.judgment_lists import opensearch, quepid
from leaderboard.trec.qrels.qrels import read_qrels

JUDGED = {"1": {b"B077": 3, b"B071": 0}, "2": {b"a,b": 1, b"junk": -2}, "3": {b"x": 1}, "4": {b"y": -1}}
TITLES = {"1": "red  dress", "2": 'so-called "jeans", blue', "3": "", "4": "hat"}
WRITTEN = """query,docid,rating
red dress,B071,0
red dress,B077,3
"so-called ""jeans"", blue","a,b",1
3,x,1
"""
RATED = {"1": {b"B071": 0, b"B077": 3}, "2": {b"a,b": 1}, "3": {b"x": 1}}
"""All but negative grades, which ratings do not have."""


def _read(folder: Path, text: str) -> files.PreparedQrels:
    path = folder / "list"
    path.write_text(text)
    return files.as_task(files.prepare(path), TITLES)


def test_quepids_csv_has_queries_and_ratings() -> None:
    """A topic without a title of its own keeps its id; cells with commas and quotes are quoted."""
    assert quepid(JUDGED, TITLES) == WRITTEN


def test_opensearch_takes_it_as_a_request() -> None:
    """In the keys and types of its documentation: ratings are text with three decimals."""
    body = json.loads(opensearch(JUDGED, TITLES, "Shop"))
    assert (body["name"], body["type"]) == ("Shop", "IMPORT_JUDGMENT")
    assert body["judgmentRatings"][0] == {
        "query": "red dress",
        "ratings": [{"docId": "B071", "rating": "0.000"}, {"docId": "B077", "rating": "3.000"}],
    }
    assert [each["query"] for each in body["judgmentRatings"]] == ["red dress", TITLES["2"], "3"]


def test_what_is_written_is_read_back(tmp_path: Path) -> None:
    """Queries become the topics whose titles they are, with a note."""
    for text in (quepid(JUDGED, TITLES), opensearch(JUDGED, TITLES, "Shop")):
        read = _read(tmp_path, text)
        assert read.judgments == RATED
        assert "2 of 3 topic ids were converted" in " ".join(map(str, read.warnings))


def test_queries_of_no_task_are_topics_of_one_word(tmp_path: Path) -> None:
    """Blanks become _, and the reader says so; Quepid's other columns are ignored by their headings."""
    path = tmp_path / "list.csv"
    path.write_text("query,docid,rating\nred dress,B077,3\n,B071,0\n".replace(",B071", "jeans,B071"))
    found = read_qrels(path)
    assert found.judgments == {"red_dress": {b"B077": 3}, "jeans": {b"B071": 0}}
    assert "blanks in these were read as _" in " ".join(map(str, found.notes))


@pytest.mark.parametrize(
    "text",
    [
        '{"judgmentRatings": [{"query": "a", "ratings": [{"docId": "d"}]}]}',
        '{"judgmentRatings": [{"query": "a", "ratings": [{"docId": "d", "rating": true}]}]}',
        '{"judgmentRatings": []}',
        '{"judgmentRatings": [{"ratings": [{"docId": "d", "rating": 1}]}]}',
        '{"judgmentRatings": [{"query": "a", "ratings": [{"docId": "d e", "rating": 1}]}]}',
        '{"judgmentRatings": [{"query": "", "ratings": [{"docId": "d", "rating": 1}]}]}',
        '{"judgmentRatings": [{"query": "a", "ratings": [{"docId": "d", "rating": "0.5"}]}]}',
        "query,docid,rating\na,d e,1\n",
        "query,docid,rating\na,d,1,2\n",
        'query,docid,rating\n"a,d,1\n',
    ],
)
def test_a_damaged_list_is_refused(text: str, tmp_path: Path) -> None:
    """Without a docno, a rating or a query; with a fraction; with cells too few or many."""
    with pytest.raises(Invalid):
        _read(tmp_path, text)
