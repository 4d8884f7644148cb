"""A venue on loopback: Polymarket's Gamma and order books, and Kalshi, in simulated time.

    python -m beforehand.testing.venue_replica --state DIR --clock FILE \\
        --port 0 --port-file F --seed N [--faults SPEC]

What it lists is invented and says so in every question. Its answers are a
function of the seed and of the moment in the clock's file alone, so it may be
killed and started again. `/gamma`, `/clob` and `/kalshi` before a path are
optional. In DIR it writes `truth.json` for the model replica.

`POST /_control {"faults": [...]}` puts other faults in force (`faults` lists
them), `GET /_control/stats` says what was asked.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from types import MappingProxyType
from typing import Any

from beforehand.testing.clob import Clob
from beforehand.testing.faults import Fault
from beforehand.testing.gamma import Gamma
from beforehand.testing.kalshi import Kalshi
from beforehand.testing.moment import Moment
from beforehand.testing.replica import Answer, Call, Replica, answer_of
from beforehand.testing.serve import arguments, run
from beforehand.testing.settling import Settling
from beforehand.testing.truth import NAME, TOLD_DAYS, truth_of, write_truth
from beforehand.testing.world import World

KALSHI_BASE = "/trade-api/v2"
_CLOB = {
    "book",
    "books",
    "midpoint",
    "spread",
    "price",
    "prices-history",
    "fee-rate",
    "tick-size",
    "neg-risk",
    "last-trade-price",
}


class VenueReplica(Replica):
    """The three hosts behind one port."""

    # Published order of size: 4,000 and 1,500 in ten seconds, and Kalshi's is far lower.
    limits = MappingProxyType(
        {"gamma": (400.0, 4000.0), "clob": (150.0, 1500.0), "kalshi": (20.0, 200.0)}
    )

    def __init__(
        self,
        seed: int,
        moment: Moment,
        state: Path,
        faults: Iterable[Fault] = (),
        *,
        limited: bool = True,
        world: World | None = None,
    ) -> None:
        super().__init__(seed, faults, limited=limited)
        # Several replicas of one seed may share what was made of it.
        self.world = world if world is not None else World(seed)
        self._moment = moment
        self._truth = state / NAME
        self._told: int | None = None
        state.mkdir(parents=True, exist_ok=True)
        settling = Settling(seed, self.faults)
        self._gamma = Gamma(self.world, settling)
        self._clob = Clob(self.world, settling)
        self._kalshi = Kalshi(self.world, settling)

    def endpoint(self, call: Call) -> str:
        """The host and the path, with ids replaced by what they are."""
        host, parts = routed(call.path)
        if host == "gamma" and len(parts) > 1 and parts[1] not in ("keyset", "slug"):
            parts = [parts[0], "{id}"]
        elif parts[1:2] == ["slug"]:
            parts = [parts[0], "slug", "{slug}"]
        elif host == "clob" and parts[0] == "markets":
            parts = ["markets", "{condition_id}"]
        elif host == "kalshi" and len(parts) > 1:
            parts = [parts[0], "{ticker}", *parts[2:]]
        return f"{host} /{'/'.join(parts)}"

    async def respond(self, call: Call) -> Answer:
        """The answer at the moment the clock's file now shows."""
        now = self._moment.now()
        self.tell_truth(now)
        host, parts = routed(call.path)
        if host == "gamma":
            return self._gamma.respond(call, parts, now)
        if host == "clob":
            return self._clob.respond(call, parts, now)
        if host == "kalshi":
            return self._kalshi.respond(call, parts, now)
        return answer_of({"error": "not found"}, 404)

    def moment(self) -> int | None:
        """Where the venue lives in simulated time, the moment its clock shows."""
        return self._moment.now() if self._moment.simulated else None

    def tell_truth(self, now: int) -> None:
        """Write the truth for the models where the clock has moved since it was written."""
        if now != self._told:
            self._told = now
            events = [
                event
                for venue in ("polymarket", "kalshi")
                for event in self.world.listed(venue, now, TOLD_DAYS)
            ]
            write_truth(self._truth, truth_of(events, now))

    def control(self, given: dict[str, Any]) -> None:
        """Take a control message, and forget what other faults had rendered."""
        super().control(given)
        self._gamma.forget()


def routed(path: str) -> tuple[str, list[str]]:
    """Which host a path is for, and its parts; the host is "unknown" where it is for none."""
    for prefix in ("/gamma", "/clob", "/kalshi"):
        if path.startswith(prefix + "/"):
            path = path.removeprefix(prefix)
            break
    if path.startswith(KALSHI_BASE + "/"):
        return "kalshi", path.removeprefix(KALSHI_BASE).strip("/").split("/")
    parts = path.strip("/").split("/")
    if parts[0] in _CLOB or (parts[0] == "markets" and parts[-1].startswith("0x")):
        return "clob", parts
    if parts[0] in ("events", "markets") and len(parts) <= 3:
        return "gamma", parts
    return "unknown", parts


def main(given: list[str] | None = None) -> None:
    """Serve until told to stop."""
    parser = arguments("A venue on loopback, in simulated time.")
    parser.add_argument("--state", type=Path, required=True, help="where truth.json is written")
    parser.add_argument("--clock", type=Path, help="the simulated clock's file")
    options = parser.parse_args(given)
    if options.clock is not None and not options.clock.exists():
        parser.error(f"{options.clock}: no simulated time there; the clock is made by its owner")
    moment = Moment(options.clock)
    replica = VenueReplica(
        options.seed, moment, options.state, options.faults, limited=not options.no_limits
    )
    replica.tell_truth(moment.now())
    run(replica, options)


if __name__ == "__main__":
    main()
