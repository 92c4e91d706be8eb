"""The suite file: TOML that names the members of a suite in order, with judgments, measures and groups."""

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from leaderboard.errors import Invalid, Problem
from leaderboard.trec.read.lines import Problems, shown

GROUPS = ("domain", "language", "lag")
"""What members may be grouped by."""
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
MOST_BYTES = 2**20
_SUITE = {
    "name": str,
    "measure": str,
    "reference": str,
    "baseline": str,
    "macro": str,
    "shared_topics": bool,
    "missing": str,
    "metadata": str,
    "members": list,
}
_MEMBER = {
    "name": str,
    "qrels": str,
    "measure": str,
    "leave_out": list,
    "changed_docnos": str,
    **dict.fromkeys(GROUPS, str),
}
_CHOICES = {"missing": ("blank", "empty"), "metadata": ("optional", "required"), "macro": GROUPS}


@dataclass(frozen=True, slots=True)
class Member:
    """One set of topics of a suite; its name is that of its folder in submissions.

    qrels is None for a task of a site, whose scores are there.
    """

    name: str
    qrels: Path | None
    measure: str
    groups: Mapping[str, str] = field(default_factory=dict)
    left_out: tuple[Path, ...] = ()
    changed_docnos: Path | None = None


@dataclass(frozen=True, slots=True)
class Suite:
    """The members of a suite in order, and how submissions to it are read.

    reference: the member that changes are told from; baseline: the run that gains are told over; macro: by
    what members are grouped in the mean of means; shared_topics: whether a topic id is one topic in all
    members; missing_is_empty: whether a missing member counts as an empty run.
    """

    name: str
    members: tuple[Member, ...]
    reference: str = ""
    baseline: str = ""
    macro: str = ""
    shared_topics: bool = False
    missing_is_empty: bool = False
    metadata_is_required: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the members, in order."""
        return tuple(member.name for member in self.members)


def read_suite(path: Path) -> Suite:
    """The suite of a file; paths in it are from its folder. Raises Invalid with up to 25 problems."""
    if path.stat().st_size > MOST_BYTES:
        raise Invalid(f"{path}: a suite file has at most {MOST_BYTES:,} bytes.")
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise Invalid(f"{path}: the suite file is not TOML: {error}.") from error
    reader = _Reader(path)
    reader.look(data, _SUITE, "the suite")
    members = [reader.member(item, str(data.get("measure", ""))) for item in data.get("members", ())]
    named = [member for member in members if member is not None]
    reader.look_at_all(data, named)
    return Suite(
        name=data.get("name", path.stem),
        members=tuple(named),
        reference=data.get("reference", ""),
        baseline=data.get("baseline", ""),
        macro=data.get("macro", ""),
        shared_topics=data.get("shared_topics", False),
        missing_is_empty=data.get("missing") == "empty",
        metadata_is_required=data.get("metadata") == "required",
    )


def meant(name: str, known: tuple[str, ...]) -> str:
    """A remedy that names what was meant, or else what there is.

    >>> meant("snapshot1", ("snapshot-1", "snapshot-2")), meant("x", ("a",))
    ('Did you mean snapshot-1?', 'It is one of a.')
    """
    near = get_close_matches(name, known, 1)
    return f"Did you mean {near[0]}?" if near else f"It is one of {', '.join(known)}."


class _Reader:
    """Collects the problems of a suite file."""

    def __init__(self, path: Path) -> None:
        self._folder = path.parent
        self._problems = Problems("suite file")

    def look(self, data: Mapping[str, Any], known: Mapping[str, type], where: str) -> bool:
        """Add a problem for each unknown key and each value of the wrong kind; whether there is none."""
        before = len(self._problems.found)
        for key, value in data.items():
            if key not in known:
                self._add(f"There is no such key of {where}.", meant(key, tuple(known)), "key", key)
            elif not isinstance(value, known[key]):
                kind = {str: "text", bool: "true or false", list: "a list"}[known[key]]
                self._add(f"The value of {key} of {where} is {kind}.", "", key, str(value))
            elif key in _CHOICES and value not in _CHOICES[key]:
                self._add("There is no such choice.", meant(str(value), _CHOICES[key]), key, str(value))
        return len(self._problems.found) == before

    def member(self, data: Any, measure: str) -> Member | None:
        """A member; None where it has a problem that hides what it is."""
        if not isinstance(data, dict):
            self._add(
                "A member is a table [[members]].", "Write its name and its qrels.", "members", str(data)
            )
            return None
        name = str(data.get("name", ""))
        if not self.look(data, _MEMBER, f"the member {name}"):
            return None
        if not NAME.fullmatch(name):
            rule = "A member's name is that of its folder: letters, digits, dots, underscores and hyphens."
            self._add(rule, "", "name", name)
            return None
        if not data.get("measure", measure):
            self._add("The member has no measure.", "Name one for it or for the suite.", "member", name)
        return Member(
            name=name,
            qrels=self._file(name, data.get("qrels", "")),
            measure=data.get("measure", measure),
            groups={key: data[key] for key in GROUPS if key in data},
            left_out=tuple(self._file(name, str(one)) for one in data.get("leave_out", ())),
            changed_docnos=self._file(name, data["changed_docnos"]) if "changed_docnos" in data else None,
        )

    def look_at_all(self, data: Mapping[str, Any], members: list[Member]) -> None:
        """What is asked of members together; raises Invalid with all problems found."""
        names = tuple(member.name for member in members)
        if not names and not self._problems.found:
            self._add("The suite has no members.", "Write a table [[members]] for each.", "", "")
        for name in {name for name in names if names.count(name) > 1}:
            self._add("Two members have this name.", "Give each its own.", "member", name)
        if names and (reference := data.get("reference")) and reference not in names:
            self._add("The reference is a member.", meant(str(reference), names), "reference", str(reference))
        if macro := data.get("macro"):
            for member in members:
                if macro not in member.groups:
                    self._add(f"The member has no {macro}.", "Macro means need it.", "member", member.name)
        self._problems.stop()

    def _file(self, member: str, name: str) -> Path:
        path = self._folder / name
        if not name or not path.is_file():
            self._add(f"The member {member} needs a file that is not there.", "", "file", name or "qrels")
        return path

    def _add(self, rule: str, remedy: str, key: str, value: str) -> None:
        self._problems.add(Problem(rule, remedy, None, key, shown(value)))
