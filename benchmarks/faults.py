"""Faults planted one by one, each with the tests that must find it.

    python -m benchmarks.faults [NAME ...]

Every fault is put into a copy of the checkout, so nothing here changes. Exit code 1 where one is not found.
"""

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
LEFT_OUT = shutil.ignore_patterns(".git", ".venv", "__pycache__", ".*_cache", "leaderboard-data")


class Fault(NamedTuple):
    """A line of the code, what it is changed to, and where the tests of it are."""

    name: str
    path: str
    right: str
    wrong: str
    tests: str


FAULTS = (
    Fault(
        "measures",
        "leaderboard/measures/average_precision.py",
        "return ratio(judged.totals(hits.topic, hits.nth / hits.rank)",
        "return ratio(judged.totals(hits.topic, hits.nth / (hits.rank + 1))",
        "leaderboard/measures tests/measures",
    ),
    Fault(
        "stats",
        "leaderboard/stats/pairs/corrections.py",
        "np.maximum.accumulate(p[order] * left)",
        "p[order] * left",
        "tests/stats/pairs",
    ),
    Fault(
        "pooling",
        "leaderboard/pooling/methods.py",
        'np.argsort(pool.best, kind="stable")',
        'np.argsort(-pool.best, kind="stable")',
        "tests/pooling",
    ),
    Fault(
        "trec",
        "leaderboard/trec/runs/check.py",
        "count > rules.depth",
        "count > rules.depth + 1",
        "tests/trec/runs",
    ),
    Fault(
        "tables",
        "leaderboard/tables/record.py",
        'FORMULA = ("=",',
        "FORMULA = (",
        "tests/tables leaderboard/tables",
    ),
    Fault(
        "db",
        "leaderboard/db/engine.py",
        'exec_driver_sql("BEGIN IMMEDIATE")',
        'exec_driver_sql("BEGIN")',
        "tests/db tests/core/jobs",
    ),
    Fault(
        "policy",
        "leaderboard/core/shown_names.py",
        "if not seen.details or run.withdrawn_at is not None:",
        "if not seen.details:",
        "tests/core/test_policy.py tests/runs/web tests/runs/page",
    ),
    Fault(
        "jobs",
        "leaderboard/core/jobs/queue.py",
        '    if _changes(session, done) != 1:\n        raise ClaimLost(f"Another worker has taken over job',
        '    if _changes(session, done) > 1:\n        raise ClaimLost(f"Another worker has taken over job',
        "tests/core/jobs tests/test_worker.py",
    ),
    Fault(
        "evaluations",
        "leaderboard/scoring/ops/evaluations/editions.py",
        "if queue.is_unfinished(session, edition_id):",
        "if False:",
        "tests/core/test_road.py tests/scoring/ops/evaluations",
    ),
    Fault(
        "runs",
        "leaderboard/tasks/ops/phases.py",
        "at >= phase.closes_at:",
        "at >= phase.closes_at and phase.opens_at is not None:",
        "tests/core/test_road.py tests/runs/ops tests/runs/web",
    ),
    Fault(
        "assessors",
        "leaderboard/judging/ops/judging.py",
        '    if getattr(event, "undone", False):',
        "    if stored.undone:",
        "tests/judging/ops/assessors",
    ),
    Fault(
        "revisions",
        "leaderboard/qrels/ops/revisions.py",
        "if base is not None and base != number:",
        "if base is not None and base > number:",
        "tests/qrels/ops/revisions tests/qrels/web/test_revisions.py",
    ),
    Fault(
        "accounts",
        "leaderboard/accounts/ops/teams.py",
        "    if others and all(member.role != CAPTAIN for member in others):\n",
        "    if others and any(member.role != CAPTAIN for member in others):\n",
        "tests/accounts/ops",
    ),
    Fault(
        "side by side",
        "leaderboard/judging/ops/side_by_side.py",
        "size=1)[0] < 128",
        "size=1)[0] < 256",
        "tests/judging/ops/side_by_side",
    ),
    Fault(
        "boards",
        "leaderboard/boards/page/view.py",
        "return all(word in text",
        "return any(word in text",
        "tests/boards/page",
    ),
    Fault(
        "comparisons",
        "leaderboard/comparisons/page/pair.py",
        "-table.sign * row.difference",
        "table.sign * row.difference",
        "tests/comparisons/page",
    ),
    Fault(
        "pages of runs",
        "leaderboard/runs/page/topics.py",
        "sign * place.difference > 0",
        "place.difference > 0",
        "tests/runs/page",
    ),
    Fault(
        "web",
        "leaderboard/web/http.py",
        'ours = fetch_site == "same-origin"',
        'ours = fetch_site != "cross-site"',
        "tests/web/test_security.py",
    ),
    Fault(
        "charts",
        "leaderboard/web/charts/matrix.py",
        'STEPS - 1)}"',
        'STEPS)}"',
        "tests/web/charts tests/boards/web/scores leaderboard/web/charts",
    ),
    Fault(
        "worker",
        "leaderboard/scoring/ops/finishing.py",
        "    score.store(session, claim.subject_id, claim.edition_id, scored)\n",
        "",
        "tests/test_worker.py tests/core/test_road.py",
    ),
    Fault(
        "cli", "leaderboard/cli/__init__.py", "raise Failure(error) from error", "print(error)", "tests/cli"
    ),
    Fault(
        "templates",
        "templates/boards/rows.html",
        "{% if row.rank is not none %}{{ row.rank }}{% endif %}",
        "",
        "tests/boards/web",
    ),
    Fault(
        "webhooks",
        "leaderboard/notify/ops/calls.py",
        "return address.is_global and not address.is_multicast and not is_cloud",
        "return not address.is_multicast and not is_cloud",
        "tests/notify/ops/webhooks",
    ),
    Fault(
        "suites",
        "leaderboard/suites/ops/sending.py",
        "if suite_run.sha256 != submission.sha256:",
        "if False:",
        "tests/suites/ops tests/suites/web",
    ),
    Fault(
        "reproductions",
        "leaderboard/reproductions/ops.py",
        "    if original.withdrawn_at is not None:\n",
        "    if original.withdrawn_at is None:\n",
        "tests/reproductions",
    ),
    Fault(
        "judges",
        "leaderboard/judges/ops/store.py",
        "if kept is None or kept.sha256 != run.ranking_sha256:",
        "if kept is None:",
        "tests/judges/ops tests/site/ops/checks",
    ),
    Fault(
        "answers",
        "leaderboard/answers/ops/answers.py",
        'chosen = cited_first if bound.method.name == "citations" else references_first',
        "chosen = references_first",
        "tests/answers tests/judging/ops/pools tests/pooling",
    ),
    Fault(
        "bundles",
        "leaderboard/bundles/ops/opening.py",
        "if parts is None or parts[2] in digests:",
        "if parts is None:",
        "tests/bundles",
    ),
    Fault(
        "signatures",
        "leaderboard/signatures/ops.py",
        "        if signature.text() == text:\n",
        "        if signature.text():\n",
        "tests/verify",
    ),
    Fault(
        "verify",
        "leaderboard/verify/verifying.py",
        "    work.report.differences += differences\n",
        "",
        "tests/verify",
    ),
    Fault(
        "mirror",
        "leaderboard/mirror/mirror.py",
        "if room not in MIRRORED or is_left_out or not self._belongs(room, values):",
        "if room not in MIRRORED or is_left_out:",
        "tests/mirror",
    ),
    Fault(
        "gate",
        "leaderboard/stats/gates.py",
        "if self.no_worse < ALPHA:",
        "if self.better < 2 * ALPHA:",
        "tests/gate tests/stats/test_gates.py",
    ),
    Fault(
        "interface",
        "leaderboard/interface/relevance.py",
        'if measure.measure.aggregate == "geometric":',
        'if measure.measure.aggregate == "harmonic":',
        "tests/interface",
    ),
    Fault(
        "carrier",
        "leaderboard/carrier/sender.py",
        "            if not self._is_lost:\n",
        "            if self._is_lost:\n",
        "tests/carrier",
    ),
    Fault(
        "backups",
        "leaderboard/site/ops/backups.py",
        'if asdict(counted.count()) != self._end["count"]:',
        "if False:",
        "tests/site/ops/backups tests/site/cli/test_backups.py",
    ),
    Fault(
        "migrations",
        "migrations/versions/0033_agents.py",
        "\"kind IN ('personal', 'agent', 'runner')\"",
        "\"kind IN ('personal', 'runner')\"",
        "tests/db tests/accounts/web/test_tokens.py",
    ),
    Fault(
        "scopes of the API",
        "leaderboard/scoring/ops/run_facts.py",
        "scopes=(Scope.SUBMIT, Scope.ORGANISE)",
        "scopes=(Scope.READ,)",
        "tests/web/api",
    ),
    Fault(
        "client",
        "client/leaderboard_submit/cli.py",
        "verdict = Verdict(False, wrong, [], []) if wrong else client",
        "verdict = client",
        "tests/web/client client",
    ),
    Fault(
        "tokens",
        "leaderboard/accounts/ops/tokens.py",
        ' or self.team_id is not None:\n            raise Forbidden("This token is limited',
        ':\n            raise Forbidden("This token is limited',
        "tests/web/api tests/accounts",
    ),
    Fault(
        "invitations",
        "leaderboard/accounts/ops/invitations.py",
        "row.expires_at <= now(session):",
        "row.expires_at < now(session) - timedelta(days=1):",
        "tests/accounts",
    ),
)


def is_found(fault: Fault, folder: Path) -> bool:
    """Whether some test fails in a copy of the checkout that has the fault."""
    copy = folder / "copy"
    shutil.copytree(ROOT, copy, ignore=LEFT_OUT)
    path = copy / fault.path
    text = path.read_text(encoding="utf-8")
    if text.count(fault.right) != 1:
        raise ValueError(f"{fault.name}: {fault.path} has the line {text.count(fault.right)} times.")
    path.write_text(text.replace(fault.right, fault.wrong), encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-m", "", "-p", "no:cacheprovider"]
    done = subprocess.run(
        [*command, "-k", "not postgresql", *fault.tests.split()],
        cwd=copy,
        capture_output=True,
        text=True,
        check=False,
    )
    shutil.rmtree(copy)
    if done.returncode not in (0, 1):
        raise ValueError(f"{fault.name}: pytest ended with {done.returncode}.\n{done.stdout[-2000:]}")
    return done.returncode == 1


def main(names: Sequence[str]) -> int:
    """Plant the faults of these names, or all; the exit code."""
    chosen = [fault for fault in FAULTS if not names or fault.name in names]
    with tempfile.TemporaryDirectory() as folder:
        missed = [fault.name for fault in chosen if not _told(fault, Path(folder))]
    print(f"{len(chosen) - len(missed)} of {len(chosen)} faults found.")
    return 1 if missed else 0


def _told(fault: Fault, folder: Path) -> bool:
    caught = is_found(fault, folder)
    print(f"{'found ' if caught else 'MISSED'}  {fault.name:16} {fault.path}", flush=True)
    return caught


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
