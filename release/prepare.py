"""Writes what a release states: run it again when more has landed, and it moves what it wrote."""

from leaderboard.db import schema
from release.places import CITED, PACKAGES, STATED, UNRELEASED, VERSION, Release, Section, changelog, folded
from tests.make import openapi, released


def prepare(of: Release) -> None:
    """Write versions, citation, the section of the changelog, and the kept site of the schema."""
    for path in PACKAGES:
        of.write(path, VERSION.sub(rf"\g<1>{of.version}\g<3>", of.read(path)))
    said = {"version": of.version, "date-released": of.day.isoformat()}
    of.write("CITATION.cff", CITED.sub(lambda line: f'{line[1]}: "{said[line[1]]}"', of.read("CITATION.cff")))
    of.write("CHANGELOG.md", moved(of.read("CHANGELOG.md"), of, stated()))
    if schema.head() not in released.released():
        released.main(of.root)


def stated() -> str:
    """The line by which a section names the schema and the API that it brings."""
    return f"Schema {schema.head()}; openapi.json {openapi.digest(openapi.made())}."


def moved(text: str, of: Release, line: str) -> str:
    """The changelog with all that was not released, and what the version's section has, in that section."""
    above, sections = changelog(text)
    own = [each for each in sections if each.name in (UNRELEASED, of.version)]
    bodies = [STATED.sub("", each.body) for each in own]
    section = Section(of.version, of.day.isoformat(), folded(line, *bodies))
    others = [each for each in sections if each not in own]
    return (
        above + "".join(each.text for each in (Section(UNRELEASED, "", ""), section, *others))
    ).rstrip() + "\n"
