"""The page that explains a run: its sentences, each with its evidence."""

from pathlib import Path

from flask.testing import FlaskClient

from leaderboard.db.engine import Database
from tests.make import build
from tests.make.pages import parsed

RUNS = {
    "first": {"1": ["a", "c"], "2": ["d", "a"], "3": ["e", "f"]},
    "second": {"1": ["a", "b"], "2": ["a", "d"], "3": ["e", "y"]},
    "last": {"1": ["b", "x"], "2": ["d", "a"], "3": ["y", "z"]},
}


def test_a_run_is_explained_in_sentences(database: Database, client: FlaskClient, tmp_path: Path) -> None:
    """Every number is said once, beside the link to where it comes from; the first page leads here."""
    build.task(database, tmp_path, measures=("P@2", "RR"))
    *_, last = (build.run(database, tmp_path, run, name) for name, run in RUNS.items())
    build.drain(database)
    first_page = parsed(client.get(f"/runs/{last}"))
    assert first_page.find("a", href=f"/runs/{last}/explained", string="Explain this run")
    answer = client.get(f"/runs/{last}/explained")
    text = " ".join(parsed(answer).get_text().split())
    for sentence in (
        "last scores 0.1667 P@2, rank 3 of 3; second, just above, has 0.3333 more.",
        "It is below the median of the ranked runs on 2 of 3 topics.",
        "Its 2 worst topics cost it 0.3333. At the median on these it would score 0.5000 (rank 2 if the "
        "other "
        "runs are unchanged).",
        "On these topics, the runs above it have 4 relevant documents in their top 10 that this run misses.",
        "50% of the documents P@2 depends on are unjudged. With all of them judged, its score would be "
        "between "
        "0.1667 and 0.6667: rank 2 at best and 3 at worst, if the other runs are unchanged.",
        "a: grade 2, in the top 10 of 2 of 2; not in this run",
        "3: title of 3: 2 of 2 documents",
    ):
        assert sentence in text, sentence
    links = {link["href"] for link in parsed(answer).select("#main a[href]")}
    assert {f"/runs/{last}/topics/1", f"/runs/{last}/topics/3"} <= links
    facts = client.get(f"/runs/{last}/explained.json?measure=RR").get_json()
    assert (facts["measure"], facts["rank"]) == ("RR", 3)
    assert client.get(f"/runs/{last}/explained?measure=AP").status_code == 422
    csv = client.get(f"/runs/{last}/explained.csv").text.splitlines()
    assert csv[0] == "topic,title,score,median,best,rank,share,overlooked"
