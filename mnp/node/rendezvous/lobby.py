"""Connections to the main node that have proved nothing yet: few, brief, and dropped without filling the log."""

from __future__ import annotations

import asyncio
from collections import Counter

from ..progress import say
from .wire import peer_name

_NAMED = 8  # dropped connections with a line of their own
_SUMMARY_SECONDS = 30.0  # between the lines on the rest
_CAUSES = 32  # kept apart in the summary; a stranger chooses some of the words
_SAID_AT_ONCE = 3


class Drops:
    """What is said of dropped connections: the first few one by one, then a line on the rest now and then."""

    def __init__(self) -> None:
        self._said: set[tuple[str, str]] = set()
        self._unsaid: Counter[str] = Counter()
        self._all: Counter[str] = Counter()
        self._due = 0.0

    def note(self, peer: str, cause: str) -> None:
        """Say, or count, that the peer (address:port) was dropped."""
        known = (peer.rpartition(":")[0], cause)
        _count(self._all, cause)
        now = asyncio.get_running_loop().time()
        if len(self._said) < _NAMED and known not in self._said:
            self._said.add(known)
            self._due = now + _SUMMARY_SECONDS
            say(f"rendezvous: dropped {peer}: {cause}")
            return
        _count(self._unsaid, cause)
        if now >= self._due:
            self._due = now + _SUMMARY_SECONDS
            self.tell()

    def tell(self) -> None:
        """Say how many were dropped without a word."""
        if self._unsaid:
            say(f"rendezvous: dropped {sum(self._unsaid.values())} more connections: {_summary(self._unsaid)}")
            self._unsaid.clear()

    def summary(self) -> str:
        """All dropped connections by cause, the most frequent first; "" if there were none."""
        return _summary(self._all)


def _count(counter: Counter[str], cause: str) -> None:
    counter[cause if cause in counter or len(counter) < _CAUSES else "other causes"] += 1


def _summary(counter: Counter[str]) -> str:
    causes = counter.most_common()
    parts = [f"{cause} ({number})" for cause, number in causes[:_SAID_AT_ONCE]]
    rest = sum(number for _, number in causes[_SAID_AT_ONCE:])
    return "; ".join([*parts, f"other causes ({rest})"] if rest else parts)


class Visitor:
    """One connection on probation. It ends at its time-out, or when others need the place."""

    def __init__(self, lobby: Lobby, writer: asyncio.StreamWriter, seconds: float) -> None:
        self.peer = peer_name(writer)
        self.host = self.peer.rpartition(":")[0]
        self.dropped_for: str | None = None
        self._lobby, self._writer = lobby, writer
        cause = f"it did not show who it is within {seconds:g} s"
        self._timer = asyncio.get_running_loop().call_later(seconds, self.drop, cause)

    def drop(self, cause: str) -> None:
        """End the connection at once; its reader sees it as lost."""
        self.dropped_for = cause
        self.leave()
        self._writer.transport.abort()

    def leave(self) -> None:
        """End the probation: it is a node of the job, or gone."""
        self._timer.cancel()
        self._lobby.forget(self)


class Lobby:
    """At most so many visitors; beyond, the oldest of the address with the most of them goes.

    So a stranger that floods takes its own places away, not those of the nodes, which come from other addresses.
    """

    def __init__(self, places: int, seconds: float) -> None:
        self._places, self._seconds = places, seconds
        self._count = 0
        self._visitors: dict[str, dict[Visitor, None]] = {}

    def enter(self, writer: asyncio.StreamWriter) -> Visitor:
        """A new visitor."""
        visitor = Visitor(self, writer, self._seconds)
        self._visitors.setdefault(visitor.host, {})[visitor] = None
        self._count += 1
        if self._count > self._places:
            self.make_room(f"more than {self._places} connections wait to show who they are")
        return visitor

    def make_room(self, cause: str) -> bool:
        """Drop one visitor; False if there is none."""
        if not self._count:
            return False
        greediest = max(self._visitors.values(), key=len)
        next(iter(greediest)).drop(cause)
        return True

    def forget(self, visitor: Visitor) -> None:
        """Take the visitor off the list, if it is on it."""
        same_host = self._visitors.get(visitor.host, {})
        if visitor in same_host:
            del same_host[visitor]
            self._count -= 1
            if not same_host:
                del self._visitors[visitor.host]

    def close(self) -> None:
        """Drop all visitors without a word: nobody needs a place any more."""
        while self.make_room(""):
            pass
