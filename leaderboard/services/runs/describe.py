"""Correcting what is said about a run: papers and code come later than the rankings, which never change."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy.orm import Session

from leaderboard.db.tables import Run, Task, Team
from leaderboard.errors import Invalid
from leaderboard.services import audit, policy
from leaderboard.services.policy import Viewer
from leaderboard.services.runs import facts
from leaderboard.services.runs.facts import Fact
from leaderboard.services.tasks.head import OfTask
from leaderboard.trec.facts import fields as fact_fields
from leaderboard.trec.facts.fields import FIELD_OF, FIELDS, FactField, FactValue

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
    run, task, team = _changeable(session, viewer, run_id)
    form = facts.form_of(run.details)
    in_header = facts.facts(facts.header_of(run.details))
    return DescriptionPage(
        run_id=run.id,
        name=run.name,
        team=team.name,
        of=task,
        description=run.description,
        fields=FIELDS,
        said={key: fact_fields.as_written(value, FIELD_OF[key]) for key, value in form.items()},
        header={fact.key: fact for fact in in_header if fact.key in FIELD_OF},
    )


def describe(
    session: Session, viewer: Viewer, run_id: int, given: Mapping[str, str], description: str | None = None
) -> tuple[str, ...]:
    """Set the facts that are given, as typed; empty takes one back, what is not given stays as it is.

    description replaces the run's where it is not None. Returns the keys that changed. Raises Invalid for
    what cannot be read, and for a run that the viewer may not change what description_page raises.
    """
    run, _, _ = _changeable(session, viewer, run_id)
    before = facts.form_of(run.details)
    given = {key: text for key, text in given.items() if key in FIELD_OF}
    # A value left as it was typed stays what it is, to the last bit.
    same = {key for key, text in given.items() if key in before and _typed(before, key) == text.strip()}
    read = fact_fields.read({key: text for key, text in given.items() if key not in same})
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
        run.details = facts.stored(facts.header_of(run.details), after)
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


def _changeable(session: Session, viewer: Viewer, run_id: int) -> tuple[Run, Task, Team]:
    """The run, its task and team, for whom may change what is said of it."""
    run, task, _ = policy.visible_run(session, viewer, run_id)
    team = session.get_one(Team, run.team_id)
    if not policy.organises(viewer, task.id):
        policy.require_member(viewer, run.team_id)
    return run, task, team
