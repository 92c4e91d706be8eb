"""Large files of answers become runs without being held."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from sqlalchemy import func, select

from leaderboard.db.engine import Database
from leaderboard.db.tables import Answer
from tests.make import answered, build
from tests.make.answers import line

MOST_KB = 200 * 1024
BYTES = 100_000_000
PEAK = """
import sys
from pathlib import Path
from leaderboard.db.engine import Database
from leaderboard import features
from leaderboard.core.policy import OPERATOR
from leaderboard.runs.ops import limits
from leaderboard.runs.ops import prepare
from leaderboard.runs.ops import uploads
from leaderboard.runs.ops.limits import RunRequest
from leaderboard.runs.ops.uploads import Delivery
from leaderboard.trec.read.lines import Limits
features.register()
path, database, team = Path(sys.argv[1]), Database(sys.argv[2]), int(sys.argv[3])
with database.read() as session:
    rules = limits.rules_for(session, OPERATOR, "answers", team)
made = prepare.prepare(path, path.name, rules, Limits())
with database.write() as session:
    sent = uploads.submit(session, Delivery(sender=OPERATOR, slug="answers", team_id=team, file=made,
                                            run_request=RunRequest("large"), key=None))
assert sent.run_id is not None, sent.report
status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
print(sent.run_id, status["VmHWM"].split()[0])
"""


@pytest.mark.sqlite
@pytest.mark.trial
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="peak memory is read from /proc")
def test_a_hundred_megabytes_become_a_run_in_less_than_two_hundred(
    database: Database, tmp_path: Path
) -> None:
    """The peak of a process that checks, packs and stores them: nine short answers to each of 280 KB."""
    path = tmp_path / "run.jsonl"
    short, long = line("report", "metadata.topic_id", "%d"), line("report", "metadata.topic_id", "%d")
    long["responses"] *= 3000
    forms = [f"{json.dumps(one)}\n" for one in (*[short] * 9, long)]
    written = answers = 0
    with path.open("w") as file:
        while written < BYTES:
            written += file.write(forms[answers % len(forms)] % answers)
            answers += 1
    answered.task(database, tmp_path, topics=[str(topic) for topic in range(answers)])
    team = build.team(database)
    url = database.engine.url.render_as_string(hide_password=False)
    done = subprocess.run(
        [sys.executable, "-c", PEAK, str(path), url, str(team)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    run_id, peak = map(int, done.stdout.split())
    with database.read() as session:
        assert session.scalar(select(func.count()).where(Answer.run_id == run_id)) == answers
    assert peak < MOST_KB
    print(f"{written:,} bytes, {answers:,} answers: {peak:,} KB at most")
