"""The checklist: each check says what is wrong, by which rule and what to do, or nothing."""

import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from datetime import date, timedelta

from leaderboard.db import schema
from release.places import CITED, PACKAGES, STATED, UNRELEASED, VERSION, Release, changelog
from tests.make import openapi, released

NUMBER = re.compile(r"\d+\.\d+\.\d+")
LOOK_ALIKES = "leaderboard/accounts/ops/look_alikes.txt"
LISTED = re.compile(r"^# From Unicode's confusables.txt of (\d{4}-\d{2}-\d{2})\.$", re.MULTILINE)
AGAIN = "run this again with --prepare, and commit"

Check = Callable[[Release], Iterator[str]]


def tree(of: Release) -> Iterator[str]:
    """Nothing is changed that is not committed."""
    if changed := of.git("status", "--porcelain").splitlines():
        names = ", ".join(line[3:] for line in changed[:3]) + (", ..." if len(changed) > 3 else "")
        yield f"A release is a commit, and {names} differ from it: commit or remove that."


def tag(of: Release) -> Iterator[str]:
    """The version is a number that was not given."""
    if not NUMBER.fullmatch(of.version):
        yield f"{of.version} is not a version such as 1.2.3: versions follow Semantic Versioning."
    elif of.git("tag", "--list", of.tag):
        yield f"{of.tag} is in git already, and what is released stays: choose the next version."


def version(of: Release) -> Iterator[str]:
    """Site and client say the version, each in the one place that it is read from."""
    for path in PACKAGES:
        said = [found[1] for found in VERSION.findall(of.read(path))]
        if said != [of.version]:
            yield f"{path} says {' and '.join(said) or 'no version'}, not {of.version}: {AGAIN}."


def section(of: Release) -> Iterator[str]:
    """The changelog has a section of this version and day, and above it nothing that is not released."""
    _, sections = changelog(of.read("CHANGELOG.md"))
    if [each.name for each in sections][:2] != [UNRELEASED, of.version]:
        yield f"CHANGELOG.md does not begin with [{UNRELEASED}] and [{of.version}]: {AGAIN}."
        return
    above, own = sections[:2]
    if above.body:
        yield f"CHANGELOG.md has changes under [{UNRELEASED}], which come with this version: {AGAIN}."
    if own.day != of.day.isoformat():
        yield f"CHANGELOG.md dates {of.version} {own.day or 'nowhere'}, and it comes out {of.day}: {AGAIN}."
    if len(set(own.heads)) < len(own.heads) or not own.heads:
        yield f"The section {of.version} of CHANGELOG.md has no heads, or one twice: {AGAIN}."


def kept(of: Release) -> Iterator[str]:
    """Later versions can be tried on a site of this schema, and the changelog names it."""
    said = _stated(of)
    if said is None or said[0] != schema.head():
        yield f"The section {of.version} of CHANGELOG.md does not say 'Schema {schema.head()};': {AGAIN}."
    for path in (f"tests/db/released/{schema.head()}.{suffix}" for suffix in ("sql.zst", "sqlite3.zst")):
        if not of.git("ls-files", path):
            yield f"{path} is not in git, the site that later schemas are tried on: {AGAIN}."


def api(of: Release) -> Iterator[str]:
    """The document of the API is that of the program, and the changelog names it."""
    made = openapi.made()
    if of.read("docs/openapi.json").encode() != made:
        yield "docs/openapi.json is not what the program makes: run python -m tests.make.openapi, and commit."
    said = _stated(of)
    if said is None or said[1] != openapi.digest(made):
        yield f"The section {of.version} of CHANGELOG.md does not name openapi.json's digest: {AGAIN}."


def _stated(of: Release) -> tuple[str, str] | None:
    """Schema and digest of the API that the section of the version states."""
    for each in changelog(of.read("CHANGELOG.md"))[1]:
        if each.name == of.version and (found := STATED.search(each.body)):
            return found[1], found[2]
    return None


def citation(of: Release) -> Iterator[str]:
    """CITATION.cff has version and day."""
    expected = {"version": of.version, "date-released": of.day.isoformat()}
    if dict(CITED.findall(of.read("CITATION.cff"))) != expected:
        yield f"CITATION.cff has another version or day than {of.version} and {of.day}: {AGAIN}."


def documents(of: Release) -> Iterator[str]:
    """The documents become a site without a warning, and the list of measures is the program's."""
    command = [sys.executable, "-c", released.COMMAND, "measures", "--format", "markdown"]
    listed = subprocess.run(command, cwd=of.root, check=True, capture_output=True, text=True).stdout
    if listed != of.read("docs/measures.md"):
        yield "docs/measures.md is not what leaderboard measures --format markdown prints: write it anew."
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-c", "docs", ".", folder]
        done = subprocess.run(command, cwd=of.root, capture_output=True, text=True, check=False)
    if done.returncode:
        yield f"The documents become a site with warnings, and have to without: {done.stderr.strip()}"


def look_alikes(of: Release) -> Iterator[str]:
    """The list of characters that look alike is of the last year: Unicode publishes one each year."""
    made = LISTED.search(of.read(LOOK_ALIKES))
    if made is None or of.day - date.fromisoformat(made[1]) > timedelta(days=366):
        yield (
            f"{LOOK_ALIKES} is from a confusables.txt of {made[1] if made else 'no day'}, over a year old: "
            "run python -m release.look_alikes with Unicode's newest, and commit."
        )


CHECKS: tuple[Check, ...] = (tree, tag, version, section, kept, api, citation, look_alikes, documents)
