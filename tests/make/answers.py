"""Files of answers and of judgments of answers."""

import copy
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

Line = dict[str, Any]

RAG24: Line = {
    "run_id": "u1",
    "topic_id": "7",
    "topic": "why is the sky blue",
    "references": ["d9", "d4"],
    "response_length": 7,
    "answer": [
        {"text": "Air scatters blue light most.", "citations": [1, 0]},
        {"text": "Sunsets differ.", "citations": []},
    ],
}
RAG25: Line = {
    "metadata": {
        "team_id": "u",
        "run_id": "u2",
        "type": "automatic",
        "narrative_id": 7,
        "narrative": "why is the sky blue",
        "prompt": "Answer.",
    },
    "references": ["d9", "d4"],
    "answer": [{"text": "Air scatters blue light most.", "citations": ["d4", "d9"]}],
}
RAG26: Line = {
    "metadata": {
        "team_id": "u",
        "run_id": "u2",
        "narrative_id": 7,
        "narrative": "why is the sky blue",
        "run_desc": "one call",
    },
    "references": ["d9", "d4"],
    "answer": [{"text": "Air scatters blue light most.", "citations": ["d4", 0]}],
}
REPORT: Line = {
    "metadata": {"team_id": "u", "run_id": "u3", "topic_id": "7"},
    "responses": [{"text": "Air scatters blue light most.", "citations": {"d4": 0.4, "d9": 0.9}}],
    "references": ["d4", "d9"],
}
LINES: Mapping[str, Line] = {"rag24": RAG24, "rag25": RAG25, "rag26": RAG26, "report": REPORT}


def line(dialect: str, path: str = "", value: object = None) -> Line:
    """A good line of a dialect, with another value at a path such as `metadata.type`; None takes it out."""
    made = copy.deepcopy(LINES[dialect])
    if path:
        *parents, last = path.split(".")
        place: Any = made
        for parent in parents:
            place = place[int(parent) if parent.isdigit() else parent]
        if value is None:
            del place[last]
        else:
            place[int(last) if last.isdigit() else last] = value
    return made


def jsonl(path: Path, lines: Iterable[object]) -> Path:
    """The objects as JSON lines in a file; texts are lines as they are."""
    path.write_text("".join(f"{one if isinstance(one, str) else json.dumps(one)}\n" for one in lines))
    return path


def answer(topic: str, *segments: tuple[str, Iterable[str]], run: str = "one") -> Line:
    """A line of the dialect report: its segments with the documents they cite."""
    cited = [docno for _, docnos in segments for docno in docnos]
    return {
        "metadata": {"team_id": "team", "run_id": run, "topic_id": topic},
        "responses": [{"text": text, "citations": list(docnos)} for text, docnos in segments],
        "references": list(dict.fromkeys(cited)),
    }


def nuggets(topic: str, **importances: str) -> Line:
    """A line of a nugget set: the names are the nuggets' texts."""
    listed = [{"text": text, "importance": importance} for text, importance in importances.items()]
    return {"query": "a query", "qid": topic, "nuggets": listed}


def assigned(
    topic: str, labels: Mapping[str, tuple[str, str]], run: str = "one", text: str | None = None
) -> Line:
    """A line of assignments: text of a nugget -> importance and label."""
    listed = [
        {"text": name, "importance": importance, "assignment": label}
        for name, (importance, label) in labels.items()
    ]
    quoted = {} if text is None else {"answer_text": text}
    return {"query": "a query", "qid": topic, "run_id": run, **quoted, "nuggets": listed}


def supported(topic: str, *segments: Iterable[int], run: str = "one") -> Line:
    """A line of support labels of every segment's citations."""
    sentences = [
        {
            "sentenceID": place,
            "citations": [
                {"citationID": citation, "reference": f"d{citation}", "support": str(label)}
                for citation, label in enumerate(labels)
            ],
        }
        for place, labels in enumerate(segments)
    ]
    return {"topic_id": topic, "run_id": run, "sentences": sentences}
