"""Large files of answers are read line by line."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.make.answers import line

MOST_KB = 200 * 1024
BYTES = 100_000_000
PEAK = """
import sys
from pathlib import Path
from leaderboard.trec.answers.check import AnswerRules, check_answers
report = check_answers(Path(sys.argv[1]), AnswerRules())
assert report.accepted, report.problems
status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
print(report.facts["answers"], status["VmHWM"].split()[0])
"""


@pytest.mark.trial
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="peak memory is read from /proc")
def test_a_hundred_megabytes_take_less_than_two_hundred(tmp_path: Path) -> None:
    """The peak of a process that checks 100 MB of answers, nine short ones to each of 280 KB."""
    path = tmp_path / "run.jsonl"
    short, long = line("report", "metadata.topic_id", "%d"), line("report", "metadata.topic_id", "%d")
    long["responses"] *= 3000
    forms = [f"{json.dumps(one)}\n" for one in (*[short] * 9, long)]
    written = answers = 0
    with path.open("w") as file:
        while written < BYTES:
            written += file.write(forms[answers % len(forms)] % answers)
            answers += 1
    done = subprocess.run(
        [sys.executable, "-c", PEAK, str(path)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    read, peak = map(int, done.stdout.split())
    assert read == answers
    assert peak < MOST_KB
