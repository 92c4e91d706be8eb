"""The catalogue of measures as one Markdown document."""

import re
from collections.abc import Iterable, Iterator

from leaderboard.measures.catalogue.entries import MeasurePage, Section
from leaderboard.measures.catalogue.examples import Worked

HEAD = """\
<!-- Made by `leaderboard measures --format markdown > docs/measures.md`: edit the measures, not this. -->

# Measures

Every measure that a task can use and `leaderboard evaluate` can compute. The same pages, searchable,
are at `/measures` of a site; `leaderboard measures NAME` prints one of them.

R is the number of relevant documents of a topic, i a rank, k a cut-off. In a measure's grammar, what
stands in square brackets may be left out.
"""

_CODE = re.compile(r"(`[^`]*`)")
_SPECIAL = re.compile(r"([\\*<\[\]])|(?<![^\W_])_|_(?![^\W_])")


def markdown(sections: Iterable[Section], pages: Iterable[MeasurePage]) -> str:
    """The pages one after the other; where sections are given, after a head and the list of all.

    A measure's heading comes under its family's.
    """
    listed = tuple(sections)
    lines: list[str] = []
    if listed:
        lines += [HEAD.rstrip(), ""]
        for section in listed:
            lines.append(f"- [{section.family.name}](#{section.family.anchor}): {_names(section)}")
    leads = {section.family.name: section.family.lead for section in listed}
    for page in pages:
        lead = leads.pop(page.entry.family, "")
        if lead:
            lines += ["", f"## {page.entry.family}", "", prose(lead)]
        lines += ["", *_page(page)]
    return "\n".join(lines).lstrip("\n") + "\n"


def prose(text: str) -> str:
    """Text that Markdown shows literally, with code between backticks.

    >>> prose("a * b, max_rel and `x*y`")
    'a \\\\* b, max_rel and `x*y`'
    """
    parts = (
        part if place % 2 else _SPECIAL.sub(r"\\\g<0>", part) for place, part in enumerate(_CODE.split(text))
    )
    return "".join(parts)


def _names(section: Section) -> str:
    return ", ".join(f"[{entry.name}](#{entry.name.lower()})" for entry in section.entries)


def _page(page: MeasurePage) -> Iterator[str]:
    yield f"### {page.entry.name}"
    for text in (f"**{prose(page.entry.title)}**", f"    {page.entry.formula}"):
        yield ""
        yield text
    for paragraph in (*page.definition, page.note and f"Note: {page.note}"):
        if paragraph:
            yield ""
            yield prose(paragraph)
    yield ""
    yield from (f"- {name}: {text}" for name, text in _facts(page))
    if page.parameters:
        yield ""
        yield "Parameters:"
        yield ""
        yield from (f"- `{parameter.written}` {prose(parameter.sentences)}" for parameter in page.parameters)
    if page.worked:
        yield ""
        yield prose(f"Worked example. {page.explanation}".strip())
    for worked in page.worked:
        yield from _worked(worked)


def _facts(page: MeasurePage) -> Iterator[tuple[str, str]]:
    such = ", such as " + ", ".join(f"`{written}`" for written in page.examples) if page.parameters else ""
    yield "Written", f"`{page.grammar}`{such}"
    if page.entry.aliases:
        yield "Also called", ", ".join(page.entry.aliases)
    if page.trec_forms:
        yield "In trec_eval", prose(", ".join(form.words for form in page.trec_forms))
    yield from ((name, prose(text)) for name, text in page.facts)


def _worked(worked: Worked) -> Iterator[str]:
    yield ""
    yield f"| Rank | {worked.ranking.heading} |"
    yield "|---|---|"
    yield from (f"| {rank} | {document} |" for rank, document in worked.ranking.lines)
    yield ""
    yield prose(worked.summary)
