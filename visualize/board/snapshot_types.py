"""Writes the TypeScript types of `Snapshot` and `Update` for the board's JavaScript."""

from __future__ import annotations

import json
from enum import Enum
from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from visualize.assets import STATIC
from visualize.board import snapshot
from visualize.board.snapshot import Snapshot, Update

TYPES = STATIC / "trace" / "snapshot.d.ts"
_HEAD = (
    "// Written by `python -m visualize.board.snapshot_types` from visualize/board/snapshot.py.\n"
)
_WIDTH = 101  # characters of a line, its end included; prettier breaks longer lines
_NAMES = {"string": "string", "boolean": "boolean", "integer": "number", "number": "number"}


def snapshot_types() -> str:
    """Return the text of the file TYPES: a type for each definition in the JSON schema."""
    _, schema = models_json_schema([(Snapshot, "serialization"), (Update, "serialization")])
    definitions = schema["$defs"]
    return _HEAD + "".join(_definition(name, each) for name, each in definitions.items())


def _definition(name: str, schema: dict[str, Any]) -> str:
    kind = getattr(snapshot, name, None)
    # Pydantic describes a dataclass on some versions of Python alone.
    described = isinstance(kind, type) and issubclass(kind, BaseModel | Enum)
    words = " ".join(schema.get("description", "").split()) if described else ""
    comment = f"\n/** {words} */\n" if words else "\n"
    if "properties" not in schema:
        line = f"type {name} = {_type(schema)};\n"
        if len(line) > _WIDTH:
            union = _type(schema).replace(" | ", "\n  | ")
            line = f"type {name} =\n  | {union};\n"
        return comment + line
    lines = [
        f"  {field}{'' if field in schema['required'] else '?'}: {_type(each)};"
        f"{' // ' + each['description'] if 'description' in each else ''}\n"
        for field, each in schema["properties"].items()
    ]
    return f"{comment}interface {name} {{\n{''.join(lines)}}}\n"


def _type(schema: dict[str, Any]) -> str:
    match schema:
        case {"$ref": str(path)}:
            return path.rpartition("/")[2]
        case {"enum": list(values)}:
            return " | ".join(map(json.dumps, values))
        case {"anyOf": list(kinds)}:
            return " | ".join(map(_type, kinds))
        case {"type": "null"}:
            return "null"
        case {"type": "array", "prefixItems": list(items)}:
            return f"[{', '.join(map(_type, items))}]"
        case {"type": "array", "items": dict(item)}:
            each = _type(item)
            return f"({each})[]" if "|" in each else f"{each}[]"
        case {"type": "object", "additionalProperties": dict(value)}:
            keys = _type(schema.get("propertyNames", {"type": "string"}))
            return f"Record<{keys}, {_type(value)}>"
        case {"type": str(name)} if name in _NAMES:
            return _NAMES[name]
    raise ValueError(f"no TypeScript type for {schema}")


if __name__ == "__main__":
    TYPES.write_text(snapshot_types(), "utf-8")
