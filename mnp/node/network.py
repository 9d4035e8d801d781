"""A node's own addresses and interfaces, found without third-party code."""

from __future__ import annotations

import json
import socket
import struct
import sys
import urllib.error
import urllib.request

_SIOCGIFADDR = 0x8915  # linux/sockios.h
_METADATA_TIMEOUT = 5  # seconds; the ECS agent answers from the same host
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


def interface_of(address: str) -> str | None:
    """The interface that holds the IPv4 address, or None if there is none or the system cannot say.

    All of 127.0.0.0/8 belongs to the loopback interface, whose only listed address is 127.0.0.1.
    """
    if not sys.platform.startswith("linux"):
        return None
    wanted = "127.0.0.1" if address.startswith("127.") else address
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


def free_port() -> int:
    """A TCP port that no address of this host uses now; another process could still take it before its user does."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.bind(("", 0))
        return int(probe.getsockname()[1])
