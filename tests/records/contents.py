"""Contents of every kind as a careful writer would write them: strategies and one example each."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from hypothesis import strategies as st

AT = "2026-01-05T12:00:00Z"
HEX = "ab" * 32
QUESTION = "evc1:" + HEX


def question_id_of(contract: dict[str, str]) -> str:
    """The id by its definition: evc1: and the hash of the compact sorted JSON."""
    text = json.dumps(contract, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return "evc1:" + hashlib.sha256(text.encode("utf-8")).hexdigest()


# ---- values

letters = "ABCxyz019"
names = st.builds(
    lambda first, rest: first + rest,
    st.sampled_from(letters),
    st.text(letters + "._-", max_size=12),
)
words = st.text(st.characters(exclude_categories=("Cs",)), min_size=1, max_size=20)
digests = st.binary(min_size=32, max_size=32).map(bytes.hex)
questions = digests.map("evc1:".__add__)
instants = st.builds(
    "{:04d}-{:02d}-{:02d}T{:02d}:{:02d}:{:02d}{}Z".format,
    *(st.integers(1970, 2200), st.integers(1, 12), st.integers(1, 28)),
    *(st.integers(0, 23), st.integers(0, 59), st.integers(0, 59)),
    st.sampled_from(["", ".5", ".000001", ".123456"]),
)
moments = st.one_of(instants, instants.map(lambda text: text[:10]))
probabilities = st.one_of(
    st.sampled_from(["0", "1", "0.0", "1.0", "0.5", "0.50", "0.0001", "1.000"]),
    st.integers(0, 9999).map("0.{:04d}".format),
)
amounts = st.builds("{}{}".format, st.integers(0, 10**9), st.sampled_from(["", ".0", ".25"]))
numbers = st.builds(str.__add__, st.sampled_from(["", "-"]), amounts)
lines = st.integers(1, 2**53)
flags = st.booleans()
outcomes = st.sampled_from(["yes", "no", "void"])
failures = st.sampled_from(["timeout", "refused", "unparseable", "late", "not_answered"])

json_values = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-(2**53), 2**53), words),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(words, inner, max_size=3)),
    max_leaves=5,
)
later_keys = st.dictionaries(
    st.sampled_from(["later", "of-the-future", "x1", "extra", "kind2"]), json_values, max_size=2
)


def table(
    needed: dict[str, st.SearchStrategy[Any]],
    optional: dict[str, st.SearchStrategy[Any]] | None = None,
) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries(needed, optional=optional or {})


# An empty list of bodies or plugins has a test of its own.
bodies = st.lists(
    table({"role": names, "sha256": digests}, {"due": instants}), min_size=1, max_size=2
)
seats = st.lists(
    table(
        {"forecaster": names, "entry": st.sampled_from(["asked", "accepted"])},
        {
            **dict.fromkeys(("model", "version", "mode", "provider", "family", "side"), words),
            **dict.fromkeys(("company", "quantisation", "key"), words),
            "open_weights": flags,
        },
    ),
    max_size=3,
)
quotes = st.lists(
    table(
        {"question": questions, "read_at": instants},
        {**dict.fromkeys(("bid", "ask", "last", "crowd"), probabilities), "volume": amounts},
    ),
    max_size=3,
)
cells = st.lists(
    st.one_of(
        table({"question": questions, "p": probabilities}),
        table({"question": questions, "missing": failures}),
    ),
    max_size=3,
)
asked_questions = st.builds(
    lambda contract, more: {"question": question_id_of(contract), "contract": contract, **more},
    st.dictionaries(words, words, min_size=1, max_size=4),
    table({"cluster": words, "horizon": words, "source": names, "type": names}),
)
settled = {"question": questions, "instant": moments, "source": words, "final": words}
traded = {"account": names, "order": names, "depth_line": lines, "shares": numbers}
traded["money"] = numbers

beacons = table({"source": names, "number": lines, "value": words})
line_pairs = st.lists(lines, min_size=2, max_size=2)
run_of = {
    "run": names,
    "segment": names,
    "slot": instants,
    "counted": flags,
    "snapshot_line": lines,
    "roster_line": lines,
}

OWN: dict[str, st.SearchStrategy[dict[str, Any]]] = {
    "league": table(
        {
            "league": names,
            "origin": names.map(lambda name: f"example.org/{name}/book"),
            "key": words,
            "recovery": digests,
            "declaration_sha256": digests,
        },
        {
            "plugins": st.lists(
                table({"name": words, "version": words, "sha256": digests}), min_size=1, max_size=2
            ),
            "successor_of": table(
                {
                    "origin": names.map(lambda name: f"example.org/{name}/book"),
                    "size": lines,
                    "root": digests,
                }
            ),
        },
    ),
    "segment": table(
        {
            "segment": names,
            "methodology": words,
            "time": st.sampled_from(["simulated", "live"]),
            "why": words,
            "counted": flags,
        }
    ),
    "question": asked_questions,
    "roster": table(
        {"run": names, "seats": seats, "deadline": instants, "retry": words, "counted_run": words}
    ),
    "run": st.one_of(
        table(
            {**run_of, "question_lines": st.lists(lines, min_size=2, max_size=2)}, {"why": words}
        ),
        table({**run_of, "questions": st.lists(questions, max_size=3)}, {"why": words}),
    ),
    "close": table(
        {
            "run": names,
            "slot": instants,
            "status": st.sampled_from(["complete", "stopped_budget", "failed", "missed"]),
        },
        {"why": words},
    ),
    "snapshot": table(
        {"run": names, "quotes": quotes}, {"moment": st.sampled_from(["start", "end"])}
    ),
    "ask": table(
        {
            "run": names,
            "forecaster": names,
            "attempt": lines,
            "questions": st.lists(questions, max_size=3),
        },
        {
            "reserved": amounts,
            "why": st.sampled_from(["first", "retry", "reask", "resumed"]),
            "again": lines,
        },
    ),
    "answer": table(
        {"run": names, "forecaster": names, "status": st.one_of(st.just("answered"), failures)},
        {
            "ask_line": lines,
            "requested_model": words,
            "served_model": words,
            "received_at": instants,
            "cost": amounts,
            "leak_flag": flags,
            "leaks": st.lists(names.filter(lambda name: len(name) <= 40), min_size=1, max_size=2),
            "citations": lines,
            "latency_ms": lines,
            "provider": words,
            "detail": words,
            "retryable": flags,
            "cells": cells,
            "cells_root": digests,
            "submission": digests,
        },
    ),
    "reference": table({**settled, "price": numbers}),
    "resolution": table({**settled, "outcome": outcomes}),
    "confirmation": table(
        {
            **{key: shape for key, shape in settled.items() if key != "final"},
            "value": outcomes,
            "line": lines,
        }
    ),
    "correction": table(
        {
            "lines": st.lists(lines, min_size=1, max_size=3),
            "what": words,
            "source": words,
            "reason": words,
        },
        {"outcome": outcomes},
    ),
    "fill": table(traded),
    "mark": table(traded),
    "proof": table(
        {
            "anchor": names,
            "checkpoint_size": lines,
            "state": st.sampled_from(["pending", "complete", "failed"]),
        },
        {"reason": words, "attempts": lines},
    ),
    "release": table({"release": names, "manifest_sha256": digests, "lines": lines}),
    "key": table(
        {
            "key": words,
            "replaces": words,
            "by": st.sampled_from(["key", "recovery"]),
            "reason": words,
            "note": words,
        },
        {"recovery": digests, "recovery_key": words},
    ),
    "revealed": table({"line": lines, "body_sha256": digests, "why": words}),
    "erased": table({"line": lines, "body_sha256": digests, "why": words}),
}


def contents(kind: str) -> st.SearchStrategy[dict[str, Any]]:
    """Contents of one kind, without keys of a later version."""
    common = table({"at": instants, "kind": st.just(kind)}, {"bodies": bodies, "clock": instants})
    return st.builds(lambda base, own: {**base, **own}, common, OWN[kind])


# ---- one plain example of each, with every key that must be there and no other

CONTRACT = {"source": "example", "rule": "yes if it rains"}
EXAMPLES: dict[str, dict[str, Any]] = {
    "league": {
        "league": "blind",
        "origin": "example.org/blind/book",
        "key": "example.org/blind/book+00000000+AAAA",
        "recovery": HEX,
        "declaration_sha256": HEX,
    },
    "segment": {
        "segment": "s1",
        "methodology": "v1",
        "time": "live",
        "why": "the first",
        "counted": True,
    },
    "question": {
        "question": question_id_of(CONTRACT),
        "contract": CONTRACT,
        "cluster": "c1",
        "horizon": "1d",
        "source": "example",
        "type": "market",
    },
    "roster": {
        "run": "r1",
        "seats": [{"forecaster": "a", "entry": "asked"}],
        "deadline": AT,
        "retry": "none",
        "counted_run": "by schedule",
    },
    "run": {
        "run": "r1",
        "segment": "s1",
        "slot": AT,
        "counted": True,
        "snapshot_line": 2,
        "roster_line": 3,
        "question_lines": [4, 5],
    },
    "close": {"run": "r1", "slot": AT, "status": "missed"},
    "snapshot": {"run": "r1", "quotes": [{"question": QUESTION, "read_at": AT, "bid": "0.5"}]},
    "ask": {"run": "r1", "forecaster": "a", "attempt": 1, "questions": [QUESTION]},
    "answer": {"run": "r1", "forecaster": "a", "status": "answered"},
    "reference": {
        "question": QUESTION,
        "price": "-1.5",
        "instant": AT,
        "source": "x",
        "final": "x",
    },
    "resolution": {
        "question": QUESTION,
        "outcome": "yes",
        "instant": "2026-01-05",
        "source": "x",
        "final": "x",
    },
    "confirmation": {
        "question": QUESTION,
        "value": "yes",
        "instant": "2026-01-05",
        "source": "y",
        "line": 3,
    },
    "correction": {"lines": [3], "what": "price", "source": "x", "reason": "x"},
    "fill": {"account": "a", "order": "o", "depth_line": 1, "shares": "-2", "money": "1.25"},
    "mark": {"account": "a", "order": "o", "depth_line": 1, "shares": "2", "money": "1.25"},
    "proof": {"anchor": "ots", "checkpoint_size": 7, "state": "pending"},
    "release": {"release": "2026-01", "manifest_sha256": HEX, "lines": 7},
    "key": {
        "key": "example.org/blind/book+00000000+AAAA",
        "replaces": "example.org/blind/book+11111111+AAAA",
        "by": "key",
        "reason": "the yearly change",
        "note": "beforehand-key/1",
    },
    "revealed": {"line": 5, "body_sha256": HEX, "why": "the model is released"},
    "erased": {"line": 5, "body_sha256": HEX, "why": "asked by the reader"},
}
EXAMPLES = {kind: {"at": AT, "kind": kind, **own} for kind, own in EXAMPLES.items()}

# The kinds of DESIGN 3, in its table's words.
KINDS = (
    *("league", "segment", "question", "roster", "run", "snapshot", "ask", "answer", "close"),
    *(
        "reference",
        "resolution",
        "confirmation",
        "correction",
        "fill",
        "mark",
        "proof",
        "release",
        "key",
    ),
    *("revealed", "erased"),
)
