"""Making a suite, changing it, taking it off the site and putting it back."""

import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Annotated, Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from leaderboard.db.engine import lock_key, now
from leaderboard.db.tables import Suite, SuiteMember, Task
from leaderboard.errors import MAX_PROBLEMS, Conflict, Forbidden, Invalid, NotFound, Problem
from leaderboard.fields import Field
from leaderboard.measures.naming import parse
from leaderboard.measures.record import Measure
from leaderboard.services import audit, policy, prose
from leaderboard.services.actions import Action
from leaderboard.services.policy import Scope, Viewer
from leaderboard.services.statistics.requests import refusal
from leaderboard.services.suites import seen, sending
from leaderboard.services.suites.seen import KnownSuite
from leaderboard.trec.read.lines import shown
from leaderboard.trec.suites import GROUPS, NAME, meant

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
DRAFTS_SETTINGS = (*_TEXTS[1:], *_FLAGS)
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


SLUG = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?")
RESERVED = frozenset({"new"})
GROUP = re.compile(r"\S{1,100}")


def create(session: Session, viewer: Viewer, draft: SuiteDraft) -> str:
    """Make a suite; its slug.

    Raises Forbidden unless the viewer organises all of its tasks or operates the site, Invalid with up to 25
    problems, Conflict for a slug that is taken.
    """
    require_maker(session, viewer)
    tasks = _checked(session, viewer, draft)
    lock_key(session, f"suite {draft.slug}")
    if session.scalar(select(Suite.id).where(Suite.slug == draft.slug)) is not None:
        raise Conflict(f"There is a suite {draft.slug!r} already; choose another slug.")
    suite = Suite(slug=draft.slug, created_at=now(session), withdrawn_at=None, **_settings(draft))
    session.add(suite)
    session.flush()
    _place(session, suite, draft, tasks)
    audit.record(session, viewer, "suite.create", f"suite:{suite.id}", slug=suite.slug)
    return suite.slug


def require_maker(_: Session, viewer: Viewer, *__: str) -> None:
    """Raise Forbidden unless the viewer may make suites: by what it organises, or as who makes tasks."""
    if not (viewer.organises or viewer.operates):
        policy.require_creator(viewer)


def change(session: Session, viewer: Viewer, slug: str, draft: SuiteDraft) -> None:
    """Make a suite what the draft says, but for its slug, which stays.

    A member that is taken out keeps its runs for when it comes back. Raises as `records.own_suite` does, and
    as `create`.
    """
    known = seen.own_suite(session, viewer, slug)
    lock_key(session, f"suite {slug}")
    tasks = _checked(session, viewer, draft)
    before = as_facts(draft_of(known))
    for key, value in _settings(draft).items():
        setattr(known.suite, key, value)
    _place(session, known.suite, draft, tasks)
    after = as_facts(draft)
    changed = {key: [before[key], after[key]] for key in after if key != "slug" and before[key] != after[key]}
    audit.record(session, viewer, "suite.change", f"suite:{known.suite.id}", changed=changed)


def withdraw(session: Session, viewer: Viewer, slug: str) -> None:
    """Take a suite off the site; the runs of its members stay where they are. Twice changes nothing."""
    _show(session, viewer, slug, is_shown=False)


def restore(session: Session, viewer: Viewer, slug: str) -> None:
    """Put a suite back that was taken off the site, as it was."""
    _show(session, viewer, slug, is_shown=True)


def draft_of(known: KnownSuite) -> SuiteDraft:
    """A suite as a draft that would change nothing."""
    suite = known.suite
    members = tuple(
        MemberDraft(
            name=one.member.name,
            task=one.task.slug,
            **{key: getattr(one.member, key) for key in ("measure", *GROUPS)},
        )
        for one in known.members
    )
    return SuiteDraft(
        slug=suite.slug, members=members, **{key: getattr(suite, key) for key in DRAFTS_SETTINGS}
    )


def _show(session: Session, viewer: Viewer, slug: str, *, is_shown: bool) -> None:
    known = seen.own_suite(session, viewer, slug)
    if (known.suite.withdrawn_at is None) == is_shown:
        return
    known.suite.withdrawn_at = None if is_shown else now(session)
    what = "suite.restore" if is_shown else "suite.withdraw"
    audit.record(session, viewer, what, f"suite:{known.suite.id}", slug=slug)


def _settings(draft: SuiteDraft) -> dict[str, Any]:
    said = {key: getattr(draft, key) for key in DRAFTS_SETTINGS}
    tidy = {key: said[key].replace("\r\n", "\n").strip() for key in ("title", "description", "baseline")}
    return said | tidy


def _place(session: Session, suite: Suite, draft: SuiteDraft, tasks: Sequence[Task]) -> None:
    """Put the members of a draft in order; those that it does not name are taken out."""
    rows = session.scalars(select(SuiteMember).where(SuiteMember.suite_id == suite.id)).all()
    by_task = {row.task_id: row for row in rows}
    for row in rows:
        row.position = None
    for position, (wished, task) in enumerate(zip(draft.members, tasks, strict=True)):
        row = by_task.get(task.id) or SuiteMember(suite_id=suite.id, task_id=task.id)
        row.position, row.name = position, wished.name
        row.measure = parse(wished.measure).key if wished.measure else ""
        row.domain, row.language, row.lag = wished.domain, wished.language, wished.lag
        session.add(row)
    session.flush()


def _checked(session: Session, viewer: Viewer, draft: SuiteDraft) -> list[Task]:
    """The tasks of the members in order; raises Invalid with all problems, Forbidden for tasks of others."""
    tasks = [_task(session, viewer, one) for one in draft.members[:MOST_MEMBERS]]
    problems = [*_of_suite(draft), *_of_members(draft, tasks)]
    if problems:
        raise Invalid("The suite cannot be like this; nothing was changed.", problems[:MAX_PROBLEMS])
    found = [task for task in tasks if isinstance(task, Task)]
    if not seen.looks_after(viewer, found):
        policy.require_second_factor(viewer)
        others = [task.slug for task in found if not policy.organises(viewer, task.id)]
        raise Forbidden(
            f"A suite is made by who organises all of its tasks; you do not organise {', '.join(others)}."
        )
    return found


def _task(session: Session, viewer: Viewer, wished: MemberDraft) -> Task | Problem:
    try:
        task, _ = policy.visible_task(session, viewer, wished.task)
    except NotFound:
        return Problem(
            "There is no such task.", "Write the slug of a task.", wished.line, "task", shown(wished.task)
        )
    return task


def _of_suite(draft: SuiteDraft) -> Iterator[Problem]:
    names = tuple(one.name for one in draft.members)
    if not SLUG.fullmatch(draft.slug) or draft.slug in RESERVED:
        rule = "must be 1 to 63 lower-case letters, digits or hyphens, and not `new`."
        yield Problem(rule, "For instance `longeval-2026`.", None, "slug", shown(draft.slug))
    if not 1 <= len(draft.title.strip()) <= TITLE_CHARACTERS or not draft.title.isprintable():
        rule = f"must be one line of 1 to {TITLE_CHARACTERS} characters."
        yield Problem(rule, "Write a title.", None, "title", shown(draft.title))
    if len(draft.description) > DESCRIPTION_CHARACTERS:
        yield Problem(
            f"has at most {DESCRIPTION_CHARACTERS:,} characters.", "Shorten it.", None, "description"
        )
    elif rule := prose.broken_rule(draft.description):
        yield Problem(rule, "Write it more simply.", None, "description")
    if len(draft.members) < 2 or len(draft.members) > MOST_MEMBERS:
        rule = f"A suite has 2 to {MOST_MEMBERS} members; this one has {len(draft.members)}."
        yield Problem(rule, "Write a line for each.", None, "members")
    if draft.reference and draft.reference not in names:
        remedy = meant(draft.reference, names) if names else "Add members first."
        yield Problem("The reference is a member.", remedy, None, "reference", shown(draft.reference))
    if draft.macro and draft.macro not in GROUPS:
        yield Problem(
            "There is no such kind of group.", meant(draft.macro, GROUPS), None, "macro", draft.macro
        )


def _of_members(draft: SuiteDraft, tasks: Sequence[Task | Problem]) -> Iterator[Problem]:
    names = [one.name for one in draft.members]
    slugs = [one.task for one in draft.members]
    for at, (wished, task) in enumerate(zip(draft.members, tasks, strict=False)):
        if not NAME.fullmatch(wished.name):
            rule = "A short name has letters, digits, dots, underscores and hyphens, 100 at most."
            yield Problem(rule, "It is also the name of a folder.", wished.line, "member", shown(wished.name))
        elif wished.name in names[:at]:
            yield Problem(
                "Two members have this name.", "Give each its own.", wished.line, "member", wished.name
            )
        if wished.task in slugs[:at]:
            yield Problem(
                "Two members are this task.", "Name it once.", wished.line, "task", shown(wished.task)
            )
        for key in GROUPS:
            value = getattr(wished, key)
            if value and not GROUP.fullmatch(value):
                yield Problem("is one word of at most 100 characters.", "", wished.line, key, shown(value))
        if draft.macro in GROUPS and not getattr(wished, draft.macro):
            remedy = f"Write {draft.macro}= behind it: macro means need it."
            yield Problem(
                f"The member has no {draft.macro}.", remedy, wished.line, "member", shown(wished.name)
            )
        if isinstance(task, Problem):
            yield task
        else:
            yield from _of_measure(draft, wished, task)


def _of_measure(draft: SuiteDraft, wished: MemberDraft, task: Task) -> Iterator[Problem]:
    """What is wrong with the measure by which a task takes part."""
    try:
        key = parse(wished.measure).key if wished.measure else task.primary_measure
    except Invalid as error:
        yield Problem(error.message, "", wished.line, "measure", shown(wished.measure))
        return
    if key not in task.measures:
        remedy = f"Its board has {', '.join(task.measures)}."
        yield Problem(f"{task.slug} has no such measure.", remedy, wished.line, "measure", shown(key))
        return
    measure: Measure = parse(key).measure
    if reason := refusal(measure):
        yield Problem(reason, "Name another measure.", wished.line, "measure", key)
    elif draft.missing_is_empty and measure.direction == "lower":
        rule = "A missing member cannot count as an empty run where a lower value is better."
        yield Problem(rule, "Let it count as none.", wished.line, "measure", key)


def _nobody(*_: object) -> None:
    """Who may take a suite run off is found with it."""


_SETTINGS: Any = {"page": "suites.show", "record": SuiteDraft}
_RUN: Any = {"page": "suites.show_run", "scopes": (Scope.SUBMIT, Scope.ORGANISE), "may": _nobody}
SETTINGS = (
    Action(
        name="make_suite",
        summary="Make a suite",
        more="For who organises all of its tasks, or operates the site.",
        path="/suites/<suite>",
        form="/suites",
        named={"suite": "slug"},
        may=require_maker,
        act=lambda session, viewer, slug, draft: create(session, viewer, replace(draft, slug=slug.strip())),
        done=lambda *_: "suite made",
        status=201,
        **_SETTINGS,
    ),
    Action(
        name="change_suite",
        summary="Make a suite what is said",
        more="A member that is left out keeps its runs for when it comes back.",
        method="PUT",
        path="/suites/<suite>",
        form="/suites/<suite>/settings",
        may=seen.own_suite,
        act=lambda session, viewer, slug, draft: change(session, viewer, slug, replace(draft, slug=slug)),
        done=lambda *_: "suite changed",
        **_SETTINGS,
    ),
    Action(
        name="withdraw_suite",
        summary="Take a suite off the site",
        path="/suites/<suite>/withdraw",
        form="/suites/<suite>/withdraw",
        page="suites.settings",
        may=seen.own_suite,
        act=withdraw,
        done=lambda *_: "suite taken off",
    ),
    Action(
        name="restore_suite",
        summary="Put a suite back on the site",
        path="/suites/<suite>/restore",
        form="/suites/<suite>/restore",
        page="suites.show",
        may=seen.own_suite,
        act=restore,
        done=lambda *_: "suite put back",
    ),
)
RUNS = (
    Action(
        name="withdraw_suite_run",
        summary="Take a suite run off the suite",
        more="Its runs stay in their tasks.",
        path="/suites/<suite>/runs/<id:suite_run_id>/withdraw",
        form="/suites/<suite>/runs/<id:suite_run_id>/withdraw",
        act=sending.withdraw_parts,
        done=lambda *_: "suite run taken off",
        **_RUN,
    ),
    Action(
        name="restore_suite_run",
        summary="Put a suite run back",
        path="/suites/<suite>/runs/<id:suite_run_id>/restore",
        form="/suites/<suite>/runs/<id:suite_run_id>/restore",
        act=sending.restore_parts,
        done=lambda *_: "suite run put back",
        **_RUN,
    ),
)
