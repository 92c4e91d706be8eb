"""The report of a gate as text, JSON, JUnit's XML and Markdown."""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from html import escape
from typing import Any
from xml.etree import ElementTree

from leaderboard.comparisons.page.pair import margin_facts, sentences
from leaderboard.gate.ops import Comparison, LostTopic, Moved, Report
from leaderboard.scoring.ops.statistics.standings import needed_words
from leaderboard.stats.gates import ALPHA, VERSION, Gated
from leaderboard.tables.markdown import escaped, markdown_text, table_lines
from leaderboard.tables.record import Column, Table, counted

ABSENT = "–"
NO_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that no XML document may have."""


def as_text(report: Report, strict: bool) -> str:
    """For a terminal and the log of a build."""
    lines = [_headline(report, strict), _method(report), "", *table_lines(_table(report)), ""]
    for comparison in report.comparisons:
        lines += [f"{comparison.measure.key}: {sentence}" for sentence in _sentences(report, comparison)]
    for comparison in report.comparisons:
        if comparison.lost:
            lines += ["", f"{_lost_title(comparison)}:"]
            for topic in comparison.lost:
                lines.append(f"  {_topic(topic, comparison)}")
                lines += [f"    {_document(document)}" for document in topic.documents]
    return "\n".join([*lines, ""])


def as_json(report: Report, strict: bool) -> str:
    """Plain values at full precision."""
    facts = {
        "verdict": "failed" if report.fails(strict=strict) else "passed",
        "strict": strict,
        "version": VERSION,
        "baseline": report.baseline,
        "topics": report.topics,
        "dialect": f"trec_eval {report.dialect}",
        "qrels_sha256": report.qrels_sha256,
        "alpha": ALPHA,
        "correction": "holm",
        "comparisons": [_facts(comparison) for comparison in report.comparisons],
    }
    return json.dumps(facts, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def as_junit(report: Report, strict: bool) -> str:
    """One test case per run and measure: worse fails; "cannot tell" is skipped, or fails if strict."""
    failed = {"worse", "cannot tell"} if strict else {"worse"}
    verdicts = [comparison.found.verdict for comparison in report.comparisons]
    counts = {
        "tests": str(len(verdicts)),
        "failures": str(sum(verdict in failed for verdict in verdicts)),
        "errors": "0",
    }
    root = ElementTree.Element("testsuites", {"name": "leaderboard gate", **counts})
    skipped = str(sum(verdict == "cannot tell" and verdict not in failed for verdict in verdicts))
    suite = ElementTree.SubElement(
        root, "testsuite", {"name": f"against {_xml(report.baseline)}", **counts, "skipped": skipped}
    )
    for comparison in report.comparisons:
        verdict, stated = comparison.found.verdict, _sentences(report, comparison)
        named = {"classname": comparison.measure.key, "name": _xml(comparison.run)}
        case = ElementTree.SubElement(suite, "testcase", named)
        text = "\n".join([*stated, *_lost_lines(comparison)])
        if verdict in failed or verdict == "cannot tell":
            kind = "failure" if verdict in failed else "skipped"
            why = {"message": _xml(stated[0]), "type": verdict}
            ElementTree.SubElement(case, kind, why).text = _xml(text)
        else:
            ElementTree.SubElement(case, "system-out").text = _xml(text)
    ElementTree.indent(root)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ElementTree.tostring(root, encoding="unicode")}\n'


def as_markdown(report: Report, strict: bool) -> str:
    """For a build's summary or a comment, on GitHub and GitLab."""
    lines = [f"### {escaped(_headline(report, strict))}", "", markdown_text(_table(report))]
    for comparison in report.comparisons:
        stated = map(escaped, _sentences(report, comparison))
        lines += [f"- **{escaped(comparison.measure.key)}**: {' '.join(stated)}"]
    for comparison in report.comparisons:
        if comparison.lost:
            summary = f"<summary>{escape(_lost_title(comparison))}</summary>"
            lines += ["", "<details>", summary, ""]
            lines += [markdown_text(_lost_table(comparison)), "</details>"]
    return "\n".join([*lines, ""])


FORMATS: Mapping[str, Callable[[Report, bool], str]] = {
    "text": as_text,
    "json": as_json,
    "junit": as_junit,
    "markdown": as_markdown,
}


def _headline(report: Report, strict: bool) -> str:
    verdicts = [comparison.found.verdict for comparison in report.comparisons]
    counts = [
        f"{verdicts.count(verdict)} {verdict}"
        for verdict in ("worse", "cannot tell", "no worse", "better")
        if verdict in verdicts
    ]
    return f"Gate {'failed' if report.fails(strict=strict) else 'passed'}: {', '.join(counts)}"


def _method(report: Report) -> str:
    return (
        f"Against {report.baseline} on {counted(report.topics, 'topic')}, trec_eval {report.dialect}. "
        f"{_correction(report)}"
    )


def _correction(report: Report) -> str:
    """The tests and their correction."""
    count = len(report.comparisons)
    over = f", corrected by Holm over {count} comparisons" if count > 1 else ""
    return f"Paired t tests, one-sided at {ALPHA:.0%}{over}."


def _table(report: Report) -> Table[Comparison]:
    """The comparisons, a row each."""
    return Table(
        "gate",
        f"Against {report.baseline} on {counted(report.topics, 'topic')}. {_correction(report)}",
        [
            Column("run", lambda row: row.run, "Run"),
            Column("measure", lambda row: row.measure.key, "Measure"),
            Column("verdict", lambda row: row.found.verdict, "Verdict", bold=lambda _: True),
            _scores("Baseline", lambda gated: gated.baseline),
            _scores("New", lambda gated: gated.run),
            _scores("Difference", lambda gated: gated.difference, "+"),
            Column("interval", lambda row: row.found.low, "Interval", words=_interval, digits=4),
            Column("margin", lambda row: f"{row.found.margin:g}", "Margin", digits=4),
            Column("power", lambda row: row.found.power, "Power", words=_power, digits=2),
            Column("needed", lambda row: row.found.topics_needed, "Topics needed", words=_needed, digits=0),
        ],
        report.comparisons,
    )


def _scores(head: str, value: Callable[[Gated], float], sign: str = "") -> Column[Comparison]:
    """A column of numbers with the decimals of each row's measure."""

    def words(row: Comparison) -> str:
        return f"{value(row.found):{sign}.{row.measure.measure.digits}f}"

    return Column(head.lower(), lambda row: value(row.found), head, words=words, digits=4)


def _interval(row: Comparison) -> str | None:
    gated, digits = row.found, row.measure.measure.digits
    if gated.low is None or gated.high is None:
        return None
    return f"{gated.low:+.{digits}f} to {gated.high:+.{digits}f}"


def _power(row: Comparison) -> str | None:
    return None if row.found.power is None else f"{row.found.power:.0%}"


def _needed(row: Comparison) -> str | None:
    gated = row.found
    return needed_words(gated.topics_needed, gated.topics) if gated.verdict == "cannot tell" else None


def _sentences(report: Report, comparison: Comparison) -> list[str]:
    digits = comparison.measure.measure.digits
    return sentences(comparison.found, comparison.run, report.baseline, digits)


def _lost_title(comparison: Comparison) -> str:
    return f"Topics of {comparison.run} that lost most by {comparison.measure.key}"


def _lost_lines(comparison: Comparison) -> Iterator[str]:
    for topic in comparison.lost:
        yield f"topic {_topic(topic, comparison)}"
        yield from (f"  {_document(document)}" for document in topic.documents)


def _topic(topic: LostTopic, comparison: Comparison) -> str:
    digits = comparison.measure.measure.digits
    return (
        f"{topic.topic}: {topic.baseline:.{digits}f} to {topic.run:.{digits}f}, lost {topic.lost:.{digits}f}"
    )


def _document(document: Moved) -> str:
    return f"{document.docno}, grade {document.grade}: rank {_rank(document.old)} to {_rank(document.new)}"


def _rank(rank: int | None) -> str:
    return "none" if rank is None else str(rank)


def _lost_table(comparison: Comparison) -> Table[tuple[LostTopic, Moved | None]]:
    """The topics that lost most, a row for each document that moved."""
    digits = comparison.measure.measure.digits
    rows = [(topic, document) for topic in comparison.lost for document in topic.documents or (None,)]

    def of(name: str) -> Callable[[tuple[LostTopic, Moved | None]], Any]:
        return lambda row: None if row[1] is None else getattr(row[1], name)

    return Table(
        "lost",
        "Judged documents whose rank changed most, ranks near the top counting more.",
        [
            Column("topic", lambda row: row[0].topic, "Topic"),
            Column("lost", lambda row: row[0].lost, "Lost", digits=digits),
            Column("docno", of("docno"), "Document"),
            Column("grade", of("grade"), "Grade", digits=0),
            Column("old", of("old"), "Old rank", digits=0),
            Column("new", of("new"), "New rank", digits=0),
        ],
        rows,
    )


def _facts(comparison: Comparison) -> dict[str, Any]:
    measure = comparison.measure
    return {
        "run": comparison.run,
        "measure": measure.key,
        "measure_version": measure.measure.version,
        "direction": measure.measure.direction,
        "mean": comparison.found.run,
        "baseline_mean": comparison.found.baseline,
        **margin_facts(comparison.found),
        "lost_most": [
            {
                "topic": topic.topic,
                "baseline": topic.baseline,
                "run": topic.run,
                "lost": topic.lost,
                "documents": [
                    {
                        "docno": document.docno,
                        "grade": document.grade,
                        "old_rank": document.old,
                        "new_rank": document.new,
                    }
                    for document in topic.documents
                ],
            }
            for topic in comparison.lost
        ],
    }


def _xml(text: str) -> str:
    return NO_XML.sub("�", text)
