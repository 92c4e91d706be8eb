"""Making a suite, changing it, taking it off the site and putting it back."""

import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Annotated, Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from leaderboard.core import audit, policy, prose
from leaderboard.core.actions import Action
from leaderboard.core.policy import Scope, Viewer
from leaderboard.db.engine import lock_key, now
from leaderboard.db.tables import Suite, SuiteMember, Task
from leaderboard.errors import MAX_PROBLEMS, Conflict, Forbidden, Invalid, NotFound, Problem
from leaderboard.fields import Field
from leaderboard.measures.naming import parse
from leaderboard.measures.record import Measure, refusal
from leaderboard.suites.ops import seen, sending
from leaderboard.suites.ops.seen import KnownSuite
from leaderboard.suites.ops.sending import ChosenRuns, NewSuiteRun
from leaderboard.trec.read.lines import shown
from leaderboard.trec.suites import GROUPS, NAME, meant

MOST_MEMBERS = 100
TITLE_CHARACTERS = 200
DESCRIPTION_CHARACTERS = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberDraft:
    """A member: its short name, its task; a measure of its board, if not the primary one; groups."""

    name: Annotated[str, Field(title="Short name", help="Short name of the member.", least=0)]
    task: Annotated[str, Field(title="Task", help="Slug of its task.", least=0)]
    measure: Annotated[str, Field(title="Measure", help="Leave empty for the board's primary measure.")] = ""
    domain: Annotated[str, Field(title="Domain", help="Its group of this kind.")] = ""
    language: Annotated[str, Field(title="Language", help="Its group of this kind.")] = ""
    lag: Annotated[str, Field(title="Lag", help="Its group of this kind.")] = ""
    line: Annotated[int | None, Field(title="Line", is_carried=True)] = None
    """Its line in a form or a file."""


_TEXTS = ("slug", "title", "description", "reference", "baseline", "macro")
_FLAGS = ("shared_topics", "missing_is_empty", "metadata_is_required")
DRAFTS_SETTINGS = (*_TEXTS[1:], *_FLAGS)
"""The draft fields that are columns of the suite."""
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
            rule = "Each member is one line: short name, task and, optionally, a measure and groups."
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
    """The requested settings of a suite; empty fields do not apply."""

    slug: Annotated[str, Field(title="Slug", is_carried=True)] = ""
    title: Annotated[str, Field(title="Title", longest=TITLE_CHARACTERS)]
    description: Annotated[
        str, Field(title="Description", help="In Markdown.", rows=4, longest=DESCRIPTION_CHARACTERS)
    ] = ""
    members: Annotated[
        tuple[MemberDraft, ...],
        Field(
            title="Members, one per line, in order",
            help="Short name and task slug; optionally a measure of its board (default: the primary "
            "measure) and groups: law law-2026 nDCG@10 domain=law language=en lag=short. You must "
            "organise all of these tasks. A removed member keeps its runs in case you add it again.",
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
            title="Reference member",
            help="Changes are computed relative to it. Leave empty for no changes.",
            read=str.strip,
        ),
    ] = ""
    baseline: Annotated[
        str, Field(title="Baseline run", help="Name of a suite run; gains are computed over it.")
    ] = ""
    macro: Annotated[
        str, Field(title="Macro means over", choices={"": "no groups", **{group: group for group in GROUPS}})
    ] = ""
    shared_topics: Annotated[bool, Field(title="Topic ids are shared by all members")] = False
    missing_is_empty: Annotated[bool, Field(title="A missing member counts as an empty run")] = False
    metadata_is_required: Annotated[
        bool, Field(title="An archive must have an ir-metadata.yml with tag and team")
    ] = False


def member_lines(members: Iterable[MemberDraft]) -> str:
    """Members as `read_members` reads them."""
    return "\n".join(
        " ".join(
            [
                draft.name,
                draft.task,
                *([draft.measure] if draft.measure else []),
                *(f"{key}={value}" for key in GROUPS if (value := getattr(draft, key))),
            ]
        )
        for draft in members
    )


def read_toml(text: str) -> dict[str, Any]:
    """The fields of a suite file whose members name tasks; raises Invalid with a problem for each wrong key.

    The format is that of boards without a site, except that a member has `task` instead of `qrels`.
    """
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise Invalid(f"The suite file is not TOML: {error}.") from error
    problems = list(_wrong(data, {**dict.fromkeys(_TEXTS, str), **dict.fromkeys(_FLAGS, bool)}, "the suite"))
    members = data.get("members", [])
    if not isinstance(members, list) or not all(isinstance(member, dict) for member in members):
        raise Invalid("Members are TOML tables: write [[members]] above the keys of each member.")
    for number, member in enumerate(members, 1):
        problems += _wrong(member, dict.fromkeys(_MEMBER, str), f"member {number}")
    if problems:
        raise Invalid("The suite file is not valid.", problems[:MAX_PROBLEMS])
    drafts = [{"name": "", "task": "", **member} for member in members]
    return {"slug": "", "title": "", **data, "members": drafts}


def as_facts(draft: SuiteDraft) -> dict[str, Any]:
    """The draft as plain values."""
    facts = asdict(draft)
    members = [{key: member[key] for key in _MEMBER} for member in facts["members"]]
    return {**facts, "members": members}


def _wrong(data: Mapping[str, Any], types: Mapping[str, type], where: str) -> Iterable[Problem]:
    for key, value in data.items():
        if key == "members" and where == "the suite":
            continue
        if key not in types:
            yield Problem(f"Unknown key in {where}.", meant(key, tuple(types)), None, "key", shown(key))
        elif not isinstance(value, types[key]):
            kind = "text" if types[key] is str else "true or false"
            yield Problem(f"The value of {key} in {where} must be {kind}.", "", None, key, shown(str(value)))


def _groups(groups: Mapping[str, str]) -> dict[str, Any]:
    return {key: groups.get(key, "") for key in GROUPS}


SLUG = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?")
RESERVED = frozenset({"new"})
GROUP = re.compile(r"\S{1,100}")


def create(session: Session, viewer: Viewer, draft: SuiteDraft) -> str:
    """Create a suite; return its slug.

    Raises Forbidden unless the viewer organises all of its tasks or operates the site, Invalid with up to 25
    problems, Conflict for a slug in use.
    """
    require_maker(session, viewer)
    tasks = _checked(session, viewer, draft)
    lock_key(session, f"suite {draft.slug}")
    if session.scalar(select(Suite.id).where(Suite.slug == draft.slug)) is not None:
        raise Conflict(f"The suite {draft.slug!r} already exists; choose another slug.")
    suite = Suite(slug=draft.slug, created_at=now(session), withdrawn_at=None, **_settings(draft))
    session.add(suite)
    session.flush()
    _place(session, suite, draft, tasks)
    audit.record(session, viewer, "suite.create", f"suite:{suite.id}", slug=suite.slug)
    return suite.slug


def require_maker(_: Session, viewer: Viewer, *__: str) -> None:
    """Raise Forbidden unless the viewer may create suites: as an organiser, or as an account that can create
    tasks."""
    if not (viewer.organises or viewer.operates):
        policy.require_creator(viewer)


def change(session: Session, viewer: Viewer, slug: str, draft: SuiteDraft) -> None:
    """Replace the settings of a suite with the draft, except for its slug.

    A removed member keeps its runs in case it is added again. Raises as `records.own_suite` does, and
    as `create`.
    """
    known_suite = seen.own_suite(session, viewer, slug)
    lock_key(session, f"suite {slug}")
    tasks = _checked(session, viewer, draft)
    before = as_facts(draft_of(known_suite))
    for key, value in _settings(draft).items():
        setattr(known_suite.suite, key, value)
    _place(session, known_suite.suite, draft, tasks)
    after = as_facts(draft)
    changed = {key: [before[key], after[key]] for key in after if key != "slug" and before[key] != after[key]}
    audit.record(session, viewer, "suite.change", f"suite:{known_suite.suite.id}", changed=changed)


def withdraw(session: Session, viewer: Viewer, slug: str) -> None:
    """Withdraw a suite from the site; the runs of its members stay where they are. Twice changes nothing."""
    _show(session, viewer, slug, is_shown=False)


def restore(session: Session, viewer: Viewer, slug: str) -> None:
    """Restore a withdrawn suite as it was."""
    _show(session, viewer, slug, is_shown=True)


def draft_of(known_suite: KnownSuite) -> SuiteDraft:
    """A suite as a draft that would change nothing."""
    suite = known_suite.suite
    members = tuple(
        MemberDraft(
            name=member.member.name,
            task=member.task.slug,
            **{key: getattr(member.member, key) for key in ("measure", *GROUPS)},
        )
        for member in known_suite.members
    )
    return SuiteDraft(
        slug=suite.slug, members=members, **{key: getattr(suite, key) for key in DRAFTS_SETTINGS}
    )


def _show(session: Session, viewer: Viewer, slug: str, *, is_shown: bool) -> None:
    known_suite = seen.own_suite(session, viewer, slug)
    if (known_suite.suite.withdrawn_at is None) == is_shown:
        return
    known_suite.suite.withdrawn_at = None if is_shown else now(session)
    what = "suite.restore" if is_shown else "suite.withdraw"
    audit.record(session, viewer, what, f"suite:{known_suite.suite.id}", slug=slug)


def _settings(draft: SuiteDraft) -> dict[str, Any]:
    values = {key: getattr(draft, key) for key in DRAFTS_SETTINGS}
    tidy = {key: values[key].replace("\r\n", "\n").strip() for key in ("title", "description", "baseline")}
    return values | tidy


def _place(session: Session, suite: Suite, draft: SuiteDraft, tasks: Sequence[Task]) -> None:
    """Order the members as in a draft; remove those it does not name."""
    rows = session.scalars(select(SuiteMember).where(SuiteMember.suite_id == suite.id)).all()
    by_task = {row.task_id: row for row in rows}
    for row in rows:
        row.position = None
    for position, (member_draft, task) in enumerate(zip(draft.members, tasks, strict=True)):
        row = by_task.get(task.id) or SuiteMember(suite_id=suite.id, task_id=task.id)
        row.position, row.name = position, member_draft.name
        row.measure = parse(member_draft.measure).key if member_draft.measure else ""
        row.domain, row.language, row.lag = member_draft.domain, member_draft.language, member_draft.lag
        session.add(row)
    session.flush()


def _checked(session: Session, viewer: Viewer, draft: SuiteDraft) -> list[Task]:
    """The tasks of the members in order; raises Invalid with all problems, Forbidden for tasks of others."""
    tasks = [_task(session, viewer, member_draft) for member_draft in draft.members[:MOST_MEMBERS]]
    problems = [*_of_suite(draft), *_of_members(draft, tasks)]
    if problems:
        raise Invalid("The suite is not valid; nothing was changed.", problems[:MAX_PROBLEMS])
    valid_tasks = [task for task in tasks if isinstance(task, Task)]
    if not seen.looks_after(viewer, valid_tasks):
        policy.require_second_factor(viewer)
        others = [task.slug for task in valid_tasks if not policy.organises(viewer, task.id)]
        raise Forbidden(f"You must organise all tasks of a suite; you do not organise {', '.join(others)}.")
    return valid_tasks


def _task(session: Session, viewer: Viewer, member_draft: MemberDraft) -> Task | Problem:
    try:
        task, _ = policy.visible_task(session, viewer, member_draft.task)
    except NotFound:
        return Problem(
            "This task does not exist.",
            "Enter the slug of a task.",
            member_draft.line,
            "task",
            shown(member_draft.task),
        )
    return task


def _of_suite(draft: SuiteDraft) -> Iterator[Problem]:
    names = tuple(member_draft.name for member_draft in draft.members)
    if not SLUG.fullmatch(draft.slug) or draft.slug in RESERVED:
        rule = "must be 1 to 63 lower-case letters, digits or hyphens, and not `new`."
        yield Problem(rule, "For example `longeval-2026`.", None, "slug", shown(draft.slug))
    if not 1 <= len(draft.title.strip()) <= TITLE_CHARACTERS or not draft.title.isprintable():
        rule = f"must be one line of 1 to {TITLE_CHARACTERS} characters."
        yield Problem(rule, "Enter a title.", None, "title", shown(draft.title))
    if len(draft.description) > DESCRIPTION_CHARACTERS:
        yield Problem(
            f"must have at most {DESCRIPTION_CHARACTERS:,} characters.", "Shorten it.", None, "description"
        )
    elif rule := prose.broken_rule(draft.description):
        yield Problem(rule, "Simplify the text.", None, "description")
    if len(draft.members) < 2 or len(draft.members) > MOST_MEMBERS:
        rule = f"A suite must have 2 to {MOST_MEMBERS} members; this one has {len(draft.members)}."
        yield Problem(rule, "Write one line per member.", None, "members")
    if draft.reference and draft.reference not in names:
        remedy = meant(draft.reference, names) if names else "Add members first."
        yield Problem("The reference must be a member.", remedy, None, "reference", shown(draft.reference))
    if draft.macro and draft.macro not in GROUPS:
        yield Problem(
            "This kind of group does not exist.", meant(draft.macro, GROUPS), None, "macro", draft.macro
        )


def _of_members(draft: SuiteDraft, tasks: Sequence[Task | Problem]) -> Iterator[Problem]:
    names = [member_draft.name for member_draft in draft.members]
    slugs = [member_draft.task for member_draft in draft.members]
    for at, (member_draft, task) in enumerate(zip(draft.members, tasks, strict=False)):
        if not NAME.fullmatch(member_draft.name):
            rule = "A short name must have at most 100 letters, digits, dots, underscores and hyphens."
            yield Problem(
                rule,
                "It is also used as a folder name.",
                member_draft.line,
                "member",
                shown(member_draft.name),
            )
        elif member_draft.name in names[:at]:
            yield Problem(
                "Two members have this name.",
                "Give each member its own name.",
                member_draft.line,
                "member",
                member_draft.name,
            )
        if member_draft.task in slugs[:at]:
            yield Problem(
                "Two members have this task.",
                "List each task once.",
                member_draft.line,
                "task",
                shown(member_draft.task),
            )
        for key in GROUPS:
            value = getattr(member_draft, key)
            if value and not GROUP.fullmatch(value):
                yield Problem(
                    "must be one word of at most 100 characters.", "", member_draft.line, key, shown(value)
                )
        if draft.macro in GROUPS and not getattr(member_draft, draft.macro):
            remedy = f"Add {draft.macro}=…; macro means need it."
            yield Problem(
                f"The member has no {draft.macro}.",
                remedy,
                member_draft.line,
                "member",
                shown(member_draft.name),
            )
        if isinstance(task, Problem):
            yield task
        else:
            yield from _of_measure(draft, member_draft, task)


def _of_measure(draft: SuiteDraft, member_draft: MemberDraft, task: Task) -> Iterator[Problem]:
    """The problems of a member's measure."""
    try:
        key = parse(member_draft.measure).key if member_draft.measure else task.primary_measure
    except Invalid as error:
        yield Problem(error.message, "", member_draft.line, "measure", shown(member_draft.measure))
        return
    if key not in task.measures:
        remedy = f"Its board has {', '.join(task.measures)}."
        yield Problem(f"{task.slug} has no such measure.", remedy, member_draft.line, "measure", shown(key))
        return
    measure: Measure = parse(key).measure
    if reason := refusal(measure):
        yield Problem(reason, "Name another measure.", member_draft.line, "measure", key)
    elif draft.missing_is_empty and measure.direction == "lower":
        rule = "A missing member cannot count as an empty run for a measure where lower is better."
        yield Problem(rule, "Do not count missing members as empty runs.", member_draft.line, "measure", key)


def _nobody(*_: object) -> None:
    """Permission to change a suite run is checked with the run."""


_SETTINGS: Any = {"page": "suites.show", "record": SuiteDraft}
_RUN: Any = {"page": "suites.show_run", "scopes": (Scope.SUBMIT, Scope.ORGANISE), "may": _nobody}
WITHDRAW = Action(
    name="withdraw_suite",
    summary="Withdraw a suite",
    path="/suites/<suite>/withdraw",
    form="/suites/<suite>/withdraw",
    page="suites.settings",
    may=seen.own_suite,
    act=withdraw,
    done=lambda *_: "suite withdrawn",
)
RESTORE = Action(
    name="restore_suite",
    summary="Restore a suite",
    path="/suites/<suite>/restore",
    form="/suites/<suite>/restore",
    page="suites.show",
    may=seen.own_suite,
    act=restore,
    done=lambda *_: "suite restored",
)
MAKE = Action(
    name="make_suite",
    summary="Create a suite",
    more="For accounts that organise all of its tasks, and operators.",
    path="/suites/<suite>",
    form="/suites",
    named={"suite": "slug"},
    may=require_maker,
    act=lambda session, viewer, slug, draft: create(session, viewer, replace(draft, slug=slug.strip())),
    done=lambda *_: "suite created",
    status=201,
    **_SETTINGS,
)
CHANGE = Action(
    name="change_suite",
    summary="Replace the settings of a suite",
    more="An omitted member keeps its runs in case you add it again.",
    method="PUT",
    path="/suites/<suite>",
    form="/suites/<suite>/settings",
    may=seen.own_suite,
    act=lambda session, viewer, slug, draft: change(session, viewer, slug, replace(draft, slug=slug)),
    done=lambda *_: "suite changed",
    **_SETTINGS,
)
SETTINGS = (MAKE, CHANGE, WITHDRAW, RESTORE)
PUT_TOGETHER = Action(
    name="put_suite_run_together",
    summary="Create a suite run from existing runs of a team",
    more="One run per member; members may be missing.",
    path="/suites/<suite>/runs",
    form="/suites/<suite>/runs",
    record=NewSuiteRun,
    act=lambda session, viewer, slug, new: sending.put_together(
        session, viewer, slug, new.team_id, new.name, new.chosen
    ),
    status=201,
    **_RUN,
)
RUNS = (
    PUT_TOGETHER,
    Action(
        name="fill_in_suite_run",
        summary="Add runs for missing members to a suite run",
        path="/suites/<suite>/runs/<id:suite_run_id>/parts",
        form="/suites/<suite>/runs/<id:suite_run_id>/parts",
        record=ChosenRuns,
        act=lambda session, viewer, slug, suite_run_id, asked: sending.fill_in(
            session, viewer, slug, suite_run_id, asked.chosen
        ),
        **_RUN,
    ),
    Action(
        name="withdraw_suite_run",
        summary="Withdraw a suite run",
        more="Its runs stay in their tasks.",
        path="/suites/<suite>/runs/<id:suite_run_id>/withdraw",
        form="/suites/<suite>/runs/<id:suite_run_id>/withdraw",
        act=sending.withdraw_parts,
        done=lambda *_: "suite run withdrawn",
        **_RUN,
    ),
    Action(
        name="restore_suite_run",
        summary="Restore a suite run",
        path="/suites/<suite>/runs/<id:suite_run_id>/restore",
        form="/suites/<suite>/runs/<id:suite_run_id>/restore",
        act=sending.restore_parts,
        done=lambda *_: "suite run restored",
        **_RUN,
    ),
)
