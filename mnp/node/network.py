"""A node's own addresses and interfaces, found without third-party code."""

from __future__ import annotations

import asyncio
import json
import socket
import struct
import sys
import urllib.error
import urllib.request

_SIOCGIFADDR = 0x8915  # linux/sockios.h
_METADATA_TIMEOUT = 5  # seconds; the ECS agent answers from the same host
_RESOLVE_PAUSE = 1.0  # seconds between look-ups; name servers of clusters remember a "no" for a few
# TEST-NET-2 of RFC 5737: asked of the routing table only, nothing is sent there.
_ELSEWHERE = "198.51.100.1"


def ecs_address(metadata_uri: str) -> str | None:
    """The task's IPv4 address from the ECS task metadata endpoint, or None if it names none.

    Source: https://docs.aws.amazon.com/AmazonECS/latest/developerguide/task-metadata-endpoint-v4.html (2026-11-21)
    """
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(metadata_uri, timeout=_METADATA_TIMEOUT) as answer:
            networks = json.loads(answer.read())["Networks"]
        return str(networks[0]["IPv4Addresses"][0])
    except (OSError, ValueError, LookupError, TypeError):
        return None


async def resolve(name: str, seconds: float) -> str:
    """The IPv4 address of the name, or the name itself if it is one, as soon as it is known.

    Raises OSError if it is not known after so many seconds; at least one look-up is made.
    """
    loop = asyncio.get_running_loop()
    deadline = loop.time() + seconds
    while True:
        try:
            found = await loop.getaddrinfo(name, None, family=socket.AF_INET, type=socket.SOCK_STREAM)
            return str(found[0][4][0])
        except UnicodeError:
            raise OSError(f"{name!r} is no host name") from None
        except OSError:
            if loop.time() >= deadline:
                raise
        await asyncio.sleep(min(_RESOLVE_PAUSE, max(0, deadline - loop.time())))


def address_towards(peer: str = _ELSEWHERE) -> str | None:
    """The address this host would send from to reach the peer (by default: the outside), or None if no route."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect((peer, 9))
        except OSError:
            return None
        return str(probe.getsockname()[0])


def host_name_address() -> str:
    """The address of this host's name, or loopback if the name does not resolve."""
    try:
        return socket.gethostbyname(socket.gethostname())
    except OSError:
        return "127.0.0.1"


def is_loopback(address: str) -> bool:
    """Whether the IPv4 address leads nowhere but to this host."""
    return address.startswith("127.")


def is_own(address: str) -> bool:
    """Whether an interface of this host holds the IPv4 address."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.bind((address, 0))
        except OSError:
            return False
        return True


def interface_of(address: str) -> str | None:
    """The interface that holds the IPv4 address, or None if there is none or the system cannot say.

    All of 127.0.0.0/8 belongs to the loopback interface, whose only listed address is 127.0.0.1.
    """
    if not sys.platform.startswith("linux"):
        return None
    wanted = "127.0.0.1" if is_loopback(address) else address
    import fcntl  # noqa: PLC0415 - not on every system

    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        for _, name in socket.if_nameindex():
            request = struct.pack("256s", name.encode()[:15])
            try:
                answer = fcntl.ioctl(probe.fileno(), _SIOCGIFADDR, request)
            except OSError:  # an interface without an IPv4 address
                continue
            if socket.inet_ntoa(answer[20:24]) == wanted:
                return name
    return None


def interfaces_but(name: str | None) -> list[str]:
    """The names of all other interfaces of this host."""
    return [each for _, each in socket.if_nameindex() if each != name]


def free_port() -> int:
    """A TCP port that no address of this host uses now; another process could still take it before its user does."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.bind(("", 0))
        return int(probe.getsockname()[1])
