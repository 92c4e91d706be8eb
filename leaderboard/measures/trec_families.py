"""trec_eval's families of measures: its names, in its order, with its default parameters."""

from dataclasses import dataclass
from typing import Literal

Group = Literal["official", "set", "all_trec"]


@dataclass(frozen=True, slots=True)
class Family:
    """One of trec_eval's measures with all the parameters it is computed for.

    form: what may follow the name after a dot. `each`: several numbers with commas between, every one
    a measure of its own; `number`: one; `numbers`: as many as the measure has parameters; `pairs`:
    parameter=value; `none`. defaults: the parameters without a dot, empty where the name means
    itself; example: what one may write after the dot. groups: which names for several families include
    it; dialects: which versions know it; per_topic, summary: where it is printed.
    """

    name: str
    form: Literal["none", "each", "number", "numbers", "pairs"] = "none"
    defaults: tuple[str, ...] = ()
    example: str = ""
    groups: frozenset[Group] = frozenset({"all_trec"})
    dialects: tuple[int, ...] = (9, 10)
    per_topic: bool = True
    summary: bool = True


_OFFICIAL: frozenset[Group] = frozenset({"official", "all_trec"})
_SET: frozenset[Group] = frozenset({"set", "all_trec"})
_EVERYWHERE: frozenset[Group] = frozenset({"official", "set", "all_trec"})

_RANKS = ("5", "10", "15", "20", "30", "100", "200", "500", "1000")
_RECALLS = ("0.00", "0.10", "0.20", "0.30", "0.40", "0.50", "0.60", "0.70", "0.80", "0.90", "1.00")
_MULTIPLES = ("0.20", "0.40", "0.60", "0.80", "1.00", "1.20", "1.40", "1.60", "1.80", "2.00")

FAMILIES: tuple[Family, ...] = (
    Family("num_q", groups=_EVERYWHERE, per_topic=False),
    Family("num_ret", groups=_EVERYWHERE),
    Family("num_rel", groups=_EVERYWHERE),
    Family("num_rel_ret", groups=_EVERYWHERE),
    Family("map", groups=_OFFICIAL),
    Family("gm_map", groups=_OFFICIAL, per_topic=False),
    Family("Rprec", groups=_OFFICIAL),
    Family("bpref", groups=_OFFICIAL),
    Family("recip_rank", groups=_OFFICIAL),
    Family("iprec_at_recall", "each", _RECALLS, "0.1,0.5", groups=_OFFICIAL),
    Family("P", "each", _RANKS, "5,10", groups=_OFFICIAL),
    Family("relstring", "number", example="20", summary=False),
    Family("recall", "each", _RANKS, "5,10"),
    Family("infAP"),
    Family("gm_bpref", per_topic=False),
    Family("Rprec_mult", "each", _MULTIPLES, "0.5,2"),
    Family("utility", "numbers", example="1,-1,0,0", groups=_SET),
    Family("11pt_avg", "numbers", example="0.2,0.5,0.8"),
    Family("binG"),
    Family("G", "pairs", example="1=1,2=3.5"),
    Family("ndcg", "pairs", example="1=1,2=3.5"),
    Family("ndcg_rel", "pairs", example="1=1,2=3.5"),
    Family("Rndcg", "pairs", example="1=1,2=3.5"),
    Family("ndcg_cut", "each", _RANKS, "5,10"),
    Family("map_cut", "each", _RANKS, "5,10"),
    Family("relative_P", "each", _RANKS, "5,10"),
    Family("success", "each", ("1", "5", "10"), "1,5"),
    Family("set_P", groups=_SET),
    Family("set_relative_P", groups=_SET),
    Family("set_recall", groups=_SET),
    Family("set_map", groups=_SET),
    Family("set_F", "number", example="0.25", groups=_SET),
    Family("num_nonrel_judged_ret"),
    Family("rbp", "pairs", example="p=0.8", dialects=(10,)),
    Family("rbp_resid", "pairs", example="p=0.8", dialects=(10,)),
    Family("unj", "each", ("5", "10", "20"), "5,10", dialects=(10,)),
    Family("yaap", groups=frozenset()),
)
"""All of trec_eval's, in the order it prints them, except the line with the run's tag."""

BY_NAME = {family.name: family for family in FAMILIES}


def family_of(name: str) -> Family:
    """The family a name of trec_eval's belongs to: its own, or the longest that it begins with.

    >>> family_of("ndcg_cut_10").name, family_of("ndcg").name
    ('ndcg_cut', 'ndcg')
    """
    head = name
    while head not in BY_NAME and "_" in head:
        head = head.rpartition("_")[0]
    return BY_NAME[head]
