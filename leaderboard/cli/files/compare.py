"""`leaderboard compare`: runs compared with each other without a site."""

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from leaderboard.core.cli.kinds import DIALECT, EXISTING, LEVEL, MAPPING, tell_notes
from leaderboard.errors import Invalid
from leaderboard.tables.markdown import aligned
from leaderboard.tables.record import counted

if TYPE_CHECKING:
    from leaderboard.measures.binding import BoundMeasure
    from leaderboard.stats.pairs.methods import Method
    from leaderboard.trec.comparisons import ComparedFiles, ScoredFiles

TESTS = ("t", "wilcoxon", "sign", "randomisation", "bootstrap")
CORRECTIONS = ("holm", "bonferroni", "bh", "none", "tukey", "randomised_tukey")
QUIET_S = 2.0
"""Seconds before progress is shown."""


@click.command()
@click.argument("qrels", type=EXISTING)
@click.argument("runs", metavar="RUN_A RUN_B [RUN]...", type=EXISTING, nargs=-1, required=True)
@click.option(
    "-m",
    "--measure",
    "names",
    metavar="NAME",
    multiple=True,
    help="Measure such as nDCG@10 or map [AP]; several only for LaTeX. See `leaderboard measures`.",
)
@click.option(
    "--test", type=click.Choice(TESTS), default="t", show_default=True, help="Test for more than two runs."
)
@click.option(
    "--correction",
    type=click.Choice(CORRECTIONS),
    default="holm",
    show_default=True,
    help="Correction for the number of pairs; the last two include their own test.",
)
@click.option("--baseline", metavar="RUN", help="Baseline of all comparisons, by file or tag.")
@LEVEL
@DIALECT
@MAPPING
@click.option(
    "--format", "layout", type=click.Choice(["table", "json", "latex"]), default="table", show_default=True
)
def compare(
    qrels: Path,
    runs: tuple[Path, ...],
    names: tuple[str, ...],
    test: str,
    correction: str,
    baseline: str | None,
    level: int,
    dialect: str,
    mapping: tuple[str, ...],
    layout: str,
) -> None:
    """Compare the RUNs with each other on the topics of QRELS.

    Two runs: their difference by every test, and the similarity of their rankings. More runs, or a baseline:
    all pairs under one test and correction. A topic missing from a run scores as an empty ranking. The same
    files always give the same p.
    """
    from leaderboard.stats.pairs.methods import method
    from leaderboard.trec.comparisons import score_files
    from leaderboard.trec.read.forms import asked
    from leaderboard.trec.scores.scoring import Inputs, Options

    if len(runs) < 2:
        raise Invalid("A comparison needs at least two runs.")
    inputs = Inputs(qrels, asked=asked(mapping))
    files = score_files(inputs, runs, Options(names or ("AP",), level, int(dialect)))
    measures = list(files.scores)
    if layout != "latex" and len(measures) > 1:
        keys = ", ".join(measure.key for measure in measures)
        raise Invalid(f"--measure has {len(measures)} measures: {keys}. Name one, or use --format latex.")
    tell_notes(files.notes)
    place = None if baseline is None else _place(files, baseline)
    if layout == "latex":
        text = _latex(files, measures, method((test, correction)), place)
    elif len(runs) == 2 and place is None:
        text = _of_two(files, measures[0], layout)
    else:
        text = _of_many(files, measures[0], method((test, correction)), place, layout)
    click.echo(text.encode("utf-8", "surrogateescape"), nl=False)


def _place(files: "ScoredFiles", baseline: str) -> int:
    """Index of the named run."""
    spellings = [{name, str(run)} for name, run in zip(files.names, files.runs, strict=True)]
    place = next((place for place, names in enumerate(spellings) if baseline in names), None)
    if place is None:
        raise Invalid(f"{baseline} is not one of the runs: {', '.join(files.names)}.")
    return place


def _of_two(files: "ScoredFiles", measure: "BoundMeasure", layout: str) -> str:
    from leaderboard.trec.comparisons import compare_two

    facts = compare_two(files, measure)
    return _json(facts) if layout == "json" else _two_in_words(files, facts, measure.measure.digits)


def _of_many(
    files: "ScoredFiles", measure: "BoundMeasure", by: "Method", baseline: int | None, layout: str
) -> str:
    from leaderboard.trec.comparisons import as_facts, compare_all

    with _Progress() as progress:
        compared = compare_all(files, measure, by, baseline, progress)
    facts = as_facts(compared, files.dialect)
    return _json(facts) if layout == "json" else _many_in_words(compared, facts, files.dialect)


def _latex(files: "ScoredFiles", measures: "list[BoundMeasure]", by: "Method", baseline: int | None) -> str:
    from leaderboard.cli.files.comparisons import as_latex
    from leaderboard.trec.comparisons import compare_all

    with _Progress() as progress:
        compared = [compare_all(files, measure, by, baseline, progress) for measure in measures]
    return as_latex(files, compared)


def _json(facts: dict[str, Any]) -> str:
    return json.dumps(facts, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def _two_in_words(files: "ScoredFiles", facts: dict[str, Any], digits: int) -> str:
    first, second = files.names
    low, high = facts["interval"]
    interval = "" if low is None else f", 95% interval {low:+.{digits}f} to {high:+.{digits}f}"
    effect = "" if facts["effect_size"] is None else f", effect size d_z {facts['effect_size']:+.2f}"
    rankings = [[name, f"{mean:.4f}"] for name, mean in facts["rankings"].items()]
    return "\n".join(
        [
            f"{facts['measure']} on {counted(facts['topics'], 'topic')}, trec_eval {files.dialect}",
            "",
            *aligned([[first, f"{facts['mean_a']:.{digits}f}"], [second, f"{facts['mean_b']:.{digits}f}"]]),
            "",
            f"Difference {facts['difference']:+.{digits}f}{interval}{effect}",
            f"{first} is better on {counted(facts['wins'], 'topic')}, {second} on {facts['losses']}, neither "
            f"on {facts['ties']}.",
            *_undecided(facts),
            "",
            *aligned([["test", "p"], *_tests(facts["tests"])]),
            "",
            *aligned([["rankings", "mean"], *rankings]),
            "",
        ]
    )


def _undecided(facts: dict[str, Any]) -> list[str]:
    """That the two do not differ significantly, and what more topics would do."""
    from leaderboard.scoring.ops.statistics.standings import undecided_pair
    from leaderboard.stats.pairs.corrections import LEVEL

    p = facts["tests"]["t"]
    if p is None or (p < LEVEL and facts["difference"]):
        return []
    return [
        f"The runs are not significantly different. {undecided_pair(facts['topics'], facts['topics_needed'])}"
    ]


def _tests(tests: dict[str, float | None]) -> list[list[str]]:
    from leaderboard.stats.standing import RECOMMENDED

    return [[f"{name} (recommended)" if name == RECOMMENDED else name, _p(p)] for name, p in tests.items()]


def _many_in_words(compared: "ComparedFiles", facts: dict[str, Any], dialect: int) -> str:
    from leaderboard.scoring.ops.statistics.standings import needed_words

    digits = compared.measure.measure.digits
    pairs = [
        [
            pair["a"],
            pair["b"],
            f"{pair['difference']:+.{digits}f}",
            _interval(pair["interval"], digits),
            _p(pair["p"]),
            _p(pair["adjusted_p"]),
            pair["better"] or needed_words(pair["topics_needed"], facts["topics"]),
        ]
        for pair in facts["pairs"]
    ]
    heads = ["a", "b", "a - b", "95% interval", "p", "adjusted", "better, or topics needed"]
    return "\n".join(
        [
            f"{facts['measure']} on {counted(facts['topics'], 'topic')}, trec_eval {dialect}; "
            f"{compared.table.method.title}, {facts['alpha']:.1%}",
            *_remarks(compared),
            "",
            *aligned(_rows(compared, facts, digits), left=1),
            "",
            *aligned([heads, *pairs], left=2),
            "",
        ]
    )


def _rows(compared: "ComparedFiles", facts: dict[str, Any], digits: int) -> list[list[str]]:
    """The runs with their means, and letters or their comparison with the baseline."""
    from leaderboard.scoring.ops.statistics.standings import needed_words

    heads = ["run", facts["measure"]]
    if compared.against:
        heads += [f"than {facts['baseline']}", "adjusted p", "topics needed"]
    elif compared.letters:
        heads.append("letters")
    rows = [heads]
    for run in facts["runs"]:
        row = [run["run"], f"{run['mean']:.{digits}f}"]
        if compared.against:
            p = run.get("adjusted_p")
            than = run.get("than_baseline", "the baseline")
            needed = needed_words(run["topics_needed"], facts["topics"]) if than == "undecided" else ""
            row += [than, "" if p is None else _p(p), needed]
        elif compared.letters:
            row.append(run["letters"])
        rows.append(row)
    return rows


def _remarks(compared: "ComparedFiles") -> list[str]:
    reachable = compared.against.reachable if compared.against else compared.table.reachable
    if compared.topics == 1:
        return ["With one topic, no test can find a significant difference."]
    if not reachable:
        return [
            "This test cannot find significant differences here, because its smallest possible p is too "
            "large. The paired t-test can (--test t)."
        ]
    if compared.letters and not compared.against:
        return ["Runs that share a letter are not significantly different."]
    return []


def _interval(ends: list[float | None], digits: int) -> str:
    low, high = ends
    return "" if low is None or high is None else f"{low:+.{digits}f} to {high:+.{digits}f}"


def _p(p: float | None) -> str:
    if p is None:
        return "undefined"
    return f"{p:.2e}" if 0 < p < 0.00005 else f"{p:.4f}"


class _Progress:
    """Shows the progress of long work on a terminal, in one line that is erased at the end."""

    def __enter__(self) -> Callable[[float], None]:
        self._start = self._told = time.monotonic()
        self._is_shown = False
        return self._tell

    def __exit__(self, *_: object) -> None:
        if self._is_shown:
            click.echo("\r\x1b[K", err=True, nl=False)

    def _tell(self, share: float) -> None:
        now = time.monotonic()
        if sys.stderr.isatty() and now - self._start > QUIET_S and now - self._told > 0.2:
            self._told, self._is_shown = now, True
            click.echo(f"\r{share:4.0%} compared", err=True, nl=False)
