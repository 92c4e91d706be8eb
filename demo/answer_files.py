"""Files of the demo's answers: zips in LongEval's form, the lines and what ir_metadata says of the run."""

import json
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from demo.answering import Segment
from demo.texts import FOLDER, Topic
from leaderboard.trec.answers.packages import METADATA, RESPONSES

ANSWERS = FOLDER / "answers"
RUNS = ANSWERS / "runs"
CHOSEN = (
    *("PY009", "PY011", "PY013", "PY014", "PY016", "PY017"),
    *("PY018", "PY021", "PY022", "PY024", "PY026", "PY028"),
)
"""The topics that are answered: errors, concepts and comparisons that a few sentences explain."""
MADE_AT = (1980, 1, 1, 0, 0, 0)
"""The time in every zip, so that the same answers are the same bytes."""


@dataclass(frozen=True)
class AnsweringSystem:
    """What a file says of the system behind it; its name is that of its ranking, a dot and its method."""

    ranking: str
    method: str
    description: str
    parameters: Mapping[str, float | int] = field(default_factory=dict)
    libraries: str = "the standard library"
    prompt: str = "none"

    @property
    def name(self) -> str:
        """The run's name."""
        return f"{self.ranking}.{self.method}"


def write(
    system: AnsweringSystem, answers: Mapping[str, Sequence[Segment]], asked: Mapping[str, Topic]
) -> Path:
    """Write `runs/NAME.zip` and return its path; answers are segments by topic, asked the topics."""
    lines = [json.dumps(_line(system, asked[topic], answers[topic])) for topic in answers]
    RUNS.mkdir(parents=True, exist_ok=True)
    path = RUNS / f"{system.name}.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in (
            (RESPONSES, "".join(f"{line}\n" for line in lines)),
            (METADATA, "".join(f"{line}\n" for line in _metadata(system))),
        ):
            info = zipfile.ZipInfo(name, MADE_AT)
            info.compress_type, info.external_attr = zipfile.ZIP_DEFLATED, 0o644 << 16
            archive.writestr(info, text, compresslevel=9)
    return path


def read(path: Path) -> dict[str, list[Segment]]:
    """The answers of a file by topic, with the documents that segments cite."""
    with zipfile.ZipFile(path) as archive:
        records = [json.loads(line) for line in archive.read(RESPONSES).decode().splitlines()]
    return {
        record["metadata"]["narrative_id"]: [
            (one["text"], tuple(record["references"][place] for place in one["citations"]))
            for one in record["answer"]
        ]
        for record in records
    }


def read_all() -> dict[str, dict[str, list[Segment]]]:
    """The answers of every run by its name, runs in byte order of their names."""
    return {path.name.removesuffix(".zip"): read(path) for path in sorted(RUNS.glob("*.zip"))}


def _line(system: AnsweringSystem, topic: Topic, segments: Sequence[Segment]) -> dict[str, object]:
    references = list(dict.fromkeys(docno for _, cited in segments for docno in cited))
    return {
        "metadata": {
            "team_id": "baselines",
            "run_id": system.name,
            "narrative_id": topic.number,
            "type": "automatic",
            "narrative": topic.description,
            "prompt": system.prompt,
        },
        "references": references,
        "answer": [
            {"text": text, "citations": [references.index(docno) for docno in cited]}
            for text, cited in segments
        ],
    }


def _metadata(system: AnsweringSystem) -> Iterator[str]:
    yield from ("schema-version: 0.2", f"tag: {system.name}", "actor:", "  team: baselines")
    yield from ("implementation:", "  source:", "    lang: python", f"    libraries: {system.libraries}")
    yield from ("method:", "  automatic: true", f"  description: {system.description}")
    yield from ("  retrieval:", f"    - name: {system.ranking}", "  topic-fields: title, description")
    if system.parameters:
        yield "  parameters:"
        yield from (f"    {key}: {value}" for key, value in system.parameters.items())
