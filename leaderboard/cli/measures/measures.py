"""`leaderboard measures`: the catalogue of measures in the terminal or as a file."""

import json
from collections.abc import Iterable, Iterator
from textwrap import wrap

import click

from leaderboard.cli.measures.pages import markdown
from leaderboard.measures.catalogue import entries as catalogue
from leaderboard.measures.catalogue.entries import MeasurePage, Section
from leaderboard.measures.catalogue.examples import Ranking
from leaderboard.scoring import page as pages

WIDTH = 96


@click.command()
@click.argument("name", required=False)
@click.option("--kind", type=click.Choice(["rankings", "answers"]), default="rankings", show_default=True)
@click.option(
    "--format", "form", type=click.Choice(["text", "json", "markdown"]), default="text", show_default=True
)
def measures(name: str | None, kind: str, form: str) -> None:
    """List all measures, or explain the measure NAME.

    NAME may have parameters, as in nDCG@10, or be a trec_eval name, as in ndcg_cut_10.
    """
    if kind == "answers":
        from leaderboard.cli.measures.answers import listing

        click.echo(listing(name, form), nl=False)
    elif name is None:
        click.echo(_listed(form), nl=False)
    else:
        click.echo(_explained(name, form), nl=False)


def _listed(form: str) -> str:
    if form == "markdown":
        return markdown(catalogue.listing(), catalogue.pages())
    if form == "json":
        return _json(pages.facts(catalogue.listing()))
    return _lines(_list(catalogue.listing()))


def _explained(name: str, form: str) -> str:
    page = catalogue.page(*catalogue.find(name))
    if form == "markdown":
        return markdown((), [page])
    if form == "json":
        return _json(pages.page_facts(page))
    return _lines(_page(page))


def _json(facts: object) -> str:
    return json.dumps(facts, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def _lines(lines: Iterable[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


def _list(sections: tuple[Section, ...]) -> Iterator[str]:
    entries = [entry for section in sections for entry in section.entries]
    names = max(len(entry.name) for entry in entries)
    titles = max(len(entry.title) for entry in entries)
    for section in sections:
        yield section.family.name
        for entry in section.entries:
            line = f"  {entry.name:{names}}  {entry.title:{titles}}  {', '.join(entry.trec_names)}"
            yield line.rstrip()
        yield ""
    yield "`leaderboard measures NAME` explains one; the last column is trec_eval's name."


def _page(page: MeasurePage) -> Iterator[str]:
    yield f"{page.written or page.entry.name}: {page.entry.title}"
    yield ""
    yield from _wrapped(page.entry.formula, "    ")
    for paragraph in (*page.definition, page.note):
        if paragraph:
            yield ""
            yield from _wrapped(paragraph)
    yield ""
    yield from _table(_facts(page))
    if page.parameters:
        yield ""
        yield "Parameters"
        yield from _table((f"  {parameter.written}", parameter.sentences) for parameter in page.parameters)
    if page.worked:
        yield ""
        yield "Worked example"
        yield from _wrapped(page.explanation, "  ")
    for worked in page.worked:
        yield ""
        yield from _table((f"  {rank}", document) for rank, document in _titled(worked.ranking))
        yield from _wrapped(worked.summary, "  ")


def _titled(ranking: Ranking) -> tuple[tuple[str, str], ...]:
    return (("rank", ranking.heading.lower()), *ranking.lines)


def _facts(page: MeasurePage) -> Iterator[tuple[str, str]]:
    yield (
        "Written",
        f"{page.grammar}, such as {', '.join(page.examples)}" if page.parameters else page.grammar,
    )
    if page.entry.aliases:
        yield "Also called", ", ".join(page.entry.aliases)
    if page.trec_forms:
        yield "In trec_eval", ", ".join(form.words for form in page.trec_forms)
    yield from page.facts
    if page.written:
        yield (
            f"In {page.written}",
            "; ".join(f"{parameter.name} {parameter.value}" for parameter in page.parameters),
        )


def _table(rows: Iterable[tuple[str, str]]) -> Iterator[str]:
    """Two columns, the second one wrapped."""
    rows = list(rows)
    width = max(len(left) for left, _ in rows) + 2
    for left, right in rows:
        first, *rest = wrap(right, WIDTH - width, break_on_hyphens=False) or [""]
        yield f"{left:{width}}{first}".rstrip()
        yield from (" " * width + line for line in rest)


def _wrapped(text: str, before: str = "") -> list[str]:
    return [before + line for line in wrap(text, WIDTH - len(before), break_on_hyphens=False)]
