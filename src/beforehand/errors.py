"""One error tree; each branch says who must act.

::

    BeforehandError
    ├── FormatError      the writer of the input: it does not have the declared form
    ├── IntegrityError   everyone: what was sealed and what is there differ; caught nowhere inside
    ├── RuleError        the operator: the league's own rules forbid this
    ├── RemoteError      the far side failed; `.retryable` says whether to try again
    └── ConflictError    somebody else wrote first: reload and retry

A refusal, a timeout or an unreadable answer of a forecaster is a value
(`records.forecast.Missing`), never one of these.
"""

from __future__ import annotations


class BeforehandError(Exception):
    """Base of every error this package raises on purpose."""


class FormatError(BeforehandError):
    """The input does not have the declared form; the message names what, where and what to do."""


class IntegrityError(BeforehandError):
    """Sealed bytes and present bytes differ."""


class RuleError(BeforehandError):
    """A rule of the league, or of this version, forbids the step."""


class RemoteError(BeforehandError):
    """A far side failed. `retryable` is True where the same call may succeed later."""

    def __init__(self, message: str, *, retryable: bool = False) -> None:
        super().__init__(message)
        self.retryable = retryable


class ConflictError(BeforehandError):
    """The book has grown or is held by another writer."""
