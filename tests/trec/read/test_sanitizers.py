"""The C kernel built with the address and undefined behaviour sanitizers, over the fuzzer's files."""

import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from tests import ROOT

SOURCE = ROOT / "leaderboard" / "trec" / "read" / "_kernel.c"
FLAGS = ("-O1", "-g", "-ffp-contract=off", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")
OPTIONS = {
    # Python keeps its memory to the end, which is no leak of the kernel; without its own allocator every
    # buffer has edges that are watched.
    "ASAN_OPTIONS": "detect_leaks=0:abort_on_error=0:exitcode=99",
    "PYTHONMALLOC": "malloc",
    "UBSAN_OPTIONS": "print_stacktrace=1:halt_on_error=1",
}

CHECKED = """
import sys
from importlib.machinery import ExtensionFileLoader
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

from leaderboard.trec.read import kernel

name = "leaderboard.trec.read._kernel"
spec = spec_from_file_location(name, sys.argv[1], loader=ExtensionFileLoader(name, sys.argv[1]))
kernel.native = module_from_spec(spec)
spec.loader.exec_module(kernel.native)

from benchmarks.fuzz import running

running.SECONDS = 60.0
for reader in ("runs", "qrels"):
    found = running.fuzz(reader, range(int(sys.argv[3])), 1, Path(sys.argv[2]))
    assert not found.faults, found.faults
    assert found.taken > 0
print("checked", kernel.native.__file__)
"""

BROKEN = (
    "#include <stdlib.h>\nint main(int n, char **a) { char *p = malloc(n); return p[n + 4] + a[0][0]; }\n"
)


def _compiler() -> str:
    found = shutil.which(sysconfig.get_config_var("CC").split()[0] or "cc") or shutil.which("gcc")
    if found is None:
        pytest.skip("no C compiler on this machine")
    return found


def _run(*command: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command, capture_output=True, text=True, check=False, cwd=ROOT, env={**os.environ, **environment}
    )


@pytest.fixture(scope="module")
def sanitized(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """The kernel with sanitizers, and the library that has to be loaded first; skips without them."""
    folder, compiler = tmp_path_factory.mktemp("sanitized"), _compiler()
    (folder / "broken.c").write_text(BROKEN)
    broken = _run(compiler, *FLAGS, "-o", str(folder / "broken"), str(folder / "broken.c"))
    if broken.returncode or not _run(str(folder / "broken"), **OPTIONS).returncode:
        pytest.skip(f"{compiler} has no sanitizers that work here")
    library = _run(compiler, "-print-file-name=libasan.so").stdout.strip()
    if not Path(library).is_absolute():
        pytest.skip(f"{compiler} names no libasan.so to load first")
    include, built = sysconfig.get_paths()["include"], folder / "_kernel.so"
    done = _run(compiler, "-shared", "-fPIC", *FLAGS, "-I", include, "-o", str(built), str(SOURCE))
    assert done.returncode == 0, done.stderr
    return built, library


@pytest.mark.trial
def test_no_file_makes_the_kernel_touch_what_it_may_not(sanitized: tuple[Path, str], tmp_path: Path) -> None:
    """Runs and qrels of the fuzzer's corpus: no byte beyond a buffer, no undefined operation."""
    built, library = sanitized
    done = _run(
        sys.executable, "-c", CHECKED, str(built), str(tmp_path), "600", LD_PRELOAD=library, **OPTIONS
    )
    assert done.returncode == 0, done.stderr[:3000]
    assert done.stdout == f"checked {built}\n"
