"""Settings that exclude each other: whatever a task is set to, a run that its rules describe is accepted."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select

from leaderboard.core.kinds import KINDS
from leaderboard.core.phase_rules import KINDS as KINDS_OF_RUNS
from leaderboard.core.policy import OPERATOR
from leaderboard.db.engine import Database
from leaderboard.db.tables import Phase, Task
from leaderboard.errors import Conflict, Invalid
from leaderboard.fields import Asked
from leaderboard.runs.ops import limits
from leaderboard.runs.ops.limits import RunRequest
from leaderboard.scoring.ops.setting_values import IntegerValue
from leaderboard.tasks.ops import drafts, phases
from leaderboard.tasks.ops import settings as tasks_settings
from leaderboard.tasks.ops.phases import PhasePlan
from leaderboard.tasks.ops.settings import SETTINGS, sections_of
from tests.make import answered, build

TYPED: dict[str, tuple[str, ...]] = {
    "name": ("N", "N" * 200),
    "description": ("", "word " * 500),
    "links": ("", "Call https://example.org/call"),
    "organisers": ("", "O" * 200),
    "contact": ("", "C" * 200),
    "licence": ("", "L" * 200),
    "frames": ("", "*"),
    "measures": ("AP", "AP nDCG@1 nDCG@1000 P@5 RR R@100 Judged@10"),
    "primary_measure": ("", "nDCG@10"),
    "reproduction_thresholds": ("", "ktu 0.05 0.5"),
    "grade_names": ("", "0 no\n2 exact"),
    "answer_dialects": ("", "report"),
    "docno_pattern": ("", "d[0-9]+"),
    "entry_code": ("", "secret"),
    "agreement": ("", "Be fair."),
    "names_at": ("", "2031-05-31"),
}
"""The least and the most that is typed where a setting is neither a choice nor a number."""
ELSEWHERE = {"slug", "collection"}
"""Settings that name something: no rule for runs depends on them."""
OF_KIND = {
    "answers": {"measures": ("A", "V_strict A W SupportP"), "primary_measure": ("", "A")},
    "judges": {
        "measures": ("BoardTau", "BoardTau TopicTau TopicAccuracy"),
        "primary_measure": ("", "TopicTau"),
    },
}
REFUSED = {
    ("entry_rule", "code"): "Enter the code that teams use to enter.",
    ("naming", "date"): "Set the date from which names are shown.",
}
"""What is refused of every task by itself, and what the sentence says."""
OF_BLIND = {
    ("depth", "1"): "so a run lists at least 10 documents for most topics, but the task accepts at most 1"
}
OF_JUDGES = {("visibility", "open"): "stays hidden until the close. Choose blind or sealed."}


def _extremes(setting: Asked, kind: str) -> tuple[str, ...]:
    if setting.about.choices:
        return tuple(setting.about.choices)
    if isinstance(read := setting.about.read, IntegerValue):
        return (str(read.low), str(read.high), *([""] if read.may_be_empty else []))
    return OF_KIND.get(kind, {}).get(setting.name) or TYPED[setting.name]


def test_every_setting_has_extremes() -> None:
    """A new one is met by the test below."""
    others = {
        key
        for key, one in SETTINGS.items()
        if not one.about.choices and not isinstance(one.about.read, IntegerValue)
    }
    assert others == TYPED.keys() | ELSEWHERE


def _described(database: Database, folder: Path, slug: str, kind: str) -> Path:
    """A run as the rules of the task describe it: all topics, as deep as ten documents or the most taken."""
    with database.read() as session:
        team_id = build.team(database)
        rules = limits.rules_for(session, OPERATOR, slug, team_id)
    topics = rules.checks.expected
    if kind == "judges":
        judging = pytest.importorskip("tests.judges.make")
        return judging.board_file(folder, judging.OAK)
    if kind == "answers":
        limit = rules.own.limit
        text = "word" if limit != 1 else "w"
        return answered.run_file(folder, {topic: [(text, ["d1"])] for topic in topics})
    depth = min(rules.checks.depth or 10, 10)
    return build.run_file(folder, {topic: [f"d{place}" for place in range(depth)] for topic in topics})


def _accepted(
    database: Database, folder: Path, slug: str, kind: str, run_request: RunRequest | None = None
) -> bool:
    path = _described(database, folder, slug, kind)
    done = build.submit(database, path, slug, run_request=run_request or RunRequest(path.stem))
    assert done.state == "accepted", (slug, json.dumps(done.report.as_json() if done.report else None))
    return True


def _task(database: Database, folder: Path, slug: str, template: str, kind: str) -> str:
    visibility = drafts.TEMPLATES[template].visibility
    if kind == "judges":
        # The scores of judges are never shown before the close, whatever the template says.
        judging = pytest.importorskip("tests.judges.make")
        hidden = "blind" if visibility == "open" else visibility
        judging.task(database, folder, slug, template=template, visibility=hidden)
        judging.refer(database, folder, slug=slug)
        return slug
    options = {"template": template, "visibility": visibility}
    if kind == "answers":
        return answered.task(database, folder, slug, **options)
    return build.task(database, folder, slug, judgments=None, measures=("AP", "nDCG@10"), **options)


@pytest.mark.trial
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("template", drafts.TEMPLATES)
def test_a_run_is_accepted_whatever_is_set(
    template: str, kind: str, database: Database, tmp_path: Path
) -> None:
    """Each setting at its least and its most, and each choice; or it is refused when it is set, with why."""
    is_blind = drafts.TEMPLATES[template].visibility == "blind"
    expected = REFUSED | (
        OF_JUDGES if kind == "judges" else OF_BLIND if is_blind and kind == "rankings" else {}
    )
    found: dict[tuple[str, str], str] = {}
    settings = [one for section in sections_of(kind) for one in section.settings if one.name not in ELSEWHERE]
    for number, setting in enumerate(settings):
        for at, value in enumerate(_extremes(setting, kind)):
            slug = _task(database, tmp_path, f"t{number}-{at}", template, kind)
            try:
                with database.write() as session:
                    tasks_settings.change_settings(session, OPERATOR, slug, {setting.name: value})
            except (Invalid, Conflict) as refused:
                problems = refused.problems if isinstance(refused, Invalid) else ()
                found[setting.name, value] = f"{refused.message} {' '.join(map(str, problems))}"
                continue
            assert _accepted(database, tmp_path, slug, kind), (setting.name, value)
    assert found.keys() == expected.keys()
    for case, sentence in expected.items():
        assert sentence in found[case], case


PHASES: dict[str, tuple[Any, ...]] = {
    "topics": ("all", "half", "list"),
    "visibility": ("", "open", "blind", "sealed"),
    "at_close": ("open", "sealed"),
    "kinds": ((), *((kind,) for kind in KINDS_OF_RUNS)),
    "ranked": (True, False),
    "runs_per_day": (1, 2**40 - 1),
    "runs_in_all": (1, 2**40 - 1),
    "account_runs_per_day": (1, 2**40 - 1),
    "account_runs_in_all": (1, 2**40 - 1),
    "agent_runs_per_day": (1, 2**40 - 1),
    "agent_review": (True, False),
    "largest_bytes": (1, 2**40 - 1),
}


@pytest.mark.trial
@pytest.mark.parametrize("template", drafts.TEMPLATES)
def test_a_run_is_accepted_whatever_a_phase_is(template: str, database: Database, tmp_path: Path) -> None:
    """Each part of a phase at its least and its most; only a file of one byte is no run."""
    found = {}
    for field, values in PHASES.items():
        for at, value in enumerate(values):
            slug = _task(database, tmp_path, f"{field.replace('_', '-')}-{at}", template, "rankings")
            plan = replace(PhasePlan(name="main", topic_list="1 2"), **{field: value})
            try:
                with database.write() as session:
                    phases.change(session, OPERATOR, slug, "main", plan)
            except Invalid as refused:
                found[field, value] = refused.message
                continue
            run_request = RunRequest("run", plan.kinds[0] if plan.kinds else "official")
            assert _accepted(database, tmp_path, slug, "rankings", run_request), (field, value)
    least = 390 if drafts.TEMPLATES[template].visibility == "blind" else 39
    assert found == {
        ("largest_bytes", 1): (
            f"The smallest run that meets the other rules of the phase main has about {least} bytes, but the "
            "phase accepts files of at most 1 bytes. Raise the maximum file size."
        )
    }


def test_a_small_collection_cannot_be_blind(database: Database, tmp_path: Path) -> None:
    """No run lists ten of its documents."""
    corpus = tmp_path / "corpus.jsonl"
    corpus.write_text('{"_id": "a", "text": "x"}\n')
    with pytest.raises(Invalid, match="but the collection t has 1"):
        build.task(database, tmp_path, visibility="blind", documents=corpus)
    build.task(database, tmp_path, "u", documents=corpus)
    with pytest.raises(Invalid, match="but the collection u has 1"), database.write() as session:
        tasks_settings.change_settings(session, OPERATOR, "u", {"visibility": "blind"})
    with database.read() as session:
        assert session.scalar(select(Task.visibility).where(Task.slug == "u")) == "open"
        assert session.scalar(select(Phase.visibility).join(Task).where(Task.slug == "u")) is None


def test_a_draft_that_no_run_could_keep_is_refused(database: Database, tmp_path: Path) -> None:
    """When it is made, not when its first run comes."""
    with pytest.raises(Invalid, match="but the task accepts at most 5"):
        build.task(database, tmp_path, visibility="blind", depth=5)
    assert drafts.DEEPEST == 100_000
