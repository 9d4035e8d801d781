"""The results as text, in the manner of nccl-tests."""

from __future__ import annotations

from typing import Any

_STATUS_WIDTH = 10


def render(document: dict[str, Any]) -> str:
    """The sizes, then the checks, then the verdict; no line ends in blanks."""
    lines = []
    if document["results"]:
        lines += [
            f"# {'size':>12} {'count':>12} {'type':>6} {'redop':>6} {'time':>10} {'algbw':>8} {'busbw':>8}  #wrong",
            f"# {'(B)':>12} {'(elements)':>12} {'':>6} {'':>6} {'(us)':>10} {'(GB/s)':>8} {'(GB/s)':>8}",
        ]
    lines += [_row(row) for row in document["results"]]
    verdict = document["verdict"]
    for check in verdict["checks"]:
        lines.append(f"{check['status']:<{_STATUS_WIDTH}} {check['name']}: {check['message']}")
        if check["fix"] and check["status"] in ("FAIL", "DEGRADED"):
            lines.append(f"{'':<{_STATUS_WIDTH}} fix: {check['fix']}")
    lines.append(f"{verdict['status']}: {verdict['headline']}")
    return "\n".join(line.rstrip() for line in lines)


def _row(row: dict[str, Any]) -> str:
    measured = row["in_place"]
    return (
        f"  {row['size']:>12} {row['count']:>12} {row['type']:>6} {row['redop']:>6} {measured['time']:>10.2f}"
        f" {measured['alg_bw']:>8.2f} {measured['bus_bw']:>8.2f} {measured['nwrong']:>7}"
    )
