"""Run files compared with each other, as a LaTeX table."""

from collections.abc import Sequence

from leaderboard.comparisons.page.many_tables import MeasureOfRuns, means_table
from leaderboard.tables.latex import latex_text
from leaderboard.trec.comparisons import ComparedFiles, ScoredFiles


def as_latex(files: ScoredFiles, compared: Sequence[ComparedFiles]) -> str:
    """The runs by several measures as a LaTeX table, in the order of the first."""
    names = compared[0].names
    columns = [
        MeasureOfRuns(
            measure=comparison.measure.key,
            version=comparison.measure.measure.version,
            digits=comparison.measure.measure.digits,
            lower_is_better=comparison.sign < 0,
            means=comparison.means.tolist(),
            table=comparison.table,
            against=comparison.against,
        ).in_order([comparison.names.index(name) for name in names])
        for comparison in compared
    ]
    judgments = f"qrels {files.qrels_sha256[:12]}, as trec_eval {files.dialect} computes them"
    return latex_text(
        means_table(names, columns, name="comparison", topics=len(files.topics), judgments=judgments)
    )
