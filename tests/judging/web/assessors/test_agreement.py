"""The pages of a judged pool: agreement, adjudication, and what is made of the labels."""

import csv
import io
import json

import pytest
from flask.testing import FlaskClient
from sqlalchemy import update

from leaderboard.db.tables import Pool
from tests.make import build, judged, pools
from tests.make.pages import form, main, parsed, table
from tests.web.conftest import Site
from tests.web.test_crawl import faults, tree

POOL = "/tasks/robots/pools/2"
CASE = f"{POOL}/adjudication/document"


@pytest.fixture
def olga(site: Site) -> FlaskClient:
    """The organiser of a pool of four documents that Anne and Bert judged, and a machine too."""
    pools.pool(site.database, {"1": ["d1", "d2", "d5"], "2": ["d3", "d6"]}, "robots")
    names = {
        name: judged.assessor(site.database, name, "robots", machine=machine)
        for name, machine in (("Anne", ""), ("Bert", ""), ("Bot", "bot 7"))
    }
    judged.judge(site.database, names["Anne"], "1", {"d1": 1, "d2": 0, "d5": 1}, seconds=12.0)
    judged.judge(site.database, names["Bert"], "1", {"d1": 1, "d2": 1, "d5": 0}, seconds=8.0)
    judged.judge(site.database, names["Anne"], "2", {"d3": None}, note="<b>unreadable</b>")
    judged.judge(site.database, names["Bot"], "1", {"d1": 0})
    return site.browser("Olga")


def test_the_page_shows_figures_assessors_pairs_and_topics(olga: FlaskClient) -> None:
    """Three documents judged by two, who agree on one of them."""
    page = olga.get(f"{POOL}/agreement")
    assert list(faults(tree(page.text))) == []
    assert "3 of 5 documents judged" in main(page)
    rows = {row[0]: row[1] for row in table(page, "Agreement on the 3 documents")}
    assert (rows["Raw agreement"], rows["Fleiss’ kappa"]) == ("0.333", "−0.500")
    assert rows["Krippendorff’s alpha, nominal suits this task"] == "−0.250"
    (pair,) = table(page, "Pairs of assessors")
    assert pair[:3] == ["Anne and Bert", "3", "0.333"]
    assert [row[:8] for row in table(page, "Progress")] == [
        ["Anne", "–", "3", "1", "1", "67%", "12.0", "12.0"],
        ["Bert", "–", "3", "0", "0", "67%", "8.0", "8.0"],
    ]
    assert [row[1:5] for row in table(page, "Agreement by topic")] == [
        ["3", "3", "3", "2"],
        ["2", "0", "0", "0"],
    ]
    assert table(page, "Documents by the grades of both") == [
        ["0 not relevant", "0", "1"],
        ["1 relevant", "1", "1"],
    ]
    assert [row[4] for row in table(page, "Skipped documents and notes by")] == ["<b>unreadable</b>"]


def test_numbers_renew_themselves_while_the_pool_is_open(site: Site, olga: FlaskClient) -> None:
    """Until the reader holds them still, or judging is over."""
    live = parsed(olga.get(f"{POOL}/agreement?topic=1")).find(id="live")
    assert live is not None
    assert (live["hx-select"], live["hx-get"]) == ("#live", f"{POOL}/agreement?topic=1")
    assert not parsed(olga.get(f"{POOL}/agreement?still")).select("[hx-get]")
    with site.database.write() as session:
        session.execute(update(Pool).values(state="closed"))
    closed = olga.get(f"{POOL}/agreement")
    assert not parsed(closed).select("[hx-get]")
    assert "Judging has ended" in main(closed)


def test_machines_are_marked_wherever_they_are_shown(olga: FlaskClient) -> None:
    """Beside people only where asked for, each with its mark; a note says what that means."""
    assert "Bot" not in [row[0] for row in table(olga.get(f"{POOL}/agreement"), "Progress")]
    page = olga.get(f"{POOL}/agreement?whose=all")
    assert [row[0] for row in table(page, "Progress")] == ["Anne", "Bert", "Bot machine"]
    assert "never settled or published together" in main(page)


def test_every_table_is_there_as_a_file(olga: FlaskClient) -> None:
    """JSON, CSV and LaTeX of the agreement; CSV and JSON of the list; events as CSV and JSON lines."""
    facts = olga.get(f"{POOL}/agreement.json").get_json()
    assert (facts["judged"], facts["pairs"][0]["first"]) == (3, "Anne")
    for name, rows in (("pairs", 1), ("assessors", 2), ("topics", 2), ("confusion", 4), ("remarks", 1)):
        answer = olga.get(f"{POOL}/agreement.csv?table={name}")
        assert len(list(csv.DictReader(io.StringIO(answer.text)))) == rows, name
        assert "\\toprule" in olga.get(f"{POOL}/agreement.tex?table={name}").text
    assert olga.get(f"{POOL}/agreement.csv?table=nonsense").status_code == 404
    assert len(olga.get(f"{POOL}/adjudication.json").get_json()["documents"]) == 2
    assert len(list(csv.reader(io.StringIO(olga.get(f"{POOL}/adjudication.csv").text)))) == 5
    documents = olga.get(f"{POOL}/adjudication.csv?table=documents").text.splitlines()
    assert documents[1] == 'd2,1,"0, 1",1,,'
    assert "\\toprule" in olga.get(f"{POOL}/adjudication.tex").text
    lines = olga.get(f"{POOL}/assessments.jsonl").text.splitlines()
    assert {json.loads(line)["assessor"] for line in lines} == {"Anne", "Bert", "Bot"}
    assert len(olga.get(f"{POOL}/assessments.csv").text.splitlines()) == len(lines) + 1 == 9
    assert olga.get(f"{POOL}/assessments.xml").status_code == 404


def test_the_boards_under_each_assessor_are_computed_when_asked_for(site: Site, olga: FlaskClient) -> None:
    """One run makes no order: a sentence says so; with a second one there is a row for each assessor."""
    assert "Fewer than two" in main(olga.get(f"{POOL}/agreement?boards"))
    build.run(
        site.database, site.settings.data, {"1": ["d5", "d2"]}, "other", slug="robots", team_name="Bears"
    )
    page = olga.get(f"{POOL}/agreement?boards")
    assert list(faults(tree(page.text))) == []
    assert [row[:3] for row in table(page, "2 ranked runs")] == [["Anne", "3", "1"], ["Bert", "3", "1"]]
    assert len(olga.get(f"{POOL}/agreement.json?boards").get_json()["boards"]["assessors"]) == 2
    assert "\\toprule" in olga.get(f"{POOL}/agreement.tex?table=boards").text


def test_an_organiser_decides_one_document_after_the_other(olga: FlaskClient) -> None:
    """From the list to the first, by a grade to the next, at the end back to the list; undone it is back."""
    page = olga.get(f"{POOL}/adjudication")
    assert list(faults(tree(page.text))) == []
    assert [row[0] for row in table(page, "2 documents")] == ["d2", "d5"]
    first = olga.get(f"{CASE}?topic=1&docno=d2")
    assert list(faults(tree(first.text))) == []
    assert table(first, "Labels of this document") == [
        ["Anne", "0 not relevant", "–"],
        ["Bert", "1 relevant", "–"],
    ]
    keys = [button["data-key"] for button in parsed(first).select("button[name=grade]")]
    assert keys == ["0", "1"]
    sent = form(first, f"{CASE}?topic=1&docno=d2")
    following = olga.post(f"{CASE}?topic=1&docno=d2", data={**sent, "grade": "1"})
    assert following.headers["Location"] == f"{CASE}?topic=1&docno=d5"
    following_page = olga.get(following.headers["Location"])
    again = olga.post(f"{CASE}?topic=1&docno=d2", data={**sent, "grade": "1"})
    assert again.status_code == 303
    last = olga.post(
        f"{CASE}?topic=1&docno=d5",
        data={**form(following_page, f"{CASE}?topic=1&docno=d5"), "grade": "0", "note": "an advertisement"},
    )
    assert last.headers["Location"] == f"{POOL}/adjudication"
    assert "All disagreements are decided" in main(olga.get(f"{POOL}/adjudication"))
    decided = table(olga.get(f"{POOL}/adjudication?shown=decided"), "2 documents")
    assert [row[4] for row in decided] == [
        "1 relevant Olga (adjudicator)",
        "0 not relevant Olga (adjudicator)",
    ]
    undone = olga.post(f"{POOL}/adjudication/undo")
    assert undone.headers["Location"] == f"{CASE}?topic=1&docno=d5"
    assert len(table(olga.get(f"{POOL}/adjudication"), "1 document ")) == 1


def test_a_bad_decision_comes_back_with_its_reason(olga: FlaskClient) -> None:
    """A grade that is no number or not the task's: nothing is stored, the note is still there."""
    for grade in ("7", "", "x"):
        answer = olga.post(
            f"{CASE}?topic=1&docno=d2",
            data={"topic": "1", "docno": "d2", "key": "k", "grade": grade, "note": "kept"},
        )
        assert answer.status_code == 422
        assert parsed(answer).select_one("textarea[name=note]").get_text() == "kept"  # type: ignore[union-attr]
    assert olga.get(f"{CASE}?topic=1&docno=nowhere").status_code == 404
    assert olga.get(f"{POOL}/adjudication.json").get_json()["counts"]["decided"] == 0


def test_labels_become_a_draft_of_a_revision(olga: FlaskClient) -> None:
    """The rule's outcome is counted, written out as qrels, and kept as a draft to be looked at."""
    page = olga.get(f"{POOL}/publish?rule=max")
    assert list(faults(tree(page.text))) == []
    assert ["settled by the rule", "3", "judged"] in table(page, "Documents of the pool")
    assert table(page, "Judgments by grade") == [["1 relevant", "3", "100%"]]
    assert olga.get(f"{POOL}/settled.qrels?rule=max").text == "1 0 d1 1\n1 0 d2 1\n1 0 d5 1\n"
    assert olga.get(f"{POOL}/publish.json?rule=max").get_json()["documents"]["unjudged"] == 1
    assert olga.get(f"{POOL}/publish.csv?rule=max").text.splitlines()[1].startswith("1,d1,1")
    assert olga.get(f"{POOL}/publish.csv?rule=max&table=grades").text.splitlines()[1] == "1,relevant,3,1.0"
    assert "1 & d1 & 1 & --" in olga.get(f"{POOL}/publish.tex?rule=max").text
    refused = olga.post(f"{POOL}/publish?rule=max", data={"note": "", "other_scale": "yes"})
    assert refused.status_code == 422
    unasked = olga.post(f"{POOL}/publish?rule=max", data={"note": "judged by two"})
    assert unasked.status_code == 409
    assert "Add the labels on their own scale anyway" in main(unasked)
    kept = olga.post(f"{POOL}/publish?rule=max", data={"note": "judged by two", "other_scale": "yes"})
    assert kept.status_code == 303
    draft = olga.get(kept.headers["Location"])
    assert draft.status_code == 200
    assert "judged by two" in main(draft)


def test_open_documents_lead_to_adjudication_and_machines_to_a_line_of_their_own(olga: FlaskClient) -> None:
    """By default two documents are open; a machine's labels are published where no board rests on them."""
    page = olga.get(f"{POOL}/publish")
    assert ["undecided: the rule gives no grade", "2", "left out: not judged"] in table(page, "Documents of")
    assert "decide the 2 that are open" in main(page)
    machine = olga.get(f"{POOL}/publish?whose=machine:bot 7&rule=last")
    assert "no leaderboard is based on it" in main(machine)
    assert "labels come from the machine bot 7" in main(machine)
    assert olga.get(f"{POOL}/publish?rule=dice").status_code == 422


def test_an_unjudged_pool_says_what_to_do(site: Site) -> None:
    """All three pages of a pool that nobody judged are well formed and without numbers."""
    pools.pool(site.database, {"1": ["d1"]}, "robots")
    client = site.browser("Olga")
    for rest in ("agreement", "adjudication", "publish"):
        page = client.get(f"{POOL}/{rest}")
        assert list(faults(tree(page.text))) == []
        assert parsed(page).select(".empty"), rest
