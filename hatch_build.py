"""Builds the optional C kernel; an installation never fails for want of a compiler."""

import sysconfig
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

SOURCE = "leaderboard/trec/read/_kernel.c"
BUILT = "leaderboard/trec/read/_kernel.abi3.so"
FLAGS = ["-O3", "-ffp-contract=off"]


class KernelHook(BuildHookInterface[Any]):
    """Compiles the kernel: into the wheel, or beside its source for an editable installation."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Build for a wheel; an sdist carries the source only."""
        if self.target_name != "wheel":
            return
        self._folder = tempfile.TemporaryDirectory(prefix="leaderboard-kernel-")
        built = self._compiled(Path(self._folder.name))
        if built is None:
            return
        platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
        build_data["pure_python"] = False
        build_data["tag"] = f"cp311-abi3-{platform}"
        if version == "editable":
            (Path(self.root) / BUILT).write_bytes(built.read_bytes())
        else:
            build_data["force_include"][str(built)] = BUILT

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Drop the temporary files."""
        if self.target_name == "wheel":
            self._folder.cleanup()

    def _compiled(self, folder: Path) -> Path | None:
        """The built module, None where that is not possible."""
        try:
            from setuptools import Distribution, Extension

            extension = Extension(
                "_kernel", [str(Path(self.root) / SOURCE)], extra_compile_args=FLAGS, py_limited_api=True
            )
            command = Distribution({"ext_modules": [extension]}).get_command_obj("build_ext")
            command.build_lib, command.build_temp = str(folder), str(folder / "objects")
            command.ensure_finalized()
            command.run()
        # A missing compiler, missing headers or an unknown processor: each has its own exception.
        except (Exception, SystemExit) as error:
            self.app.display_warning(f"The C kernel was not built, numpy alone will be used: {error}")
            return None
        return next(folder.glob("_kernel*.so"), None) or next(folder.glob("_kernel*.pyd"), None)
