"""`evaluate --format trec` under every option, held against trec_eval's main loop.

The values are those of the compiled trec_eval 9; the loop over topics, the sums and the lines are
written here after trec_eval.c, meas_avg.c and meas_print.c of versions 9 and 10.
"""

import gzip
import math
import os
import subprocess
from itertools import product
from pathlib import Path
from random import Random

import numpy as np
import pytest
import pytrec_eval
from click.testing import CliRunner

from leaderboard.cli import main
from leaderboard.measures.trec_families import FAMILIES, family_of

Qrels = dict[str, dict[str, int]]
Rankings = dict[str, list[str]]
Values = dict[str, float | str]

COLLECTION = 1000
WEIGHTS = (1.0, -1.0, 0.5, 0.25)
STAND_IN = "ceci_nest_pas_un_docno"
COUNTS = {"num_ret", "num_rel", "num_rel_ret", "num_nonrel_judged_ret"}
WITHOUT_AVERAGE = {"relstring", "relstring_3"}
ROUNDED_OTHERWISE = ("iprec_at_recall", "11pt_avg", "Rprec_mult")
"""What version 10 computes otherwise than the compiled version 9."""


def made_up() -> tuple[Qrels, Rankings]:
    """Six judged topics of grades -1 to 3, of which the run misses two, and a topic nobody judged."""
    rng = np.random.default_rng(7)
    qrels = {
        topic: {f"d{n}": int(grade) for n, grade in enumerate(rng.integers(-1, 4, 12))}
        for topic in ("1", "10", "2", "3", "4", "5")
    }
    rankings = {
        topic: [f"d{n}" for n in rng.permutation(20)[:length].tolist()]
        for topic, length in (("1", 9), ("2", 15), ("3", 1), ("5", 20), ("9", 4))
    }
    return qrels, rankings


QRELS, RANKINGS = made_up()


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    """The qrels and the run as files."""
    folder: Path = tmp_path_factory.mktemp("options")
    lines = [f"{topic} 0 {docno} {grade}\n" for topic, of in QRELS.items() for docno, grade in of.items()]
    (folder / "qrels").write_text("".join(lines))
    run = [
        f"{topic} Q0 {docno} {rank} {100 - rank} tag\n"
        for topic, docnos in RANKINGS.items()
        for rank, docno in enumerate(docnos, 1)
    ]
    (folder / "run").write_text("".join(run))
    return str(folder / "qrels"), str(folder / "run")


def values_of(topic: str, docnos: list[str], level: int, judged_only: bool) -> Values:
    """A topic's values under trec_eval's names, geometric means as logarithms."""
    measures = pytrec_eval.supported_measures - {"runid", "num_q", "relstring", "utility"}
    evaluator = pytrec_eval.RelevanceEvaluator({topic: QRELS[topic]}, measures, level, judged_only)
    scores = {docno: -float(rank) for rank, docno in enumerate(docnos)}
    printed = evaluator.evaluate({topic: scores})[topic]
    # Interpolated precision of a ranking of which -J leaves nothing is nan there and 0 here.
    values: Values = {name: 0.0 if math.isnan(value) else value for name, value in printed.items()}
    grades = QRELS[topic]
    if judged_only:
        docnos = [docno for docno in docnos if grades.get(docno, -1) >= 0]
    seen = sum(grades.get(docno, -1) >= level for docno in docnos)
    relevant = sum(grade >= level for grade in grades.values())

    def utility(weights: tuple[float, ...]) -> float:
        others = COLLECTION + seen - len(docnos) - relevant
        counts = (seen, len(docnos) - seen, relevant - seen, others)
        return sum(weight * count for weight, count in zip(weights, counts, strict=True))

    text = "".join({None: "-", -1: "."}.get(grade, str(grade)) for grade in map(grades.get, docnos))
    given = ",".join(f"{weight:g}" for weight in WEIGHTS)
    return values | {
        "utility": utility((1, -1, 0, 0)),
        f"utility_{given}": utility(WEIGHTS),
        "relstring": text[:10],
        "relstring_3": text[:3],
    }


def line(name: str, topic: str, value: float | str) -> str:
    """A line as trec_eval prints it."""
    if isinstance(value, str):
        return f"{name:<22}\t{topic}\t'{value}'"
    return f"{name:<22}\t{topic}\t{int(value)}" if name in COUNTS else f"{name:<22}\t{topic}\t{value:6.4f}"


def place(name: str) -> tuple[int, float]:
    """Where a name stands among the others."""
    family = family_of("relstring" if name.startswith("relstring") else name)
    tail = name.removeprefix(family.name).removeprefix("_")
    return FAMILIES.index(family), float(tail) if tail.replace(".", "").isdigit() else len(tail)


def of_all(by_topic: list[Values], name: str, topics: int) -> float:
    """The value for all topics, sums added in the order of topics."""
    total = 0.0
    for values in by_topic:
        total += float(values[name])
    if name in COUNTS:
        return total
    if name.startswith("gm_"):
        return math.exp((total + (topics - len(by_topic)) * math.log(1e-5)) / topics)
    return total / topics


def trec_eval(
    dialect: int, level: int, depth: int | None, judged_only: bool, complete: bool, per_topic: bool
) -> list[str]:
    """What trec_eval prints with -l, -M, -J, -c and -q, for what the compiled version computes alike."""
    lines, by_topic, names = [], [], []
    for topic in sorted(QRELS):
        docnos = RANKINGS.get(topic, [])[:depth]
        if not docnos and not (complete and dialect == 10):
            continue
        values = values_of(topic, docnos or [STAND_IN], level, judged_only)
        if not docnos:
            values |= {"num_ret": 0.0, "utility": 0.0, "relstring": ""}
        if dialect == 10:
            values = {name: value for name, value in values.items() if not name.startswith(ROUNDED_OTHERWISE)}
        names = sorted(values, key=place)
        by_topic.append(values)
        if per_topic:
            lines += [line(name, topic, values[name]) for name in names if not name.startswith("gm_")]
    topics = len(QRELS) if complete else len(by_topic)
    lines += ["runid                 \tall\ttag", f"num_q                 \tall\t{topics}"]
    for name in names:
        if name == "num_rel" and complete:
            above_0 = sum(grade > 0 for grades in QRELS.values() for grade in grades.values())
            lines.append(line(name, "all", above_0))
        elif name not in WITHOUT_AVERAGE:
            lines.append(line(name, "all", of_all(by_topic, name, topics)))
    return lines


OPTIONS = list(product((9, 10), (1, 2), (None, 3), (False, True), (False, True), (False, True)))


@pytest.mark.parametrize(("dialect", "level", "depth", "judged_only", "complete", "per_topic"), OPTIONS)
def test_every_option_prints_what_trec_eval_prints(
    files: tuple[str, str],
    dialect: int,
    level: int,
    depth: int | None,
    judged_only: bool,
    complete: bool,
    per_topic: bool,
) -> None:
    """Line for line, missed topics included, for all measures that the compiled trec_eval computes alike."""
    options = ["--dialect", str(dialect), "--level", str(level), "--collection-size", str(COLLECTION)]
    options += ["--depth", str(depth)] if depth else []
    options += ["--judged-only"] if judged_only else []
    options += ["--complete" if complete else "--no-complete", *(["--per-topic"] if per_topic else [])]
    weights = ",".join(f"{weight:g}" for weight in WEIGHTS)
    expected = trec_eval(dialect, level, depth, judged_only, complete, per_topic)
    named = {f"utility_{weights}", "relstring_3"}
    for names, own in ([f"utility.{weights}", "relstring.3"], True), (["all_trec"], False):
        done = CliRunner().invoke(
            main, ["evaluate", *files, *options, *(part for name in names for part in ("-m", name))]
        )
        assert done.exit_code == 0, done.output
        wanted = [each for each in expected if (each.split("\t")[0].rstrip() in named) == own]
        known = {each.split("\t")[0] for each in wanted}
        lines = [each for each in done.stdout.splitlines() if each.split("\t")[0] in known]
        assert lines == wanted
        unknown = {each.split()[0] for each in done.stdout.splitlines()} - {name.strip() for name in known}
        assert all(name.startswith((*ROUNDED_OTHERWISE, "rbp", "unj")) for name in unknown)
        assert not unknown or (dialect == 10 and not own)


def test_a_residual_with_a_parameter_keeps_what_version_10_puts_in_the_place_of_a_missed_topic(
    files: tuple[str, str],
) -> None:
    """rbp_resid is 0 there, rbp_resid_p=0.8 that of one unjudged document: .2 + .8."""
    for name, more, value in (
        ("rbp_resid", [], "0.0000"),
        ("rbp_resid", ["--judged-only"], "0.0000"),
        ("rbp_resid.p=0.8", [], "1.0000"),
        ("rbp_resid.p=0.8", ["--judged-only"], "0.0000"),
    ):
        lines = CliRunner().invoke(main, ["evaluate", *files, "-q", "-m", name, *more]).stdout.splitlines()
        assert f"{name.replace('.p', '_p'):<22}\t10\t{value}" in lines


TREC_EVAL = os.environ.get("TREC_EVAL", "")
FREE = {
    "P": lambda draw: ",".join(map(str, draw.sample(range(1, 1500), draw.randint(1, 4)))),
    "iprec_at_recall": lambda draw: ",".join(f"{each / 100:g}" for each in draw.sample(range(101), 3)),
    "Rprec_mult": lambda draw: ",".join(f"{each / 10:g}" for each in draw.sample(range(1, 30), 2)),
    "11pt_avg": lambda draw: ",".join(f"{each / 20:.2f}" for each in sorted(draw.sample(range(21), 4))),
    "utility": lambda draw: ",".join(draw.choice(["1", "-1.0", "0.50", "0"]) for _ in range(4)),
    "relstring": lambda draw: str(draw.randint(1, 30)),
    "set_F": lambda draw: draw.choice(["0.25", "1.0", "2", "4"]),
    "ndcg": lambda draw: f"1={draw.randint(1, 3)}.0,2={draw.randint(4, 9)}",
    "G": lambda draw: f"2={draw.randint(4, 9)}",
}
"""Parameters that are drawn for a family of trec_eval's; those with cut-offs are drawn as P's are."""
CUT = ("recall", "ndcg_cut", "map_cut", "relative_P", "success")


@pytest.mark.skipif(not TREC_EVAL, reason="TREC_EVAL names no trec_eval of version 9")
def test_a_trec_eval_prints_the_same_for_any_choice(shared_data: Path, tmp_path: Path) -> None:
    """500 random choices of measures, parameters, levels and flags on real runs, byte for byte."""
    draw = Random(9)
    for folder in ("robust03", "tilde-dl19", "cast2021"):
        source = shared_data / folder
        runs = sorted((source / "runs").glob("*.gz"))[:3]
        for path in (source / "qrels.txt.gz", *runs):
            (tmp_path / f"{folder}.{path.stem}").write_bytes(gzip.decompress(path.read_bytes()))
    files = [(each, tmp_path / f"{each.name.split('.')[0]}.qrels.txt") for each in sorted(tmp_path.iterdir())]
    pairs = [(run, qrels) for run, qrels in files if run != qrels]
    known = [family.name for family in FAMILIES if 9 in family.dialects]
    for _ in range(500):
        arguments = ["-m", "runid"] if draw.random() < 0.3 else []
        for name in draw.sample(known, draw.randint(1, 6)):
            free = FREE.get("P" if name in CUT else name)
            given = f".{free(draw)}" if free and draw.random() < 0.7 else ""
            arguments += ["-m", f"{name}{given}"]
        arguments += [flag for flag in ("-q", "-n") if draw.random() < 0.4]
        arguments += ["-N", "500000"]
        for option, value in ("-l", draw.randint(1, 3)), ("-M", draw.randint(1, 300)):
            arguments += [option, str(value)] if draw.random() < 0.4 else []
        complete = draw.random() < 0.5
        run, qrels = map(str, draw.choice(pairs))
        command = [TREC_EVAL, *arguments, *(["-c"] if complete else []), qrels, run]
        theirs = subprocess.run(command, capture_output=True, check=True)
        ours = ["evaluate", "--dialect", "9", "-c" if complete else "--no-complete", *arguments, qrels, run]
        done = CliRunner().invoke(main, ours)
        assert done.stdout_bytes == theirs.stdout, (arguments, done.stderr)
