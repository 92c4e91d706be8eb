"""`leaderboard measures --kind answers`: the catalogue of measures of answers."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from textwrap import wrap

from leaderboard.cli.measures.pages import prose
from leaderboard.measures.answers.catalogue import AnswerMeasurePage, find, pages

WIDTH = 96
HEAD = """\
<!-- Made by `leaderboard measures --kind answers --format markdown > docs/answer-measures.md`. -->

# Measures of answers

What `leaderboard evaluate --kind answers` can compute; [answers.md](answers.md) says from what.
"""


def listing(name: str | None, form: str) -> str:
    """All measures of answers, or the one that the name is of, as text, JSON or Markdown."""
    chosen = list(pages()) if name is None else [find(name)]
    if form == "json":
        facts = [asdict(page) for page in chosen]
        return (
            json.dumps({"measures": facts} if name is None else facts[0], indent=2, ensure_ascii=False) + "\n"
        )
    if form == "markdown":
        head = [HEAD.rstrip()] if name is None else []
        return "\n".join([*head, *(line for page in chosen for line in _markdown(page))]).lstrip("\n") + "\n"
    return "".join(f"{line}\n" for line in (_list(chosen) if name is None else _text(chosen[0])))


def _list(chosen: list[AnswerMeasurePage]) -> Iterator[str]:
    names = max(len(page.name) for page in chosen)
    titles = max(len(page.title) for page in chosen)
    for page in chosen:
        called = ", ".join(name for name, _ in page.called[:4])
        yield f"{page.name:{names}}  {page.title:{titles}}  {called}".rstrip()
    yield ""
    yield "`leaderboard measures --kind answers NAME` explains one; the last column is what others call it."


def _text(page: AnswerMeasurePage) -> Iterator[str]:
    yield f"{page.name}: {page.title}"
    yield ""
    yield from (f"    {line}" for line in wrap(page.formula, WIDTH - 4))
    for paragraph in page.definition:
        yield ""
        yield from wrap(paragraph, WIDTH, break_on_hyphens=False)
    yield ""
    called = ((name, form) for name, form in page.called)
    for left, right in (*page.facts, *page.parameters, *called):
        first, *rest = wrap(right, WIDTH - 32, break_on_hyphens=False)
        yield f"{left:32}{first}"
        yield from (" " * 32 + line for line in rest)
    yield ""
    yield "Worked example"
    yield from (f"  {line}" for line in wrap(page.explanation, WIDTH - 2))
    yield ""
    yield from (f"  {line}" for line in page.worked.splitlines())


def _markdown(page: AnswerMeasurePage) -> Iterable[str]:
    called = [f"`{name}` is `{form}`" for name, form in page.called]
    lines = ["", f"## {page.name}", "", f"**{prose(page.title)}**", "", f"    {page.formula}"]
    for paragraph in page.definition:
        lines += ["", prose(paragraph)]
    lines += ["", *(f"- {name}: {prose(text)}" for name, text in page.facts)]
    if called:
        lines.append(f"- Also called: {', '.join(called)}")
    if page.parameters:
        lines += ["", "Parameters:", "", *(f"- `{name}` {prose(text)}" for name, text in page.parameters)]
    lines += ["", prose(f"Worked example. {page.explanation}".strip()), "", "```python", page.worked, "```"]
    return lines
