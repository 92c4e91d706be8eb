"""The output lines of trec_eval: lines of a selection of measures, their order and names.

Source: trec_eval.c (`mark_measure`), meas_init.c and measures.c of trec_eval 9 and 10.

>>> [line.name for line in requested(["ndcg_cut.10,5", "map", "nDCG(dcg='exp-log2')@10"])[0]]
['map', 'ndcg_cut_5', 'ndcg_cut_10', "nDCG(dcg='exp-log2')@10"]
"""

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from leaderboard.errors import UnknownMeasure
from leaderboard.measures.binding import BoundMeasure, with_level
from leaderboard.measures.grammar import parse
from leaderboard.measures.selection import NOT_HERE, family_measures, select
from leaderboard.measures.trec_families import BY_NAME, FAMILIES, Family
from leaderboard.measures.trec_names import printed

RUNID = "runid"
_NICKNAMES = ("official", "set", "all_trec")
_LISTS = ("number", "numbers", "pairs")
"""Forms of families that print what followed their name, character for character."""


class Line(NamedTuple):
    """One line: its name, and whether it is printed for topics and for all of them.

    measure: None for the line with the run's tag. place: its position among the others.
    has_parameters: whether its name shows any, which decides what trec_eval prints for missed topics.
    """

    name: str
    measure: BoundMeasure | None
    per_topic: bool = True
    summary: bool = True
    place: tuple[int, float] = (len(FAMILIES), 0.0)
    has_parameters: bool = False

    @property
    def form(self) -> str:
        """Format of its printed value, as a % template."""
        assert self.measure is not None, "the tag is no value"
        measure = self.measure.measure
        return "'%s'" if measure.text else f"%{6 if measure.digits else ''}.{measure.digits}f"


TAG = Line(RUNID, None, per_topic=False, place=(-1, 0.0))

HEAD = (TAG, Line("num_q", parse("NumQ"), per_topic=False, place=(0, 0.0)))
"""Head of trec_eval's groups of measures: the run's tag and the number of topics."""


def requested(
    names: Sequence[str],
    dialect: int = 10,
    level: int = 1,
    all_there_is: Callable[[], Iterable[BoundMeasure]] = lambda: (),
) -> tuple[list[Line], list[str]]:
    """The lines for names as trec_eval takes them after `-m`, and notes on ignored names.

    A name marks a family or a group of them; parameters follow a dot, and of several lists for one family the
    first counts. Lines come in trec_eval's order, names of the grammar that it does not have after them.
    all_there_is: the measures of `all`. Raises UnknownMeasure.
    """
    marked: dict[str, str | None] = {}
    others: list[BoundMeasure] = []
    notes: list[str] = []
    for name in map(str.strip, names):
        head, dot, tail = name.partition(".")
        if name == "all":
            others += all_there_is()
            marked[RUNID] = marked["num_q"] = None
        elif head in (RUNID, *BY_NAME, *_NICKNAMES):
            if dot and not tail:
                raise UnknownMeasure(f"{name!r} ends after its dot; write {head}, or parameters behind it.")
            _mark(marked, head, tail if dot else None, dialect, notes)
        elif head in NOT_HERE:
            raise UnknownMeasure(f"trec_eval's {head} cannot be selected: {NOT_HERE[head]}.")
        else:
            others += select([name], dialect)
    lines = [TAG] if RUNID in marked else []
    for family in FAMILIES:
        if family.name in marked:
            lines += _family_lines(family, marked[family.name], level)
    return _ordered([*lines, *lines_of((with_level(each, level) for each in others), level)]), notes


def lines_of(measures: Iterable[BoundMeasure], level: int, head: Sequence[Line] = ()) -> list[Line]:
    """The lines of measures, in trec_eval's order, then those it does not have.

    level: the one they were bound with, which trec_eval's names do not show. head: other lines, such as HEAD.
    """
    return _ordered([*head, *(_line(measure, level) for measure in measures)])


def _mark(
    marked: dict[str, str | None], head: str, parameters: str | None, dialect: int, notes: list[str]
) -> None:
    if head in _NICKNAMES or head == RUNID or BY_NAME[head].form == "none":
        if parameters is not None:
            notes.append(f"{head} takes no parameters; trec_eval ignores .{parameters}, and so does this.")
        for name in [each.name for each in FAMILIES if head in each.groups and dialect in each.dialects]:
            marked.setdefault(name, None)
        marked.setdefault(RUNID if head in _NICKNAMES else head, None)
        return
    before = marked.get(head)
    if before is not None and parameters not in (None, before):
        notes.append(
            f"{head}.{parameters} is not printed: trec_eval takes the first list of parameters of {head}. "
            "Write all of them after one dot, separated by commas."
        )
    marked[head] = before if before is not None else parameters


def _family_lines(family: Family, parameters: str | None, level: int) -> list[Line]:
    lines = [_line(with_level(each, level), level) for each in family_measures(family, parameters)]
    if parameters is not None and family.form in _LISTS:
        # trec_eval prints parameters as typed, not the numbers it parsed.
        return [lines[0]._replace(name=f"{family.name}_{parameters}", has_parameters=True)]
    return lines


def _line(measure: BoundMeasure, level: int) -> Line:
    printed_line = printed(measure, level)
    if printed_line is None:
        return Line(measure.key, measure, summary=measure.measure.aggregate != "none")
    family = printed_line.family
    place = (FAMILIES.index(family), printed_line.number)
    return Line(
        printed_line.name, measure, family.per_topic, family.summary, place, printed_line.name != family.name
    )


def _ordered(lines: Iterable[Line]) -> list[Line]:
    once = {line.name: line for line in lines}
    return sorted(once.values(), key=lambda line: line.place)
