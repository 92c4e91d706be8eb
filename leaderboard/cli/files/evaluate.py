"""`leaderboard evaluate`: scores of run files without a site, as trec_eval gives them."""

from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

import click

from leaderboard.core.cli.kinds import DIALECT, EXISTING, LEVEL, MAPPING, require_options_of, tell_notes

if TYPE_CHECKING:
    from leaderboard.trec.nuggets.scoring import Missing
    from leaderboard.trec.scores.scoring import Inputs, Options

DEFAULT_MEASURES = (
    "num_ret", "num_rel", "num_rel_ret", "map", "Rprec", "bpref", "recip_rank",
    "P.5,10,15,20,30,100,200,500,1000",
    "recall.100,1000", "ndcg", "ndcg_cut.10", "RR@10", "Judged@10",
)  # fmt: skip
OF_ANSWERS = ("nuggets", "assignments", "support", "argue", "missing")
OF_RANKINGS = (
    "no_summary", "level", "dialect", "depth", "judged_only", "complete", "collection_size",
    "second_column", "preferences", "documents", "dissimilarities", "leave_out_query", "mapping", "threads",
)  # fmt: skip
MEMORY_BYTES = 2**23
"""Output kept in memory; more is written to a file until all runs are read."""


@click.command()
@click.argument("files", metavar="[QRELS] RUN...", type=EXISTING, nargs=-1, required=True)
@click.option(
    "--kind",
    type=click.Choice(["rankings", "answers"]),
    default="rankings",
    show_default=True,
    help="Content of the runs. Answers are scored with the next four files instead of QRELS.",
)
@click.option("--nuggets", type=EXISTING, help="Answers: nugget set. [the union of the assignments]")
@click.option("--assignments", type=EXISTING, help="Answers: assignments of nuggets to answers.")
@click.option("--support", type=EXISTING, help="Answers: support labels of citations.")
@click.option("--argue", type=EXISTING, help="Answers: Auto-ARGUE's judgments.")
@click.option(
    "--missing",
    type=click.Choice(["mean-of-present", "zero", "error"]),
    default="mean-of-present",
    show_default=True,
    help="Answers: treatment of topics on which a run is unjudged.",
)
@click.option(
    "-m",
    "--measure",
    "names",
    metavar="NAME",
    multiple=True,
    help="Measure such as nDCG@10, map or P.5,10, or a set: official, set, all_trec, all; repeatable. See "
    "`leaderboard measures`.",
)
@click.option("--per-topic", "-q", is_flag=True, help="Print scores by topic too, not only the mean.")
@click.option("--no-summary", "-n", is_flag=True, help="Print only scores by topic (with -q; --format trec).")
@LEVEL
@DIALECT
@click.option(
    "--depth", "-M", type=click.IntRange(min=1), help="Maximum documents per topic to score, from the top."
)
@click.option("--judged-only", "-J", is_flag=True, help="Remove unjudged documents and renumber ranks.")
@click.option(
    "--complete/--no-complete",
    "-c/ ",
    default=True,
    show_default=True,
    help="Average over all judged topics, or only those in the run (trec_eval without -c).",
)
@click.option(
    "--collection-size",
    "-N",
    type=click.IntRange(min=1),
    help="Documents in the collection, for measures that need it.",
)
@click.option(
    "--second-column",
    type=click.Choice(["subtopics", "rounds"]),
    help="Meaning of the second column of QRELS. [detected]",
)
@click.option(
    "--leave-out",
    type=EXISTING,
    multiple=True,
    metavar="FILE",
    help="Documents to remove: lines of `topic docno`, or the qrels of an earlier round; repeatable.",
)
@click.option(
    "--changed-docnos", type=EXISTING, metavar="FILE", help="Map of changed docnos: lines of `old new`."
)
@click.option("--preferences", type=EXISTING, help="Preference judgments, for measures that need them.")
@click.option(
    "--documents",
    type=EXISTING,
    help="Document texts (corpus.jsonl, TREC, TSV), for measures that need them.",
)
@click.option("--dissimilarities", type=EXISTING, help="Document dissimilarities, instead of texts.")
@click.option(
    "--leave-out-query",
    is_flag=True,
    help="Remove the document whose docno equals the topic id, as BEIR does for ArguAna.",
)
@MAPPING
@click.option("--threads", type=click.IntRange(1, 2), help="Threads to read a large run. [number of cores]")
@click.option(
    "--format", "layout", type=click.Choice(["trec", "tsv", "json"]), default="trec", show_default=True
)
@click.pass_context
def evaluate(
    context: click.Context,
    files: tuple[Path, ...],
    kind: str,
    nuggets: Path | None,
    assignments: Path | None,
    support: Path | None,
    argue: Path | None,
    missing: "Missing",
    names: tuple[str, ...],
    per_topic: bool,
    no_summary: bool,
    level: int,
    dialect: str,
    depth: int | None,
    judged_only: bool,
    complete: bool,
    collection_size: int | None,
    second_column: str | None,
    leave_out: tuple[Path, ...],
    changed_docnos: Path | None,
    preferences: Path | None,
    documents: Path | None,
    dissimilarities: Path | None,
    leave_out_query: bool,
    mapping: tuple[str, ...],
    threads: int | None,
    layout: str,
) -> None:
    """Score each RUN against QRELS, or answers against judgments of answers.

    Runs are named by their tag, or by their file if an earlier run has the same tag.

    Options with one letter are trec_eval's. Its -Z (z-scores), -D (debugging) and -o are not supported. -R
    and -T are not needed: formats are recognised, and --preferences names preference judgments.
    """
    if no_summary and layout != "trec":
        raise click.UsageError("--no-summary needs --format trec.", context)
    require_options_of(context, OF_RANKINGS if kind == "answers" else OF_ANSWERS, kind)
    if kind == "answers":
        from leaderboard.cli.files.evaluate_answers import scored_text
        from leaderboard.trec.nuggets.scoring import JudgmentFiles

        judged = JudgmentFiles(nuggets, assignments, support, argue)
        _print(scored_text(judged, files, names, missing, layout, per_topic))
        return
    from leaderboard.trec.read.forms import asked
    from leaderboard.trec.scores.scoring import Inputs, Options

    qrels, *runs = files
    if not runs:
        raise click.UsageError("Missing argument 'RUN...'.", context)
    extras = (collection_size, preferences, documents, dissimilarities, second_column or "")
    inputs = Inputs(qrels, *extras, leave_out, changed_docnos, asked(mapping), leave_out_query)
    counted = (level, int(dialect), depth, judged_only, complete, threads)
    options = Options(names or _usual(layout), *counted, as_trec_eval=layout == "trec")
    pieces = _text(layout, per_topic, not no_summary, inputs, runs, options)
    # The one run was scored before the first piece of it is made.
    _print(pieces, are_there=layout == "trec" and len(runs) == 1)


def _usual(layout: str) -> tuple[str, ...]:
    return ("runid", "num_q", *DEFAULT_MEASURES) if layout == "trec" else DEFAULT_MEASURES


def _print(pieces: Iterator[str] | Iterator[bytes], *, are_there: bool = False) -> None:
    # Topic ids and tags go out as the bytes they came in as, UTF-8 or not.
    texts = (
        piece if isinstance(piece, bytes) else piece.encode("utf-8", "surrogateescape") for piece in pieces
    )
    for text in texts if are_there else _once_all_are_there(texts):
        click.echo(text, nl=False)


def _once_all_are_there(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """The pieces, none before the last was made; large output is not kept in memory."""
    buffer: list[bytes] = []
    for piece in pieces:
        buffer.append(piece)
        if sum(map(len, buffer)) > MEMORY_BYTES:
            break
    else:
        yield b"".join(buffer)
        return
    # Imported for a large output only: it takes longer than a small run.
    from tempfile import TemporaryFile

    with TemporaryFile() as file:
        file.writelines(chain(buffer, pieces))
        file.seek(0)
        while piece := file.read(MEMORY_BYTES):
            yield piece


def _text(
    layout: str, per_topic: bool, summary: bool, inputs: "Inputs", runs: Sequence[Path], options: "Options"
) -> "Iterator[str] | Iterator[bytes]":
    from leaderboard.measures.trec_lines import TAG
    from leaderboard.trec.scores.report import as_json, trec_bytes, tsv
    from leaderboard.trec.scores.scoring import Scorer

    scorer = Scorer(inputs, options)
    # Next to the scores, which stay as trec_eval's readers know them.
    for note in scorer.left_out_notes():
        click.echo(note, err=True)
    reports, facts = scorer.all(runs), scorer.left_out_facts()
    if layout == "json":
        whole = list(reports)
        yield as_json(whole, dialect=options.dialect, per_topic=per_topic, facts=facts)
    elif layout == "tsv":
        yield from tsv(reports, per_topic=per_topic)
    else:
        lines = scorer.lines if len(runs) == 1 else list(dict.fromkeys([TAG, *scorer.lines]))
        yield from trec_bytes(reports, lines, per_topic=per_topic, summary=summary)
    tell_notes(scorer.notes)
