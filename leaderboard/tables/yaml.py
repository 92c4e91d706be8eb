"""Plain values as YAML that all parsers read alike: texts and keys are quoted."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any


def yaml_text(facts: Mapping[str, Any] | Sequence[Any]) -> str:
    """The facts as YAML: mappings and lists in blocks, scalars as in JSON, which is valid YAML.

    >>> print(yaml_text({"tag": "on", "research goal": {"measures": ["AP", 3], "none": []}}))
    "tag": "on"
    "research goal":
      "measures":
        - "AP"
        - 3
      "none": []
    <BLANKLINE>
    >>> print(yaml_text([{"value": 0.5, "source": {"name": "T"}}]))
    -
      "value": 0.5
      "source":
        "name": "T"
    <BLANKLINE>
    """
    return "\n".join(_lines(facts)) + "\n"


def _lines(value: Any, indent: str = "") -> Iterator[str]:
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _entry(f"{indent}{_scalar(str(key))}:", inner, indent)
    else:
        for inner in value:
            yield from _entry(f"{indent}-", inner, indent)


def _entry(head: str, value: Any, indent: str) -> Iterator[str]:
    if _is_nested(value):
        yield head
        yield from _lines(value, f"{indent}  ")
    else:
        yield f"{head} {_scalar(value)}"


def _is_nested(value: Any) -> bool:
    return isinstance(value, Mapping | Sequence) and not isinstance(value, str) and len(value) > 0


def _scalar(value: Any) -> str:
    # Letters outside ASCII are escaped: some are line breaks in YAML but not in JSON.
    return json.dumps(value, allow_nan=False)
