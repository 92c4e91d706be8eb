"""Input of an operation, declared once; its form, API body and command options are derived from it.

A record whose fields are `Annotated[type, Field(...)]` is all there is to say. A form's texts, a JSON body
and a command's options are read into it by `read`, with every problem at once; `texts` is what a form shows.
"""

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields, is_dataclass, make_dataclass
from datetime import datetime
from functools import cache
from math import nan
from types import GenericAlias, MappingProxyType, NoneType
from typing import Annotated, Any, TypeVar, cast, get_args, get_origin, get_type_hints

from msgspec import Meta

from leaderboard import zones
from leaderboard.errors import Invalid, Problem

Record = TypeVar("Record")
MOST = 2**40
FILLED = r"^[^\u0000]*[^\s\u0000][^\u0000]*$"
"""Pattern of a text that is not blank, for JSON Schema."""
LACKING = "is missing."
"""Rule for a required value that is missing."""
ZONE = "zone"
"""The field by whose time zone a record's moments are written and read, where it has one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """Description of a field, and its constraints beyond the type."""

    title: str
    help: str = ""
    """One sentence: below the field of a form, in the API's document, and of a command's option."""
    choices: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    """Value -> what it means; of a tuple, what it may hold."""
    longest: int = 300
    rows: int = 1
    """Lines of its box."""
    least: int = 1
    most: int = MOST - 1
    """Of a whole number, of rows how many; of a line that has to be given 0: it may be blank."""
    option: str = ""
    """The command's option without its dashes, where it is not the field's name."""
    form: str = ""
    """The form's field, where it is not the field's name."""
    missing: str = ""
    """What to say, in a sentence, where it has to be given and is not."""
    is_argument: bool = False
    """Whether the command accepts it without an option."""
    otherwise: tuple[str, str] | None = None
    """In a command, for a value that is not a choice: a choice, and the field that then holds it."""
    is_carried: bool = False
    """Whether the form alone has it, unseen: what the page knew when it was made."""
    is_of_form: bool = False
    """Whether the API does not ask for it, such as for how to read a file that only the form has."""
    is_of_api: bool = False
    """Whether only the API asks for it: forms and commands know it otherwise, such as a file's name."""
    prefix: str = ""
    """Of texts by key: what the form's fields have before their keys."""
    each: "Mapping[str, Field]" = field(default_factory=lambda: MappingProxyType({}))
    """Of texts by key: key -> what it says; a command has an option for each."""
    typed: str = ""
    """How a form's text holds several values: as `words`, or as `lines`; empty for boxes to tick."""
    is_percent: bool = False
    """Whether a form asks for a share in percent."""
    read: Callable[[str], Any] = str
    """Makes a value of a line's, a box's or a number's text; raises ValueError with the rule it breaks."""
    is_secret: bool = False
    """Whether no problem and no record says its value."""
    only_of: str = ""
    """The kind of task that alone has it; empty: every kind."""
    autocomplete: str = ""
    """What browsers and password managers fill in, as HTML names it; of a password its box is masked."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A field of a record, as its surfaces show it.

    kind: line, text, choice, ticks, tick, maybe for yes, no or neither, number, decimal, moment, texts for
    values that are typed, keyed for texts by key, record for fields that belong together, or rows for any
    number of such: a form's lines.
    """

    name: str
    kind: str
    about: Field
    type: Any
    default: Any

    @property
    def parts(self) -> "tuple[Asked, ...]":
        """The fields that belong together, of a record."""
        return of(self.type)

    @property
    def sent_as(self) -> str:
        """The name of the form's field."""
        return self.about.form or self.name

    @property
    def is_required(self) -> bool:
        """Whether it has to be given."""
        return self.default is MISSING


def of(record: type[Any]) -> tuple[Asked, ...]:
    """The declared fields of a record, in order; raises TypeError for one that says nothing of itself."""
    return _of(cast(Hashable, record))


@cache
def _of(record: Any) -> tuple[Asked, ...]:
    hints = get_type_hints(record, include_extras=True)
    return tuple(_asked(each.name, hints[each.name], _default(each)) for each in fields(record))


def _default(each: Any) -> Any:
    return each.default if each.default_factory is MISSING else each.default_factory()


def _asked(name: str, hint: Any, default: Any) -> Asked:
    about = next((each for each in getattr(hint, "__metadata__", ()) if isinstance(each, Field)), None)
    if about is None:
        raise TypeError(f"{name} is not a field: annotate it with a Field")
    plain = get_args(hint)[0]
    return Asked(name, _kind(plain, about), about, plain, default)


def _kind(plain: Any, about: Field) -> str:
    bare = next((each for each in get_args(plain) if each is not NoneType), plain)
    kinds = {bool: "tick", int: "number", float: "decimal", datetime: "moment", zones.Moment: "moment"}
    if Mapping in (get_origin(plain), get_origin(bare)):
        return "keyed"
    if bare is bool and NoneType in get_args(plain):
        return "maybe"
    if get_origin(plain) is tuple:
        return "rows" if is_dataclass(get_args(plain)[0]) else "texts" if about.typed else "ticks"
    if bare in kinds:
        return kinds[bare]
    if bare is not str:
        return "record"
    return "choice" if about.choices else "text" if about.rows > 1 else "line"


def read(record: type[Record], inputs: Mapping[str, Any], others: Sequence[Problem] = ()) -> Record:
    """The record that texts or values by name make; raises Invalid with every invalid field.

    Texts are those of a form or a command, values those of JSON. Missing ones have the field's default;
    fields that belong together may be in a separate mapping, or next to the others. others: problems of
    what is not a field, such as a file.
    """
    given: dict[str, Any] = {}
    problems: list[Problem] = []
    zone = str(inputs.get(ZONE) or "").strip() or "UTC"
    for each in of(record):
        if each.kind != "record" and each.name not in inputs:
            continue
        value = inputs.get(each.name)
        if _is_blank(each, value) and not each.is_required and NoneType not in get_args(each.type):
            continue
        try:
            if each.kind == "record":
                given[each.name] = read(each.type, value if isinstance(value, Mapping) else inputs)
            else:
                given[each.name] = _read(each, value, zone)
        except Invalid as error:
            problems += error.problems or [Problem(error.message, field=each.name, value=str(value)[:40])]
        except ValueError as error:
            shown = "" if each.about.is_secret else str(value)[:40]
            problems.append(Problem(str(error), _remedy(each, str(error)), field=each.name, value=shown))
    missing = [each for each in of(record) if each.is_required and each.name not in given]
    named = {problem.field for problem in problems}
    problems += [
        Problem(rule := each.about.missing or LACKING, _remedy(each, rule), field=each.name)
        for each in missing
        if each.kind != "record" and each.name not in named
    ]
    problems += others
    if problems:
        named_as, first = titles(record), problems[0]
        message = first.rule if first.rule[:1].isupper() else f"{named_as.get(first.field, '')} {first.rule}"
        raise Invalid(message, problems, titles=named_as)
    return record(**given)


def titles(record: type) -> dict[str, str]:
    """The titles of a record's fields, and of the records in it, by name."""
    by_name: dict[str, str] = {}
    for each in of(record):
        by_name |= {each.name: each.about.title} | (titles(each.type) if each.kind == "record" else {})
    return by_name


def _read(each: Asked, value: Any, zone: str) -> Any:
    """A value of JSON or the text of a form; raises ValueError with the rule that it breaks, or Invalid."""
    if value is None or _is_blank(each, value):
        if NoneType not in get_args(each.type):
            raise ValueError(each.about.missing or LACKING)
        return None
    if each.kind in ("tick", "maybe"):
        return value if isinstance(value, bool) else value in ("on", "yes", "true", "1")
    if each.kind == "number":
        return _number(each.about, value)
    if each.kind == "decimal":
        return _decimal(each.about, value)
    if each.kind == "moment":
        return value if isinstance(value, datetime) else zones.read(value, zone, each.name)
    if each.kind == "keyed":
        return _keyed(each.about, value)
    if each.kind == "rows":
        row = get_args(each.type)[0]
        return (
            each.about.read(value) if isinstance(value, str) else tuple(read(row, entry) for entry in value)
        )
    if each.kind == "texts" and isinstance(value, str):
        words, lines = value.replace(";", " ").split(), filter(str.strip, value.splitlines())
        value = words if each.about.typed == "words" else list(lines)
    if each.kind in ("ticks", "texts"):
        return _some(each, [value] if isinstance(value, str) else list(value))
    if each.kind == "choice" and value not in each.about.choices:
        raise ValueError(f"must be one of {', '.join(filter(None, each.about.choices))}.")
    if len(value) > each.about.longest:
        raise ValueError(f"must have at most {each.about.longest:,} characters.")
    return each.about.read(value) if each.kind in ("line", "text") else value


def keys(about: Field) -> Mapping[str, object]:
    """The keys that texts by key may have; empty: any."""
    return about.each or about.choices


def _keyed(about: Field, texts: Mapping[str, Any]) -> dict[str, Any]:
    # Settings are refused where they are changed, all of them at once.
    allowed = about.each
    unknown = next((key for key in texts if allowed and key not in allowed), None)
    if unknown is not None:
        rule = f"The key {unknown[:64]!r} is not known; use one of {', '.join(allowed)}."
        raise Invalid(rule, [Problem(rule, field=unknown[:64])])
    return dict(texts)


def _number(about: Field, value: Any) -> int:
    text = str(about.read(value) if isinstance(value, str) else value).strip()
    digits = text.removeprefix("-") if about.least < 0 else text
    is_whole = not isinstance(value, bool) and digits.isascii() and digits.isdigit()
    is_large = is_whole and (len(text) > 13 or int(text) > about.most)
    if not is_whole or is_large or int(text) < about.least:
        to = "on" if about.most == MOST - 1 and not is_large else f"to {about.most:,}"
        raise ValueError(f"must be a whole number from {about.least} {to}.")
    return int(text)


def _is_blank(each: Asked, value: Any) -> bool:
    return (
        isinstance(value, str) and not value.strip() and each.kind in ("number", "decimal", "moment", "maybe")
    )


def _decimal(about: Field, value: Any) -> float:
    """A number of JSON or a command, or the text of a form, there maybe in percent."""
    scale = 100 if about.is_percent and isinstance(value, str) else 1
    try:
        number = float(value) / scale
    except ValueError:
        number = nan
    if isinstance(value, bool) or not about.least <= number <= about.most:
        percent = " percent" if scale > 1 else ""
        raise ValueError(f"must be a number from {about.least * scale} to {about.most * scale:,}{percent}.")
    return number


def _some(each: Asked, values: list[Any]) -> tuple[Any, ...]:
    about = each.about
    if int in get_args(each.type):
        return tuple(_number(about, value) for value in values)
    if not about.choices:
        return tuple(values)
    if not about.choices.keys() >= set(values):
        raise ValueError(f"must be among {', '.join(about.choices)}.")
    return tuple(choice for choice in about.choices if choice in values)


def _remedy(each: Asked, rule: str) -> str:
    if rule == each.about.missing:
        return ""
    if rule == LACKING:
        return f"Give {each.about.title.lower()}."
    if each.kind == "decimal":
        return "Enter a number."
    if each.kind == "number" and each.about.read is str:
        may_be_empty = NoneType in get_args(each.type)
        return f"Enter digits only{', or leave it empty' if may_be_empty else ''}."
    return "Shorten it." if each.kind == "line" else "Choose again."


def values(record: Any) -> dict[str, Any]:
    """Values of a record and of the records in it, by field name."""
    by_name: dict[str, Any] = {}
    for each in of(type(record)):
        value = getattr(record, each.name)
        by_name |= values(value) if each.kind == "record" else {each.name: value}
    return by_name


def texts(record: Any) -> dict[str, Any]:
    """Values of a record as a form shows them: texts, names of ticked choices, states of boxes."""
    by_name = values(record)
    zone = by_name.get(ZONE, "UTC")
    shown = {
        name: zones.written(value, zone) if isinstance(value, datetime) else value
        for name, value in by_name.items()
    }
    return {name: "" if value is None else value for name, value in shown.items()}


def as_typed(each: Asked, value: Any) -> Any:
    """A field's value as the box of a form holds it: several values in one text, shares in percent."""
    if each.kind == "texts" and not isinstance(value, str):
        return ("\n" if each.about.typed == "lines" else " ").join(map(str, value))
    if each.kind == "decimal" and each.about.is_percent and not isinstance(value, str):
        return f"{100 * value:g}"
    return value


def empty(record: type) -> dict[str, Any]:
    """Initial values of a form for a new record."""
    shown: dict[str, Any] = {}
    for each in of(record):
        if each.kind == "record":
            shown |= empty(each.type)
        else:
            shown[each.name] = "" if each.default in (MISSING, None) else each.default
    return shown


@cache
def as_sent(record: type) -> type:
    """The record as JSON has it: moments are texts, and what forms alone carry is left out."""
    parts: list[Any] = []
    for each in of(record):
        if not (each.about.is_carried or each.about.is_of_form):
            kind: Any = _plain(each)
            with_limits = Annotated[kind, Meta(extra_json_schema=_limits(each))]
            with_default = () if each.is_required else (field(default=each.default),)
            if each.kind == "keyed" and not each.is_required:
                with_default = (field(default=None) if each.default is None else field(default_factory=dict),)
            parts.append((each.name, with_limits, *with_default))
    sent = make_dataclass(record.__name__, parts, frozen=True, slots=True, kw_only=True)
    sent.__doc__ = record.__doc__
    _declared[sent] = {each.name: each.about.help or f"{each.about.title}." for each in of(record)}
    return sent


def _plain(each: Asked) -> Any:
    if each.kind == "rows":
        return GenericAlias(tuple, (as_sent(get_args(each.type)[0]), ...))
    if each.kind == "moment":
        return each.type if zones.Moment in get_args(each.type) else str | None
    if each.kind == "texts" and each.is_required and each.type == tuple[str, ...]:
        return tuple[Annotated[str, Meta(extra_json_schema={"pattern": FILLED})], ...]
    if each.kind == "ticks" and each.about.choices:
        choice = Meta(extra_json_schema={"enum": list(each.about.choices)})
        return tuple[Annotated[str, choice], ...]
    return as_sent(each.type) if each.kind == "record" else each.type


def _limits(each: Asked) -> dict[str, Any]:
    """JSON Schema of a field's values; `read` enforces it and states the remedy."""
    about = each.about
    if each.kind in ("number", "decimal"):
        return {"minimum": about.least, "maximum": about.most}
    if each.kind == "rows" or (each.kind == "texts" and each.is_required):
        return {"minItems": about.least} | ({"maxItems": about.most} if about.most < MOST - 1 else {})
    if each.kind == "choice":
        return {"enum": list(about.choices)}
    if each.kind == "keyed":
        return {"propertyNames": {"enum": list(keys(about))}} if keys(about) else {}
    if each.kind == "ticks":
        return {"minItems": 1} if each.is_required else {}
    if each.kind not in ("line", "text"):
        return {}
    filled = {"pattern": FILLED} if each.is_required and each.kind == "line" and about.least else {}
    # Longer ones in an address are refused unread.
    return ({"maxLength": about.longest} if about.longest <= 100 else {}) | filled


def documented(**schema: Any) -> Meta:
    """JSON Schema of a limit."""
    return Meta(extra_json_schema=schema)


_declared: dict[type, dict[str, str]] = {}


def words(sent: type) -> Mapping[str, str]:
    """Meanings of the fields of a record that `as_sent` made, by name; empty for other types."""
    return _declared.get(sent, {})
