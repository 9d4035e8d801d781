"""What a node's processes write: passed on unchanged and at once, and its last lines kept."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import select
import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

TAIL_LINES = 20
LINE_LENGTH = 400  # characters of a kept line
_TAIL_BYTES = 16 * 1024
_CHUNK = 64 * 1024  # bytes, as much as a pipe holds
_DRAIN_SECONDS = 5.0  # for a log that takes no more; what a process wrote is lost after that
_STYLING = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]")


class Output:
    """Pipes that lead to this process's own stdout and stderr, through one thread each.

    A thread, since a log that takes no more must stop the processes that write it, not this node's heartbeats. Where
    stdout and stderr are the same file they share a pipe, so that the order of what is written to them stays.
    """

    def __init__(self) -> None:
        self._tail = Tail()
        targets = (1,) if _same(1, 2) else (1, 2)
        self._streams = [_Stream(target, self._tail) for target in targets]

    @property
    def files(self) -> tuple[int, int]:
        """The file descriptors that a process gets as its stdout and stderr."""
        return self._streams[0].write_end, self._streams[-1].write_end

    def tail(self) -> tuple[str, ...]:
        """The last lines, readable: no colours, no control characters, long ones cut."""
        return self._tail.lines()

    async def drained(self) -> None:
        """Wait until all that was written so far is passed on, a few seconds at most.

        It does not wait for the pipe's end: a process that was left behind may hold it open, and go on writing.
        """
        await asyncio.wait({stream.drained() for stream in self._streams}, timeout=_DRAIN_SECONDS)

    async def close(self) -> None:
        """Pass on the rest and end the threads."""
        await self.drained()
        for stream in self._streams:
            stream.close()


class Tail:
    """The last bytes of what both streams carry, line by line: a line of one is not broken by the other."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._bytes = bytearray()
        self._unfinished: dict[int, bytes] = {}
        self._cut = False

    def add(self, stream: int, chunk: bytes) -> None:
        with self._lock:
            whole, newline, rest = (self._unfinished.pop(stream, b"") + chunk).rpartition(b"\n")
            self._unfinished[stream] = rest[-_TAIL_BYTES:]
            self._bytes += (whole + newline)[-_TAIL_BYTES:]
            surplus = len(self._bytes) - _TAIL_BYTES
            if surplus > 0:
                del self._bytes[:surplus]
                self._cut = True

    def lines(self) -> tuple[str, ...]:
        with self._lock:
            unfinished = b"".join(line + b"\n" for line in self._unfinished.values())
            text, cut = (self._bytes + unfinished).decode(errors="replace"), self._cut
        # A progress bar returns to the start of its line: each state is a line here.
        found = re.split(r"[\r\n]+", _STYLING.sub("", text).rstrip("\r\n"))
        if cut and len(found) > 1:
            del found[0]
        return tuple(_readable(line) for line in found[-TAIL_LINES:] if line.strip())


def _readable(line: str) -> str:
    text = "".join(
        letter if letter.isprintable() else " " if letter == "\t" else "\N{REPLACEMENT CHARACTER}"
        for letter in line[:LINE_LENGTH]
    )
    return text if len(line) <= LINE_LENGTH else f"{text}..."


class _Stream:
    """One pipe to one of this process's own files, and the thread between."""

    def __init__(self, target: int, tail: Tail) -> None:
        self._target, self._tail = target, tail
        self._read_end, self.write_end = os.pipe()
        self._bell, self._bell_end = os.pipe()
        self._requests: list[tuple[int, Callable[[], object]]] = []
        self._passed = 0
        self._closing = False
        threading.Thread(target=self._pump, name=f"output-{target}", daemon=True).start()

    def drained(self) -> asyncio.Future[None]:
        """Done once the pipe was empty, or as much as it can hold has passed."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[None] = loop.create_future()

        def done() -> None:
            if not future.done():
                future.set_result(None)

        def tell() -> None:
            with contextlib.suppress(RuntimeError):  # the loop is closed
                loop.call_soon_threadsafe(done)

        self._requests.append((self._passed + 2 * _CHUNK, tell))
        os.write(self._bell_end, b"!")
        return future

    def close(self) -> None:
        self._closing = True
        os.write(self._bell_end, b"!")

    def _pump(self) -> None:
        poll = select.poll()
        poll.register(self._read_end, select.POLLIN)
        poll.register(self._bell, select.POLLIN)
        is_open = True
        while not self._closing:
            ready = {file for file, _ in poll.poll()}
            if self._read_end in ready and is_open:
                is_open = self._pass_on(os.read(self._read_end, _CHUNK))
                if not is_open:
                    # Now the writers learn it as if they had written there themselves.
                    poll.unregister(self._read_end)
                    os.close(self._read_end)
                self._answer(self._passed if is_open else None)
            elif self._bell in ready:
                os.read(self._bell, _CHUNK)
                self._answer(None)
        for file in (self.write_end, self._bell, self._bell_end, *((self._read_end,) if is_open else ())):
            os.close(file)

    def _answer(self, passed: int | None) -> None:
        """Answer the requests to drain: all of them, or those that wait for no more than has passed."""
        for request in tuple(self._requests):
            limit, tell = request
            if passed is None or passed >= limit:
                self._requests.remove(request)
                tell()

    def _pass_on(self, chunk: bytes) -> bool:
        self._tail.add(self._target, chunk)
        rest = memoryview(chunk)
        while rest:
            try:
                rest = rest[os.write(self._target, rest) :]
            except BlockingIOError:  # noqa: PERF203 - each write may be partial
                select.select([], [self._target], [])
            except OSError as error:
                self._tail.add(self._target, f"\n[mnp] the output could not be passed on: {error.strerror}\n".encode())
                return False
        self._passed += len(chunk)
        return True


def _same(one: int, other: int) -> bool:
    try:
        return os.path.sameopenfile(one, other)
    except OSError:
        return False
