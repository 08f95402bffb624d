"""The API's reference as a page of our own: what /openapi.json says, with nothing from elsewhere."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from coombs.web.pages.rendering import render

router = APIRouter(include_in_schema=False)


@router.get("/docs")
def reference(request: Request) -> Response:
    """All operations and the JSON objects that they take and give."""
    schema = request.app.openapi()
    objects = schema["components"]["schemas"]
    operations = [
        {
            "method": method.upper(),
            "path": path,
            **one,
            "inputs": _inputs(one, objects),
            "output": _output(one),
        }
        for path, methods in schema["paths"].items()
        for method, one in methods.items()
    ]
    own = {
        name: one for name, one in objects.items() if "ValidationError" not in name and "properties" in one
    }
    shown = [(name, one.get("description", ""), _fields(one)) for name, one in own.items()]
    return render(request, "reference.html", operations=operations, objects=shown)


def _inputs(operation: dict[str, Any], objects: dict[str, Any]) -> list[dict[str, Any]]:
    """What an operation takes, in the query or as JSON."""
    query = [
        {**one, "kind": _kind(one["schema"])}
        for one in operation.get("parameters", [])
        if one["in"] != "path"
    ]
    body = operation.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema")
    return query + ([] if body is None else _fields(objects[_kind(body)]))


def _output(operation: dict[str, Any]) -> str:
    """What an operation gives where all goes well."""
    good = next(reply for code, reply in operation["responses"].items() if code.startswith("2"))
    return _kind(good.get("content", {}).get("application/json", {}).get("schema", {}))


def _fields(part: dict[str, Any]) -> list[dict[str, Any]]:
    """The fields of a JSON object."""
    return [
        {**one, "name": name, "kind": _kind(one), "required": name in part.get("required", [])}
        for name, one in part["properties"].items()
    ]


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
