"""The intake's OpenAPI document: what its routes take and give. A test holds the two together."""

from __future__ import annotations

from typing import Any

import beforehand
from beforehand.records.question import QUESTION_ID
from beforehand.records.shape import Digest, Instant, Name
from beforehand.relay.problem import PROBLEM_TYPE, TITLES
from beforehand.stages.submission import MAX_SUBMISSION_BYTES, SUBMISSION_TABLE

# What every route may answer, whatever it was asked.
_ALWAYS = ("bad_request", "too_fast", "failed")


def openapi_document() -> dict[str, Any]:
    """OpenAPI 3.1 of the intake."""
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "beforehand intake",
            "version": beforehand.__version__,
            "description": "Where entrants submit signed forecasts. Format and rules: "
            "docs/reference/submission.md.",
        },
        "paths": {
            "/v1/submissions": {"post": _submit()},
            "/v1/runs": {"get": _get("The runs that take submissions now", "Runs", ("not_ready",))},
            "/v1/receipts/{sha256}": {"get": _receipt()},
            "/v1/openapi.json": {"get": _get("This document", {"type": "object"}, ())},
            "/metrics": {"get": _metrics()},
            "/healthz": {"get": _get("Whether the intake can work", "Health", ("not_ready",))},
        },
        "components": {"schemas": _schemas()},
    }


def _submit() -> dict[str, Any]:
    codes = (
        *("not_json", "not_a_submission", "wrong_origin", "unknown_run", "not_registered"),
        *("wrong_signature", "not_asked", "no_room", "too_slow", "too_large", "not_json_type"),
        "not_ready",
    )
    return {
        "operationId": "submit",
        "summary": "Submit signed forecasts; the reply is a signed promise of inclusion",
        "requestBody": {
            "required": True,
            "description": f"At most {MAX_SUBMISSION_BYTES} bytes, uncompressed.",
            "content": {"application/json": {"schema": _ref("Submission")}},
        },
        "responses": {
            "201": _json("Kept, and promised", "Receipt"),
            "200": _json("It was kept before: the receipt it had", "Receipt"),
            **_problems((*codes, *_ALWAYS)),
        },
    }


def _receipt() -> dict[str, Any]:
    operation = _get("The receipt of a submission", "Receipt", ("unknown_receipt", "not_ready"))
    operation["parameters"] = [
        {
            "name": "sha256",
            "in": "path",
            "required": True,
            "description": "The SHA-256 of the submission's bytes.",
            "schema": Digest().schema(),
        }
    ]
    return operation


def _metrics() -> dict[str, Any]:
    operation = _get("Metrics in the text format of Prometheus", {"type": "string"}, ())
    shown = operation["responses"]["200"]["content"].pop("application/json")
    operation["responses"]["200"]["content"] = {"text/plain": shown}
    return operation


def _get(summary: str, schema: str | dict[str, Any], codes: tuple[str, ...]) -> dict[str, Any]:
    return {
        "operationId": summary.lower().replace(" ", "-"),
        "summary": summary,
        "responses": {"200": _json(summary, schema), **_problems((*codes, *_ALWAYS))},
    }


def _json(words: str, schema: str | dict[str, Any]) -> dict[str, Any]:
    held = _ref(schema) if isinstance(schema, str) else schema
    return {"description": words, "content": {"application/json": {"schema": held}}}


def _ref(name: str) -> dict[str, Any]:
    return {"$ref": f"#/components/schemas/{name}"}


def _problems(codes: tuple[str, ...]) -> dict[str, Any]:
    """The responses of refusals by status, each listing its codes."""
    by_status: dict[int, list[str]] = {}
    for code in codes:
        by_status.setdefault(TITLES[code][0], []).append(code)
    return {
        str(status): {
            "description": "; ".join(f"`{code}`: {TITLES[code][1]}" for code in held),
            "content": {PROBLEM_TYPE: {"schema": _ref("Problem")}},
        }
        for status, held in sorted(by_status.items())
    }


def _table(fields: dict[str, Any], optional: tuple[str, ...] = ()) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": fields,
        "required": [key for key in fields if key not in optional],
        "additionalProperties": False,
    }


def _schemas() -> dict[str, Any]:
    text, instant = {"type": "string"}, Instant().schema()
    signed = SUBMISSION_TABLE.schema()
    signed["required"] = [*signed["required"], "signature"]
    question = _table(
        {
            "question": QUESTION_ID.schema(),
            "contract": {"type": "object", "additionalProperties": text},
            "text": text,
        },
        ("text",),
    )
    run = _table(
        {
            "run": Name().schema(),
            "slot": instant,
            "deadline": instant,
            "closes": instant,
            "questions": {"type": "array", "items": question},
        }
    )
    return {
        "Submission": signed,
        "Receipt": _table(
            {
                "sha256": Digest().schema(),
                "run": Name().schema(),
                "forecaster": Name().schema(),
                "received_at": instant,
                "promised_by": instant,
                "deadline": instant,
                "in_time": {"type": "boolean"},
                "line": {"type": "integer", "minimum": 1},
                "receipt": text,
            },
            ("line",),
        ),
        "Runs": _table(
            {
                "origin": text,
                "key": text,
                "now": instant,
                "promise_seconds": {"type": "integer", "minimum": 1},
                "runs": {"type": "array", "items": run},
            }
        ),
        "Health": _table(
            {
                "status": {"type": "string", "enum": ["ok", "warning", "critical", "unknown"]},
                "lines": {"type": "integer", "minimum": 1},
                "waiting": {"type": "integer", "minimum": 0},
            }
        ),
        "Problem": _table(
            {
                "type": {"type": "string", "format": "uri"},
                "title": text,
                "status": {"type": "integer", "minimum": 400, "maximum": 599},
                "code": {"type": "string", "enum": sorted(TITLES)},
                "detail": text,
            }
        ),
    }
