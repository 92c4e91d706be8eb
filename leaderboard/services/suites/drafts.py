"""What a suite is to be, as a form, a file or a program says it."""

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Annotated, Any

from leaderboard.errors import MAX_PROBLEMS, Invalid, Problem
from leaderboard.fields import Field
from leaderboard.trec.read.lines import shown
from leaderboard.trec.suites.suite_files import GROUPS, meant

MOST_MEMBERS = 100
TITLE_CHARACTERS = 200
DESCRIPTION_CHARACTERS = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberDraft:
    """A member: its short name, its task; a measure of its board, if not the primary one; groups."""

    name: Annotated[str, Field(title="Short name", help="The short name of the member.", least=0)]
    task: Annotated[str, Field(title="Task", help="The slug of its task.", least=0)]
    measure: Annotated[str, Field(title="Measure", help="Empty: the primary one of its board.")] = ""
    domain: Annotated[str, Field(title="Domain", help="Its group of this kind.")] = ""
    language: Annotated[str, Field(title="Language", help="Its group of this kind.")] = ""
    lag: Annotated[str, Field(title="Lag", help="Its group of this kind.")] = ""
    line: Annotated[int | None, Field(title="Line", is_carried=True)] = None
    """Where a form or a file says it."""


_TEXTS = ("slug", "title", "description", "reference", "baseline", "macro")
_FLAGS = ("shared_topics", "missing_is_empty", "metadata_is_required")
SETTINGS = (*_TEXTS[1:], *_FLAGS)
"""What of a draft are columns of the suite."""
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


@dataclass(frozen=True, slots=True, kw_only=True)
class SuiteDraft:
    """A suite as it is to be; what is empty is said of nothing."""

    slug: Annotated[str, Field(title="Slug", is_carried=True)] = ""
    title: Annotated[str, Field(title="Title", longest=TITLE_CHARACTERS)]
    description: Annotated[
        str, Field(title="Description", help="In Markdown.", rows=4, longest=DESCRIPTION_CHARACTERS)
    ] = ""
    members: Annotated[
        tuple[MemberDraft, ...],
        Field(
            title="Members, one a line, in order",
            help="Short name and slug of the task; then, if you like, a measure of its board (else its "
            "primary one) and groups: law law-2026 nDCG@10 domain=law language=en lag=short. You organise "
            "all of these tasks. A member that is taken out keeps its runs for when it comes back.",
            rows=8,
            longest=2**20,
            read=read_members,
            least=2,
            most=MOST_MEMBERS,
        ),
    ]
    reference: Annotated[
        str,
        Field(
            title="Reference member", help="Changes are told from it. Empty: none are told.", read=str.strip
        ),
    ] = ""
    baseline: Annotated[
        str, Field(title="Baseline run", help="The name of a run of the suite, over which gains are told.")
    ] = ""
    macro: Annotated[
        str, Field(title="Macro means over", choices={"": "no groups", **{group: group for group in GROUPS}})
    ] = ""
    shared_topics: Annotated[bool, Field(title="A topic id is one topic in all members")] = False
    missing_is_empty: Annotated[bool, Field(title="A missing member counts as an empty run")] = False
    metadata_is_required: Annotated[
        bool, Field(title="An archive must have an ir-metadata.yml with tag and team")
    ] = False


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
