"""Selection of measures by names of the grammar, trec_eval's names and its names of sets.

>>> [bound.key for bound in select(["map", "P.5,10", "nDCG@10"])]
['AP', 'P@5', 'P@10', 'nDCG@10']
"""

from collections.abc import Collection, Iterator, Mapping, Sequence

from leaderboard.errors import UnknownMeasure
from leaderboard.measures.binding import BoundMeasure, bind
from leaderboard.measures.grammar import parse
from leaderboard.measures.record import Measure, Need
from leaderboard.measures.registry import MEASURES
from leaderboard.measures.trec_families import BY_NAME, FAMILIES, Family
from leaderboard.measures.trec_names import from_trec_name

GROUPS = ("all_trec", "official", "set", "all")
"""Names for many measures at once: trec_eval's, and `all` for every measure there is."""

NOT_HERE = {
    "all_prefs": "preferences are measured by their names in the grammar",
    "prefs": "preferences are measured by their names in the grammar",
    "qrels_jg": "several judges' grades of one document are not read",
    "dcg": "write DCG",
    "ideal_dcg": "write IDCG",
    "map_avgjg": "several judges' grades of one document are not read",
    "P_avgjg": "several judges' grades of one document are not read",
    "Rprec_mult_avgjg": "several judges' grades of one document are not read",
}
"""Names of trec_eval without a meaning here."""

_REQUIRED: Mapping[str, int | float] = {"cutoff": 10, "recall": 0.5}
"""Values that `all` uses for parameters without a default; the caller gives max_rel."""


def select(
    names: Sequence[str], dialect: int = 10, available: Collection[Need] = (), max_rel: int = 1
) -> tuple[BoundMeasure, ...]:
    """The measures with these names, each once, in the order given; none means `official`.

    A name is one of the grammar's or trec_eval's, one of trec_eval's families with or without its
    parameters after a dot (`P`, `P.5,10`, `utility.1,-1,0,0`), or one of GROUPS. dialect: whose
    all_trec; available: the inputs there are for measures of `all`, grades apart; max_rel: the highest
    grade, for those of `all` that need it. Raises UnknownMeasure.
    """
    written = [name.strip() for name in names] or ["official"]
    meant = (_meant(name, dialect, available, max_rel) for name in written)
    return tuple(dict.fromkeys(bound for measures in meant for bound in measures))


def _meant(name: str, dialect: int, available: Collection[Need], max_rel: int) -> Iterator[BoundMeasure]:
    head, dot, tail = name.partition(".")
    if name == "all":
        yield from _all(dialect, available, max_rel)
    elif name in GROUPS:
        yield from _group(name, dialect)
    elif head in GROUPS:
        raise UnknownMeasure(f"{head} is a group of measures and takes no parameters; write {head}.")
    elif head in NOT_HERE:
        raise UnknownMeasure(f"trec_eval's {head} cannot be selected: {NOT_HERE[head]}.")
    elif head in BY_NAME:
        yield from family_measures(BY_NAME[head], tail if dot else None)
    elif name != "runid":
        yield parse(name)


def _all(dialect: int, available: Collection[Need], max_rel: int) -> Iterator[BoundMeasure]:
    """Every measure: trec_eval's with its own parameters, the others as `_default` has them."""
    trec = list(_group("all_trec", dialect))
    for measure in MEASURES:
        if measure.needs <= {"graded", *available}:
            yield from [bound for bound in trec if bound.measure is measure] or [_default(measure, max_rel)]


def _group(group: str, dialect: int) -> Iterator[BoundMeasure]:
    for family in FAMILIES:
        if group in family.groups and dialect in family.dialects:
            yield from family_measures(family, None)


def family_measures(family: Family, given: str | None) -> Iterator[BoundMeasure]:
    """The measures of a family, with the parameters after the dot or, for None, its own.

    Raises UnknownMeasure for parameters that it does not take.
    """
    if given is None:
        texts = [f"{family.name}_{default}" for default in family.defaults] or [family.name]
    elif family.form == "none":
        raise UnknownMeasure(f"trec_eval's {family.name} takes no parameters; write {family.name}.")
    else:
        parts = given.split(",") if family.form == "each" else [given]
        texts = [f"{family.name}_{part.strip()}" for part in parts]
    seen: set[BoundMeasure] = set()
    for text in texts:
        bound = from_trec_name(text)
        if bound is None:
            raise UnknownMeasure(
                f"{given!r} cannot follow {family.name}; write {family.name}.{family.example}, for instance."
            )
        if bound in seen:
            raise UnknownMeasure(f"{family.name} is given {bound} twice; give it once.")
        seen.add(bound)
        yield bound


def _default(measure: Measure, max_rel: int) -> BoundMeasure:
    values = {**_REQUIRED, "max_rel": max_rel}
    required = [parameter for parameter in measure.parameters if parameter.required]
    return bind(
        measure, {parameter.name: min(values[parameter.name], parameter.high) for parameter in required}
    )


def measures(*names: str) -> tuple[Measure, ...]:
    """The measures with these names, each once, or all there are; each has name, title and formula.

    names: those of measures, or of groups such as official and all_trec. Raises UnknownMeasure.

    >>> [measure.title for measure in measures("map", "P.5,10")]
    ['Average precision (its mean is MAP)', 'Precision in the top k']
    """
    if not names:
        return MEASURES
    return tuple(dict.fromkeys(bound.measure for bound in select(names)))
