"""`leaderboard gate` from the outside: verdicts, exit codes, formats, topics that lost, errors."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result
from lxml import etree

from leaderboard.cli import main
from leaderboard.gate import ops
from leaderboard.stats.gates import Compared, gate

TOPICS = tuple(str(number) for number in range(1, 41))
DOCNOS = tuple(f"d{number:02}" for number in range(1, 21))
RANKS = np.random.default_rng(3).integers(1, 12, len(TOPICS))
"""Of the one relevant document of each topic in the old run."""
SHIFTS = {"same": 0, "worse": 6, "better": -9}
"""Run -> by how many ranks it has the relevant document lower."""
JUNIT = """
<grammar xmlns="http://relaxng.org/ns/structure/1.0"
         datatypeLibrary="http://www.w3.org/2001/XMLSchema-datatypes">
  <start>
    <element name="testsuites">
      <attribute name="name"/> <ref name="counts"/>
      <element name="testsuite">
        <attribute name="name"/> <ref name="counts"/>
        <attribute name="skipped"><data type="nonNegativeInteger"/></attribute>
        <oneOrMore>
          <element name="testcase">
            <attribute name="name"/> <attribute name="classname"/>
            <choice>
              <element name="failure"><ref name="why"/></element>
              <element name="skipped"><ref name="why"/></element>
              <element name="system-out"><text/></element>
            </choice>
          </element>
        </oneOrMore>
      </element>
    </element>
  </start>
  <define name="counts">
    <attribute name="tests"><data type="nonNegativeInteger"/></attribute>
    <attribute name="failures"><data type="nonNegativeInteger"/></attribute>
    <attribute name="errors"><data type="nonNegativeInteger"/></attribute>
  </define>
  <define name="why"><attribute name="message"/> <attribute name="type"/> <text/></define>
</grammar>
"""
"""What is written of the format: a part of what the schemas of Jenkins (junit-10.xsd) and others allow."""


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """A folder with judgments, the old run and three new ones."""
    lines = (f"{topic} 0 {docno} {int(docno == 'd01')}\n" for topic in TOPICS for docno in DOCNOS[:15])
    (tmp_path / "qrels").write_text("".join(lines))
    write(tmp_path / "old", RANKS)
    for name, shift in SHIFTS.items():
        write(tmp_path / name, np.clip(RANKS + shift, 1, 20))
    noise = np.random.default_rng(4).integers(-3, 4, len(TOPICS))
    write(tmp_path / "noisy", np.clip(RANKS + noise, 1, 20))
    return tmp_path


def write(path: Path, ranks: Any) -> None:
    """A run of twenty documents per topic that has the relevant one at these ranks."""
    lines = []
    for topic, rank in zip(TOPICS, ranks, strict=True):
        docnos = list(DOCNOS[1:])
        docnos.insert(rank - 1, DOCNOS[0])
        lines += [f"{topic} Q0 {docno} {at} {99 - at} {path.name}\n" for at, docno in enumerate(docnos, 1)]
    path.write_text("".join(lines))


def call(folder: Path, *words: object, judged: bool = True) -> Result:
    """What the command does with these words after the judgments, against the old run."""
    first = [folder / "qrels"] if judged else []
    arguments = [*first, "--baseline", folder / "old", *words]
    return CliRunner().invoke(main, ["gate", *map(str, arguments)])


def found(folder: Path, *words: object) -> dict[str, Any]:
    """The command's JSON."""
    facts: dict[str, Any] = json.loads(call(folder, *words, "--format", "json").stdout)
    return facts


@pytest.mark.parametrize(
    ("run", "verdict", "codes"),
    [
        ("same", "no worse", (0, 0)),
        ("better", "better", (0, 0)),
        ("worse", "worse", (1, 1)),
        ("noisy", "cannot tell", (0, 1)),
    ],
)
def test_the_exit_code_follows_the_verdict(
    files: Path, run: str, verdict: str, codes: tuple[int, int]
) -> None:
    """0 unless a run is worse; strict: unless it is better or no worse."""
    plain, strict = call(files, files / run, "-m", "RR"), call(files, files / run, "-m", "RR", "--strict")
    assert (plain.exit_code, strict.exit_code) == codes, plain.output
    assert f" {verdict} " in plain.stdout
    passed = [line.startswith("Gate passed") for line in (plain.stdout, strict.stdout)]
    assert passed == [code == 0 for code in codes]


def test_runs_and_measures_are_under_one_correction(files: Path) -> None:
    """The numbers of the statistics over all of them; the output names the correction."""
    names, keys = ("worse", "noisy"), ("RR", "nDCG@10")
    facts = found(files, *(files / name for name in names), "-m", "RR", "-m", "nDCG@10", "--margin", "0.05")
    ranks = {"old": RANKS, "worse": np.clip(RANKS + 6, 1, 20)}
    noise = np.random.default_rng(4).integers(-3, 4, len(TOPICS))
    ranks["noisy"] = np.clip(RANKS + noise, 1, 20)
    scores = {
        "RR": {name: 1 / of for name, of in ranks.items()},
        "nDCG@10": {name: np.where(of <= 10, 1 / np.log2(1 + of), 0) for name, of in ranks.items()},
    }
    wanted = [(name, key) for name in names for key in keys]
    expected = gate([Compared(scores[key][name], scores[key]["old"], 0.05) for name, key in wanted])
    assert [(row["run"], row["measure"]) for row in facts["comparisons"]] == wanted
    for row, one in zip(facts["comparisons"], expected, strict=True):
        assert row["verdict"] == one.verdict
        assert row["p"]["worse"] == pytest.approx(one.p.worse)
        assert row["interval"] == pytest.approx([one.low, one.high])
        assert (row["power"], row["topics_needed"]) == (pytest.approx(one.power), one.topics_needed)
    assert facts["correction"] == "holm"
    said = call(files, *(files / name for name in names), "-m", "RR", "-m", "nDCG@10").stdout
    assert "corrected by Holm over 4 comparisons" in said


def test_where_lower_is_better_a_higher_score_is_worse(files: Path) -> None:
    """The difference and its interval are as the measure prints them."""
    write(files / "lower", np.clip(RANKS + 5 + np.arange(len(TOPICS)) % 4, 1, 20))
    (row,) = found(files, files / "lower", "-m", "SearchLength", "--margin", "1")["comparisons"]
    assert (row["direction"], row["verdict"]) == ("lower", "worse")
    assert row["difference"] > row["interval"][0] > 1
    assert row["lost_most"][0]["run"] > row["lost_most"][0]["baseline"]


def test_topics_that_lost_most_name_the_documents_that_moved(files: Path) -> None:
    """What each lost, and judged documents with grade and both ranks, those near the top first."""
    ranks = RANKS.copy()
    ranks[:2] = (1, 2)
    write(files / "old", ranks)
    ranks[:2] = (12, 4)
    write(files / "new", ranks)
    (row,) = found(files, files / "new", "-m", "RR")["comparisons"]
    assert [topic["topic"] for topic in row["lost_most"]] == ["1", "2"]
    assert [topic["lost"] for topic in row["lost_most"]] == pytest.approx([1 - 1 / 12, 1 / 2 - 1 / 4])
    first, second, *_ = row["lost_most"][0]["documents"]
    assert first == {"docno": "d01", "grade": 1, "old_rank": 1, "new_rank": 12}
    assert second == {"docno": "d02", "grade": 0, "old_rank": 2, "new_rank": 1}
    text = call(files, files / "new", "-m", "RR").stdout
    assert "1: 1.0000 to 0.0833, lost 0.9167" in text
    assert "d01, grade 1: rank 1 to 12" in text


def test_a_document_that_a_run_lacks_has_no_rank() -> None:
    """It counts as one at the end of all ranks; unjudged documents and those that stay are not named."""
    found = ops.moved([b"a", b"u", b"c"], [b"b", b"v", b"c"], {b"a": 0, b"b": 2, b"c": 1})
    assert [(each.docno, each.grade, each.old, each.new) for each in found] == [
        ("a", 0, 1, None),
        ("b", 2, None, 1),
    ]


def test_every_measure_may_have_a_margin_of_its_own(files: Path) -> None:
    """By any of its names; the others have the usual one, 0.01 without any."""
    rows = found(files, files / "noisy", "-m", "map", "-m", "RR", "--margin", "AP=0.2")["comparisons"]
    assert {row["measure"]: row["margin"] for row in rows} == {"AP": 0.2, "RR": 0.01}
    rows = found(files, files / "noisy", "-m", "RR", "--margin", "0.5")["comparisons"]
    assert rows[0]["margin"] == 0.5


@pytest.mark.parametrize(("strict", "counts"), [((), ("1", "1")), (("--strict",), ("2", "0"))])
def test_junit_is_valid_and_counts(files: Path, strict: tuple[str, ...], counts: tuple[str, str]) -> None:
    """Worse fails; what cannot be told is skipped, or fails where strict."""
    runs = [files / name for name in ("worse", "noisy", "same")]
    done = call(files, *runs, "-m", "RR", "--format", "junit", *strict)
    root = etree.fromstring(done.stdout.encode())
    etree.RelaxNG(etree.fromstring(JUNIT)).assertValid(root)
    suite = root[0]
    assert (suite.get("failures"), suite.get("skipped")) == counts
    assert [case.get("name") for case in suite] == ["worse", "noisy", "same"]
    (failure, *_) = suite.iter("failure")
    assert failure.get("type") == "worse"
    assert "d01, grade 1: rank" in failure.text


def test_markdown_shows_names_as_they_are(files: Path) -> None:
    """Tags that look like Markdown or HTML do not become any, in tables nor in summaries."""
    text = (files / "worse").read_text().replace(" worse\n", " <b>_x_|\n")
    (files / "worse").write_text(text)
    said = call(files, files / "worse", "-m", "RR", "--format", "markdown").stdout
    assert said.startswith("### Gate failed: 1 worse\n")
    assert "| \\<b\\>\\_x\\_\\| | RR | **worse** |" in said
    assert "<summary>Topics of &lt;b&gt;_x_| that lost most by RR</summary>" in said
    assert "| 0.9" not in said.partition("<details>")[0]


def test_with_an_output_file_the_log_has_the_text(files: Path) -> None:
    """So a build has a report for machines and one for people by one command."""
    output = files / "gate.xml"
    done = call(files, files / "worse", "-m", "RR", "--format", "junit", "--output", output)
    assert done.exit_code == 1
    assert done.stdout.startswith("Gate failed: 1 worse")
    assert output.read_text().startswith("<?xml")


def test_judgments_may_be_named_by_an_option(files: Path) -> None:
    """Then every file is a run."""
    done = call(files, files / "same", "--qrels", files / "qrels", judged=False)
    assert done.exit_code == 0
    assert "same" in done.stdout


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("same", "--margin", "-0.1"), "'-0.1' is not a margin"),
        (("same", "--margin", "nan"), "'nan' is not a margin"),
        (("same", "--margin", "AP=0.1"), "AP has a margin but is not compared"),
        (("same", "-m", "nonsense"), "nonsense"),
        (("same", "-m", "NumRel"), "has no direction"),
        (("qrels",), "This is a qrels file"),
        ((), "Missing argument 'RUN...'"),
        (("same", "--site", "http://localhost:1"), "--site and --task go together"),
        (("same", "--baseline", "nowhere"), "there is no file nowhere"),
        (("same", "--output", "."), "is a directory"),
    ],
)
def test_what_goes_wrong_has_an_exit_code_of_its_own(
    files: Path, words: tuple[str, ...], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A gate that cannot be asked has found no run to be worse."""
    monkeypatch.chdir(files)
    done = call(files, *words)
    assert done.exit_code == 2, done.output
    assert message in done.output


def test_a_fault_of_the_program_is_no_worse_run(files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It ends with the traceback and the exit code of errors."""

    def fail(*_: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(ops, "report", fail)
    done = call(files, files / "same")
    assert done.exit_code == 2
    assert "Traceback" in done.output
