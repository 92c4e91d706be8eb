"""What the program never does, found by reading its source: run text as code, or reach out to others."""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from tests import ROOT
from tests.make.loops import for_every

pytestmark = pytest.mark.trial

SOURCES = sorted((ROOT / "leaderboard").rglob("*.py"))
SCRIPTS = sorted((ROOT / "leaderboard" / "web" / "static").glob("*.js"))
UNSAFE_READERS = {"pickle", "marshal", "shelve", "dill", "yaml", "jsonpickle"}
CLIENTS = {"requests", "httpx", "aiohttp", "urllib3", "smtplib", "ftplib", "ldap", "ldap3", "memcache"}
OUTGOING = {"urllib.request", "http.client", "xmlrpc.client"}
CALLERS = {
    "leaderboard/cli/serving/health.py": {"http.client"},
    "leaderboard/notify/ops/mail.py": {"smtplib"},
    "leaderboard/notify/ops/calls.py": {"http.client"},
    "leaderboard/accounts/web/openid_client.py": {"requests"},
    "leaderboard/verify/verifying.py": {"urllib.request", "http.client"},
}
"""Who calls whom the settings name, whom a webhook's maker does, the site itself, and what `verify` names."""
RUNS_TEXT = {"eval", "exec", "compile", "__import__", "render_template_string", "from_string"}
NAMES_OF_OURS = {
    *("table.name", "columns", "marks", "chosen", "order"),
    *("limit", "_milliseconds(wait_s)", "_milliseconds(options['lock_wait_s'])"),
}
"""Parts of statements: names of tables and columns as the database itself has them, and numbers."""
LEVELS = {"info", "warning", "error", "exception"}
PATTERN_TAKERS = {"compile", "search", "match", "fullmatch", "sub", "split", "findall", "finditer"}
THE_TASKS_OWN = {"rules.tag_pattern", "tag_pattern", "rules.docno_pattern", "docno_pattern", "value or ''"}
"""Patterns of whoever makes a task or runs the command: what a tag or a document's id has to look like."""
ESCAPED = {("leaderboard/bundles/ops/release.py", "'|'.join(parts)")}
"""Patterns made of names, each of them escaped: they are looked for as they are."""
WORKED_EXAMPLES = ROOT / "leaderboard" / "measures" / "catalogue" / "examples.py"
"""Runs the examples in the docstrings of the program itself, as its tests do."""


@cache
def _nodes(path: Path) -> tuple[ast.AST, ...]:
    """The calls and imports of a file, which all tests look at: walking a tree takes as long as making it."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    wanted = (ast.Call, ast.Import, ast.ImportFrom)
    return tuple(node for node in ast.walk(tree) if isinstance(node, wanted))


def _imported(path: Path) -> Iterator[str]:
    for node in _nodes(path):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module or ""


def _calls(path: Path) -> Iterator[tuple[str, ast.Call]]:
    for node in _nodes(path):
        if isinstance(node, ast.Call):
            function = node.func
            yield (
                (function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")),
                node,
            )


def _is_constant(node: ast.expr) -> bool:
    if isinstance(node, ast.BinOp):
        return _is_constant(node.left) and _is_constant(node.right)
    if isinstance(node, ast.IfExp):
        return _is_constant(node.body) and _is_constant(node.orelse)
    if isinstance(node, ast.JoinedStr):
        return all(map(_is_constant, node.values))
    if isinstance(node, ast.FormattedValue):
        return _is_constant(node.value)
    return isinstance(node, ast.Constant) or (isinstance(node, ast.Name) and node.id.isupper())


@for_every("path", SOURCES, lambda path: str(path.relative_to(ROOT)))
def test_nothing_that_was_sent_is_run(path: Path) -> None:
    """No text becomes code or a template, no reader of objects is used, and no shell is asked."""
    modules = {name.split(".")[0] for name in _imported(path)}
    assert not modules & UNSAFE_READERS
    for name, call in _calls(path):
        keywords = {keyword.arg for keyword in call.keywords}
        assert "shell" not in keywords
        assert name not in {"system", "popen", "getoutput"}
        if path != WORKED_EXAMPLES and not (name == "compile" and isinstance(call.func, ast.Attribute)):
            assert name not in RUNS_TEXT, f"line {call.lineno}: {name}"


@for_every("path", SOURCES, lambda path: str(path.relative_to(ROOT)))
def test_statements_are_written_by_us(path: Path) -> None:
    """SQL in words is a constant, or has names of our tables in it; what is looked for is a parameter."""
    imports = [node for node in _nodes(path) if isinstance(node, ast.ImportFrom)]
    words = {alias.name for node in imports if node.module == "sqlalchemy" for alias in node.names}
    taking = {"exec_driver_sql", *words & {"text", "literal_column"}}
    for name, call in _calls(path):
        if name in taking and call.args:
            assert _is_ours(call.args[0]), f"line {call.lineno}"


def _is_ours(statement: ast.expr) -> bool:
    if not isinstance(statement, ast.JoinedStr):
        return _is_constant(statement)
    parts = [part.value for part in statement.values if isinstance(part, ast.FormattedValue)]
    return {ast.unparse(part) for part in parts} <= NAMES_OF_OURS


@for_every("path", SOURCES, lambda path: str(path.relative_to(ROOT)))
def test_patterns_are_written_by_us(path: Path) -> None:
    """What somebody types is looked for letter by letter and never as a regular expression."""
    for name, call in _calls(path):
        function = call.func
        if name not in PATTERN_TAKERS or not isinstance(function, ast.Attribute):
            continue
        if isinstance(function.value, ast.Name) and function.value.id == "re":
            pattern = ast.unparse(call.args[0])
            is_escaped = (path.relative_to(ROOT).as_posix(), pattern) in ESCAPED
            known = pattern.startswith("re.escape(") or pattern in THE_TASKS_OWN or is_escaped
            assert known or _is_constant(call.args[0]), f"line {call.lineno}: {pattern}"


@for_every("path", SOURCES, lambda path: str(path.relative_to(ROOT)))
def test_formats_are_written_by_us(path: Path) -> None:
    """No text that was sent is a template of `str.format` or a percent format of the log."""
    for name, call in _calls(path):
        assert name != "format_map"
        if name == "format" and isinstance(call.func, ast.Attribute):
            template = call.func.value
            marked = isinstance(template, ast.Call) and ast.unparse(template.func) == "Markup"
            words = template.args[0] if marked and isinstance(template, ast.Call) else template
            # `self.format(record)` is a formatter of the log.
            ours = _is_constant(words) or ast.unparse(words).isupper() or ast.unparse(words) == "self"
            assert ours, f"line {call.lineno}: {ast.unparse(words)}"
        if name in LEVELS and ast.unparse(call.func) == f"log.{name}":
            assert _is_constant(call.args[0]), f"line {call.lineno}"


@for_every("path", SOURCES, lambda path: str(path.relative_to(ROOT)))
def test_nobody_is_called(path: Path) -> None:
    """The program calls nobody but whom its operator names, and webhooks, where one module looks whom."""
    names = set(_imported(path))
    called = {name.split(".")[0] for name in names} & CLIENTS | names & OUTGOING
    assert called <= CALLERS.get(str(path.relative_to(ROOT)), set())


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.name)
def test_scripts_take_no_orders(path: Path) -> None:
    """Our scripts run no text, listen to no other window and write no markup but the site's own answers."""
    text = path.read_text(encoding="utf-8")
    for word in (
        "eval(",
        "Function(",
        "postMessage",
        "onmessage",
        "document.write",
        "outerHTML",
        "insertAdjacentHTML",
    ):
        assert word not in text, word
    assert text.count("innerHTML") <= text.count("found.innerHTML = await answer.text()")
