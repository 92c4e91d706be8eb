"""Metadata on the method and cost of a run: from the form, else from the file's header.

The header is ir_metadata (T. Breuer, J. Keller and P. Schaer, ir_metadata: An Extensible Metadata Schema for
IR Experiments, SIGIR 2022; https://www.ir-metadata.org), with the `resources` that the TIREx tracker writes.
Both are stored in a run's details: the header as it was nested, the form's values under the key FORM.
Everything in them was written by a stranger, so a value of the wrong type is left out without an error.
"""

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from sqlalchemy import Select, select
from sqlalchemy.orm import Session

from leaderboard.core import audit, policy
from leaderboard.core.actions import Action
from leaderboard.core.policy import Scope, Viewer
from leaderboard.db.engine import now
from leaderboard.db.tables import Phase, Run, Task, Team
from leaderboard.errors import Invalid
from leaderboard.fields import Field
from leaderboard.scoring.ops.scored_topics import OfTask
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
"""Key of the form values in a run's details; a header key of this name is dropped."""
MOST_VALUES = 30
LONGEST_CHOICE = 80

RUNTIME = FactField(
    "runtime_ms",
    "Total time",
    "From start to end, as stated in the header; it may include more than searching.",
    "cost",
    dimension=DURATION,
)
COSTS = (*(field for field in FIELDS if field.is_cost), RUNTIME)
"""Fields that runs can report as cost; lower is better."""
COST_OF = {field.key: field for field in COSTS}
_KNOWN = {**FIELD_OF, RUNTIME.key: RUNTIME}


@dataclass(frozen=True, slots=True)
class Fact:
    """One fact about a run.

    key: the field's, or the dotted path in the header. value: a number is in `unit`. href: an address that
    may be linked to (rel="noopener noreferrer nofollow": its owner wrote it).
    """

    key: str
    title: str
    value: str | float
    unit: str
    href: str | None
    text: str
    """The value as text, with a suitable unit."""
    origin: Literal["form", "header"]


@dataclass(frozen=True, slots=True)
class Choice:
    """A fact that distinguishes runs, with its values, most frequent first."""

    key: str
    title: str
    values: tuple[tuple[str, int], ...]


def stored(header: Mapping[str, Any], form: Mapping[str, FactValue]) -> dict[str, Any]:
    """A run's details: the header of its file and the form values.

    >>> stored({"tag": "a", "form": "mine"}, {"type": "manual"})
    {'tag': 'a', 'form': {'type': 'manual'}}
    """
    kept = {key: value for key, value in header.items() if key != FORM}
    return {**kept, FORM: dict(form)} if form else kept


def header_of(details: Mapping[str, Any]) -> dict[str, Any]:
    """The header alone, nested as it was written."""
    return {key: value for key, value in details.items() if key != FORM}


def form_of(details: Mapping[str, Any]) -> dict[str, FactValue]:
    """Form values by key, without values that no form accepts."""
    form = details.get(FORM)
    if not isinstance(form, Mapping):
        return {}
    values = {field.key: _kept(field, form.get(field.key)) for field in FIELDS}
    return {key: value for key, value in values.items() if value is not None}


def facts(details: Mapping[str, Any]) -> tuple[Fact, ...]:
    """All facts: the form fields in order, then the rest of the header.

    >>> [(fact.title, fact.text) for fact in facts({"method": {"automatic": "true"}, "tag": "bm25"})]
    [('Run type', 'automatic'), ('tag', 'bm25')]
    >>> facts({"form": {"index_bytes": 1.2e9}})[0].text
    '1.2 GB'
    """
    form = form_of(details)
    listed = []
    for key, of in _KNOWN.items():
        value = form.get(key)
        if value is None:
            value = _from_header(details, of)
        if value is not None:
            listed.append(_fact(of, value, "form" if key in form else "header"))
    taken = {
        path for source in HEADER.values() for path in source.paths if source.read(details) not in (None, "")
    }
    return (*listed, *_rest(details, taken))


def fact(details: Mapping[str, Any], key: str) -> Fact | None:
    """One fact by its key; None if unknown."""
    of = _KNOWN.get(key)
    if of is None:
        return next((fact for fact in _rest(details, set()) if fact.key == key), None)
    value = form_of(details).get(key)
    origin: Literal["form", "header"] = "form" if value is not None else "header"
    value = _from_header(details, of) if value is None else value
    return None if value is None else _fact(of, value, origin)


def nameless(all_facts: Iterable[Fact]) -> tuple[Fact, ...]:
    """The facts without identifying ones, for runs of teams with a pseudonym.

    Omits links, people, code locations and free text of the header, and keeps only known fields.
    """
    return tuple(fact for fact in all_facts if fact.key in _KNOWN and not _KNOWN[fact.key].is_url)


def cost(details: Mapping[str, Any], name: str) -> float | None:
    """The reported value of one of COSTS, in its stored unit; None if not reported.

    >>> cost({"resources": {"gpu": {"energy used system": "7200 J"}}}, "energy_wh")
    2.0
    """
    of = COST_OF[name]
    value = _kept(of, at(details, FORM, name))
    if value is None:
        value = _from_header(details, of)
    return value if isinstance(value, float) else None


def has(details: Mapping[str, Any], key: str, text: str) -> bool:
    """Whether a fact has this text; filters runs by `choices`."""
    shown = fact(details, key)
    return shown is not None and shown.text == text


def choices(all_details: Iterable[Mapping[str, Any]]) -> tuple[Choice, ...]:
    """Facts for filtering runs: text, not numbers or addresses, with at most 30 values.

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
    """A value as stored by a form, or None if no form accepts it."""
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
    """Facts of the header beyond the known fields."""
    for path, text in leaves(header_of(details)):
        if not any(path[: len(start)] == start for start in taken):
            yield Fact(".".join(path), " › ".join(path), text, "", address(text), text, "header")


DESCRIPTION_CHARACTERS = 10_000
FACTS = Field(
    title="Run attributes",
    help="Run attributes by key; an empty text removes one.",
    each={
        of.key: Field(
            title=of.title, help=of.hint, option=of.option.lstrip("-"), choices=dict.fromkeys(of.choices, "")
        )
        for of in FIELDS
    },
)
"""What participants report about a run, by key; each is read by `read_fact_fields`."""


@dataclass(frozen=True, slots=True)
class DescriptionPage(OfTask):
    """A run's facts as editable by its team.

    values: form values by key, as typed. header: values of the same fields in the file's header, used if the
    form is empty.
    """

    run_id: int
    name: str
    team: str
    description: str
    fields: tuple[FactField, ...]
    values: dict[str, str]
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
        values={key: fact_fields.as_written(value, FIELD_OF[key]) for key, value in form.items()},
        header={fact.key: fact for fact in in_header if fact.key in FIELD_OF},
    )


def describe_run(
    session: Session, viewer: Viewer, run_id: int, given: Mapping[str, str], description: str | None = None
) -> tuple[str, ...]:
    """Set the given facts, as typed; an empty value clears a fact, others stay unchanged.

    description: replaces the run's unless None. Returns the changed keys. Raises Invalid for unreadable
    values, and as description_page for a run that the viewer may not change.
    """
    run, _ = policy.own_run(session, viewer, run_id)
    before = form_of(run.details)
    given = {key: text for key, text in given.items() if key in FIELD_OF}
    # A value that was not edited keeps its exact bits.
    same = {key for key, text in given.items() if key in before and _typed(before, key) == text.strip()}
    read = fact_fields.read_fact_fields({key: text for key, text in given.items() if key not in same})
    after = {
        key: read[key] if key in read else before[key]
        for key in FIELD_OF
        if key in read or (key in before and (key not in given or key in same))
    }
    changes = _changes(before, after)
    if description is not None and description.strip() != run.description:
        if len(description) > DESCRIPTION_CHARACTERS:
            raise Invalid(f"The description can have at most {DESCRIPTION_CHARACTERS:,} characters.")
        changes["description"] = [run.description, description.strip()]
        run.description = description.strip()
    if changes:
        run.details = stored(header_of(run.details), after)
        session.flush()
        audit.record(session, viewer, "run.describe", f"run:{run.id}", changes=changes)
    return tuple(changes)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunChanges:
    """Changes to the description of a run; what is left out stays."""

    description: Annotated[
        str | None,
        Field(title="Description", help="Description of the method.", rows=5, longest=DESCRIPTION_CHARACTERS),
    ] = None
    facts: Annotated[Mapping[str, str], FACTS] = field(default_factory=dict)


DESCRIBE = Action(
    name="describe_run",
    summary="Describe a run",
    more="Omitted fields keep their values. The rankings never change.",
    method="PATCH",
    path="/runs/<id:run_id>",
    form="/runs/<id:run_id>/facts",
    page="runs.show",
    may=policy.own_run,
    record=RunChanges,
    act=lambda session, viewer, run_id, asked: describe_run(
        session, viewer, run_id, asked.facts, asked.description
    ),
    done=lambda _, changed: f"{', '.join(changed) or 'nothing'} changed",
    scopes=(Scope.SUBMIT, Scope.ORGANISE),
)


def _changes(before: Mapping[str, FactValue], after: Mapping[str, FactValue]) -> dict[str, Any]:
    """Key -> [before, after] of changed values; None means not set."""
    keys = [key for key in FIELD_OF if before.get(key) != after.get(key)]
    return {key: [before.get(key), after.get(key)] for key in keys}


def _typed(values: Mapping[str, FactValue], key: str) -> str:
    return fact_fields.as_written(values[key], FIELD_OF[key])


@dataclass(frozen=True, slots=True, kw_only=True)
class RunName:
    """A run in a list: id, name, team, kind, and whether it is the reader's own."""

    run_id: Annotated[int, Shown(shown=Place.DATA)]
    name: Annotated[str, Shown(key="run")]
    team: str
    kind: Annotated[str, Shown(shown=Place.DATA)]
    is_own: bool = False


def marked_runs(session: Session, task: Task) -> frozenset[int]:
    """The runs of the task that their teams marked, without withdrawn ones."""
    return frozenset(session.scalars(_marked(task)))


def shown_marks(session: Session, task: Task) -> frozenset[int]:
    """Publicly visible marks of runs; if marks decide what counts, empty until they do."""
    if task.final_runs is None:
        return marked_runs(session, task)
    over = _marked(task).join(Phase, Phase.id == Run.phase_id).where(Phase.closes_at <= now(session))
    return frozenset(session.scalars(over))


def _marked(task: Task) -> Select[int]:
    return select(Run.id).where(Run.task_id == task.id, Run.final_at.is_not(None), Run.withdrawn_at.is_(None))
