"""The API's reference as a page of our own: what /openapi.json says, with nothing from elsewhere."""

from __future__ import annotations

from typing import Any, NamedTuple

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from coombs.web.pages import render

router = APIRouter(include_in_schema=False)


class Field(NamedTuple):
    """Something that goes in or comes out."""

    name: str
    kind: str
    text: str
    required: bool


class Operation(NamedTuple):
    """One thing that the API does."""

    method: str
    path: str
    tag: str
    text: str
    inputs: list[Field]
    output: str


class Record(NamedTuple):
    """A kind of JSON object."""

    name: str
    text: str
    fields: list[Field]


@router.get("/docs")
def reference(request: Request) -> Response:
    """All operations and records."""
    schema = request.app.openapi()
    parts = schema["components"]["schemas"]
    own = {name: part for name, part in parts.items() if "ValidationError" not in name}
    records = [_record(name, part) for name, part in own.items() if "properties" in part]
    operations = [
        _operation(method, path, one, parts)
        for path, methods in schema["paths"].items()
        for method, one in methods.items()
    ]
    return render(request, "reference.html", operations=operations, records=records)


def _operation(method: str, path: str, one: dict[str, Any], parts: dict[str, Any]) -> Operation:
    inputs = [
        Field(part["name"], _kind(part["schema"]), part.get("description", ""), part.get("required", False))
        for part in one.get("parameters", [])
        if part["in"] != "path"
    ]
    body = one.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema")
    if body is not None:
        inputs += _record("", parts[body["$ref"].rpartition("/")[2]]).fields
    good = next(reply for code, reply in one["responses"].items() if code.startswith("2"))
    output = _kind(good.get("content", {}).get("application/json", {}).get("schema", {}))
    return Operation(method.upper(), path, one["tags"][0], one.get("description", ""), inputs, output)


def _record(name: str, part: dict[str, Any]) -> Record:
    needed = part.get("required", [])
    fields = [
        Field(called, _kind(one), one.get("description", ""), called in needed)
        for called, one in part["properties"].items()
    ]
    return Record(name, part.get("description", ""), fields)


def _kind(schema: dict[str, Any]) -> str:
    """A type in words."""
    if "$ref" in schema:
        return str(schema["$ref"].rpartition("/")[2])
    if "anyOf" in schema:
        return " or ".join(_kind(one) for one in schema["anyOf"])
    if "enum" in schema:
        return " | ".join(f'"{value}"' for value in schema["enum"])
    if schema.get("type") == "array":
        return f"list of {_kind(schema.get('items', {}))}"
    return str(schema.get("type", "object"))
