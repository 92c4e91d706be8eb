"""What is known about how a run was made and what it cost: from the form, else from the file's header.

The header is ir_metadata (T. Breuer, J. Keller and P. Schaer, ir_metadata: An Extensible Metadata Schema for
IR Experiments, SIGIR 2022; https://www.ir-metadata.org), with the `resources` that the TIREx tracker writes.
Both are stored in a run's details: the header as it was nested, the form's values under the key FORM.
Everything in them was written by a stranger, so a value of the wrong type is left out without an error.
"""

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from sqlalchemy.orm import Session

from leaderboard.db.tables import Team
from leaderboard.errors import Invalid
from leaderboard.services import audit, policy
from leaderboard.services.policy import Viewer
from leaderboard.services.tasks.scored_topics import OfTask
from leaderboard.tables.record import Place, Shown
from leaderboard.trec import facts as fact_fields
from leaderboard.trec.facts import (
    DURATION,
    FIELD_OF,
    FIELDS,
    HEADER,
    FactField,
    FactValue,
    address,
    at,
    leaves,
    shortened,
)

FORM = "form"
"""Where a run's details keep what the form said; a header's own key of this name is dropped."""
MOST_VALUES = 30
LONGEST_CHOICE = 80

RUNTIME = FactField(
    "runtime_ms",
    "Time in all",
    "From beginning to end, as the header says; it may include more than searching.",
    "cost",
    dimension=DURATION,
)
COSTS = (*(field for field in FIELDS if field.is_cost), RUNTIME)
"""What runs may report as their cost, the less the better."""
COST_OF = {field.key: field for field in COSTS}
_KNOWN = {**FIELD_OF, RUNTIME.key: RUNTIME}


@dataclass(frozen=True, slots=True)
class Fact:
    """One thing known about a run.

    key: the field's, or the dotted path in the header. value: a number is in `unit`. href: an address that
    may be linked to (rel="noopener noreferrer nofollow": its owner wrote it).
    """

    key: str
    title: str
    value: str | float
    unit: str
    href: str | None
    text: str
    """The value as it is shown, with the unit that suits it."""
    origin: Literal["form", "header"]


@dataclass(frozen=True, slots=True)
class Choice:
    """A fact that several runs can be told apart by, with its values, the most frequent first."""

    key: str
    title: str
    values: tuple[tuple[str, int], ...]


def stored(header: Mapping[str, Any], form: Mapping[str, FactValue]) -> dict[str, Any]:
    """A run's details: the header of its file and what the form said.

    >>> stored({"tag": "a", "form": "mine"}, {"type": "manual"})
    {'tag': 'a', 'form': {'type': 'manual'}}
    """
    kept = {key: value for key, value in header.items() if key != FORM}
    return {**kept, FORM: dict(form)} if form else kept


def header_of(details: Mapping[str, Any]) -> dict[str, Any]:
    """The header alone, nested as it was written."""
    return {key: value for key, value in details.items() if key != FORM}


def form_of(details: Mapping[str, Any]) -> dict[str, FactValue]:
    """What the form said, by key; values that no form could have given are left out."""
    form = details.get(FORM)
    if not isinstance(form, Mapping):
        return {}
    values = {field.key: _kept(field, form.get(field.key)) for field in FIELDS}
    return {key: value for key, value in values.items() if value is not None}


def facts(details: Mapping[str, Any]) -> tuple[Fact, ...]:
    """All that is known: the fields people are asked for in their order, then the rest of the header.

    >>> [(fact.title, fact.text) for fact in facts({"method": {"automatic": "true"}, "tag": "bm25"})]
    [('Run type', 'automatic'), ('tag', 'bm25')]
    >>> facts({"form": {"index_bytes": 1.2e9}})[0].text
    '1.2 GB'
    """
    form = form_of(details)
    known = []
    for key, of in _KNOWN.items():
        value = form.get(key)
        if value is None:
            value = _from_header(details, of)
        if value is not None:
            known.append(_fact(of, value, "form" if key in form else "header"))
    taken = {
        path for source in HEADER.values() for path in source.paths if source.read(details) not in (None, "")
    }
    return (*known, *_rest(details, taken))


def fact(details: Mapping[str, Any], key: str) -> Fact | None:
    """One fact by its key; None where it is not known."""
    of = _KNOWN.get(key)
    if of is None:
        return next((fact for fact in _rest(details, set()) if fact.key == key), None)
    value = form_of(details).get(key)
    origin: Literal["form", "header"] = "form" if value is not None else "header"
    value = _from_header(details, of) if value is None else value
    return None if value is None else _fact(of, value, origin)


def nameless(known: Iterable[Fact]) -> tuple[Fact, ...]:
    """The facts without those that tell whose run it is, for runs of teams that go by a pseudonym.

    Links, people and places of the code are left out, and free text of the header with them: only what the
    known fields say is left.
    """
    return tuple(fact for fact in known if fact.key in _KNOWN and not _KNOWN[fact.key].is_url)


def cost(details: Mapping[str, Any], name: str) -> float | None:
    """What a run reports of one of COSTS, in the unit it is kept in; None where it reports none.

    >>> cost({"resources": {"gpu": {"energy used system": "7200 J"}}}, "energy_wh")
    2.0
    """
    of = COST_OF[name]
    value = _kept(of, at(details, FORM, name))
    if value is None:
        value = _from_header(details, of)
    return value if isinstance(value, float) else None


def has(details: Mapping[str, Any], key: str, text: str) -> bool:
    """Whether a fact is known and shown with this text: how runs are chosen by `choices`."""
    known = fact(details, key)
    return known is not None and known.text == text


def choices(all_details: Iterable[Mapping[str, Any]]) -> tuple[Choice, ...]:
    """The facts that runs can be chosen by: words, not numbers or addresses, of at most 30 values in all.

    >>> choices([{"form": {"type": "manual"}}, {"form": {"type": "automatic"}}, {"form": {"type": "manual"}}])
    (Choice(key='type', title='Run type', values=(('manual', 2), ('automatic', 1))),)
    """
    titles: dict[str, str] = {}
    counts: dict[str, Counter[str]] = {}
    for details in all_details:
        for fact in facts(details):
            if isinstance(fact.value, str) and fact.href is None and len(fact.text) <= LONGEST_CHOICE:
                titles.setdefault(fact.key, fact.title)
                counts.setdefault(fact.key, Counter())[fact.text] += 1
    return tuple(
        Choice(key, titles[key], tuple(sorted(values.items(), key=lambda item: (-item[1], item[0]))))
        for key, values in counts.items()
        if len(values) <= MOST_VALUES
    )


def _kept(of: FactField, value: object) -> FactValue | None:
    """A value as a form keeps it, or None where no form could have given it."""
    if isinstance(value, bool) or value is None:
        return None
    if of.dimension is not None or of.is_whole:
        if not isinstance(value, int | float) or not math.isfinite(value):
            return None
        return of.dimension.checked(float(value)) if of.dimension else int(value)
    if not isinstance(value, str) or not value or (of.choices and value not in of.choices):
        return None
    return shortened(value)


def _from_header(details: Mapping[str, Any], of: FactField) -> FactValue | None:
    source = HEADER.get(of.key)
    value = source.read(details) if source is not None else None
    if value is None or of.dimension is None:
        return value or None
    return of.dimension.read(value) if isinstance(value, str) else of.dimension.checked(value)


def _fact(of: FactField, value: FactValue, origin: Literal["form", "header"]) -> Fact:
    if isinstance(value, str):
        href = address(value) if of.is_url else None
        return Fact(of.key, of.title, value, "", href, value, origin)
    if of.dimension is None:
        return Fact(of.key, of.title, value, "", None, f"{value:g}", origin)
    text = " ".join(filter(None, (of.dimension.words(value), of.per)))
    return Fact(of.key, of.title, value, of.dimension.kept, None, text, origin)


def _rest(details: Mapping[str, Any], taken: set[tuple[str, ...]]) -> Iterator[Fact]:
    """What the header says beyond the known fields."""
    for path, text in leaves(header_of(details)):
        if not any(path[: len(start)] == start for start in taken):
            yield Fact(".".join(path), " › ".join(path), text, "", address(text), text, "header")


DESCRIPTION_CHARACTERS = 10_000


@dataclass(frozen=True, slots=True)
class DescriptionPage(OfTask):
    """A run's facts as its team may change them.

    said: what the form said, by key, as it would be typed. header: what the file's header says of the same
    fields, which counts where the form is empty.
    """

    run_id: int
    name: str
    team: str
    description: str
    fields: tuple[FactField, ...]
    said: dict[str, str]
    header: dict[str, Fact]


def description_page(session: Session, viewer: Viewer, run_id: int) -> DescriptionPage:
    """The form for a member of the run's team or an organiser; raises NotFound, SignInNeeded, Forbidden."""
    run, task = policy.own_run(session, viewer, run_id)
    form = form_of(run.details)
    in_header = facts(header_of(run.details))
    return DescriptionPage(
        run_id=run.id,
        name=run.name,
        team=session.get_one(Team, run.team_id).name,
        of=task,
        description=run.description,
        fields=FIELDS,
        said={key: fact_fields.as_written(value, FIELD_OF[key]) for key, value in form.items()},
        header={fact.key: fact for fact in in_header if fact.key in FIELD_OF},
    )


def describe_run(
    session: Session, viewer: Viewer, run_id: int, given: Mapping[str, str], description: str | None = None
) -> tuple[str, ...]:
    """Set the facts that are given, as typed; empty takes one back, what is not given stays as it is.

    description replaces the run's where it is not None. Returns the keys that changed. Raises Invalid for
    what cannot be read, and for a run that the viewer may not change what description_page raises.
    """
    run, _ = policy.own_run(session, viewer, run_id)
    before = form_of(run.details)
    given = {key: text for key, text in given.items() if key in FIELD_OF}
    # A value left as it was typed stays what it is, to the last bit.
    same = {key for key, text in given.items() if key in before and _typed(before, key) == text.strip()}
    read = fact_fields.read_fact_fields({key: text for key, text in given.items() if key not in same})
    after = {
        key: read[key] if key in read else before[key]
        for key in FIELD_OF
        if key in read or (key in before and (key not in given or key in same))
    }
    changes = _changes(before, after)
    if description is not None and description.strip() != run.description:
        changes["description"] = [run.description, require_short(description)]
        run.description = description.strip()
    if changes:
        run.details = stored(header_of(run.details), after)
        session.flush()
        audit.record(session, viewer, "run.describe", f"run:{run.id}", changes=changes)
    return tuple(changes)


def require_short(description: str) -> str:
    """The description without blanks around it; raises Invalid where it is too long."""
    if len(description) > DESCRIPTION_CHARACTERS:
        raise Invalid(f"The description may have at most {DESCRIPTION_CHARACTERS:,} characters.")
    return description.strip()


def _changes(before: Mapping[str, FactValue], after: Mapping[str, FactValue]) -> dict[str, Any]:
    """Key -> [before, after] of what is not the same; None where nothing was said."""
    keys = [key for key in FIELD_OF if before.get(key) != after.get(key)]
    return {key: [before.get(key), after.get(key)] for key in keys}


def _typed(values: Mapping[str, FactValue], key: str) -> str:
    return fact_fields.as_written(values[key], FIELD_OF[key])


@dataclass(frozen=True, slots=True, kw_only=True)
class RunName:
    """A run in a list: its id, its name, whose it is, its kind, and whether it is the reader's own."""

    run_id: Annotated[int, Shown(shown=Place.DATA)]
    name: Annotated[str, Shown(key="run")]
    team: str
    kind: Annotated[str, Shown(shown=Place.DATA)]
    is_own: bool = False
