"""The files of the demo task agree with each other and with what is said of them."""

import gzip
import hashlib
import json
import math
import re
import xml.etree.ElementTree as ET
from collections import Counter
from pathlib import Path

import pytest
import zstandard

from demo import assemble_qrels, make_pool
from leaderboard import demo

Ranking = list[tuple[str, float]]


@pytest.fixture(scope="module")
def plain() -> bytes:
    """The collection, decompressed."""
    return zstandard.ZstdDecompressor().decompress(demo.DOCUMENTS.read_bytes())


@pytest.fixture(scope="module")
def docnos(plain: bytes) -> list[str]:
    """The document numbers in the order of the file."""
    return [json.loads(line)["_id"] for line in plain.decode("utf-8").split("\n") if line]


@pytest.fixture(scope="module")
def topics() -> list[ET.Element]:
    """The topics of the XML file."""
    return ET.parse(demo.TOPICS).getroot().findall("topic")


@pytest.fixture(scope="module")
def runs() -> dict[str, dict[str, Ranking]]:
    """Every run's rankings by topic."""
    found: dict[str, dict[str, Ranking]] = {}
    for name, path in demo.runs().items():
        rankings = found.setdefault(name, {})
        for line in gzip.decompress(path.read_bytes()).decode("ascii").splitlines():
            if not line.startswith("#"):
                topic, q0, docno, rank, score, tag = line.split()
                ranking = rankings.setdefault(topic, [])
                ranking.append((docno, float(score)))
                assert (q0, int(rank), tag) == ("Q0", len(ranking), name)
    return found


def qrels(path: Path) -> dict[tuple[str, str], int]:
    """The grades of a qrels file by topic and document."""
    rows = (line.split() for line in path.read_text("ascii").splitlines())
    return {(topic, docno): int(grade) for topic, _, docno, grade in rows}


def test_collection_is_the_one_its_facts_describe(plain: bytes, docnos: list[str]) -> None:
    """The documents have the checksum and the number that COLLECTION.json states."""
    facts = json.loads((demo.FOLDER / "COLLECTION.json").read_text("utf-8"))
    assert hashlib.sha256(plain).hexdigest() == facts["sha256"]
    assert len(docnos) == facts["documents"]
    assert 2000 <= len(docnos) <= 4000


def test_docnos_are_plain_sorted_and_unique(docnos: list[str]) -> None:
    """A docno is at most 100 ASCII characters of letters, digits, dots, hyphens and underscores."""
    assert docnos == sorted(set(docnos))
    assert [docno for docno in docnos if not re.fullmatch(r"[A-Za-z0-9_.-]{1,100}", docno)] == []


def test_documents_have_title_and_text(plain: bytes) -> None:
    """No document is empty or longer than the stated cut."""
    records = [json.loads(line) for line in plain.decode("utf-8").split("\n") if line]
    assert all(record["title"].strip() and 60 <= len(record["text"]) <= 3000 for record in records)


def test_topics_are_forty_of_six_kinds(topics: list[ET.Element]) -> None:
    """There are 40 topics with all fields, and only the six ambiguous ones have two to four subtopics."""
    kinds = Counter(topic.attrib["type"] for topic in topics)
    assert kinds == {"how-to": 8, "error": 7, "concept": 7, "comparison": 6, "known-item": 6, "ambiguous": 6}
    assert len({topic.attrib["number"] for topic in topics}) == 40
    for topic in topics:
        assert all(topic.findtext(field) for field in ("query", "description", "narrative"))
        wanted = range(2, 5) if topic.attrib["type"] == "ambiguous" else range(1)
        assert len(topic.findall("subtopic")) in wanted


def test_runs_rank_known_documents_once_to_depth_100(
    runs: dict[str, dict[str, Ranking]], docnos: list[str], topics: list[ET.Element]
) -> None:
    """Fourteen runs cover every topic with at most 100 different documents of the collection each."""
    known, numbers = set(docnos), {topic.attrib["number"] for topic in topics}
    assert len(runs) == 14
    for rankings in runs.values():
        assert rankings.keys() == numbers
        for ranking in rankings.values():
            names = [docno for docno, _ in ranking]
            assert len(names) == len(set(names)) <= demo.DEPTH
            assert known.issuperset(names)


def test_ranks_agree_with_the_order_of_scores(runs: dict[str, dict[str, Ranking]]) -> None:
    """Documents stand in the order trec_eval gives them: score, then docno, both descending."""
    for rankings in runs.values():
        for ranking in rankings.values():
            assert ranking == sorted(ranking, key=lambda pair: (pair[1], pair[0]), reverse=True)
            assert all(math.isfinite(score) for _, score in ranking)


def test_boolean_run_has_many_ties(runs: dict[str, dict[str, Ranking]]) -> None:
    """The Boolean run gives a topic no more different scores than its title has words."""
    assert max(len({score for _, score in ranking}) for ranking in runs["boolean"].values()) <= 10


def test_runs_state_their_measured_time() -> None:
    """Every run's header has an ir_metadata block with its tag and a time per topic above zero."""
    for name, path in demo.runs().items():
        text = gzip.decompress(path.read_bytes()).decode("ascii")
        found = re.search(r"^#   query-latency-ms: ([\d.]+)$", text, re.MULTILINE)
        assert text.startswith("# ir_metadata.start\n")
        assert f"# tag: {name}\n" in text
        assert found is not None
        assert float(found[1]) > 0


def test_pool_is_the_top_of_the_pooled_runs() -> None:
    """The kept pool is what the shipped runs give, without the two that stay out."""
    assert set(demo.UNPOOLED) == set(make_pool.UNPOOLED)
    assert demo.about()["pool_depth"] == demo.POOL_DEPTH
    assert make_pool.pool() == make_pool.read_pool()


def test_unpooled_runs_show_unjudged_documents(runs: dict[str, dict[str, Ranking]]) -> None:
    """Both runs outside the pool have unjudged documents among their first ten."""
    judged = qrels(demo.revisions()[-1].path).keys()
    for name in demo.UNPOOLED:
        top = {(topic, docno) for topic, ranking in runs[name].items() for docno, _ in ranking[:10]}
        assert top - judged


def test_revisions_hold_the_pool_to_depth_four_and_eight() -> None:
    """The first revision is the part of the second that a pool of depth 4 has."""
    pooled = make_pool.read_pool()
    ranks = {(topic, docno): rank for topic, found in pooled.items() for docno, rank in found.items()}
    first, second = (qrels(revision.path) for revision in demo.revisions())
    assert second.keys() == ranks.keys()
    assert first == {key: grade for key, grade in second.items() if ranks[key] <= 4}
    assert set(second.values()) == set(demo.GRADES)


def test_about_is_what_the_grades_give(tmp_path: Path) -> None:
    """Assembling the kept grades again gives the shipped qrels, counts and kappa."""
    (tmp_path / "COLLECTION.json").write_bytes((demo.FOLDER / "COLLECTION.json").read_bytes())
    facts = assemble_qrels.assemble(assemble_qrels.JUDGMENTS, make_pool.read_pool(), tmp_path)
    assert facts == demo.about()
    for revision in demo.revisions():
        assert (tmp_path / revision.path.name).read_bytes() == revision.path.read_bytes()


def test_description_says_who_judged() -> None:
    """The description names the machine, the kappa and the task's smallness."""
    text = demo.description()
    assert "machine" in text
    found = demo.about()["agreement"]
    said = "No topic was judged a second time" if found is None else f"kappa is {found['kappa']:.2f}"
    assert said in text
    assert "too small" in text


def test_a_missing_grade_is_refused() -> None:
    """Judgments that leave out a pooled document are refused with its name."""
    with pytest.raises(SystemExit, match="PY001 b has no grade"):
        assemble_qrels.check({("PY001", "a"): 1}, {"PY001": {"a": 1, "b": 2}}, ["PY001"], "first")


def test_a_grade_outside_the_scale_is_refused(tmp_path: Path) -> None:
    """A grade that is not 0 to 3 is refused with file and line."""
    (tmp_path / "PY001.tsv").write_text("a\t2\nb\t4\n")
    with pytest.raises(SystemExit, match="line 2: the grade '4'"):
        assemble_qrels.sheets([tmp_path])


def test_kappa_of_the_textbook_example() -> None:
    """Cohen's kappa of 20 and 15 agreements among 50 pairs with margins 25/25 and 30/20 is 0.4."""
    pairs = [(1, 1)] * 20 + [(1, 0)] * 5 + [(0, 1)] * 10 + [(0, 0)] * 15
    assert assemble_qrels.kappa(pairs, lambda a, b: float(a != b)) == pytest.approx(0.4)


def test_package_data_is_small() -> None:
    """The demo task takes less than 4 MB in the wheel."""
    assert sum(path.stat().st_size for path in demo.FOLDER.rglob("*") if path.is_file()) < 4_000_000
