"""`leaderboard evaluate` from the outside: output, exit codes, errors."""

import gzip
import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from leaderboard.cli import main

QRELS = "1 0 a 1\n1 0 b 0\n2 0 a 2\n2 0 c 1\n"
RUN = "1 Q0 b 1 2.0 one\n1 Q0 a 2 1.0 one\n"


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """A folder with a qrels file of two topics and a run that misses the second."""
    (tmp_path / "qrels").write_text(QRELS)
    (tmp_path / "run").write_text(RUN)
    return tmp_path


def call(*arguments: object) -> Result:
    """What the command does with these arguments."""
    return CliRunner().invoke(main, ["evaluate", *map(str, arguments)])


def test_output_looks_as_trec_evals(files: Path) -> None:
    """Default measures, means over both judged topics, in trec_eval's format."""
    done = call(files / "qrels", files / "run")
    assert done.exit_code == 0
    lines = dict(line.split("\tall\t") for line in done.stdout.splitlines())
    assert lines["runid                 "] == "one"
    assert lines["num_q                 "] == "2"
    assert lines["num_rel               "] == "3"
    assert lines["map                   "] == "0.2500"
    assert lines["ndcg_cut_10           "] == "0.3155"


def test_per_topic_prints_missed_topics_too(files: Path) -> None:
    """A judged topic the run misses is printed with the score of an empty ranking."""
    done = call(files / "qrels", files / "run", "-m", "AP", "--per-topic", "--format", "tsv")
    assert done.stdout.splitlines() == [
        "run\tmeasure\ttopic\tvalue",
        "one\tAP\t1\t0.5",
        "one\tAP\t2\t0.0",
        "one\tAP\tall\t0.25",
    ]


def test_level_reaches_every_measure_that_takes_rel(files: Path) -> None:
    """--level 2 scores at grade 2; in TSV the measure's key says so, in trec format map stays map."""
    done = call(files / "qrels", files / "run", "-m", "map", "-m", "nDCG", "--level", 2, "--format", "tsv")
    assert [line.split("\t")[1] for line in done.stdout.splitlines()[1:]] == ["AP(rel=2)", "nDCG"]
    done = call(files / "qrels", files / "run", "-m", "map", "--level", 2)
    assert done.stdout.splitlines()[-1] == "map                   \tall\t0.0000"


def test_dialect_decides_near_ties(tmp_path: Path) -> None:
    """Scores equal in 32 bits only: RR is 1 in dialect 9 and 1/2 in dialect 10, the default."""
    (tmp_path / "qrels").write_text("1 0 b 1\n")
    (tmp_path / "run").write_text("1 Q0 a 1 16777217 x\n1 Q0 b 2 16777216 x\n")
    for options, expected in (([], 0.5), (["--dialect", "10"], 0.5), (["--dialect", "9"], 1.0)):
        done = call(tmp_path / "qrels", tmp_path / "run", "-m", "RR", "--format", "json", *options)
        assert json.loads(done.stdout)["runs"][0]["scores"] == {"RR": expected}


def test_several_runs_are_told_apart(files: Path) -> None:
    """Runs go by their tag, and by their file where two share one."""
    (files / "other").write_text(RUN.replace("one", "two"))
    (files / "copy").write_text(RUN)
    done = call(files / "qrels", files / "run", files / "other", "-m", "AP", "--format", "tsv")
    assert [line.split("\t")[0] for line in done.stdout.splitlines()[1:]] == ["one", "two"]
    done = call(files / "qrels", files / "run", files / "copy", "-m", "AP", "--format", "tsv")
    assert [Path(line.split("\t")[0]).name for line in done.stdout.splitlines()[1:]] == ["one", "copy"]


def test_ids_that_are_not_utf_8_come_out_as_they_went_in(tmp_path: Path) -> None:
    """A topic id in Latin-1 is printed with the same bytes."""
    (tmp_path / "qrels").write_bytes(b"caf\xe9 0 a 1\n")
    (tmp_path / "run").write_bytes(b"caf\xe9 Q0 a 1 1.0 x\n")
    done = call(tmp_path / "qrels", tmp_path / "run", "-m", "AP", "--per-topic", "--format", "tsv")
    assert done.exit_code == 0
    assert done.stdout_bytes.splitlines()[1] == b"x\tAP\tcaf\xe9\t1.0"


@pytest.mark.parametrize(
    ("run", "said"),
    [
        ("1 Q0 a 1 2.0 one\n1 Q0 a 2 1.0 one\n", "line 2"),
        ("1 Q0 a 1 2.0 one\n1 Q0 b 2 abc one\n", "line 2"),
        ("1 Q0 a 1 nan one\n", "line 1"),
        ("1 Q0 a 1 2.0\n", "line 1"),
        ("7 Q0 a 1 2.0 one\n", "has no topic that"),
    ],
)
def test_a_bad_run_is_an_error_and_nothing_is_printed(files: Path, run: str, said: str) -> None:
    """Exit 1, the reason on stderr, nothing on stdout, even after a good run."""
    (files / "bad").write_text(run)
    done = call(files / "qrels", files / "run", files / "bad")
    assert done.exit_code == 1
    assert done.stdout == ""
    assert said in done.stderr
    assert str(files / "bad") in done.stderr
    assert "Traceback" not in done.stderr


def test_an_unknown_measure_is_an_error(files: Path) -> None:
    """A misspelt measure exits 1 with the nearest name."""
    done = call(files / "qrels", files / "run", "-m", "ndcg@10")
    assert (done.exit_code, done.stdout) == (1, "")
    assert "did you mean nDCG@10?" in done.stderr


def test_a_level_out_of_range_is_an_error(files: Path) -> None:
    """--level 0 exits 1 with the allowed range."""
    done = call(files / "qrels", files / "run", "--level", 0)
    assert (done.exit_code, done.stdout) == (1, "")
    assert "from 1 to" in done.stderr


def test_qrels_without_judgments_are_an_error(files: Path) -> None:
    """An empty qrels file exits 1; there is nothing to take a mean over."""
    (files / "empty").write_text("")
    done = call(files / "empty", files / "run")
    assert (done.exit_code, done.stdout) == (1, "")
    assert "judgments" in done.stderr


def test_trec_evals_own_output_line_for_line(shared_data: Path) -> None:
    """On trec_eval's own example the measures it prints by default are printed as it prints them."""
    folder = shared_data / "trec_eval-suite"
    with gzip.open(folder / "out.test.gz", "rt") as lines:
        theirs = [line for line in lines.read().splitlines() if not line.startswith(("gm_map", "iprec"))]
    names = [line.split()[0] for line in theirs[2:]]
    done = call(
        folder / "qrels.test.gz",
        folder / "results.test.gz",
        *(each for name in names for each in ("-m", name)),
    )
    assert done.stdout.splitlines() == theirs
