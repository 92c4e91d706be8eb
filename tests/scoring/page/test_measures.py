"""Measures as JSON and CSV."""

from leaderboard.measures.catalogue import entries
from leaderboard.scoring import page as measures


def test_the_list_and_the_pages_have_plain_forms() -> None:
    """JSON and CSV say the same of a measure; a range without an end is none."""
    header, rows = measures.table(entries.listing("gm_map")).data()
    (facts,) = measures.facts(entries.listing("gm_map"))["measures"]
    (row,) = (dict(zip(header, cells, strict=True)) for cells in rows)
    assert row["name"] == facts["name"] == "GMAP"
    assert row["aggregate"] == facts["aggregate"] == "geometric"
    assert row["trec_eval"] == "gm_map" == ", ".join(facts["trec_eval"])
    page = measures.page_facts(entries.page("NumRet"))
    assert page["range"] == [0.0, None]
    assert page["example"]["rankings"][0]["scores"] == {"NumRet": 100.0}
    assert page["example"]["rankings"][0]["ranking"] == [
        {"rank": "1", "grade": 1, "subtopics": {}},
        {"rank": "2–100", "grade": None, "subtopics": {}},
    ]
