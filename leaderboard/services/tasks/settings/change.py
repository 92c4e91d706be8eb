"""Reading and changing a task's settings, from a form or a command alike."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from leaderboard.db.engine import lock_row
from leaderboard.db.tables import Collection, Edition, Task
from leaderboard.errors import Conflict, Invalid, Problem
from leaderboard.fields import Asked
from leaderboard.services import collections, phase_rules, policy
from leaderboard.services.policy import Viewer
from leaderboard.services.statistics import methods
from leaderboard.services.tasks import board_measures, changes, grade_scales, phases, slugs, topic_sets
from leaderboard.services.tasks.setting_values import tidy, written
from leaderboard.services.tasks.settings import records
from leaderboard.services.tasks.settings.records import ANSWER_RULES, SETTINGS

SECRET = "set"
"""What is on record of a secret value."""
MEASURES = frozenset({"measures", "primary_measure"})


def current(session: Session, task: Task) -> dict[str, str]:
    """Setting -> its value as its field shows it."""
    values = {
        key: written(task.answer_rules.get(ANSWER_RULES[key]) if key in ANSWER_RULES else getattr(task, key))
        for key in SETTINGS
        if key != "collection"
    }
    values["collection"] = session.get_one(Collection, task.collection_id).name
    values["measures"] = "\n".join(task.measures)
    return values


def has_board(session: Session, task_id: int) -> bool:
    """Whether the task has an edition: from then on some settings would change numbers that were shown."""
    return session.scalar(select(Edition.id).where(Edition.task_id == task_id).limit(1)) is not None


def stamps(values: Mapping[str, str]) -> dict[str, str]:
    """Setting -> the stamp of its value, which a form carries to tell later what it showed."""
    return {key: changes.stamp(value) for key, value in values.items()}


def typed(given: Mapping[str, str], seen: Mapping[str, str]) -> dict[str, str]:
    """What was given without what is as the form showed it; seen: the form's stamps, those it has."""
    return {key: text for key, text in given.items() if changes.stamp(tidy(text)) != seen.get(key)}


def change(
    session: Session,
    viewer: Viewer,
    slug: str,
    given: Mapping[str, str],
    reason: str = "",
    seen: Mapping[str, str] | None = None,
) -> tuple[str, ...]:
    """Give settings of a task other values; the names of those that changed. What is left out stays.

    Where scores depend on them, a new edition of the board is built, once. All of it is done or nothing:
    raises Invalid with every problem, Conflict where it is too late for a setting, NotFound for a collection
    that the viewer may not know of; seen: the stamps of the values that the viewer saw, Conflict where one
    that is given another value is not that any more.
    """
    task = policy.own_task(session, viewer, slug)
    lock_row(session, Task, task.id)
    before = current(session, task)
    values = records.read(given)
    # A text that reads as what is there is no change, however it is written.
    others = {key: value for key, value in values.items() if value != _value(before, key)}
    changing = _Changing(session, viewer, task)
    _refuse_unseen(changing, before, [key for key in SETTINGS if key in others], seen or {})
    for key in SETTINGS:
        if key in others:
            changing.put(key, others[key])
    if MEASURES & others.keys():
        _put_measures(changing, values)
    _check_together(task)
    session.flush()
    phases.require_possible(session, task)
    if changing.needs_edition:
        board_measures.rebuild(session, task)
    return _note(changing, before, " ".join(reason.split()))


def _refuse_unseen(
    changing: "_Changing", before: Mapping[str, str], keys: Sequence[str], seen: Mapping[str, str]
) -> None:
    """Raise Conflict, naming who did it, where a value to be replaced is not the one that was seen."""
    stored = stamps(before)
    lost = [key for key in keys if seen.get(key, stored[key]) != stored[key]]
    if not lost:
        return
    said = [
        changes.who_changed(changing.session, changing.viewer, changing.task, {_words(one)}, _words(one))
        for one in map(SETTINGS.__getitem__, lost)
    ]
    raise Conflict(f"{' '.join(said)} {changes.SAVE_AGAIN}", changed=lost)


def _words(setting: Asked) -> str:
    """What a setting is called within a sentence, and in the list of changes."""
    return setting.about.title[:1].lower() + setting.about.title[1:]


def _value(before: Mapping[str, str], key: str) -> Any:
    """The value there is; None for one that could not be set today."""
    try:
        return SETTINGS[key].about.read(before[key])
    except ValueError:
        return None


class _Changing:
    """A task on its way to other settings."""

    def __init__(self, session: Session, viewer: Viewer, task: Task) -> None:
        self.session, self.viewer, self.task = session, viewer, task
        self.has_board = has_board(session, task.id)
        self.needs_edition = False

    def put(self, key: str, value: Any) -> None:
        """Set one value, by the rule of its own where it has one."""
        if key in MEASURES:
            return
        _require_kind(self.task, SETTINGS[key])
        if key in ANSWER_RULES:
            rules = {**self.task.answer_rules, ANSWER_RULES[key]: value}
            self.task.answer_rules = {name: given for name, given in rules.items() if given}
            return
        own = _RULES.get(key)
        if own is None:
            setattr(self.task, key, value)
        else:
            own(self, value)


def _require_kind(task: Task, setting: Asked) -> None:
    """Raise Conflict for a setting that tasks of another kind have."""
    if setting.about.only_of not in ("", task.kind):
        raise Conflict(
            f"{task.name} takes {task.kind}; {_words(setting)} is a setting of tasks of "
            f"{setting.about.only_of}."
        )


def _put_slug(changing: _Changing, slug: str) -> None:
    slugs.rename(changing.session, changing.viewer, changing.task, slug)


def _put_comparison(changing: _Changing, key: str) -> None:
    methods.choose(changing.session, changing.viewer, changing.task.slug, key)


def _put_collection(changing: _Changing, name: str) -> None:
    found = collections.named(changing.session, changing.viewer, name)
    size = changing.session.get_one(Collection, changing.task.collection_id).size
    if changing.has_board and found.size != size:
        raise Conflict(
            f"Scores may rest on the size of the collection ({size or 'not known'}), and {name!r} has "
            f"another ({found.size or 'not known'}); choose one of the same size."
        )
    changing.task.collection_id = found.id


def _put_level(changing: _Changing, level: int) -> None:
    task, before = changing.task, changing.task.level
    task.level = level
    *keys, primary = board_measures.at_level([*task.measures, task.primary_measure], before, level)
    changing.needs_edition |= keys != task.measures
    task.measures, task.primary_measure = list(dict.fromkeys(keys)), primary


def _put_dialect(changing: _Changing, dialect: str) -> None:
    if changing.has_board:
        raise Conflict("The board speaks its dialect of trec_eval already; clone the task to use the other.")
    changing.task.dialect = int(dialect)


def _put_grades(changing: _Changing, named: dict[int, str]) -> None:
    changing.task.grade_names = grade_scales.checked(named)


def _put_visibility(changing: _Changing, visibility: str) -> None:
    session, task = changing.session, changing.task
    phase_rules.require_held_back(task, visibility)
    task.visibility = visibility
    following = [phase for phase in phases.of_task(session, task.id) if phase.visibility is None]
    for phase in following if visibility == "blind" else ():
        # Means over the public half are parts of an edition.
        changing.needs_edition |= topic_sets.put_public(session, task, phases.name_of_set(session, phase))


def _put_agreement(changing: _Changing, agreement: str) -> None:
    changing.task.agreement = agreement
    changing.task.agreement_version += 1


_RULES: dict[str, Callable[[_Changing, Any], None]] = {
    "slug": _put_slug,
    "comparison": _put_comparison,
    "collection": _put_collection,
    "level": _put_level,
    "dialect": _put_dialect,
    "grade_names": _put_grades,
    "visibility": _put_visibility,
    "agreement": _put_agreement,
}


def _put_measures(changing: _Changing, values: Mapping[str, Any]) -> None:
    """Both together, and after the level: names without a level are read at the task's."""
    task = changing.task
    names = values.get("measures", task.measures)
    kept = task.primary_measure if task.primary_measure in names else ""
    primary = values.get("primary_measure", kept)
    changing.needs_edition |= board_measures.put(changing.session, task, names, primary)


def _check_together(task: Task) -> None:
    """Raise Invalid where a setting lacks another one that it needs."""
    lacking = [
        (task.entry_rule == "code" and not task.entry_code, "entry_code", "Write the code teams enter with."),
        (task.naming == "date" and task.names_at is None, "names_at", "Set the date names are shown from."),
    ]
    problems = [
        Problem("is missing.", remedy, field=SETTINGS[key].about.title)
        for lacks, key, remedy in lacking
        if lacks
    ]
    if problems:
        raise Invalid("The settings cannot be like this.", problems)


def _note(changing: _Changing, before: Mapping[str, str], reason: str) -> tuple[str, ...]:
    after = current(changing.session, changing.task)
    changed = [SETTINGS[key] for key in SETTINGS if before[key] != after[key]]
    for setting in changed:
        old, new = (_shown(setting, values[setting.name]) for values in (before, after))
        if setting.about.is_secret and old == new:
            new = f"{new} anew"
        changes.note(changing.session, changing.viewer, changing.task, _words(setting), old, new, reason)
    return tuple(setting.name for setting in changed)


def _shown(setting: Asked, value: str) -> str:
    """A value in the words of the list of changes."""
    if setting.about.is_secret:
        return SECRET if value else ""
    return setting.about.choices.get(value, value)
