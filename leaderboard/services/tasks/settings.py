"""The settings of a task: what each is called and may be, reading and changing them."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from leaderboard.db.engine import lock_row
from leaderboard.db.tables import Collection, Edition, Task
from leaderboard.errors import Conflict, Invalid, Problem
from leaderboard.fields import Asked, Field
from leaderboard.services import collections, phase_rules, policy
from leaderboard.services.policy import Viewer
from leaderboard.services.statistics import methods
from leaderboard.services.tasks import board_measures, drafts, phases, scored_topics, setting_values
from leaderboard.services.tasks.drafts import DEEPEST
from leaderboard.services.tasks.setting_values import LINE_CHARACTERS, TEXT_CHARACTERS, Read, tidy, written

VISIBILITY = {
    "open": "open: all scores and judgments",
    "blind": "blind: means over half of the topics, until the close",
    "sealed": "sealed: no score, until the close",
}
DIALECTS = {"10": "trec_eval 10", "9": "trec_eval 9"}
ENTRY_RULES = {
    "free": "any team, at once",
    "approval": "any team, once an organiser has approved it",
    "code": "teams that know the code",
}
NAMING = {
    "names": "their names",
    "date": "pseudonyms until a date",
    "close": "pseudonyms until the task closes",
    "team": "pseudonyms until the team itself lifts its own",
}
UNMARKED = {"best": "its best, by the score the team could see", "newest": "its newest"}
COMPARISONS = {method.key: method.title for method in methods.choices()}
YES_NO = {"yes": "yes", "no": "no"}
UNITS = {
    "": "as the dialect counts",
    "words": "words between blanks",
    "nfkc-words": "words after NFKC",
    "characters": "characters",
}
OVER = {
    "": "as the dialect's track does",
    "refuse": "the file is refused",
    "cut": "whole segments are cut from its end",
    "warn": "a warning",
}
ANSWER_DIALECTS = ("rag24", "rag25", "rag26", "report", "longeval-rag")
ANSWER_RULES = {
    "answer_dialects": "dialects",
    "answer_limit": "limit",
    "answer_unit": "unit",
    "answer_over": "over",
    "docno_pattern": "docno_pattern",
}
"""Settings of tasks of answers, which are kept together under these names."""


@dataclass(frozen=True, slots=True)
class SettingSection:
    """Settings that are saved together."""

    key: str
    title: str
    settings: tuple[Asked, ...]
    lead: str = ""


def _setting(name: str, title: str, read: Read, help: str = "", kind: str = "line", **more: Any) -> Asked:
    """A setting, whose name is also its column and what commands call it."""
    return Asked(name, kind, Field(title=title, help=help, read=read, **more), str, "")


def _line(name: str, title: str, help: str = "", longest: int = LINE_CHARACTERS, shortest: int = 0) -> Asked:
    return _setting(name, title, setting_values.line(longest, shortest), help)


def _text(name: str, title: str, help: str = "", read: Read = setting_values.text, **more: Any) -> Asked:
    rows = 8 if read is setting_values.text else 4
    return _setting(name, title, read, help, "text", rows=rows, longest=TEXT_CHARACTERS, **more)


def _choice(name: str, title: str, choices: Mapping[str, str], help: str = "", **more: Any) -> Asked:
    read = setting_values.yes_or_no if choices is YES_NO else setting_values.one_of(choices)
    return _setting(name, title, read, help, "choice", choices=choices, **more)


SECTIONS = (
    SettingSection(
        "description",
        "Name and description",
        (
            _line("name", "Name", longest=200, shortest=1),
            _text("description", "Description", "Markdown, without raw HTML and images."),
            _text(
                "links",
                "Links",
                "A title and an address a line, such as “Call for papers https://example.org/call”.",
                setting_values.links,
            ),
            _line(
                "organisers",
                "Organisers",
                "Who organises it, as everybody reads it: names, groups or places.",
            ),
            _line("contact", "Contact", "Whom participants can ask: a name, an address, or both."),
            _line(
                "licence", "Licence", "What may be done with topics, judgments and runs, such as CC BY 4.0."
            ),
            _text(
                "frames",
                "Sites that may show the board in a frame",
                "An origin a line, such as https://example.org, or * for any site. Empty: none. What to "
                "paste there is on the About page, under Show it elsewhere.",
                setting_values.origins,
            ),
        ),
    ),
    SettingSection(
        "address",
        "Address",
        (_line("slug", "Slug", "The task is at /tasks/SLUG.", longest=63, shortest=1),),
        "Addresses under the old slug lead to the new one, and no other task can take it.",
    ),
    SettingSection(
        "measures",
        "Measures and tests",
        (
            _text(
                "measures",
                "Measures, in the order of the columns",
                "With parameters, such as nDCG@10 or P(rel=2)@5.",
                setting_values.names,
            ),
            _line("primary_measure", "Ranked by", "Empty: the first of the measures.", longest=100),
            _choice(
                "comparison",
                "Runs are compared by",
                COMPARISONS,
                "Best chosen before the first run comes. Holm’s correction keeps its error rate whatever "
                "the runs are like; the two HSDs do not where a few runs are erratic.",
            ),
        ),
        "Other measures make a new edition of the board: every run is scored by what is new, then the board "
        "changes at once. The edition before stays readable.",
    ),
    SettingSection(
        "reproductions",
        "Reproductions",
        (
            _text(
                "reproduction_thresholds",
                "Where their words begin",
                "A line each, only where they are not the usual ones. How far ktu and er may be from 1, "
                "nrmse and dri from 0, to be the same and to be close: “ktu 0.05 0.5”. The level of the "
                "test: “alpha 0.05”. Within what means are tested to be the same (TOST): “margin 0.05”. "
                "Empty: ktu 0.05 0.5; nrmse 0.02 0.1; dri 0.02 0.1; er 0.1 0.5; alpha 0.05; no margin.",
                setting_values.thresholds,
                only_of="rankings",
            ),
        ),
        "No number depends on them: only what the page of reproductions calls the same, close or off.",
    ),
    SettingSection(
        "grades",
        "Collection, grades and depth",
        (
            _line(
                "collection",
                "Collection",
                "Once there is a board, another one must have as many documents.",
                longest=100,
                shortest=1,
            ),
            _setting(
                "depth",
                "Documents a topic, at most",
                setting_values.IntegerValue(1, DEEPEST),
                "Holds for runs sent from now on; those that are there stay as they are.",
                only_of="rankings",
            ),
            _setting(
                "level",
                "Least relevant grade",
                setting_values.IntegerValue(1, 1000),
                "Another one changes the binary measures, and so makes a new edition of the board.",
                only_of="rankings",
            ),
            _text(
                "grade_names",
                "Names of grades",
                "A grade and its name a line, such as “2 highly relevant”; no number depends on it.",
                setting_values.grades,
                only_of="rankings",
            ),
            _choice(
                "dialect",
                "Ties and rounding as in",
                DIALECTS,
                "Cannot be changed once there is a board: all scores would differ.",
                only_of="rankings",
            ),
        ),
    ),
    SettingSection(
        "answers",
        "Answers: dialects and length",
        (
            _setting(
                "answer_dialects",
                "Dialects that are taken",
                setting_values.some_of(ANSWER_DIALECTS),
                f"Of {', '.join(ANSWER_DIALECTS)}, with spaces between. Empty: all of them.",
                only_of="answers",
            ),
            _setting(
                "answer_limit",
                "Longest answer",
                setting_values.IntegerValue(1, 1_000_000, may_be_empty=True),
                "Empty: the dialect’s limit.",
                only_of="answers",
            ),
            _choice("answer_unit", "Length is counted in", UNITS, only_of="answers"),
            _choice("answer_over", "What becomes of a longer one", OVER, only_of="answers"),
            _setting(
                "docno_pattern",
                "Pattern of document ids",
                setting_values.pattern,
                "A regular expression for whole references. Empty: nobody looks.",
                only_of="answers",
            ),
        ),
        "Holds for runs sent from now on; those that are there stay as they are.",
    ),
    SettingSection(
        "visibility",
        "What participants see",
        (
            _choice(
                "visibility",
                "Before the close",
                VISIBILITY,
                "What was shown once cannot be hidden again. The public half of a blind task is drawn once "
                "and stays, whatever the task is in between.",
            ),
        ),
    ),
    SettingSection(
        "choice",
        "Runs that count",
        (
            _setting(
                "final_runs",
                "Runs of a team that count at the end",
                setting_values.IntegerValue(1, 1000, may_be_empty=True),
                "The team marks them before the close. Empty: all.",
            ),
            _choice("unmarked", "Of a team that marked none", UNMARKED),
            _choice("may_withdraw", "Teams may withdraw their runs", YES_NO),
        ),
    ),
    SettingSection(
        "teams",
        "Teams, their agreement and names",
        (
            _choice("entry_rule", "Who may enter", ENTRY_RULES),
            _setting(
                "entry_code",
                "Code to enter with",
                setting_values.line(100),
                "You hand it out. It is in no list of changes and in no record.",
                is_secret=True,
            ),
            _text(
                "agreement",
                "Agreement",
                "Markdown that a team agrees to when it enters. Each change is a new version; the version "
                "a team agreed to is kept. Empty: nothing.",
            ),
            _choice("naming", "Teams are shown by", NAMING),
            _setting(
                "names_at",
                "Names are shown from (UTC)",
                setting_values.moment,
                "Where pseudonyms last until a date.",
                "moment",
            ),
        ),
    ),
)
SETTINGS = {setting.name: setting for section in SECTIONS for setting in section.settings}


def sections_of(kind: str, collections: Iterable[str] = ()) -> tuple[SettingSection, ...]:
    """The sections of a kind of task, each with the settings that it has; collections: those it may be on."""
    made = []
    for one in SECTIONS:
        had = [each for each in one.settings if each.about.only_of in ("", kind)]
        for place, each in enumerate(had):
            if each.name == "collection":
                offered = replace(each.about, choices={name: name for name in collections})
                had[place] = replace(each, kind="choice", about=offered)
        made += [replace(one, settings=tuple(had))] if had else []
    return tuple(made)


def section(key: str) -> SettingSection | None:
    """The section of that key, None where there is none."""
    return next((section for section in SECTIONS if section.key == key), None)


def read_settings(given: Mapping[str, str]) -> dict[str, object]:
    """The values that texts stand for; raises Invalid with every problem."""
    made, problems = {}, []
    for key, text in given.items():
        setting = SETTINGS.get(key)
        if setting is None:
            problems.append(Problem("is no setting.", f"Choose of {', '.join(SETTINGS)}.", field=key))
            continue
        try:
            made[key] = setting.about.read(setting_values.tidy(text))
        except ValueError as error:
            shown = "" if setting.about.is_secret else text.strip()[:40]
            rule = str(error)
            problems.append(
                Problem(rule, "Change it and save again.", field=setting.about.title, value=shown)
            )
    if problems:
        raise Invalid("The settings cannot be like this.", problems)
    return made


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
    return {key: setting_values.stamp(value) for key, value in values.items()}


def typed(given: Mapping[str, str], seen: Mapping[str, str]) -> dict[str, str]:
    """What was given without what is as the form showed it; seen: the form's stamps, those it has."""
    return {key: text for key, text in given.items() if setting_values.stamp(tidy(text)) != seen.get(key)}


def change_settings(
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
    values = read_settings(given)
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
        setting_values.who_changed(
            changing.session, changing.viewer, changing.task, {_words(one)}, _words(one)
        )
        for one in map(SETTINGS.__getitem__, lost)
    ]
    raise Conflict(f"{' '.join(said)} {setting_values.SAVE_AGAIN}", changed=lost)


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
    drafts.rename_slug(changing.session, changing.viewer, changing.task, slug)


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
    changing.task.grade_names = setting_values.checked_grades(named)


def _put_visibility(changing: _Changing, visibility: str) -> None:
    session, task = changing.session, changing.task
    phase_rules.require_held_back(task, visibility)
    task.visibility = visibility
    following = [phase for phase in phases.of_task(session, task.id) if phase.visibility is None]
    for phase in following if visibility == "blind" else ():
        # Means over the public half are parts of an edition.
        changing.needs_edition |= scored_topics.put_public(session, task, phases.name_of_set(session, phase))


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
        setting_values.note_change(
            changing.session, changing.viewer, changing.task, _words(setting), old, new, reason
        )
    return tuple(setting.name for setting in changed)


def _shown(setting: Asked, value: str) -> str:
    """A value in the words of the list of changes."""
    if setting.about.is_secret:
        return SECRET if value else ""
    return setting.about.choices.get(value, value)
