"""The map matches the code, the glossary defines each term once, and texts keep to the words of the style."""

import ast
import io
import re
import tokenize
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from tests import ROOT
from tests.make import data_model

DOCS = ROOT / "docs"
MAPS = (ROOT / "CONTRIBUTING.md", DOCS / "architecture.md", DOCS / "glossary.md")
ROOMS = re.compile(
    r"`((?:leaderboard|templates|tests|migrations|docs|benchmarks)/[\w./-]*|[a-z_]+/[a-z_]+/|[a-z_]+/[a-z_]+\.py)`"
)
STAY = r" apart| seen"
"""After "told" and "as far as": "are told apart" is plain, "as far as seen" a fixed name in files."""
LONGEST_LINE = 120
LONGEST_MEANING = 25


def _groups() -> list[list[tuple[str, str]]]:
    """The terms and meanings of each group of the glossary, in order."""
    text = (DOCS / "glossary.md").read_text(encoding="utf-8")
    groups = [
        re.findall(r"^\| ([^|]+) \| ([^|]+) \|$", part, re.MULTILINE) for part in text.split("\n## ")[1:]
    ]
    return [[row for row in rows if row != ("term", "meaning")] for rows in groups]


def _prose() -> str:
    """All documents but the glossary, the templates and the program, in small letters."""
    paths = [ROOT / "README.md", *DOCS.rglob("*.md"), *(ROOT / "templates").rglob("*.html")]
    paths += (ROOT / "leaderboard").rglob("*.py")
    texts = (path.read_text(encoding="utf-8") for path in paths if path.name != "glossary.md")
    return " ".join(" ".join(texts).lower().split())


def test_paths_on_the_maps_are_there() -> None:
    """Every file and folder that the map, the glossary and the guide name exists."""
    missing = []
    for document in MAPS:
        for path in ROOMS.findall(document.read_text(encoding="utf-8")):
            if "NNNN" in path:
                continue
            if not any((base / path).exists() for base in (ROOT, ROOT / "leaderboard", ROOT / "templates")):
                missing.append(f"{document.name}: {path}")
    assert missing == []


def test_every_feature_is_on_the_map() -> None:
    """The folders of the package are in the picture of the architecture, so that none is added beside it."""
    text = (DOCS / "architecture.md").read_text(encoding="utf-8")
    folders = [path.parent.name for path in sorted((ROOT / "leaderboard").glob("*/__init__.py"))]
    assert [folder for folder in folders if f" {folder}/" not in text] == []


def test_the_data_model_is_drawn_as_it_is() -> None:
    """`python -m tests.make.data_model` writes it."""
    assert data_model.PATH.read_text(encoding="utf-8") == data_model.made()


def test_the_glossary_defines_each_term_once_and_in_order() -> None:
    """Each group is sorted, no term comes twice, and each meaning is one short sentence."""
    groups = _groups()
    assert all(groups)
    assert [[term.lower() for term, _ in rows] for rows in groups] == [
        sorted(term.lower() for term, _ in rows) for rows in groups
    ]
    terms = Counter(word.lower() for rows in groups for term, _ in rows for word in term.split(", "))
    assert [word for word, times in terms.items() if times > 1] == []
    meanings = [meaning for rows in groups for _, meaning in rows]
    assert [each for each in meanings if len(each.split()) > LONGEST_MEANING or each.endswith(".")] == []


def test_the_terms_of_the_glossary_are_used() -> None:
    """Each is found in the documents, the interface or the program."""
    text = _prose()
    terms = [term for rows in _groups() for term, _ in rows]
    assert [term for term in terms if not any(word.lower() in text for word in term.split(", "))] == []


def test_lines_of_the_documents_are_short() -> None:
    """Documents written by hand are read in a terminal and in a diff."""
    long = [
        f"{document.name}:{number}"
        for document in (*MAPS, DOCS / "decisions.md")
        for number, line in enumerate(document.read_text(encoding="utf-8").splitlines(), start=1)
        if len(line) > LONGEST_LINE
    ]
    assert long == []


def _avoided() -> dict[str, str]:
    """Expressions to avoid, in small letters, with the better ones: the second table of docs/style.md."""
    part = (DOCS / "style.md").read_text(encoding="utf-8").split("## Expressions to avoid\n")[1]
    rows = re.findall(r"^\| ([^|]+) \| ([^|]+) \|$", part.split("\n## ")[0], re.MULTILINE)
    return {each.lower(): better for row, better in rows if row != "not" for each in row.split(", ")}


def _written(path: Path) -> str:
    """The words of a file for people: strings and comments of a program, else all but code and addresses."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".py":
        tokens = tokenize.generate_tokens(io.StringIO(text).readline)
        kept = [
            each.string.lstrip("#") for each in tokens if each.type in (tokenize.STRING, tokenize.COMMENT)
        ]
        # Names in code stay: what a string is filled with, and a string of one word, such as a key.
        text = " ".join(re.sub(r"\{[^{}]*\}", "", each) for each in kept if " " in each.strip())
    else:
        text = re.sub(r"```.*?```|`[^`]*`|\]\([^)]*\)|\{[{%].*?[%}]\}", " ", text, flags=re.DOTALL)
    return " ".join(text.split())


def _places() -> Iterator[tuple[str, Path]]:
    """Every file that is searched, after the name of its part; generated and vendored ones are left out."""
    made = {DOCS / "style.md", data_model.PATH}
    documents = [*ROOT.glob("*.md"), *DOCS.rglob("*.md"), *(ROOT / "client").glob("*.md")]
    documents += (ROOT / "benchmarks").rglob("*.md")
    yield from (("documents", path) for path in documents if path not in made)
    for folder, suffix in (
        ("templates", "html"),
        ("leaderboard", "py"),
        ("client", "py"),
        ("benchmarks", "py"),
    ):
        for path in sorted((ROOT / folder).rglob(f"*.{suffix}")):
            parts = path.relative_to(ROOT).parts
            yield "/".join(parts[:2]) if len(parts) > 2 else folder, path


def test_expressions_to_avoid_are_not_written() -> None:
    """No template, document, docstring, comment or message has an expression that docs/style.md replaces."""
    better = _avoided()
    assert len(better) > 30
    longest_first = sorted(better, key=len, reverse=True)
    pattern = re.compile(rf"\b(?:{'|'.join(map(re.escape, longest_first))})\b(?!{STAY})", re.IGNORECASE)
    found, parts = [], Counter[str]()
    for part, path in _places():
        if not pattern.search(" ".join(path.read_text(encoding="utf-8").split())):
            continue
        for each in pattern.findall(_written(path)):
            found.append(f"{path.relative_to(ROOT)}: not {each!r} but {better.get(each.lower(), '')!r}")
            parts[part] += 1
    assert found == [], "\n".join([*(f"{part}: {number}" for part, number in parts.most_common()), *found])


VAGUE = {"one", "found", "known", "made", "said", "wanted", "wished"}


def test_variables_are_called_what_they_hold() -> None:
    """No variable of the program has a name that could be that of any other."""
    vague = []
    for path in sorted((ROOT / "leaderboard").rglob("*.py")):
        nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
        bodies = (node.body for node in nodes if isinstance(node, ast.ClassDef))
        # The field of a record is read with the record's name before it.
        fields = {each.target for body in bodies for each in body if isinstance(each, ast.AnnAssign)}
        named = [(node, node.arg) for node in nodes if isinstance(node, ast.arg)]
        stored = [node for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)]
        named += [(node, node.id) for node in stored if node not in fields]
        vague += [f"{path.relative_to(ROOT)}:{node.lineno} {name}" for node, name in named if name in VAGUE]
    assert vague == []
