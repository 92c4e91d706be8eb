"""`leaderboard evaluate` from the outside: output, exit codes, errors."""

import gzip
import json
import math
import os
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from leaderboard.cli import main

evaluate = import_module("leaderboard.cli.files.evaluate")
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


def test_documents_are_left_out_by_topic(files: Path) -> None:
    """Scores go to standard output as ever, what was left out beside them; JSON says it too."""
    (files / "earlier").write_text("1 0 b 0\n")
    options = ("--leave-out", files / "earlier", "-m", "RR")
    done = call(files / "qrels", files / "run", *options, "--format", "tsv")
    assert done.stdout.splitlines()[1:] == ["one\tRR\tall\t0.5"]
    assert done.stderr == "residual, 1 document left out.\n"
    done = call(files / "qrels", files / "run", *options, "--format", "json")
    facts = {"documents": 1, "residual": True, "topics_without_relevant": []}
    assert json.loads(done.stdout)["left_out"] == facts
    done = call(files / "qrels", files / "run", "--changed-docnos", files / "earlier")
    assert done.exit_code == 1
    assert "name a list of them too" in done.stderr


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


def test_a_tag_that_is_not_utf_8_comes_out_as_it_went_in(tmp_path: Path) -> None:
    """A tag in Latin-1 is printed with the same bytes: of a run nothing is stored here."""
    (tmp_path / "qrels").write_bytes(b"1 0 a 1\n")
    (tmp_path / "run").write_bytes(b"1 Q0 a 1 1.0 caf\xe9\n")
    done = call(tmp_path / "qrels", tmp_path / "run", "-m", "AP", "--per-topic", "--format", "tsv")
    assert done.exit_code == 0
    assert done.stdout_bytes.splitlines()[1] == b"caf\xe9\tAP\t1\t1.0"


BAD_QRELS = {
    b"1 0 a 0\r1 0 b 1\r2 0 a 1\r": "line 1: '1 0 a 0",
    b"1 0 a 1\n1 0 b 0 0.5\n": "line 2: '1 0 b 0 0.5': A judgment has 4 fields",
    b"1 0 a 1\n1 0 b 18446744073709551617\n": "line 2: grade '18446744073709551617': A grade is",
    b"1 0 a 1\n1 0 b\xfc 0\n": "line 2: bytes",
}


@pytest.mark.parametrize("command", ["evaluate", "compare", "pool", "check"])
@pytest.mark.parametrize("qrels", BAD_QRELS)
@pytest.mark.usefixtures("each_kernel")
def test_every_command_refuses_the_same_qrels(files: Path, command: str, qrels: bytes) -> None:
    """With the line, the value, the rule and what to do, whatever kernel reads them."""
    (files / "bad").write_bytes(qrels)
    arguments = {
        "evaluate": ["evaluate", files / "bad", files / "run"],
        "compare": ["compare", files / "bad", files / "run", files / "run"],
        "pool": ["pool", "--qrels", files / "bad", files / "run"],
        "check": ["check", files / "run", "--qrels", files / "bad"],
    }[command]
    done = CliRunner().invoke(main, list(map(str, arguments)))
    assert (done.exit_code, done.stdout) == (1, "")
    assert BAD_QRELS[qrels] in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("run", "message"),
    [
        ("1 Q0 a 1 2.0 one\n1 Q0 a 2 1.0 one\n", "line 2"),
        ("1 Q0 a 1 2.0 one\n1 Q0 b 2 abc one\n", "line 2"),
        ("1 Q0 a 1 nan one\n", "line 1"),
        ("1 Q0\n", "line 1"),
        ("7 Q0 a 1 2.0 one\n", "has no topic that"),
    ],
)
def test_a_bad_run_is_an_error_and_nothing_is_printed(files: Path, run: str, message: str) -> None:
    """Exit 1, the reason on stderr, nothing on stdout, even after a good run."""
    (files / "bad").write_text(run)
    done = call(files / "qrels", files / "run", files / "bad")
    assert done.exit_code == 1
    assert done.stdout == ""
    assert message in done.stderr
    assert str(files / "bad") in done.stderr
    assert "Traceback" not in done.stderr


def test_an_unknown_measure_is_an_error(files: Path) -> None:
    """A misspelt measure exits 1 with the nearest name."""
    done = call(files / "qrels", files / "run", "-m", "ndgc@10")
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
    names = ["runid", "num_q", *(line.split()[0] for line in theirs[2:])]
    asked = [word for name in names for word in ("-m", name)]
    done = call(folder / "qrels.test.gz", folder / "results.test.gz", *asked)
    assert done.stdout.splitlines() == theirs


def values(done: Result) -> dict[tuple[str, str], str]:
    """(name, topic) -> value of output in trec_eval's format."""
    assert done.exit_code == 0, done.output
    rows = (line.split("\t") for line in done.stdout.splitlines())
    return {(name.strip(), topic): value.strip() for name, topic, value in rows}


def test_names_for_many_measures_at_once(files: Path) -> None:
    """official, set, all_trec and all are trec_eval's sets and ours; a family may have its numbers."""
    names = {
        group: {name for name, _ in values(call(files / "qrels", files / "run", "-m", group))}
        for group in ("official", "set", "all_trec", "all")
    }
    assert {"map", "gm_map", "iprec_at_recall_0.10", "P_1000"} <= names["official"]
    assert "ndcg" not in names["official"]
    assert {"set_P", "set_F", "utility"} <= names["set"]
    assert names["official"] | names["set"] < names["all_trec"]
    assert {"rbp", "unj_5", "Rndcg"} <= names["all_trec"]
    assert len(names["all"]) > len(names["all_trec"]) + 30
    printed = values(call(files / "qrels", files / "run", "-m", "P.1,2", "-m", "ERR(max_rel=3)@5"))
    assert {name for name, _ in printed} == {"P_1", "P_2", "ERR(max_rel=3)@5"}


def test_dialect_9_lacks_what_version_10_added(files: Path) -> None:
    """all_trec of dialect 9 has no rbp and no unj."""
    printed = values(call(files / "qrels", files / "run", "-m", "all_trec", "--dialect", 9))
    assert not {"rbp", "rbp_resid", "unj_5"} & {name for name, _ in printed}


def test_depth_cuts_every_ranking(files: Path) -> None:
    """--depth 1 is trec_eval's -M 1: what ranks below plays no part."""
    printed = values(call(files / "qrels", files / "run", "-m", "map", "-m", "num_ret", "--depth", 1))
    assert (printed["map", "all"], printed["num_ret", "all"]) == ("0.0000", "1")


def test_judged_only_closes_up_the_ranks(tmp_path: Path) -> None:
    """--judged-only drops unjudged documents, for counts too, as trec_eval's -J does."""
    (tmp_path / "qrels").write_text("1 0 a 1\n1 0 j -1\n")
    (tmp_path / "run").write_text("1 Q0 x 1 3 t\n1 Q0 j 2 2 t\n1 Q0 a 3 1 t\n")
    arguments = (tmp_path / "qrels", tmp_path / "run", "-m", "recip_rank", "-m", "num_ret")
    assert values(call(*arguments))["recip_rank", "all"] == "0.3333"
    printed = values(call(*arguments, "--judged-only"))
    assert (printed["recip_rank", "all"], printed["num_ret", "all"]) == ("1.0000", "1")


def test_no_complete_leaves_out_topics_the_run_misses(files: Path) -> None:
    """Without -c trec_eval's mean is over the run's topics only."""
    asked = ("-m", "map", "-m", "num_q", "--no-complete", "--per-topic")
    assert values(call(files / "qrels", files / "run", *asked)) == {
        ("map", "1"): "0.5000",
        ("num_q", "all"): "1",
        ("map", "all"): "0.5000",
    }


def test_parameters_that_trec_eval_passes_over_are_named(files: Path) -> None:
    """As trec_eval, which is silent: the first list of a family counts, and some families take none."""
    done = call(files / "qrels", files / "run", "-m", "P.1", "-m", "P.2", "-m", "binG.0.5")
    assert [line.split()[0] for line in done.stdout.splitlines()] == ["P_1", "binG"]
    assert done.stderr.splitlines() == [
        "note: P.2 is not printed: trec_eval takes the first list of parameters of P. Write all of them "
        "after one dot, separated by commas.",
        "note: binG takes no parameters; trec_eval ignores .0.5, and so does this.",
    ]
    done = call(files / "qrels", files / "run", "-m", "P.1", "-m", "P.2", "-m", "num_q", "--format", "json")
    assert set(json.loads(done.stdout)["runs"][0]["scores"]) == {"P@1", "P@2", "NumQ"}


def test_lines_say_which_of_several_runs_they_are_of(files: Path) -> None:
    """trec_eval takes one run; here the tag comes before the lines of each of many, asked for or not."""
    done = call(files / "qrels", files / "run", files / "run", "-m", "map")
    assert [line.split()[0] for line in done.stdout.splitlines()] == ["runid", "map", "runid", "map"]


def test_the_summary_may_be_left_out(files: Path) -> None:
    """-n, as in trec_eval; elsewhere it has no meaning."""
    done = call(files / "qrels", files / "run", "-q", "-n", "-m", "map")
    assert {topic for _, topic in values(done)} == {"1", "2"}
    done = call(files / "qrels", files / "run", "-n", "--format", "json")
    assert done.exit_code == 2
    assert "--no-summary needs --format trec." in done.stderr


def test_the_collection_size_reaches_measures_that_need_it(files: Path) -> None:
    """A rate over the collection is refused without its size, and computed with it."""
    done = call(files / "qrels", files / "run", "-m", "SetFallout")
    assert (done.exit_code, done.stdout) == (1, "")
    assert "needs the number of documents in the collection" in done.stderr
    done = call(
        files / "qrels", files / "run", "-m", "SetFallout", "--collection-size", 101, "--format", "json"
    )
    assert json.loads(done.stdout)["runs"][0]["scores"] == {"SetFallout": 0.005}


def test_micro_averages_pool_the_topics(tmp_path: Path) -> None:
    """MicroP is all relevant retrieved over all retrieved, not a mean of topics."""
    (tmp_path / "qrels").write_text("1 0 a 1\n2 0 b 1\n")
    (tmp_path / "run").write_text("1 Q0 a 1 9 t\n2 Q0 x 1 9 t\n2 Q0 y 2 8 t\n2 Q0 b 3 7 t\n")
    done = call(tmp_path / "qrels", tmp_path / "run", "-m", "MicroP", "-m", "SetP", "--format", "json")
    assert json.loads(done.stdout)["runs"][0]["scores"] == {"MicroP": 0.5, "SetP": 2 / 3}


@pytest.mark.parametrize("supplied", ["pairs", "texts", ""])
def test_diversity_of_the_top_documents(tmp_path: Path, supplied: str) -> None:
    """Div@k takes dissimilarities from a file, or from the documents' text; without either it is refused."""
    (tmp_path / "qrels").write_text("1 0 a 2\n1 0 b 1\n2 0 z 1\n")
    (tmp_path / "run").write_text("1 Q0 a 1 9 t\n1 Q0 b 2 8 t\n1 Q0 c 3 7 t\n1 Q0 d 4 6 t\n")
    (tmp_path / "pairs").write_text("a b 0.2\na c 0.9\nb c 0.7\n")
    texts = {"a": "red wine", "b": "red meat", "c": "rain", "d": "snow", "unranked": "x"}
    (tmp_path / "texts").write_text("".join(f"{docno}\t{text}\n" for docno, text in texts.items()))
    options = {
        "pairs": ["--dissimilarities", tmp_path / "pairs"],
        "texts": ["--documents", tmp_path / "texts"],
    }
    name = "Div(max_rel=2,lam=0.6)@3"
    done = call(
        tmp_path / "qrels",
        tmp_path / "run",
        "-m",
        name,
        "--per-topic",
        *options.get(supplied, []),
        "--format",
        "json",
    )
    if not supplied:
        assert "needs the documents' text (--documents) or their dissimilarities" in done.stderr
        return
    expected = {"pairs": 0.6 * 1.5 + 0.4 * 1.8, "texts": 0.6 * 1.5 + 0.4 * 2.5}
    scores = json.loads(done.stdout)["runs"][0]["per_topic"]
    assert scores["1"][name] == pytest.approx(expected[supplied], abs=1e-12)
    assert scores["2"][name] == 0.0


def test_output_of_many_topics_comes_out_whole(tmp_path: Path) -> None:
    """Output larger than what is held in memory is printed in full and in order."""
    topics = [f"{topic:05}" for topic in range(2000)]
    (tmp_path / "qrels").write_text("".join(f"{topic} 0 a 1\n" for topic in topics))
    (tmp_path / "run").write_text("".join(f"{topic} Q0 a 1 1 t\n" for topic in topics))
    done = call(tmp_path / "qrels", tmp_path / "run", "-m", "all_trec", "--per-topic")
    assert len(done.stdout) > 5_000_000
    seen = [line.split("\t")[1] for line in done.stdout.splitlines() if line.startswith("map ")]
    assert seen == [*topics, "all"]


def test_subtopics_of_the_qrels_reach_the_diversity_measures(tmp_path: Path) -> None:
    """The second column is the subtopic; measures of grades take the highest grade of a document."""
    (tmp_path / "qrels").write_text("1 1 a 1\n1 2 b 2\n1 3 c 1\n1 2 c 0\n")
    (tmp_path / "run").write_text("1 Q0 a 1 9 t\n1 Q0 x 2 8 t\n1 Q0 b 3 7 t\n")
    done = call(
        tmp_path / "qrels",
        tmp_path / "run",
        "-m",
        "StRecall@1",
        "-m",
        "StRecall@3",
        "-m",
        "nDCG@3",
        "--format",
        "json",
    )
    scores = json.loads(done.stdout)["runs"][0]["scores"]
    assert scores == {
        "StRecall@1": 1 / 3,
        "StRecall@3": 2 / 3,
        "nDCG@3": pytest.approx(2 / (2.5 + 1 / math.log2(3))),
    }
    done = call(tmp_path / "qrels", tmp_path / "run", "-m", "all")
    assert "alpha_nDCG" in {name for name, _ in values(done)}


def test_preferences_reach_the_preference_measures(files: Path) -> None:
    """--preferences gives what those measures need; without it they are refused."""
    (files / "preferences").write_text("1 b a\n1 a c\n2 x y\n")
    done = call(
        files / "qrels",
        files / "run",
        "--preferences",
        files / "preferences",
        "-m",
        "PrefsSimp",
        "--per-topic",
        "--format",
        "json",
    )
    scores = json.loads(done.stdout)["runs"][0]["per_topic"]
    assert scores == {"1": {"PrefsSimp": 1.0}, "2": {"PrefsSimp": 0.0}}
    refused = call(files / "qrels", files / "run", "-m", "PrefsSimp")
    assert "needs preference judgments" in refused.stderr


@pytest.mark.parametrize(("words", "code"), [(["--format", "trec"], 0), (["-m", "nothing"], 1)])
def test_the_program_prints_all_before_it_ends_at_once(files: Path, words: list[str], code: int) -> None:
    """What it would print without tidying up too, and the same exit code."""
    command = [sys.executable, "-c", "from leaderboard.cli import program; program()"]
    done = subprocess.run(
        [*command, "evaluate", "qrels", "run", *words], cwd=files, capture_output=True, text=True, check=False
    )
    expected = call(files / "qrels", files / "run", *words)
    assert (done.returncode, done.stdout) == (code, expected.stdout)
    assert done.returncode == expected.exit_code


LITTLE = """
import os, sys
from leaderboard.cli import program

def ended(code, leave=os._exit):
    threads = len(os.listdir("/proc/self/task")), os.environ["OPENBLAS_NUM_THREADS"]
    print(sorted(unused & sys.modules.keys()), *threads, flush=True)
    leave(code)

unused = {"bz2", "concurrent.futures", "logging", "lzma", "sqlalchemy", "tempfile", "zstandard"}
os._exit = ended
program()
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_a_plain_run_is_scored_without_what_it_does_not_need(files: Path) -> None:
    """Neither modules that take longer to load than the run, nor threads that wait for sums of matrices."""
    command = [sys.executable, "-c", LITTLE, "evaluate", "qrels", "run", "-m", "AP"]
    environment = {name: value for name, value in os.environ.items() if name != "OPENBLAS_NUM_THREADS"}
    done = subprocess.run(command, cwd=files, env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[] 1 1"
    environment["OPENBLAS_NUM_THREADS"] = "2"
    done = subprocess.run(command, cwd=files, env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1].endswith(" 2"), "a number that was chosen stays"


def test_a_large_output_is_that_of_a_small_one(files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It waits in a file until all runs were read; where one cannot be, nothing is printed."""
    expected = call(files / "qrels", files / "run", "--per-topic").stdout
    monkeypatch.setattr(evaluate, "MEMORY_BYTES", 10)
    assert call(files / "qrels", files / "run", "--per-topic").stdout == expected
    (files / "broken").write_text("1 Q0 a\n")
    done = call(files / "qrels", files / "run", files / "broken", "--per-topic")
    assert (done.exit_code, done.stdout) == (1, "")
