"""Every setting of a task once: its form, its command and the check of its value are made of these."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Annotated

from leaderboard.errors import Invalid, Problem
from leaderboard.services.statistics import methods
from leaderboard.services.tasks import setting_values as values
from leaderboard.services.tasks.drafts import DEEPEST
from leaderboard.services.tasks.setting_values import Read
from leaderboard.tables.record import Shown

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


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskSetting:
    """One setting; key is also its column and its name in commands, read makes a value of a text."""

    key: Annotated[str, Shown("Setting")]
    label: Annotated[str, Shown("What it is")]
    read: Read
    help: str = ""
    form: str = "line"
    """line, text (of many lines), choice, moment or measures."""
    choices: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    is_secret: bool = False
    """Whether only organisers see its value, and no record has it."""
    of: str = ""
    """The kind of task that has it, rankings or answers; empty: both."""


@dataclass(frozen=True, slots=True)
class SettingSection:
    """Settings that are saved together."""

    key: str
    title: str
    settings: tuple[TaskSetting, ...]
    lead: str = ""


def _choice(key: str, label: str, choices: Mapping[str, str], help: str = "", of: str = "") -> TaskSetting:
    read = values.yes_or_no if choices is YES_NO else values.one_of(choices)
    return TaskSetting(key=key, label=label, read=read, form="choice", choices=choices, help=help, of=of)


def _text(key: str, label: str, help: str = "") -> TaskSetting:
    return TaskSetting(key=key, label=label, read=values.text, form="text", help=help)


SECTIONS = (
    SettingSection(
        "description",
        "Name and description",
        (
            TaskSetting(key="name", label="Name", read=values.line(200, 1)),
            _text("description", "Description", "Markdown, without raw HTML and images."),
            TaskSetting(
                key="links",
                label="Links",
                read=values.links,
                form="text",
                help="A title and an address a line, such as “Call for papers https://example.org/call”.",
            ),
            TaskSetting(
                key="organisers",
                label="Organisers",
                read=values.line(),
                help="Who organises it, as everybody reads it: names, groups or places.",
            ),
            TaskSetting(
                key="contact",
                label="Contact",
                read=values.line(),
                help="Whom participants can ask: a name, an address, or both.",
            ),
            TaskSetting(
                key="licence",
                label="Licence",
                read=values.line(),
                help="What may be done with topics, judgments and runs, such as CC BY 4.0.",
            ),
            TaskSetting(
                key="frames",
                label="Sites that may show the board in a frame",
                read=values.origins,
                form="text",
                help="An origin a line, such as https://example.org, or * for any site. Empty: none. What to "
                "paste there is on the About page, under Show it elsewhere.",
            ),
        ),
    ),
    SettingSection(
        "address",
        "Address",
        (TaskSetting(key="slug", label="Slug", read=values.line(63, 1), help="The task is at /tasks/SLUG."),),
        "Addresses under the old slug lead to the new one, and no other task can take it.",
    ),
    SettingSection(
        "measures",
        "Measures and tests",
        (
            TaskSetting(
                key="measures",
                label="Measures, in the order of the columns",
                read=values.names,
                form="measures",
                help="With parameters, such as nDCG@10 or P(rel=2)@5.",
            ),
            TaskSetting(
                key="primary_measure",
                label="Ranked by",
                read=values.line(100),
                help="Empty: the first of the measures.",
            ),
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
            TaskSetting(
                key="reproduction_thresholds",
                label="Where their words begin",
                read=values.thresholds,
                form="text",
                help="A line each, only where they are not the usual ones. How far ktu and er may be from 1, "
                "nrmse and dri from 0, to be the same and to be close: “ktu 0.05 0.5”. The level of the "
                "test: “alpha 0.05”. Within what means are tested to be the same (TOST): “margin 0.05”. "
                "Empty: ktu 0.05 0.5; nrmse 0.02 0.1; dri 0.02 0.1; er 0.1 0.5; alpha 0.05; no margin.",
                of="rankings",
            ),
        ),
        "No number depends on them: only what the page of reproductions calls the same, close or off.",
    ),
    SettingSection(
        "grades",
        "Collection, grades and depth",
        (
            TaskSetting(
                key="collection",
                label="Collection",
                read=values.line(100, 1),
                help="Once there is a board, another one must have as many documents.",
            ),
            TaskSetting(
                key="depth",
                label="Documents a topic, at most",
                read=values.IntegerValue(1, DEEPEST),
                help="Holds for runs sent from now on; those that are there stay as they are.",
                of="rankings",
            ),
            TaskSetting(
                key="level",
                label="Least relevant grade",
                read=values.IntegerValue(1, 1000),
                help="Another one changes the binary measures, and so makes a new edition of the board.",
                of="rankings",
            ),
            TaskSetting(
                key="grade_names",
                label="Names of grades",
                read=values.grades,
                form="text",
                help="A grade and its name a line, such as “2 highly relevant”; no number depends on it.",
                of="rankings",
            ),
            _choice(
                "dialect",
                "Ties and rounding as in",
                DIALECTS,
                "Cannot be changed once there is a board: all scores would differ.",
                of="rankings",
            ),
        ),
    ),
    SettingSection(
        "answers",
        "Answers: dialects and length",
        (
            TaskSetting(
                key="answer_dialects",
                label="Dialects that are taken",
                read=values.some_of(ANSWER_DIALECTS),
                help=f"Of {', '.join(ANSWER_DIALECTS)}, with spaces between. Empty: all of them.",
                of="answers",
            ),
            TaskSetting(
                key="answer_limit",
                label="Longest answer",
                read=values.IntegerValue(1, 1_000_000, may_be_empty=True),
                help="Empty: the dialect’s limit.",
                of="answers",
            ),
            _choice("answer_unit", "Length is counted in", UNITS, of="answers"),
            _choice("answer_over", "What becomes of a longer one", OVER, of="answers"),
            TaskSetting(
                key="docno_pattern",
                label="Pattern of document ids",
                read=values.pattern,
                help="A regular expression for whole references. Empty: nobody looks.",
                of="answers",
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
            TaskSetting(
                key="final_runs",
                label="Runs of a team that count at the end",
                read=values.IntegerValue(1, 1000, may_be_empty=True),
                help="The team marks them before the close. Empty: all.",
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
            TaskSetting(
                key="entry_code",
                label="Code to enter with",
                read=values.line(100),
                help="You hand it out. It is in no list of changes and in no record.",
                is_secret=True,
            ),
            _text(
                "agreement",
                "Agreement",
                "Markdown that a team agrees to when it enters. Each change is a new version; the version "
                "a team agreed to is kept. Empty: nothing.",
            ),
            _choice("naming", "Teams are shown by", NAMING),
            TaskSetting(
                key="names_at",
                label="Names are shown from (UTC)",
                read=values.moment,
                form="moment",
                help="Where pseudonyms last until a date.",
            ),
        ),
    ),
)
SETTINGS = {setting.key: setting for section in SECTIONS for setting in section.settings}


def sections_of(kind: str) -> tuple[SettingSection, ...]:
    """The sections that a kind of task has, each with the settings that it has."""
    had = (
        replace(one, settings=tuple(each for each in one.settings if each.of in ("", kind)))
        for one in SECTIONS
    )
    return tuple(one for one in had if one.settings)


def section(key: str) -> SettingSection | None:
    """The section of that key, None where there is none."""
    return next((section for section in SECTIONS if section.key == key), None)


def read(given: Mapping[str, str]) -> dict[str, object]:
    """The values that texts stand for; raises Invalid with every problem."""
    made, problems = {}, []
    for key, text in given.items():
        setting = SETTINGS.get(key)
        if setting is None:
            problems.append(Problem("is no setting.", f"Choose of {', '.join(SETTINGS)}.", field=key))
            continue
        try:
            made[key] = setting.read(values.tidy(text))
        except ValueError as error:
            shown = "" if setting.is_secret else text.strip()[:40]
            rule = str(error)
            problems.append(Problem(rule, "Change it and save again.", field=setting.label, value=shown))
    if problems:
        raise Invalid("The settings cannot be like this.", problems)
    return made
