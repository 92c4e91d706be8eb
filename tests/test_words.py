"""What the map, the glossary and the decisions say holds for the code."""

import ast
import re

from tests.conftest import ROOT

DOCS = ROOT / "docs"
MAPS = (ROOT / "CONTRIBUTING.md", DOCS / "architecture.md", DOCS / "glossary.md")
ROOMS = re.compile(
    r"`((?:leaderboard|templates|tests|migrations|docs|benchmarks)/[\w./-]*|[a-z_]+/[a-z_]+/|[a-z_]+/[a-z_]+\.py)`"
)
LONGEST_LINE = 120


def _glossary() -> set[str]:
    """The words of the glossary in small letters, singular."""
    text = (DOCS / "glossary.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| ([a-z, ]+) \| ", text, re.MULTILINE)
    return {word.strip() for row in rows for word in row.split(",")} - {"word"}


def _words(name: str) -> set[str]:
    """The words of a class's name, each as it is, and without the ending of a plural."""
    words = {word.lower() for word in re.findall(r"[A-Z][a-z]*", name)}
    return words | {word.removesuffix("s") for word in words} | {re.sub(r"ies$", "y", word) for word in words}


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


def test_every_room_is_on_the_map() -> None:
    """The folders of services, pages and web are named by the map, so that nothing is added beside it."""
    text = (DOCS / "architecture.md").read_text(encoding="utf-8")
    rooms = [
        f"{layer}/{path.name}/"
        for layer in ("services", "pages", "web")
        for path in sorted((ROOT / "leaderboard" / layer).iterdir())
        if (path / "__init__.py").exists() and path.name != "charts"
    ]
    assert [room for room in rooms if f"`{room}`" not in text] == []


def test_class_names_of_services_and_pages_use_the_words_of_the_glossary() -> None:
    """Each public class has one of the project's words in its name."""
    known, strangers = _glossary(), []
    for layer in ("services", "pages"):
        for path in sorted((ROOT / "leaderboard" / layer).rglob("*.py")):
            for node in ast.parse(path.read_text(encoding="utf-8")).body:
                if (
                    isinstance(node, ast.ClassDef)
                    and not node.name.startswith("_")
                    and not _words(node.name) & known
                ):
                    strangers.append(f"{path.relative_to(ROOT)}: {node.name}")
    assert strangers == []


def test_lines_of_the_documents_are_short() -> None:
    """Documents written by hand are read in a terminal and in a diff."""
    long = [
        f"{document.name}:{number}"
        for document in (*MAPS, DOCS / "decisions.md")
        for number, line in enumerate(document.read_text(encoding="utf-8").splitlines(), start=1)
        if len(line) > LONGEST_LINE
    ]
    assert long == []
