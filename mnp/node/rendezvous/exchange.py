"""An exchange among nodes that have come together: each gives a value, and each gets those of all."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from .wire import within

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from .assembly import Assembly

    Answer = dict[str, Any]  # {"value": ...} or {"error": "..."}

_GIVE, _GET = "exchange", "exchanged"
_GET_GRACE = 10.0  # seconds the others wait longer than the main node, whose word on who is missing is better


class PreparationError(Exception):
    """A node cannot give its value; the message says why and what to do."""


class ExchangeError(Exception):
    """A node gave no value: its index, and why."""

    def __init__(self, node: int, cause: str) -> None:
        super().__init__(cause)
        self.node = node


async def exchange(
    assembly: Assembly, subject: str, own: Awaitable[dict[str, Any]], seconds: float
) -> dict[int, dict[str, Any]]:
    """Every node's value by index, on every node, once all have given theirs; so it is a barrier too.

    `own` makes this node's value and may raise PreparationError or OSError. Raises ExchangeError, the same on all
    nodes, if one gives none within so many seconds.
    """
    identity = assembly.identity
    kind = _GET if identity.is_main else _GIVE
    try:
        answer = await _prepare(own, seconds)
        if identity.is_main:
            return await _gather(assembly, subject, answer, seconds)
        await assembly.tell_all({"type": _GIVE, "subject": subject, **answer})
        return await _await_all(assembly, subject, seconds)
    except asyncio.CancelledError:
        stopped = {"error": "it was stopped (SIGTERM)", "node": identity.index}
        await assembly.tell_all({"type": kind, "subject": subject, **stopped})
        raise


async def _prepare(own: Awaitable[dict[str, Any]], seconds: float) -> Answer:
    try:
        return {"value": await within(seconds, own)}
    except TimeoutError:
        return {"error": f"it was not ready within {seconds:g} s"}
    except (PreparationError, OSError) as error:
        return {"error": str(error)}


async def _gather(assembly: Assembly, subject: str, own: Answer, seconds: float) -> dict[int, dict[str, Any]]:
    """The main node's side: all answers, sent to all nodes."""
    loop, identity = asyncio.get_running_loop(), assembly.identity
    answers = {identity.index: own}
    deadline = loop.time() + seconds
    while len(answers) < identity.count:
        try:
            index, message = await within(deadline - loop.time(), assembly.inbox.get())
        except TimeoutError:
            late = {"error": f"it did not answer within {seconds:g} s"}
            answers = {**dict.fromkeys(range(identity.count), late), **answers}
            break
        answer = _answer(message, subject)
        if answer is not None:
            answers[index] = answer
    failure = _first_failure(answers)
    if failure:
        await assembly.tell_all({"type": _GET, "subject": subject, "node": failure.node, "error": str(failure)})
        raise failure
    values = {index: dict(answers[index]["value"]) for index in sorted(answers)}
    await assembly.tell_all({"type": _GET, "subject": subject, "values": [*values.items()]})
    return values


def _answer(message: dict[str, Any] | None, subject: str) -> Answer | None:
    """What a node's message says to the subject, None if nothing; its loss and its end (`exit`) are failures."""
    kind = "lost" if message is None else message.get("type")
    if kind in ("lost", "exit"):
        return {"error": (message or {}).get("cause") or "its connection was lost"}
    return message if message and kind == _GIVE and message.get("subject") == subject else None


def _first_failure(answers: dict[int, Answer]) -> ExchangeError | None:
    """The failure of the node with the lowest index; nodes are of one image, so others often failed alike."""
    failed = [index for index in sorted(answers) if "error" in answers[index]]
    if not failed:
        return None
    first, others = failed[0], ", ".join(str(index) for index in failed[1:])
    return ExchangeError(first, f"{answers[first]['error']}" + (f" (also failed: {others})" if others else ""))


async def _await_all(assembly: Assembly, subject: str, seconds: float) -> dict[int, dict[str, Any]]:
    """The other nodes' side: what the main node sends to all."""
    loop, main_index = asyncio.get_running_loop(), assembly.identity.main_index
    deadline = loop.time() + seconds + _GET_GRACE
    while True:
        try:
            _, message = await within(deadline - loop.time(), assembly.inbox.get())
        except TimeoutError:
            raise ExchangeError(main_index, "it did not say whether all nodes are ready") from None
        if message is None:
            raise ExchangeError(main_index, "the connection to the main node was lost")
        if message.get("type") in ("lost", "stop"):
            raise ExchangeError(main_index, str(message.get("cause")))
        if message.get("type") != _GET or message.get("subject") != subject:
            continue
        if "error" in message:
            raise ExchangeError(int(message["node"]), str(message["error"]))
        return {int(index): dict(value) for index, value in message["values"]}
