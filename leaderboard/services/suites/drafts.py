"""What a suite is to be, as a form, a file or a program says it."""

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from leaderboard.errors import MAX_PROBLEMS, Invalid, Problem
from leaderboard.trec.read.lines import shown
from leaderboard.trec.suites.suite_files import GROUPS, meant


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberDraft:
    """A member: its short name, the slug of its task, a measure where it is not the task's primary one."""

    name: str
    task: str
    measure: str = ""
    domain: str = ""
    language: str = ""
    lag: str = ""
    line: int | None = None
    """Where a form or a file says it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SuiteDraft:
    """A suite as it is to be; what is empty is said of nothing."""

    slug: str
    title: str
    members: tuple[MemberDraft, ...]
    description: str = ""
    reference: str = ""
    baseline: str = ""
    macro: str = ""
    shared_topics: bool = False
    missing_is_empty: bool = False
    metadata_is_required: bool = False


_TEXTS = ("slug", "title", "description", "reference", "baseline", "macro")
_FLAGS = ("shared_topics", "missing_is_empty", "metadata_is_required")
_MEMBER = ("name", "task", "measure", *GROUPS)


def read_members(text: str) -> tuple[MemberDraft, ...]:
    """The members of a form: a line each with short name, task, a measure and groups.

    Raises Invalid with up to 25 problems.

    >>> read_members("law law-2026 nDCG@10 domain=law")[0].measure
    'nDCG@10'
    """
    members: list[MemberDraft] = []
    problems: list[Problem] = []
    for number, line in enumerate(text.splitlines(), 1):
        words = line.split()
        if not words:
            continue
        groups = {
            key: value for key, _, value in (word.partition("=") for word in words[2:]) if key in GROUPS
        }
        measures = [word for word in words[2:] if word.partition("=")[0] not in GROUPS]
        if len(words) < 2 or len(measures) > 1:
            rule = "A member is a line with its short name, its task, and perhaps a measure and groups."
            remedy = "Write it like `law law-2026 nDCG@10 domain=law`."
            problems.append(Problem(rule, remedy, number, "member", shown(line)))
            continue
        measure = measures[0] if measures else ""
        members.append(
            MemberDraft(name=words[0], task=words[1], measure=measure, line=number, **_groups(groups))
        )
    if problems:
        raise Invalid("The members cannot be read.", problems[:MAX_PROBLEMS])
    return tuple(members)


def member_lines(members: Iterable[MemberDraft]) -> str:
    """Members as `read_members` reads them."""
    return "\n".join(
        " ".join(
            [
                one.name,
                one.task,
                *([one.measure] if one.measure else []),
                *(f"{key}={value}" for key in GROUPS if (value := getattr(one, key))),
            ]
        )
        for one in members
    )


def read_toml(text: str) -> SuiteDraft:
    """A suite file whose members name tasks; raises Invalid with a problem for each key that is wrong.

    It is the file that boards without a site are made of, but that a member has `task` for `qrels`.
    """
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise Invalid(f"The suite file is not TOML: {error}.") from error
    problems = list(_wrong(data, {**dict.fromkeys(_TEXTS, str), **dict.fromkeys(_FLAGS, bool)}, "the suite"))
    members = data.get("members", [])
    if not isinstance(members, list) or not all(isinstance(one, dict) for one in members):
        raise Invalid("Members are tables: write [[members]] above the keys of each.")
    for number, one in enumerate(members, 1):
        problems += _wrong(one, dict.fromkeys(_MEMBER, str), f"member {number}")
    if problems:
        raise Invalid("The suite file is not understood.", problems[:MAX_PROBLEMS])
    drafts = tuple(MemberDraft(**{"name": "", "task": "", **one}) for one in members)
    rest = {key: value for key, value in data.items() if key != "members"}
    return SuiteDraft(**{"slug": "", "title": "", **rest}, members=drafts)


def as_facts(draft: SuiteDraft) -> dict[str, Any]:
    """The draft as plain values."""
    facts = asdict(draft)
    members = [{key: one[key] for key in _MEMBER} for one in facts["members"]]
    return {**facts, "members": members}


def _wrong(data: Mapping[str, Any], known: Mapping[str, type], where: str) -> Iterable[Problem]:
    for key, value in data.items():
        if key == "members" and where == "the suite":
            continue
        if key not in known:
            yield Problem(
                f"There is no such key of {where}.", meant(key, tuple(known)), None, "key", shown(key)
            )
        elif not isinstance(value, known[key]):
            kind = "text" if known[key] is str else "true or false"
            yield Problem(f"The value of {key} of {where} is {kind}.", "", None, key, shown(str(value)))


def _groups(groups: Mapping[str, str]) -> dict[str, Any]:
    return {key: groups.get(key, "") for key in GROUPS}
