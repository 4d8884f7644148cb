"""The OpenAPI document is true: every route stands in it, and every reply keeps to it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]

from beforehand.relay.openapi import openapi_document
from tests.relay.made_league import MadeLeague, make_league
from tests.relay.served import Served, served

schemathesis = pytest.importorskip(
    "schemathesis", reason="schemathesis is not installed: pip install 'beforehand[test]'"
)

CHECKS = schemathesis.checks.CHECKS
DOCUMENT = openapi_document()


@pytest.fixture(scope="module")
def league(tmp_path_factory: pytest.TempPathFactory) -> MadeLeague:
    return make_league(tmp_path_factory.mktemp("openapi") / "league")


@pytest.fixture(scope="module")
def server(league: MadeLeague) -> Iterator[Served]:
    with served(league) as held:
        yield held


def test_the_document_lists_the_routes_and_no_others(server: Served) -> None:
    routes = {
        (route.method.lower(), route.resource.canonical)
        for route in server.intake.application().router.routes()
        if route.resource is not None
    }
    listed = {(method, path) for path, item in DOCUMENT["paths"].items() for method in item}
    assert listed == routes
    assert server.get("/v1/openapi.json") == (200, DOCUMENT)


def test_the_replies_of_a_whole_submission_keep_to_their_schemas(
    league: MadeLeague, server: Served
) -> None:
    def check(name: str, value: object) -> None:
        schema = {"$ref": f"#/components/schemas/{name}", "components": DOCUMENT["components"]}
        Draft202012Validator(schema).validate(value)

    made = league.submission()
    check("Submission", json.loads(made.data()))
    status, reply = server.post(made.data())
    assert status == 201
    check("Receipt", reply)
    check("Receipt", server.get(f"/v1/receipts/{made.sha256}")[1])
    check("Runs", server.get("/v1/runs")[1])
    check("Health", server.get("/healthz")[1])
    check("Problem", server.get("/nothing")[1])


schema = schemathesis.openapi.from_dict(DOCUMENT)


@schema.parametrize()
@settings(max_examples=40, suppress_health_check=list(HealthCheck), deadline=None)
def test_whatever_is_sent_the_reply_is_the_documented_one(
    case: schemathesis.Case, server: Served
) -> None:
    # No JSON Schema can say that a question stands once, so valid data may be refused there.
    left_out = [CHECKS.get_one("positive_data_acceptance")] if case.method == "POST" else []
    case.call_and_validate(base_url=server.url, excluded_checks=left_out)


def test_the_fuzz_left_nothing_behind(league: MadeLeague, server: Served) -> None:
    """Runs last: nothing that was made up has come into the inbox."""
    inbox: Path = league.folder / "inbox"
    assert {path.parent.parent.name for path in inbox.glob("new/*/*/*")} <= {"ada"}
    assert not list(inbox.glob("refused/*/*/*"))
