"""The settings of a task: what each is called and may be, reading and changing them."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from leaderboard.core import phase_rules, policy
from leaderboard.core.actions import Action
from leaderboard.core.policy import Viewer
from leaderboard.db.engine import lock_row
from leaderboard.db.tables import Collection, Edition, Task
from leaderboard.errors import Conflict, Invalid, Problem
from leaderboard.fields import Asked, Field
from leaderboard.scoring.ops import board_measures, collections, scored_topics, setting_values
from leaderboard.scoring.ops.setting_values import LINE_CHARACTERS, TEXT_CHARACTERS, Read, tidy, written
from leaderboard.scoring.ops.statistics import methods
from leaderboard.tasks.ops import drafts, phases
from leaderboard.tasks.ops.drafts import DEEPEST

VISIBILITY = {
    "open": "open: all scores and judgments",
    "blind": "blind: means over half of the topics until the deadline",
    "sealed": "sealed: no scores until the deadline",
}
DIALECTS = {"10": "trec_eval 10", "9": "trec_eval 9"}
ENTRY_RULES = {
    "free": "any team, without approval",
    "approval": "any team, after approval by an organiser",
    "code": "teams with the code",
}
NAMING = {
    "names": "team names",
    "date": "pseudonyms until a date",
    "close": "pseudonyms until the task closes",
    "team": "pseudonyms until each team shows its own name",
}
UNMARKED = {"best": "its best run by the score the team could see", "newest": "its newest run"}
COMPARISONS = {method.key: method.title for method in methods.choices()}
YES_NO = {"yes": "yes", "no": "no"}
UNITS = {
    "": "as in the dialect",
    "words": "words separated by spaces",
    "nfkc-words": "words after NFKC",
    "characters": "characters",
}
OVER = {
    "": "as in the dialect's track",
    "refuse": "reject the file",
    "cut": "cut whole segments from the end",
    "warn": "give a warning",
}
ANSWER_DIALECTS = ("rag24", "rag25", "rag26", "report", "longeval-rag")
ANSWER_RULES = {
    "answer_dialects": "dialects",
    "answer_limit": "limit",
    "answer_unit": "unit",
    "answer_over": "over",
    "docno_pattern": "docno_pattern",
}
"""Settings of answer tasks, which are kept together under these names."""


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
            _text("description", "Description", "Markdown, without raw HTML or images."),
            _text(
                "links",
                "Links",
                "One title and address per line, such as “Call for papers https://example.org/call”.",
                setting_values.links,
            ),
            _line("organisers", "Organisers", "The organisers as shown to readers: names, groups or places."),
            _line("contact", "Contact", "Contact for participants: a name, an address or both."),
            _line("licence", "Licence", "Licence of topics, judgments and runs, such as CC BY 4.0."),
            _text(
                "frames",
                "Sites allowed to embed the board",
                "One origin per line, such as https://example.org, or * for any site. Leave empty for none. "
                "The code to paste is on the About page, under Embed on another site.",
                setting_values.origins,
            ),
        ),
    ),
    SettingSection(
        "address",
        "Address",
        (_line("slug", "Slug", "The task is at /tasks/SLUG.", longest=63, shortest=1),),
        "Old addresses redirect to the new slug, and no other task can use the old slug.",
    ),
    SettingSection(
        "measures",
        "Measures and tests",
        (
            _text(
                "measures",
                "Measures, in column order",
                "Parameters are allowed, such as nDCG@10 or P(rel=2)@5.",
                setting_values.names,
            ),
            _line("primary_measure", "Ranked by", "Leave empty for the first measure.", longest=100),
            _choice(
                "comparison",
                "Significance test",
                COMPARISONS,
                "Choose it before the first run is submitted. Holm’s correction keeps its error rate for "
                "any runs; the two HSDs may not if a few runs are erratic.",
            ),
        ),
        "Changing measures creates a new edition of the board. Every run is scored with the new measures, "
        "then the board switches at once. The previous edition stays readable.",
    ),
    SettingSection(
        "reproductions",
        "Reproductions",
        (
            _text(
                "reproduction_thresholds",
                "Thresholds",
                "One line per threshold that differs from the default. Distance for same and close, of ktu "
                "and er from 1, of nrmse and dri from 0: “ktu 0.05 0.5”. Significance level: “alpha 0.05”. "
                "Equivalence margin for means (TOST): “margin 0.05”. Defaults: ktu 0.05 0.5; nrmse 0.02 "
                "0.1; dri 0.02 0.1; er 0.1 0.5; alpha 0.05; no margin.",
                setting_values.thresholds,
                only_of="rankings",
            ),
        ),
        "They change no number, only the ratings same, close or off on the Reproductions page.",
    ),
    SettingSection(
        "grades",
        "Collection, grades and depth",
        (
            _line(
                "collection",
                "Collection",
                "Once there is a board, a new collection must have the same number of documents.",
                longest=100,
                shortest=1,
            ),
            _setting(
                "depth",
                "Maximum documents per topic",
                setting_values.IntegerValue(1, DEEPEST),
                "Applies to runs submitted from now on; existing runs do not change.",
                only_of="rankings",
            ),
            _setting(
                "level",
                "Lowest grade that counts as relevant",
                setting_values.IntegerValue(1, 1000),
                "Changing it affects the binary measures and creates a new edition of the board.",
                only_of="rankings",
            ),
            _text(
                "grade_names",
                "Names of grades",
                "One grade and name per line, such as “2 highly relevant”. Names do not affect scores.",
                setting_values.grades,
                only_of="rankings",
            ),
            _choice(
                "dialect",
                "Ties and rounding",
                DIALECTS,
                "Cannot be changed once there is a board, because all scores would change.",
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
                "Accepted dialects",
                setting_values.some_of(ANSWER_DIALECTS),
                f"Any of {', '.join(ANSWER_DIALECTS)}, separated by spaces. Leave empty for all.",
                only_of="answers",
            ),
            _setting(
                "answer_limit",
                "Maximum answer length",
                setting_values.IntegerValue(1, 1_000_000, may_be_empty=True),
                "Leave empty for the dialect’s limit.",
                only_of="answers",
            ),
            _choice("answer_unit", "Length unit", UNITS, only_of="answers"),
            _choice("answer_over", "If an answer is too long", OVER, only_of="answers"),
            _setting(
                "docno_pattern",
                "Pattern of document ids",
                setting_values.pattern,
                "A regular expression for whole references. Leave empty for no check.",
                only_of="answers",
            ),
        ),
        "Applies to runs submitted from now on; existing runs do not change.",
    ),
    SettingSection(
        "visibility",
        "Visibility",
        (
            _choice(
                "visibility",
                "Before the deadline",
                VISIBILITY,
                "Anything once shown cannot be hidden again. The public half of a blind task is drawn once "
                "and stays the same, even if the visibility changes.",
            ),
        ),
    ),
    SettingSection(
        "choice",
        "Runs that count",
        (
            _setting(
                "final_runs",
                "Final runs per team",
                setting_values.IntegerValue(1, 1000, may_be_empty=True),
                "The team marks them before the deadline. Leave empty to count all runs.",
            ),
            _choice("unmarked", "If a team marked none, count", UNMARKED),
            _choice("may_withdraw", "Allow teams to withdraw runs", YES_NO),
        ),
    ),
    SettingSection(
        "teams",
        "Teams, agreement and names",
        (
            _choice("entry_rule", "Entry", ENTRY_RULES),
            _setting(
                "entry_code",
                "Entry code",
                setting_values.line(100),
                "Send it to the teams yourself. It never appears in a list of changes or in the audit log.",
                is_secret=True,
            ),
            _text(
                "agreement",
                "Agreement",
                "Markdown text that teams accept when they enter. Each change creates a new version; the "
                "version each team accepted is kept. Leave empty for none.",
            ),
            _choice("naming", "Team display", NAMING),
            _setting(
                "names_at",
                "Names are shown from (UTC)",
                setting_values.moment,
                "For pseudonyms until a date.",
                "moment",
            ),
        ),
    ),
)
SETTINGS = {setting.name: setting for section in SECTIONS for setting in section.settings}


def sections_of(kind: str, collections: Iterable[str] = ()) -> tuple[SettingSection, ...]:
    """The sections of a kind of task, each with the settings that it has; collections: those it may be on."""
    setting_sections = []
    for setting_section in SECTIONS:
        had = [each for each in setting_section.settings if each.about.only_of in ("", kind)]
        for place, each in enumerate(had):
            if each.name == "collection":
                offered = replace(each.about, choices={name: name for name in collections})
                had[place] = replace(each, kind="choice", about=offered)
        setting_sections += [replace(setting_section, settings=tuple(had))] if had else []
    return tuple(setting_sections)


def section(key: str) -> SettingSection | None:
    """The section of that key; None if unknown."""
    return next((section for section in SECTIONS if section.key == key), None)


def read_settings(given: Mapping[str, str]) -> dict[str, object]:
    """Parse texts into values; raises Invalid with every problem."""
    values, problems = {}, []
    for key, text in given.items():
        setting = SETTINGS.get(key)
        if setting is None:
            problems.append(Problem("is not a setting.", f"Use one of {', '.join(SETTINGS)}.", field=key))
            continue
        try:
            values[key] = setting.about.read(setting_values.tidy(text))
        except ValueError as error:
            shown = "" if setting.about.is_secret else text.strip()[:40]
            rule = str(error)
            problems.append(Problem(rule, "Change the value and save again.", field=key, value=shown))
    if problems:
        titles = {key: SETTINGS[key].about.title for key in given if key in SETTINGS}
        raise Invalid("The settings were not saved.", problems, titles=titles)
    return values


SECRET = "set"
"""The recorded placeholder of a secret value."""
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
    """Setting -> the stamp of its value, which a form carries to detect later changes."""
    return {key: setting_values.stamp(value) for key, value in values.items()}


def typed(given: Mapping[str, str], seen: Mapping[str, str]) -> dict[str, str]:
    """The given values that differ from those shown in the form; seen: the form's stamps, if any."""
    return {key: text for key, text in given.items() if setting_values.stamp(tidy(text)) != seen.get(key)}


def change_settings(
    session: Session,
    viewer: Viewer,
    slug: str,
    given: Mapping[str, str],
    reason: str = "",
    seen: Mapping[str, str] | None = None,
) -> tuple[str, ...]:
    """Give settings of a task other values; the names of those that changed. Omitted ones stay.

    Where scores depend on them, a new edition of the board is built, once. All of it is done or nothing:
    raises Invalid with every problem, Conflict where it is too late for a setting, NotFound for a collection
    that the viewer may not know of; seen: the stamps of the values that the viewer saw, Conflict where one
    that is given another value is not that any more.
    """
    task = policy.own_task(session, viewer, slug)
    lock_row(session, Task, task.id)
    before = current(session, task)
    values = read_settings(given)
    # A text with the same meaning as the stored value is not a change.
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Settings by their keys, as they are typed; those left out stay."""

    settings: Annotated[
        Mapping[str, str],
        Field(
            title="Settings",
            help="Settings by their keys, as they are typed; those left out stay.",
            choices={key: setting.about.title for key, setting in SETTINGS.items()},
            is_argument=True,
        ),
    ]
    reason: Annotated[
        str, Field(title="Reason", help="Shown to participants of a published task, in its list of changes.")
    ] = ""
    seen: Annotated[Mapping[str, str], Field(title="Values seen", prefix="seen-", is_carried=True)] = field(
        default_factory=dict
    )
    """Stamps of the values that the form showed; nothing for a script that saw none."""


def _change(session: Session, viewer: Viewer, slug: str, asked: Settings) -> tuple[str, tuple[str, ...]]:
    given = typed(asked.settings, asked.seen)
    changed = change_settings(session, viewer, slug, given, asked.reason, asked.seen)
    return given.get("slug", "").strip() or slug, changed


def _warning(session: Session, viewer: Viewer, slug: str) -> str:
    return phase_rules.without_end(phase_rules.rules_of(session, policy.own_task(session, viewer, slug)))


CHANGE = Action(
    name="settle_task",
    summary="Change settings of a task",
    more="All changes or none; every problem is reported. If scores depend on a setting, a new edition of "
    "the board is built. A new `slug` changes the task's address; the old one redirects to it.",
    method="PATCH",
    path="/tasks/<slug>/settings",
    form="/tasks/<slug>/settings/<section>",
    record=Settings,
    act=_change,
    done=lambda _, result: f"{', '.join(result[1]) or 'nothing'} changed",
    warning=_warning,
    command="set",
)


def _refuse_unseen(
    changing: "_Changing", before: Mapping[str, str], keys: Sequence[str], seen: Mapping[str, str]
) -> None:
    """Raise Conflict, naming who changed it, if a value to replace has changed since it was shown."""
    stored = stamps(before)
    lost = [key for key in keys if seen.get(key, stored[key]) != stored[key]]
    if not lost:
        return
    words, asked = [_words(SETTINGS[key]) for key in lost], (changing.session, changing.viewer, changing.task)
    sentences = " ".join(setting_values.who_changed(*asked, {word}, word) for word in words)
    values = ((key, SETTINGS[key].about.choices.get(before[key], before[key])) for key in lost)
    at_fields = {key: f"Stored value: {value or 'nothing'}" for key, value in values}
    raise Conflict(f"{sentences} {setting_values.SAVE_AGAIN}", changed=lost, at_fields=at_fields)


def _words(setting: Asked) -> str:
    """The name of a setting within a sentence and in the list of changes."""
    return setting.about.title[:1].lower() + setting.about.title[1:]


def _value(before: Mapping[str, str], key: str) -> Any:
    """The stored value; None if it is no longer valid."""
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
            f"{task.name} takes {task.kind}; {_words(setting)} applies only to "
            f"{setting.about.only_of[:-1]} tasks."
        )


def _put_slug(changing: _Changing, slug: str) -> None:
    drafts.rename_slug(changing.session, changing.viewer, changing.task, slug)


def _put_comparison(changing: _Changing, key: str) -> None:
    methods.choose(changing.session, changing.viewer, changing.task.slug, key)


def _put_collection(changing: _Changing, name: str) -> None:
    collection = collections.named(changing.session, changing.viewer, name)
    size = changing.session.get_one(Collection, changing.task.collection_id).size
    if changing.has_board and collection.size != size:
        raise Conflict(
            f"Scores may depend on the collection size ({size or 'not known'}), and {name!r} has a "
            f"different size ({collection.size or 'not known'}). Choose a collection of the same size."
        )
    changing.task.collection_id = collection.id


def _put_level(changing: _Changing, level: int) -> None:
    task, before = changing.task, changing.task.level
    task.level = level
    *keys, primary = board_measures.at_level([*task.measures, task.primary_measure], before, level)
    changing.needs_edition |= keys != task.measures
    task.measures, task.primary_measure = list(dict.fromkeys(keys)), primary


def _put_dialect(changing: _Changing, dialect: str) -> None:
    if changing.has_board:
        raise Conflict("The board already uses its trec_eval dialect; clone the task to use the other one.")
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
        (
            task.entry_rule == "code" and not task.entry_code,
            "entry_code",
            "Enter the code that teams use to enter.",
        ),
        (
            task.naming == "date" and task.names_at is None,
            "names_at",
            "Set the date from which names are shown.",
        ),
    ]
    problems = [
        Problem("is missing.", remedy, field=SETTINGS[key].about.title)
        for lacks, key, remedy in lacking
        if lacks
    ]
    if problems:
        raise Invalid("The settings were not saved.", problems)


def _note(changing: _Changing, before: Mapping[str, str], reason: str) -> tuple[str, ...]:
    after = current(changing.session, changing.task)
    changed = [SETTINGS[key] for key in SETTINGS if before[key] != after[key]]
    for setting in changed:
        old, new = (_shown(setting, values[setting.name]) for values in (before, after))
        if setting.about.is_secret and old == new:
            new = f"{new} again"
        setting_values.note_change(
            changing.session, changing.viewer, changing.task, _words(setting), old, new, reason
        )
    return tuple(setting.name for setting in changed)


def _shown(setting: Asked, value: str) -> str:
    """A value in the words of the list of changes."""
    if setting.about.is_secret:
        return SECRET if value else ""
    return setting.about.choices.get(value, value)
