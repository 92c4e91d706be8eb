"""Every setting of a task once: its form, its command and the check of its value are made of these."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from leaderboard.errors import Invalid, Problem
from leaderboard.fields import Asked, Field
from leaderboard.services.statistics import methods
from leaderboard.services.tasks import setting_values as values
from leaderboard.services.tasks.drafts import DEEPEST
from leaderboard.services.tasks.setting_values import LINE_CHARACTERS, TEXT_CHARACTERS, Read

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
    return _setting(name, title, values.line(longest, shortest), help)


def _text(name: str, title: str, help: str = "", read: Read = values.text, **more: Any) -> Asked:
    rows = 8 if read is values.text else 4
    return _setting(name, title, read, help, "text", rows=rows, longest=TEXT_CHARACTERS, **more)


def _choice(name: str, title: str, choices: Mapping[str, str], help: str = "", **more: Any) -> Asked:
    read = values.yes_or_no if choices is YES_NO else values.one_of(choices)
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
                values.links,
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
                values.origins,
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
                values.names,
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
                values.thresholds,
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
                values.IntegerValue(1, DEEPEST),
                "Holds for runs sent from now on; those that are there stay as they are.",
                only_of="rankings",
            ),
            _setting(
                "level",
                "Least relevant grade",
                values.IntegerValue(1, 1000),
                "Another one changes the binary measures, and so makes a new edition of the board.",
                only_of="rankings",
            ),
            _text(
                "grade_names",
                "Names of grades",
                "A grade and its name a line, such as “2 highly relevant”; no number depends on it.",
                values.grades,
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
                values.some_of(ANSWER_DIALECTS),
                f"Of {', '.join(ANSWER_DIALECTS)}, with spaces between. Empty: all of them.",
                only_of="answers",
            ),
            _setting(
                "answer_limit",
                "Longest answer",
                values.IntegerValue(1, 1_000_000, may_be_empty=True),
                "Empty: the dialect’s limit.",
                only_of="answers",
            ),
            _choice("answer_unit", "Length is counted in", UNITS, only_of="answers"),
            _choice("answer_over", "What becomes of a longer one", OVER, only_of="answers"),
            _setting(
                "docno_pattern",
                "Pattern of document ids",
                values.pattern,
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
                values.IntegerValue(1, 1000, may_be_empty=True),
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
                values.line(100),
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
                values.moment,
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


def read(given: Mapping[str, str]) -> dict[str, object]:
    """The values that texts stand for; raises Invalid with every problem."""
    made, problems = {}, []
    for key, text in given.items():
        setting = SETTINGS.get(key)
        if setting is None:
            problems.append(Problem("is no setting.", f"Choose of {', '.join(SETTINGS)}.", field=key))
            continue
        try:
            made[key] = setting.about.read(values.tidy(text))
        except ValueError as error:
            shown = "" if setting.about.is_secret else text.strip()[:40]
            rule = str(error)
            problems.append(
                Problem(rule, "Change it and save again.", field=setting.about.title, value=shown)
            )
    if problems:
        raise Invalid("The settings cannot be like this.", problems)
    return made
