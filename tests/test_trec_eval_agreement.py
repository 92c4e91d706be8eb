"""Agreement with trec_eval: its printed figures on real runs, and its doubles on generated ones."""

import gzip
import math
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path
from random import Random

import numpy as np
import pytest
import pytrec_eval

from leaderboard.errors import Invalid
from leaderboard.measures.binding import LEAST_SCORE, BoundMeasure, with_level
from leaderboard.measures.grammar import parse
from leaderboard.measures.judged import Judged
from leaderboard.measures.selection import select
from leaderboard.measures.trec_families import FAMILIES
from leaderboard.measures.trec_lines import requested
from leaderboard.measures.trec_names import from_trec_name, trec_name
from leaderboard.trec.qrels.align import CompiledJudgments, align, compile_judgments
from leaderboard.trec.qrels.qrels import read_qrels
from leaderboard.trec.runs.runs import Ranking, Run, read_run
from leaderboard.trec.scores.in_memory import missed
from leaderboard.trec.scores.report import RunScores, trec
from tests.make.loops import some
from tests.measures.test_trec_families import names_of

EXPECTED_FILE = re.compile(r"(?P<run>.+)\.l(?P<level>[12])(?P<complete>c?)\.v(?P<dialect>9|10)\.txt\.gz")
WEB_QRELS = {"wt11": "101-150", "wt12": "151-200", "wt13": "201-250", "wt14": "251-300"}
FOLDERS = (
    "robust03",
    "touche2020-beir",
    "cedr-robust-wt",
    "clef-tar2017",
    "tilde-dl19",
    "cast2021",
    "ir_measures-compat",
)

QUICK = ("touche2020-beir", "tilde-dl19", "ir_measures-compat")
"""Those whose runs are short."""

PUBLISHED_OTHERWISE = {("THUIRr0301", "Rprec"): "0.2853"}
"""What trec_eval 9 and 10 print where the published figure differs: 0.285252 came out as 0.2852 in 2003."""

Figures = dict[tuple[str, str], str]
"""(trec_eval's name, topic or `all`) -> the value as printed."""


@cache
def cached_run(path: Path) -> Run:
    """The run of a file, read once a session."""
    return read_run(path, strict=False)


@cache
def cached_qrels(path: Path) -> CompiledJudgments:
    """The judgments of a file, read once a session."""
    return compile_judgments(read_qrels(path).judgments)


@cache
def cached_judged(run: Path, qrels: Path, dialect: int, depth: int | None = None) -> Judged:
    """A run aligned with judgments, once a session; the relevance level plays no part in it."""
    rankings = cached_run(run).rankings.values()
    return align(rankings, cached_qrels(qrels), dialect=dialect, depth=depth)


def printed(path: Path) -> Figures:
    """What trec_eval printed into a file."""
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        fields = (line.rstrip("\n").split("\t") for line in lines)
        return {(name.strip(), topic): value for name, topic, value in fields}


def files_of(folder: Path, run: str) -> tuple[Path, Path]:
    """The run file and the qrels file an expected file's name stands for."""
    if folder.name == "cedr-robust-wt":
        name = f"web.{WEB_QRELS[run]}" if run in WEB_QRELS else "trec8-adhoc.401-450"
        return folder / "runs" / f"{run}.gz", folder / f"qrels.{name}.txt.gz"
    if folder.name == "clef-tar2017":
        run, _, kind = run.rpartition(".")
        return folder / "runs" / f"{run}.gz", folder / f"qrels.{kind}.txt.gz"
    if folder.name == "ir_measures-compat":
        return folder / "compat.run.gz", folder / "compat.qrels.gz"
    return folder / "runs" / f"{run}.gz", folder / "qrels.txt.gz"


def measures_of(figures: Figures, level: int) -> Iterator[tuple[str, BoundMeasure]]:
    """The measures of all of trec_eval's names but the run's tag, at that relevance level."""
    for name in dict.fromkeys(name for name, _ in figures if name != "runid"):
        measure = from_trec_name(name)
        assert measure is not None, name
        yield name, with_level(measure, level)


def as_printed(measure: BoundMeasure, value: float | str) -> str:
    """A value with the decimals trec_eval prints, or a string in its quotes."""
    return f"'{value}'" if isinstance(value, str) else f"{value:.{measure.measure.digits}f}"


def differences(figures: Figures, judged: Judged, level: int) -> tuple[list[str], int]:
    """Where our figures differ from trec_eval's or lack one, and how many were compared.

    Its mean leaves out judged topics the run misses unless called with -c; ours never does, so
    `all` is compared only where it averaged over as many topics as we do.
    """
    topics = judged.judgments.topics
    same_topics = figures.get(("num_q", "all"), str(len(topics))) == str(len(topics))
    ours: dict[tuple[str, str], str] = {}
    for name, measure in measures_of(figures, level):
        scores = measure.compute(judged)
        for topic, value in zip(topics, scores.tolist(), strict=True):
            ours[name, topic] = as_printed(measure, value)
        if measure.measure.aggregate != "none":
            ours[name, "all"] = as_printed(measure, measure.aggregate(scores))
    expected = {
        (name, topic): value
        for (name, topic), value in figures.items()
        if name != "runid" and (same_topics or topic != "all")
    }
    wrong = [
        f"{' '.join(place)}: {ours.get(place)}, trec_eval {value}"
        for place, value in expected.items()
        if ours.get(place) != value
    ]
    return wrong, len(expected)


@pytest.mark.parametrize("folder", some(FOLDERS, QUICK))
def test_every_printed_figure_of_real_runs_is_reproduced(shared_data: Path, folder: str) -> None:
    """Per topic and mean, both levels, both dialects: to the last digit trec_eval prints."""
    wrong, compared, files = [], 0, 0
    for path in sorted((shared_data / folder / "expected").glob("*.txt.gz")):
        match = EXPECTED_FILE.fullmatch(path.name)
        assert match, path.name
        run, qrels = files_of(shared_data / folder, match["run"])
        found, count = differences(
            printed(path), cached_judged(run, qrels, int(match["dialect"])), int(match["level"])
        )
        wrong += [f"{path.name} {each}" for each in found]
        compared, files = compared + count, files + 1
    assert not wrong
    assert files >= 4
    assert compared > 50 * files


def report_of(judged: Judged, tag: str, measures: Iterable[BoundMeasure | None], complete: bool) -> RunScores:
    """The scores by measures; not complete: without the topics the run misses."""
    wanted = (judged.retrieved > 0) | complete
    topics = [topic for topic, keep in zip(judged.judgments.topics, wanted, strict=True) if keep]
    scores = {measure: measure.compute(judged)[wanted] for measure in measures if measure is not None}
    return RunScores(tag, tuple(topics), scores, missed=missed(judged, scores) if complete else None)


@cache
def whole_report(path: Path) -> RunScores:
    """All that `-m all_trec` prints, for the run, qrels and options in the name of an expected file."""
    match = EXPECTED_FILE.fullmatch(path.name)
    assert match, path.name
    dialect, level = int(match["dialect"]), int(match["level"])
    run, qrels = files_of(path.parent.parent, match["run"])
    lines, _ = requested(["all_trec"], dialect, level)
    judged = cached_judged(run, qrels, dialect)
    return report_of(judged, cached_run(run).tag, [line.measure for line in lines], bool(match["complete"]))


@cache
def printed_lines(path: Path) -> tuple[str, ...]:
    """The lines of an expected file."""
    with gzip.open(path, "rt", encoding="utf-8") as expected:
        return tuple(expected.read().splitlines())


def a_choice(draw: Random, dialect: int) -> tuple[list[str], set[str]]:
    """Random arguments of -m, and the names of the lines that they stand for."""
    if draw.random() < 0.1:
        group = draw.choice(["official", "set", "all_trec"])
        families = [each for each in FAMILIES if group in each.groups and dialect in each.dialects]
        return [group], {"runid"} | {name for family in families for name in names_of(family)}
    known = [each for each in FAMILIES if each.groups and dialect in each.dialects]
    arguments, names = [], set()
    for family in draw.sample(known, draw.randint(1, 8)):
        if family.form == "each" and draw.random() < 0.7:
            cutoffs = draw.sample(family.defaults, draw.randint(1, len(family.defaults)))
            arguments.append(f"{family.name}.{','.join(cutoffs)}")
            names |= {f"{family.name}_{cutoff}" for cutoff in cutoffs}
        else:
            arguments.append(family.name)
            names |= set(names_of(family))
    if draw.random() < 0.3:
        arguments.append("runid")
        names.add("runid")
    draw.shuffle(arguments)
    return arguments, names


@pytest.mark.trial
def test_500_random_choices_print_what_trec_eval_prints(shared_data: Path) -> None:
    """Byte for byte, any choice of measures and cut-offs, with -q, -n, -l and -c, by both versions."""
    files = [
        path for folder in FOLDERS for path in sorted((shared_data / folder / "expected").glob("*.txt.gz"))
    ]
    draw = Random(2026)
    for _ in range(500):
        path = draw.choice(files)
        match = EXPECTED_FILE.fullmatch(path.name)
        assert match, path.name
        arguments, names = a_choice(draw, int(match["dialect"]))
        per_topic, summary = draw.random() < 0.5, draw.random() < 0.8
        lines, notes = requested(arguments, int(match["dialect"]), int(match["level"]))
        ours = "".join(trec([whole_report(path)], lines, per_topic=per_topic, summary=summary)).splitlines()
        theirs = [
            line
            for line in printed_lines(path)
            if line.split("\t")[0].rstrip() in names
            and (summary if line.split("\t")[1] == "all" else per_topic)
        ]
        assert ours == theirs, (path.name, arguments)
        assert not notes


@pytest.mark.parametrize("folder", some(FOLDERS, QUICK))
def test_the_report_is_trec_evals_byte_for_byte(shared_data: Path, folder: str) -> None:
    """`-q -m all_trec` of both versions, with and without -c; version 9 prints no topic the run misses."""
    files = sorted((shared_data / folder / "expected").glob("*.txt.gz"))
    for path in files:
        match = EXPECTED_FILE.fullmatch(path.name)
        assert match, path.name
        lines, _ = requested(["all_trec"], int(match["dialect"]), int(match["level"]))
        ours = "".join(trec([whole_report(path)], lines, per_topic=True)).splitlines()
        assert ours == list(printed_lines(path)), path.name
    assert len(files) >= 4


@pytest.mark.trial
def test_every_mean_over_all_judged_topics_is_compared(shared_data: Path) -> None:
    """A run that misses judged topics has the mean trec_eval prints with -c, on both qrels."""
    folder = shared_data / "clef-tar2017"
    for kind in ("abs", "content"):
        figures = printed(folder / "expected" / f"iiit.run1.{kind}.l1c.v10.txt.gz")
        run, qrels = files_of(folder, f"iiit.run1.{kind}")
        judged = cached_judged(run, qrels, 10)
        assert (judged.retrieved == 0).any()
        assert (
            as_printed(parse("AP"), parse("AP").aggregate(parse("AP").compute(judged)))
            == figures["map", "all"]
        )


def test_a_document_twice_in_a_topic_is_refused(shared_data: Path) -> None:
    """The real run trec_eval stops at (ERRORS.tsv) is refused here too."""
    with pytest.raises(Invalid, match="has this document already"):
        read_run(shared_data / "clef-tar2017" / "runs" / "uos.sis.TMAL30Q_BM25.gz", strict=False)


@pytest.mark.parametrize(
    ("expected", "run", "qrels", "level", "depth"),
    [
        ("out.test", "results.test", "qrels.test", 1, None),
        ("out.test.a", "results.test", "qrels.test", 1, None),
        ("out.test.aq", "results.test", "qrels.test", 1, None),
        ("out.test.aqc", "results.trunc", "qrels.test", 1, None),
        ("out.test.aqcM", "results.trunc", "qrels.test", 1, 100),
        ("out.test.aql", "results.test", "qrels.rel_level", 2, None),
        ("out.test.meas_params", "results.test", "qrels.test", 1, None),
        ("out.comment.test", "results.comment.test", "qrels.comment.test", 1, None),
        ("out.test", "results.test", "qrels.test.with-comments", 1, None),
    ],
)
def test_trec_evals_own_regression_files_are_reproduced(
    shared_data: Path, expected: str, run: str, qrels: str, level: int, depth: int | None
) -> None:
    """trec_eval's own golden outputs: -q, -c, -M, -l, parameters, and comment lines."""
    folder = shared_data / "trec_eval-suite"
    judged = cached_judged(folder / f"{run}.gz", folder / f"{qrels}.gz", 10, depth)
    wrong, compared = differences(printed(folder / f"{expected}.gz"), judged, level)
    assert not wrong
    assert compared >= 15


@pytest.mark.parametrize(
    ("folder", "count"),
    [pytest.param("robust03", 40, marks=pytest.mark.trial), ("touche2020-beir", 12), ("tilde-dl19", 4)],
)
def test_published_scores_are_reproduced(shared_data: Path, folder: str, count: int) -> None:
    """Every published score, in the dialect of its time, but one that trec_eval itself contradicts."""
    with gzip.open(shared_data / folder / "official.tsv.gz", "rt", encoding="utf-8") as lines:
        rows = [line.rstrip("\n").split("\t") for line in lines][1:]
    assert len(rows) == count
    for run, name, arguments, published in rows:
        measure = with_level(parse(name), 2 if "-l 2" in arguments else 1)
        judged = cached_judged(*files_of(shared_data / folder, run), 9)
        value = measure.aggregate(measure.compute(judged))
        digits = len(published.partition(".")[2])
        expected = PUBLISHED_OTHERWISE.get((run, name), published)
        assert f"{value:.{digits}f}" == expected, (run, name)


def generated(seed: int) -> tuple[dict[str, dict[bytes, int]], list[Ranking]]:
    """Judgments and rankings with ties, scores apart only beyond 32 bits, and negative grades."""
    rng = np.random.default_rng(seed)
    judgments: dict[str, dict[bytes, int]] = {}
    rankings = []
    for topic in map(str, range(1, 31)):
        pool = rng.permutation(400)
        grades = rng.integers(-2, 4, size=int(rng.integers(2, 120)))
        judgments[topic] = {b"d%d" % pool[place]: int(grade) for place, grade in enumerate(grades)}
        judgments[topic][b"never"] = int(rng.integers(0, 2))
        depth = int(rng.integers(1, 300))
        scores = rng.choice([rng.random(depth), rng.integers(0, 9, depth), 1e7 + rng.random(depth)])
        docnos = np.array([b"d%d" % each for each in rng.permutation(400)[:depth]])
        rankings.append(Ranking(topic, docnos, np.asarray(scores, dtype=np.float64)))
    return judgments, rankings


def trec_eval_9(
    judgments: dict[str, dict[bytes, int]], rankings: Sequence[Ranking], level: int, judged_only: bool
) -> dict[str, dict[str, float]]:
    """The doubles of the compiled trec_eval 9: topic -> its name -> value, for all it has but strings."""
    qrels = {
        topic: {docno.decode(): grade for docno, grade in each.items()} for topic, each in judgments.items()
    }
    families = pytrec_eval.supported_measures - {"runid", "num_q", "relstring"}
    evaluator = pytrec_eval.RelevanceEvaluator(qrels, families, level, judged_only)
    runs = {
        each.topic: dict(
            zip((docno.decode() for docno in each.docnos.tolist()), each.scores.tolist(), strict=True)
        )
        for each in rankings
    }
    found: dict[str, dict[str, float]] = evaluator.evaluate(runs)
    return found


@pytest.mark.parametrize("judged_only", [False, True])
@pytest.mark.parametrize("level", [1, 2])
@pytest.mark.parametrize("seed", range(4))
def test_every_double_equals_trec_eval_9(seed: int, level: int, judged_only: bool) -> None:
    """Not one bit differs from the compiled trec_eval 9, on ties and scores beyond 32 bits too.

    Where -J leaves no document it prints nan for interpolated precision; here that is 0.
    """
    judgments, rankings = generated(seed)
    judged = align(rankings, compile_judgments(judgments), dialect=9)
    oracle = trec_eval_9(judgments, rankings, level, judged_only)
    names = sorted(next(iter(oracle.values())))
    expected = {each for bound in select(["all_trec"], 9) if (each := trec_name(bound)) is not None}
    assert set(names) == expected - {"num_q", "relstring"}
    for name in names:
        measure = from_trec_name(name)
        assert measure is not None, name
        scores = with_level(measure, level).compute(judged.condensed if judged_only else judged).tolist()
        if measure.measure.aggregate == "geometric":
            scores = [math.log(max(score, LEAST_SCORE)) for score in scores]
        theirs = [oracle[topic][name] for topic in judged.judgments.topics]
        if judged_only and measure.measure.name in {"IPrec", "IAP11"}:
            theirs = [0.0 if math.isnan(value) else value for value in theirs]
        assert scores == theirs, name
