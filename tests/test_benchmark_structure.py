"""The figures of the code, and the list of faults to plant."""

from pathlib import Path

from benchmarks import structure
from benchmarks.faults import FAULTS
from tests import ROOT


def test_figures_of_a_small_package(tmp_path: Path) -> None:
    """Lines, functions and cycles of two files that import each other."""
    package, tests = tmp_path / "p", tmp_path / "t"
    for folder in (package, tests):
        folder.mkdir()
        (folder / "__init__.py").write_text('"""Nothing."""\n')
    (package / "a.py").write_text(
        '"""A."""\nfrom p import b\n\n\ndef f(x: int) -> int:\n    """F."""\n    return x\n'
    )
    (package / "b.py").write_text('"""B."""\nfrom p import a\n\n\ndef _g(y, z):\n    import os\n')
    figures = dict(structure.figures(package, tests))
    assert figures["files / lines"] == "3 / 14"
    assert figures["return annotations"] == "50.0%"
    assert figures["public / private functions"] == "1 / 1"
    assert figures["imports inside functions"] == "1"
    assert figures["folders with a cycle among their rooms"] == "1"


def test_every_fault_can_be_planted() -> None:
    """The line that a fault changes is there once, and so are the tests that must find it."""
    lost = [
        fault.name
        for fault in FAULTS
        if (ROOT / fault.path).read_text(encoding="utf-8").count(fault.right) != 1
    ]
    assert lost == []
    assert [name for fault in FAULTS for name in fault.tests.split() if not (ROOT / name).exists()] == []
    assert len({fault.name for fault in FAULTS}) == len(FAULTS) >= 20
