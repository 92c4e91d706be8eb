"""The table of trec_eval's families: complete, in its order, and all of them measures here."""

import gzip
from itertools import pairwise
from pathlib import Path

import pytest

from leaderboard.errors import UnknownMeasure
from leaderboard.measures.registry import MEASURES
from leaderboard.measures.selection import select
from leaderboard.measures.trec_families import BY_NAME, FAMILIES, Family, family_of
from leaderboard.measures.trec_names import from_trec_name, printed, trec_name
from tests.make.loops import for_every


def names_of(family: Family) -> list[str]:
    """trec_eval's names of the family's measures with its default parameters."""
    return [f"{family.name}_{default}" for default in family.defaults] or [family.name]


@for_every("family", FAMILIES, lambda family: family.name)
class TestFamily:
    """What holds for every family."""

    def test_its_names_are_measures_that_are_printed_so(self, family: Family) -> None:
        """Every default name leads to a measure and back to the same name."""
        for name in names_of(family):
            bound = from_trec_name(name)
            assert bound is not None, name
            assert trec_name(bound) == name
            assert family_of(name) is family

    def test_its_order_is_that_of_its_numbers(self, family: Family) -> None:
        """trec_eval prints the measures of one family with the smaller number first."""
        places = [printed(bound) for bound in select([family.name])]
        numbers = [place.number for place in places if place is not None]
        assert len(numbers) == len(names_of(family))
        assert all(first < second for first, second in pairwise(numbers))

    def test_its_example_can_be_written(self, family: Family) -> None:
        """What an error message proposes works; a family without parameters says so."""
        if family.form == "none":
            with pytest.raises(UnknownMeasure, match="takes no parameters"):
                select([f"{family.name}.1"])
        else:
            assert select([f"{family.name}.{family.example}"])

    def test_its_measures_are_shown_where_they_have_a_number(self, family: Family) -> None:
        """Only what has no one number for all topics is left out of the summary."""
        (measure,) = {bound.measure.name: bound.measure for bound in select([family.name])}.values()
        assert family.summary == (measure.aggregate != "none")
        assert measure.aggregate != "geometric" or not family.per_topic


def test_every_trec_eval_name_of_a_measure_is_of_a_family() -> None:
    """No measure has a name of trec_eval's that the table does not place."""
    for measure in MEASURES:
        for name in measure.trec_names:
            assert family_of(name.text) in FAMILIES


def test_a_name_belongs_to_the_longest_family_it_begins_with() -> None:
    """ndcg_cut_10 is none of ndcg's, rbp_resid none of rbp's."""
    names = ("ndcg_cut_10", "rbp_resid", "set_relative_P", "recall_5", "11pt_avg_0.2,0.5,0.8")
    assert [family_of(name).name for name in names] == [
        "ndcg_cut",
        "rbp_resid",
        "set_relative_P",
        "recall",
        "11pt_avg",
    ]


@pytest.mark.parametrize(("dialect", "count"), [(9, 95), (10, 100)])
def test_all_trec_is_what_trec_eval_prints_in_its_order(shared_data: Path, dialect: int, count: int) -> None:
    """The families of all_trec, in the table's order, give the names of a real output in its order."""
    path = shared_data / "tilde-dl19" / "expected" / f"run.trec2019-bm25.l1.v{dialect}.txt.gz"
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        fields = [line.split("\t") for line in lines]
    summary = [name.strip() for name, topic, _ in fields if topic == "all" and name.strip() != "runid"]
    families = [
        family
        for family in FAMILIES
        if dialect in family.dialects and "all_trec" in family.groups and family.summary
    ]
    assert summary == [name for family in families for name in names_of(family)]
    assert len({name.strip() for name, _, _ in fields}) == count
    shown = {family_of(name.strip()) for name, topic, _ in fields if topic != "all"}
    assert shown == {
        family for family in FAMILIES if family.per_topic and family.groups and dialect in family.dialects
    }


def test_official_and_set_are_trec_evals() -> None:
    """The two other names for many measures, as its source has them."""
    official = {family.name for family in FAMILIES if "official" in family.groups}
    assert official == {
        "num_q",
        "num_ret",
        "num_rel",
        "num_rel_ret",
        "map",
        "gm_map",
        "Rprec",
        "bpref",
        "recip_rank",
        "iprec_at_recall",
        "P",
    }
    assert {family.name for family in FAMILIES if "set" in family.groups} == {
        "num_q",
        "num_ret",
        "num_rel",
        "num_rel_ret",
        "utility",
        "set_P",
        "set_recall",
        "set_relative_P",
        "set_map",
        "set_F",
    }
    assert len(BY_NAME) == len(FAMILIES)
