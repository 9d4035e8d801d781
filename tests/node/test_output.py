"""What a node's processes write is passed on unchanged, and its end is kept."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from pathlib import Path

import pytest

from mnp.node.supervision import output
from mnp.node.supervision.output import LINE_LENGTH, TAIL_LINES, Output, Tail
from mnp.node.supervision.process_group import ProcessGroup

pytestmark = pytest.mark.end_to_end

# Runs a program as a node does; its last line on stderr, after a mark, is the tail.
RUN = f"""
import asyncio, os, sys
sys.path.insert(0, {str(Path(output.__file__).parents[2])!r})
from mnp.node.supervision.output import Output
from mnp.node.supervision.process_group import ProcessGroup
async def run():
    passed = Output()
    group = await ProcessGroup.start([sys.executable, "-c", sys.argv[1]], os.environ, passed.files)
    await group.ended
    await passed.drained()
    tail = passed.tail()
    await group.terminate(0)
    await passed.close()
    os.write(2, b"TAIL" + repr(tail).encode())
asyncio.run(run())
"""


def run(program: str, *, stderr: int = subprocess.PIPE) -> tuple[bytes, bytes, tuple[str, ...]]:
    """What the program wrote to stdout and stderr, and its tail."""
    done = subprocess.run(
        [sys.executable, "-c", RUN, program], stdout=subprocess.PIPE, stderr=stderr, timeout=60, check=True
    )
    carrier = done.stdout if stderr == subprocess.STDOUT else done.stderr
    text, _, tail = carrier.rpartition(b"TAIL")
    lines = eval(tail)  # noqa: S307 - the representation of a tuple of strings, written above
    return (text, b"", lines) if stderr == subprocess.STDOUT else (done.stdout, text, lines)


def test_bytes_are_passed_on_unchanged() -> None:
    """Any bytes, lines without an end and ends without a line arrive as they were written, on the stream they were."""
    every = "bytes(range(256)) * 300"
    program = f"import os, sys; sys.stdout.buffer.write({every}); sys.stdout.flush(); os.write(2, b'\\r\\n\\n\\0last')"
    stdout, stderr, _ = run(program)
    assert stdout == bytes(range(256)) * 300
    assert stderr == b"\r\n\n\0last"


def test_one_log_for_both_keeps_their_order() -> None:
    """Where stdout and stderr are one file, what is written to them in turn arrives in turn."""
    program = "import os\nfor number in range(2000): os.write(1 + number % 2, b'%d\\n' % number)"
    stdout, _, tail = run(program, stderr=subprocess.STDOUT)
    assert stdout.split() == [b"%d" % number for number in range(2000)]
    assert tail == tuple(str(number) for number in range(2000 - TAIL_LINES, 2000))


def test_a_line_is_not_broken_by_the_other_stream() -> None:
    """What is written in pieces is one line of the tail, whatever the other stream says meanwhile."""
    tail = Tail()
    for stream, chunk in ((1, b"half "), (2, b"other\n"), (1, b"a line\n"), (2, b"not yet "), (1, b"ended")):
        tail.add(stream, chunk)
    assert tail.lines() == ("other", "half a line", "not yet ", "ended")


def test_the_tail_is_readable() -> None:
    """Colours and control characters go, a progress bar's states are lines, and long lines are cut."""
    written = b"\x1b[31mred\x1b[0m\tbox\n10%\r20%\r\n\n\x07\xff\n" + b"x" * 1000 + b"\nend"
    program = f"import os; os.write(1, {written!r})"
    _, _, tail = run(program)
    strange = "\N{REPLACEMENT CHARACTER}"
    assert tail == ("red box", "10%", "20%", strange * 2, "x" * LINE_LENGTH + "...", "end")


def test_much_output_takes_little_memory() -> None:
    """100 MB pass, and only the end is kept."""
    program = "import os\nfor _ in range(100): os.write(1, b'x' * 2**20)\nprint('\\nend')"
    # Not getrusage: what it tells of a process may be its parent's.
    child = (
        f"{RUN}\nimport re\nassert int(re.search(r'VmHWM:\\s+(\\d+)', open('/proc/self/status').read())[1]) < 80 * 1024"
    )
    done = subprocess.run([sys.executable, "-c", child, program], capture_output=True, timeout=60, check=True)
    assert len(done.stdout) == 100 * 2**20 + 5
    assert done.stdout.endswith(b"x\nend\n")


def test_a_log_that_nobody_reads_any_more_ends_the_writer() -> None:
    """A closed log reaches the program as if it had written there itself."""
    program = "import itertools, os\nfor _ in itertools.count(): os.write(1, b'x' * 4096)"
    with subprocess.Popen([sys.executable, "-c", RUN, program], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as node:
        assert node.stdout is not None
        assert node.stderr is not None
        node.stdout.read(4096)
        node.stdout.close()
        assert b"the output could not be passed on: Broken pipe" in node.stderr.read()


def test_a_process_left_behind_does_not_hold_up_the_end() -> None:
    """A grandchild that keeps the pipe open, silent or writing without end, is not waited for."""

    async def run_both() -> list[int]:
        codes = []
        for endless in ("import signal; signal.pause()", "import os\nwhile True: os.write(1, b'x' * 4096)"):
            passed = Output()
            leave = f"import subprocess, sys; subprocess.Popen([sys.executable, '-c', {endless!r}])"
            group = await ProcessGroup.start([sys.executable, "-c", leave], os.environ, passed.files)
            codes.append(await group.ended)
            await passed.drained()
            await group.terminate(5)
            await passed.close()
        return codes

    assert asyncio.run(run_both()) == [0, 0]
