"""Builds the optional C kernel and the bill of materials of a wheel.

An installation never fails for want of a compiler; a build fails where a dependency's licence is not stated.
"""

import hashlib
import json
import sysconfig
import tempfile
from pathlib import Path
from typing import Any
from uuid import NAMESPACE_URL, uuid5

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from packaging.requirements import Requirement

SOURCE = "leaderboard/trec/read/_kernel.c"
BUILT = "leaderboard/trec/read/_kernel.abi3.so"
FLAGS = ["-O3", "-ffp-contract=off"]


class WheelHook(BuildHookInterface[Any]):
    """What a wheel has that the source has not: the compiled kernel and the bill of materials.

    An editable installation gets the kernel beside its source.
    """

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Build for a wheel; an sdist carries the source only."""
        if self.target_name != "wheel":
            return
        self._folder = tempfile.TemporaryDirectory(prefix="leaderboard-wheel-")
        build_data["sbom_files"].append(str(self._bill(Path(self._folder.name))))
        self._add_kernel(version, build_data)

    def _add_kernel(self, version: str, build_data: dict[str, Any]) -> None:
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

    def _bill(self, folder: Path) -> Path:
        """A file with the bill of materials: what the wheel holds, and what it asks its environment for."""
        core = self.metadata.core
        required = [self._dependency(each, "required") for each in core.dependencies_complex.values()]
        optional = [
            self._dependency(each, "optional")
            for extra in ("celery", "irdatasets", "objects", "oidc", "otel", "postgresql")
            for each in core.optional_dependencies_complex.get(extra, {}).values()
        ]
        root = {
            "type": "application",
            **_named(core.name, f"pkg:pypi/{core.name}@{self.metadata.version}", core.license_expression),
            "version": self.metadata.version,
        }
        parts = [*map(self._bundled, self.config["bundled"]), *required, *optional]
        path = folder / f"{core.name}.cdx.json"
        path.write_text(json.dumps(bill_of_materials(root, parts), indent=2) + "\n", encoding="utf-8")
        return path

    def _dependency(self, requirement: Requirement, scope: str) -> dict[str, Any]:
        """What the environment has to bring; raises ValueError where its licence is not stated."""
        licence = self.config["licences"].get(requirement.name)
        if licence is None:
            raise ValueError(
                f"State the licence of {requirement.name} in pyproject.toml, in hooks.custom.licences."
            )
        bounds = sorted((each.version, each.operator) for each in requirement.specifier)
        return {
            "type": "library",
            **_named(requirement.name, f"pkg:pypi/{requirement.name}", licence),
            "isExternal": True,
            "versionRange": "vers:pypi/" + "|".join(operator + version for version, operator in bounds),
            "scope": scope,
        }

    def _bundled(self, part: dict[str, str]) -> dict[str, Any]:
        """What others wrote and the wheel holds."""
        content = (Path(self.root) / part["file"]).read_bytes()
        return {
            "type": part["type"],
            **_named(part["name"], part["purl"], part["licence"]),
            **({"version": part["version"]} if "version" in part else {}),
            "hashes": [{"alg": "SHA-256", "content": hashlib.sha256(content).hexdigest()}],
        }


def _named(name: str, purl: str, licence: str) -> dict[str, Any]:
    return {"bom-ref": purl, "name": name, "purl": purl, "licenses": [{"expression": licence}]}


def bill_of_materials(root: dict[str, Any], parts: list[dict[str, Any]]) -> dict[str, Any]:
    """A CycloneDX document without a moment in it: the same source gives the same bytes."""
    facts = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.7",
        "version": 1,
        "metadata": {"lifecycles": [{"phase": "build"}], "component": root},
        "components": parts,
        "dependencies": [{"ref": root["bom-ref"], "dependsOn": [part["bom-ref"] for part in parts]}],
        # What the dependencies depend on in turn is known where the wheel is installed only.
        "compositions": [{"aggregate": "incomplete", "dependencies": [part["bom-ref"] for part in parts]}],
    }
    return {**facts, "serialNumber": uuid5(NAMESPACE_URL, json.dumps(facts, sort_keys=True)).urn}
