"""Which key signs a book: the one of its first line, until a line changes it.

A `key` line names a new key and carries a signed note over this statement:

    beforehand-key/1
    origin ORIGIN
    line N            the number of the key line itself
    prev LINK         the link of the line before it
    replaces KEY
    key KEY
    recovery SHA-256  only where the recovery key signs: that of the next one

It is signed by the key it replaces, or by the recovery key, whose SHA-256 the
league line committed to before anybody needed it; and always by the new key
too, so that nobody can put a stranger's key into a book. The statement names
its own place, so that it can stand nowhere else: not earlier, not twice, and
not in another book. Who holds the signing key alone cannot change the recovery
key, and so cannot keep the book from its owner.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from beforehand.book.checkpoint import VerifierKey, is_utf8, open_note
from beforehand.clock import instant_key
from beforehand.errors import FormatError, IntegrityError
from beforehand.records.codec import decode_json, digest, is_digest

KEY_STATEMENT = "beforehand-key/1"
MAX_KEY_CHANGES = 1000
MAX_KEY_CHARS_READ = 1000


def key_statement(
    origin: str, n: int, prev: str, old: str, new: str, recovery: str | None = None
) -> str:
    """What is signed for a change of key at line `n`, behind the line with the link `prev`."""
    text = f"{KEY_STATEMENT}\norigin {origin}\nline {n}\nprev {prev}\nreplaces {old}\nkey {new}\n"
    return text if recovery is None else f"{text}recovery {recovery}\n"


class KeyHistory:
    """The keys of one book, each with the line from which it signs."""

    def __init__(self, league: Mapping[str, Any]) -> None:
        """From the content of the league line; FormatError where it names no key."""
        self.origin = str(league.get("origin"))
        self.recovery = str(league.get("recovery"))
        # Keys that signed a change of this book, and with it every line before.
        self.vouched: set[str] = set()
        self.recoveries = [self.recovery]
        self._times = [str(league.get("at"))]
        self.changes = [(0, VerifierKey.parse(f"{league.get('key')!s:.{MAX_KEY_CHARS_READ}}"))]

    @property
    def now(self) -> VerifierKey:
        """The key that signs from the last change on."""
        return self.changes[-1][1]

    def at(self, size: int) -> VerifierKey:
        """The key that signs the first `size` lines: a change counts from its own line on."""
        return self.change_at(size)[1]

    def change_at(self, size: int) -> tuple[int, VerifierKey]:
        """The last change within the first `size` lines: its line, 0 for the first key."""
        return next(change for change in reversed(self.changes) if change[0] <= size)

    def when(self, at: str) -> VerifierKey:
        """The key in force at an instant, by the times of the lines that changed it."""
        pairs = zip(reversed(self._times), reversed(self.changes), strict=True)
        moment = instant_key(at)
        held = (key for time, (n, key) in pairs if n == 0 or instant_key(time) <= moment)
        return next(held)

    def texts(self) -> list[str]:
        """Every key, the first first."""
        return [key.text() for _, key in self.changes]

    def take(self, n: int, prev: str, content: Mapping[str, Any]) -> None:
        """Take a `key` line; FormatError or IntegrityError where it changes nothing.

        What is refused leaves the key as it was: what the other key signs
        afterwards is then signed by a stranger.
        """
        if len(self.changes) > MAX_KEY_CHANGES:
            raise FormatError(f"more than {MAX_KEY_CHANGES} changes of the key")
        instant_key(content.get("at"))  # type: ignore[arg-type]
        new = self._new_key(content)
        old = self.now.text()
        if content.get("replaces") != old:
            raise IntegrityError(f"it replaces another key than the one in force, {old}")
        by = content.get("by")
        if by == "key":
            if "recovery" in content or "recovery_key" in content:
                raise FormatError("only the recovery key may name another recovery key")
            signer, recovery = self.now, None
        elif by == "recovery":
            signer, recovery = self._recovery_key(content)
        else:
            raise FormatError(f"it is signed by {by!r:.40}, neither the key nor the recovery key")
        note = content.get("note")
        if not isinstance(note, str) or not is_utf8(note):
            raise FormatError("note is not a text in UTF-8")
        said = open_note(note.encode("utf-8"), signer)
        if said != key_statement(self.origin, n, prev, old, new.text(), recovery):
            raise IntegrityError("its note states another change, or one at another place")
        open_note(note.encode("utf-8"), new)
        self.vouched |= {new.text(), signer.text()}
        self.changes.append((n, new))
        self._times.append(str(content.get("at")))
        if recovery is not None:
            self.recovery = recovery
            self.recoveries.append(recovery)

    def _new_key(self, content: Mapping[str, Any]) -> VerifierKey:
        new = VerifierKey.parse(f"{content.get('key')!s:.{MAX_KEY_CHARS_READ}}")
        if new.name != self.origin:
            raise FormatError(f"the key has the name {new.name!r:.80}, not that of the book")
        if new.public in [key.public for _, key in self.changes]:
            raise FormatError("a key that has signed this book before does not return")
        return new

    def _recovery_key(self, content: Mapping[str, Any]) -> tuple[VerifierKey, str]:
        """The recovery key, once it is the one committed to, and the next commitment."""
        key = VerifierKey.parse(f"{content.get('recovery_key')!s:.{MAX_KEY_CHARS_READ}}")
        if digest(key.public) != self.recovery:
            raise IntegrityError("its recovery key is not the one that the book committed to")
        following = content.get("recovery")
        if not is_digest(following) or following in self.recoveries:
            raise FormatError("a recovery key that was used commits to another one")
        return key, str(following)


def key_history(lines: Iterable[bytes]) -> KeyHistory:
    """The keys of a book from its lines' bytes; a line that changes nothing is passed over."""
    history: KeyHistory | None = None
    for n, raw in enumerate(lines, 1):
        if history is None:
            history = KeyHistory(decode_json(raw))
        elif b'"key"' in raw:
            _pass_or_take(history, n, decode_json(raw))
    if history is None:
        raise FormatError("the book is empty")
    return history


def _pass_or_take(history: KeyHistory, n: int, value: Any) -> None:
    if not isinstance(value, dict) or value.get("kind") != "key":
        return
    try:
        history.take(n, str(value.get("prev")), value)
    except (FormatError, IntegrityError):
        return
