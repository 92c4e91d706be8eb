"""Entries of cited works: every citation of a measure, a test or a correction becomes whole ones."""

import re

from leaderboard.measures.registry import MEASURES
from leaderboard.stats.pairs.methods import CORRECTIONS, TESTS
from leaderboard.stats.standing import SOURCE
from leaderboard.tables.latex import TREC_EVAL, cited_works

PROCEDURES = (*TESTS.values(), *CORRECTIONS.values())
CITATIONS = sorted({*(one.citation for one in MEASURES), *(one.citation for one in PROCEDURES), SOURCE})


def test_every_citation_becomes_entries_with_all_that_it_says() -> None:
    """Surnames, title and year of each work; what is left over is where it appeared, or a place in it."""
    for citation in CITATIONS:
        for work in cited_works(citation):
            if work.key == TREC_EVAL:
                continue
            assert re.fullmatch(r"[a-z]+(19|20)\d\d\w+", work.key), citation
            assert all(name in citation for name in (*work.authors, work.title, work.where)), citation
            assert work.title[0].isupper() or work.title.startswith("ranx: "), citation
            assert len(work.title) > 8, citation


def test_a_key_names_one_work() -> None:
    """Works that share a key share their title and authors, so that one entry stands for both."""
    works = [work for citation in CITATIONS for work in cited_works(citation)]
    named = {work.key: (work.authors, work.title) for work in works}
    assert [work for work in works if named[work.key] != (work.authors, work.title)] == []
    assert len(named) > 40


def test_entries_are_what_bibtex_reads() -> None:
    """Names in two parts are one, others stand for et al., and further works are entries too."""
    (van,) = cited_works("van Rijsbergen, Information Retrieval, 2nd edition, 1979")
    assert van.entry == (
        "@misc{vanrijsbergen1979information,\n  author = {{van Rijsbergen}},\n  "
        "title = {{Information Retrieval}},\n  howpublished = {2nd edition},\n  year = {1979},\n}\n"
    )
    (others,) = cited_works(
        "Craswell et al., Effective Site Finding Using Link Anchor Information, SIGIR 2001"
    )
    assert "  author = {Craswell and others},\n" in others.entry
    two = cited_works(next(citation for citation in CITATIONS if "exponential gain" in citation))
    assert [work.key for work in two] == ["jarvelin2002cumulated", "burges2005learning"]
    assert "https://github.com/usnistgov/trec_eval" in cited_works("trec_eval, num_q")[0].entry
    assert cited_works("") == ()
