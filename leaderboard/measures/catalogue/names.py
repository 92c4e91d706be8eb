"""Measure names: grammar, examples, and trec_eval's names."""

from dataclasses import dataclass

from leaderboard.measures.binding import bind
from leaderboard.measures.record import Measure, Parameter, TrecName, Value, value_text
from leaderboard.measures.trec_families import BY_NAME
from leaderboard.measures.trec_families import Family as TrecFamily
from leaderboard.measures.trec_names import from_trec_name

SAMPLES: tuple[float, ...] = (0.5, 0.8, 2.0)
"""Values of a parameter that is a number; one of them is in every range."""
RANKS = 10


@dataclass(frozen=True, slots=True)
class TrecForm:
    """A name printed by trec_eval and its counterpart here.

    k is a rank and x another number; option: how trec_eval names it with other values, empty if it has no
    parameters; only: the version that alone has it, 0 where all do.
    """

    name: str
    here: str
    option: str
    only: int

    @property
    def words(self) -> str:
        """Both names and the version in one line."""
        return f"{self.name} for {self.here}" + (f" (version {self.only} only)" if self.only else "")


def grammar(measure: Measure) -> str:
    """The measure with all its parameters, those that need not be given in brackets.

    >>> from leaderboard.measures.registry import NAMES
    >>> grammar(NAMES["P"]), grammar(NAMES["NumQ"])
    ('P[(rel=…,judged_only=…)]@cutoff', 'NumQ')
    """
    inner = [parameter for parameter in measure.parameters if not parameter.at]
    text = measure.name
    if inner:
        listed = f"({','.join(f'{parameter.name}=…' for parameter in inner)})"
        text += listed if any(parameter.required for parameter in inner) else f"[{listed}]"
    for parameter in measure.parameters:
        if parameter.at:
            text += f"@{parameter.name}" if parameter.required else f"[@{parameter.name}]"
    return text


def examples(measure: Measure) -> tuple[str, ...]:
    """Up to three ways to write the measure: as short as can be, and with one parameter of each kind.

    >>> from leaderboard.measures.registry import NAMES
    >>> examples(NAMES["AP"]), examples(NAMES["P"])
    (('AP', 'AP(rel=2)', 'AP@10'), ('P@10', 'P(rel=2)@10'))
    """
    needed = {parameter.name: sample(parameter) for parameter in measure.parameters if parameter.required}
    free = [parameter for parameter in measure.parameters if not parameter.required]
    shown = (next((parameter for parameter in free if parameter.at is at), None) for at in (False, True))
    given = [needed, *({**needed, parameter.name: sample(parameter)} for parameter in shown if parameter)]
    return tuple(bind(measure, params).key for params in given)


def sample(parameter: Parameter) -> Value:
    """A value the parameter can have, other than its default."""
    if parameter.kind == "boolean":
        return parameter.default is not True
    if parameter.kind == "choice":
        return next(choice for choice in parameter.choices if choice != parameter.default)
    if parameter.kind == "gains":
        return ((1, 1.0), (2, min(parameter.high, 3.5)))
    if parameter.kind == "levels":
        return (0.2, 0.5, 0.8)
    if parameter.kind == "number":
        values = (*SAMPLES, parameter.low, parameter.high)
    else:
        start = parameter.default if isinstance(parameter.default, int) else 1
        values = (RANKS if parameter.at else start + 1, int(parameter.low), int(parameter.high))
    fitting = (value for value in values if parameter.low <= value <= parameter.high)
    return next(value for value in fitting if value != parameter.default)


def trec_forms(measure: Measure) -> tuple[TrecForm, ...]:
    """trec_eval's names of the measure and its variants.

    >>> from leaderboard.measures.registry import NAMES
    >>> [(form.name, form.here) for form in trec_forms(NAMES["SetF"])]
    [('set_F', 'SetF'), ('set_F_x', 'SetF(beta=√x)')]
    """
    return tuple(_form(measure, name) for name in measure.trec_names)


def _form(measure: Measure, name: TrecName) -> TrecForm:
    parameter = measure.parameter(name.parameter)
    letter = "" if parameter is None else "k" if parameter.kind == "integer" else "x"
    family = _family(name.text)
    return TrecForm(
        name=f"{name.text}_{letter}" if letter else name.text,
        here=_here(measure, name, f"√{letter}" if name.squared else letter),
        option=_option(measure, name, family) if family else "",
        only=family.dialects[0] if family and len(family.dialects) == 1 else 0,
    )


def _here(measure: Measure, name: TrecName, letter: str) -> str:
    values = {key: value_text(value) for key, value in name.fixed}
    if letter:
        values[name.parameter] = letter
    inner, at = [], ""
    for parameter in measure.parameters:
        if parameter.name in values:
            if parameter.at:
                at = f"@{values[parameter.name]}"
            else:
                inner.append(f"{parameter.name}={values[parameter.name]}")
    return f"{measure.name}{'(' + ','.join(inner) + ')' if inner else ''}{at}"


def _option(measure: Measure, name: TrecName, family: TrecFamily) -> str:
    if family.name != name.text:
        return f"{family.name}.{name.text.removeprefix(family.name + '_')}"
    if (
        any(trec_name.text == name.text and trec_name.parameter for trec_name in measure.trec_names)
        and not name.parameter
    ):
        return ""
    value = family.example.split(",")[0] if family.form == "each" else family.example
    bound = from_trec_name(f"{family.name}_{value}") if value else None
    return f"{family.name}.{family.example}" if bound and bound.measure is measure else ""


def _family(text: str) -> TrecFamily | None:
    """The family a name of trec_eval's belongs to: its own, or one that it begins with."""
    while text not in BY_NAME and "_" in text:
        text = text.rpartition("_")[0]
    return BY_NAME.get(text)
