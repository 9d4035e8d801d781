"""Supervision, with real child processes."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from mnp.node import progress, rendezvous
from mnp.node.card import Card
from mnp.node.identity import Identity
from mnp.node.launchers import Launch
from mnp.node.limits import Limits
from mnp.node.rendezvous.assembly import Assembly
from mnp.node.rendezvous.roster import Roster
from mnp.node.rendezvous.wire import derive_key, within
from mnp.node.supervision import launched
from mnp.node.supervision.failure import Failure, describe, report, root_cause
from mnp.node.supervision.process_group import ProcessGroup
from mnp.node.supervision.supervise import supervise

KEY = derive_key("secret", "job", 1)
LIMITS = Limits(grace=5, linger=10, settle=0.2)
FOR_EVER = "import signal; signal.pause()"
Identities = Callable[..., list[Identity]]
StartNode = Callable[..., "subprocess.Popen[str]"]


async def _assemble(nodes: list[Identity]) -> list[Assembly]:
    cards = [Card(node.index, f"10.0.0.{node.index}", "host") for node in nodes]
    pairs = zip(nodes, cards, strict=True)
    return list(await asyncio.gather(*(rendezvous.assemble(node, card, KEY, 20) for node, card in pairs)))


def _run(nodes: list[Identity], programs: list[str], limits: Limits = LIMITS) -> list[Failure | None]:
    """Each node's outcome when node i runs the Python program i."""
    return _run_launches(nodes, [Launch(_python(program)) for program in programs], limits)


def test_all_nodes_end_well(identities: Identities) -> None:
    """A job whose processes all end with 0, some early, has not failed anywhere."""
    assert _run(identities(3), ["", "", "import time; time.sleep(0.3)"]) == [None, None, None]


def test_a_failing_node_ends_the_job_everywhere(identities: Identities) -> None:
    """One node's exit code ends the others' processes at once and is what the main node reports."""
    main, failing, other = _run(identities(3), [FOR_EVER, "raise SystemExit(3)", FOR_EVER])
    assert main == Failure(1, "its process ended with exit code 3", 3)
    assert failing == main
    assert other == Failure(2, "stopped by the main node: node 1 (10.0.0.1): its process ended with exit code 3")


def test_the_main_nodes_own_failure_ends_the_job(identities: Identities) -> None:
    """A failure of the main node's process is named like any other."""
    main, other = _run(identities(2), ["raise SystemExit(7)", FOR_EVER])
    assert main == Failure(0, "its process ended with exit code 7", 7)
    assert other is not None


def test_a_command_that_cannot_start_is_named(identities: Identities) -> None:
    """A missing program fails the job and names the program."""

    async def run() -> list[Failure | None]:
        assemblies = await _assemble(identities(2))
        outcomes = await within(
            60,
            asyncio.gather(
                supervise(assemblies[0], Launch((sys.executable, "-c", FOR_EVER)), dict(os.environ), LIMITS),
                supervise(assemblies[1], Launch(("/no/such/program",)), {}, LIMITS),
            ),
        )
        for assembly in assemblies:
            assembly.close()
        return list(outcomes)

    main, other = asyncio.run(run())
    assert main == other
    assert main is not None
    assert main.index == 1
    assert main.cause.startswith("cannot start /no/such/program: ")
    assert main.exit_code == 127


def test_a_node_that_vanishes_is_named(identities: Identities) -> None:
    """A connection that is lost before the node's report ends the job and names the node."""

    async def run() -> tuple[Failure | None, str]:
        assemblies = await _assemble(identities(3))
        command = Launch((sys.executable, "-c", FOR_EVER))
        main, survivor = (
            asyncio.ensure_future(supervise(assemblies[index], command, dict(os.environ), LIMITS)) for index in (0, 2)
        )
        assemblies[1].close()
        failure = await within(60, main)
        await within(60, survivor)
        for assembly in assemblies:
            assembly.close()
        assert failure is not None
        return failure, describe(assemblies[0], failure)

    failure, line = asyncio.run(run())
    assert failure == Failure(1, "its connection was lost before it reported an end")
    assert line == "node 1 (10.0.0.1): its connection was lost before it reported an end"


def test_a_node_ends_when_the_main_node_vanishes(identities: Identities) -> None:
    """A node whose connection to the main node is lost ends its process."""

    async def run() -> Failure | None:
        assemblies = await _assemble(identities(2))
        command = Launch((sys.executable, "-c", FOR_EVER))
        other = asyncio.ensure_future(supervise(assemblies[1], command, dict(os.environ), LIMITS))
        assemblies[0].close()
        failure = await within(60, other)
        assemblies[1].close()
        return failure

    assert asyncio.run(run()) == Failure(0, "the connection to the main node was lost")


def test_a_node_that_never_ends_is_named_after_a_bound(identities: Identities) -> None:
    """The main node waits for the others for a while only once its own process ended."""
    main, _ = _run(identities(2), ["", FOR_EVER], Limits(grace=5, linger=0.5, settle=0))
    assert main == Failure(1, "still running 0.5 s after the main node's process ended")


def _run_launches(nodes: list[Identity], launches: list[Launch], limits: Limits = LIMITS) -> list[Failure | None]:
    """Each node's outcome when node i runs launch i."""

    async def run() -> list[Failure | None]:
        assemblies = await _assemble(nodes)
        pairs = zip(assemblies, launches, strict=True)
        supervised = [supervise(assembly, launch, dict(os.environ), limits) for assembly, launch in pairs]
        outcomes = await within(60, asyncio.gather(*supervised))
        for assembly in assemblies:
            assembly.close()
        return list(outcomes)

    return asyncio.run(run())


def _python(program: str) -> tuple[str, ...]:
    return (sys.executable, "-c", program)


def _append(path: Path, text: str) -> tuple[str, ...]:
    return _python(f"open({str(path)!r}, 'a').write({text!r})")


def test_the_main_nodes_end_decides_for_nodes_that_serve(identities: Identities) -> None:
    """A service and a node without a command of its own stay until the main node's command ended well."""
    launches = [Launch(_python("")), Launch(_python(FOR_EVER), serves=True), Launch(())]
    assert _run_launches(identities(3), launches) == [None, None, None]


@pytest.mark.parametrize("code", [0, 4])
def test_a_service_that_ends_by_itself_is_a_failure(identities: Identities, code: int) -> None:
    """The main node's command needs its services, so one that ends early fails the job, however it ended."""
    launches = [Launch(_python(FOR_EVER)), Launch(_python(f"raise SystemExit({code})"), serves=True)]
    main, other = _run_launches(identities(2), launches)
    cause = "its process ended with exit code 4" if code else "its service ended with exit code 0 before the job did"
    assert main == other == Failure(1, cause, code)


def test_the_main_node_cannot_only_serve(identities: Identities) -> None:
    """Somebody has to end the job."""
    with pytest.raises(ValueError, match="must have a command that ends"):
        _run_launches(identities(1), [Launch(_python(""), serves=True)])


def test_commands_before_and_after(identities: Identities, tmp_path: Path) -> None:
    """What comes before runs first and in order, what comes after runs last."""
    log = tmp_path / "log"
    before, after = (_append(log, "b1 "), _append(log, "b2 ")), (_append(log, "a1 "), _append(log, "a2"))
    assert _run_launches(identities(1), [Launch(_append(log, "run "), before=before, after=after)]) == [None]
    assert log.read_text() == "b1 b2 run a1 a2"


def test_a_failing_command_before_is_named(identities: Identities, tmp_path: Path) -> None:
    """It is the node's failure, with its exit code; the command does not start, and what comes after still runs."""
    log = tmp_path / "log"
    launch = Launch(_append(log, "run"), before=(("sh", "-c", "exit 6"),), after=(_append(log, "after"),))
    main, other = _run_launches(identities(2), [Launch(_python(FOR_EVER)), launch])
    assert main == other == Failure(1, "`sh -c 'exit 6'` ended with exit code 6", 6)
    assert log.read_text() == "after"


def test_a_command_before_ends_with_the_job(identities: Identities) -> None:
    """A node that still prepares is stopped when another one fails."""
    launch = Launch(_python(""), before=(_python(FOR_EVER),))
    main, other = _run_launches(identities(2), [Launch(_python("raise SystemExit(3)")), launch])
    assert main == Failure(0, "its process ended with exit code 3", 3)
    assert other is not None


def test_commands_after_are_bounded_and_fail_nothing(
    identities: Identities, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """One that never ends is ended, one that cannot start is told, and the job has ended well."""
    monkeypatch.setattr(launched, "_AFTER_SECONDS", 0.2)
    after = (_python(FOR_EVER), ("/no/such/program",))
    assert _run_launches(identities(1), [Launch(_python(""), after=after)]) == [None]
    told = capsys.readouterr().out
    assert "was ended after 0.2 s" in told
    assert "cannot start /no/such/program" in told


def test_the_failed_nodes_last_lines_reach_the_main_node(
    identities: Identities, capsys: pytest.CaptureFixture[str]
) -> None:
    """The report is one line, then what the failed node wrote last, and no line looks like one of ours."""
    program = "print('[mnp] rendezvous 1/2: node 0 (10.0.0.0) is here', flush=True); raise SystemExit('no such data')"
    nodes = identities(2)
    main, _ = _run_launches(nodes, [Launch(_python(FOR_EVER)), Launch(_python(program))])
    assert main is not None
    assert sorted(main.tail) == ["[mnp] rendezvous 1/2: node 0 (10.0.0.0) is here", "no such data"]
    capsys.readouterr()
    cards = tuple(Card(index, f"10.0.0.{index}", "host") for index in range(2))
    report(Assembly(nodes[0], Roster(cards, 0, 1)), main)
    first, *tail = capsys.readouterr().out.splitlines()
    assert first == "[mnp] failed: node 1 (10.0.0.1): its process ended with exit code 1"
    assert tail == [f"[node 1] {line}" for line in main.tail]
    assert not any(progress.parse(line) for line in tail)


@pytest.mark.parametrize(
    ("failures", "named"),
    [
        ([Failure(0, "a", 1), Failure(2, "b", 1)], 0),
        ([Failure(0, "a", 1), Failure(2, "lost")], 2),
        ([Failure(0, "a", 1), Failure(2, "killed", 137), Failure(1, "lost")], 2),
        ([Failure(0, "ssh says 255", 255), Failure(1, "killed", 137)], 1),
    ],
)
def test_the_cause_is_named_not_its_consequences(failures: list[Failure], named: int) -> None:
    """A node that vanished or was killed is named before those that failed because of it."""
    assert root_cause(failures).index == named


def test_a_process_that_ignores_sigterm_is_killed(tmp_path: Path) -> None:
    """After the grace time the command goes, and with it what it started in a session of its own."""
    ready = tmp_path / "pid"
    child = (
        f"import os, signal; signal.signal(15, 1); open({str(ready)!r}, 'w').write(str(os.getpid())); signal.pause()"
    )
    program = (
        "import signal, subprocess, sys; signal.signal(15, 1);"
        f"subprocess.Popen([sys.executable, '-c', {child!r}], start_new_session=True); signal.pause()"
    )

    async def run() -> int:
        group = await ProcessGroup.start([sys.executable, "-c", program], dict(os.environ))
        await asyncio.to_thread(_wait_until, lambda: ready.exists() and ready.read_text())
        return await group.terminate(0.2)

    assert asyncio.run(run()) == 128 + signal.SIGKILL
    _wait_until(lambda: _ended(int(ready.read_text())))


def _wait_until(condition: Callable[[], object], seconds: float = 20) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError(f"not so within {seconds} s")
        time.sleep(0.01)


def _ended(pid: int) -> bool:
    """Whether the process is gone, or a zombie that nobody has reaped yet."""
    stat = Path(f"/proc/{pid}/stat")
    return not stat.exists() or stat.read_text().rpartition(")")[2].split()[0] == "Z"


def _lines_until(process: subprocess.Popen[str], text: str) -> list[str]:
    assert process.stdout is not None
    lines: list[str] = []
    for line in process.stdout:
        lines.append(line)
        if text in line:
            return lines
    raise AssertionError(f"{text!r} never came: {lines}")


@pytest.mark.end_to_end
@pytest.mark.parametrize("target", [0, 1])
def test_sigterm_is_passed_on(start_node: StartNode, target: int) -> None:
    """SIGTERM to any node reaches the user's process and ends the job on all nodes."""
    program = (
        "import signal; signal.signal(15, lambda *_: (print('got it', flush=True), exit(0)));"
        " print('running', flush=True); signal.pause()"
    )
    command = ["launch", "--with", "env", "--", sys.executable, "-c", program]
    nodes = [start_node(index, 2, *command) for index in range(2)]
    for node in nodes:
        _lines_until(node, "running")
    nodes[target].send_signal(signal.SIGTERM)
    outputs = [node.communicate(timeout=60)[0] for node in nodes]
    assert all("got it" in output for output in outputs)
    assert nodes[target].returncode == 143
    assert nodes[0].returncode == 143
    if target:
        assert "[mnp] failed: node 1 (127.0.0.1): it was stopped (SIGTERM)" in outputs[0]


@pytest.mark.end_to_end
def test_launch_gives_each_process_its_place(start_node: StartNode) -> None:
    """`launch --with env` runs the command once per node with its rank, and keeps the secret to itself."""
    program = (
        "import os; print('env', *(os.environ[n] for n in ('RANK', 'WORLD_SIZE', 'MASTER_ADDR', 'GLOO_SOCKET_IFNAME')),"
        " 'MNP_SECRET' in os.environ)"
    )
    nodes = [start_node(i, 2, "launch", "--with", "env", "--", sys.executable, "-c", program) for i in (1, 0)]
    outputs = [node.communicate(timeout=60)[0] for node in nodes]
    assert [node.returncode for node in nodes] == [0, 0]
    assert "env 1 2 127.0.0.1 lo False" in outputs[0]
    assert "env 0 2 127.0.0.1 lo False" in outputs[1]


@pytest.mark.end_to_end
def test_exit_code_of_another_node_becomes_the_jobs(start_node: StartNode) -> None:
    """Batch sees the main node only, so it ends with the failing node's code and one line that names it."""
    program = "import os, signal; os.environ['RANK'] == '1' and exit(9); signal.pause()"
    nodes = [start_node(i, 2, "launch", "--with", "env", "--", sys.executable, "-c", program) for i in range(2)]
    outputs = [node.communicate(timeout=60)[0] for node in nodes]
    assert [node.returncode for node in nodes] == [9, 9]
    failed = [line for line in outputs[0].splitlines() if "failed" in line]
    assert failed == ["[mnp] failed: node 1 (127.0.0.1): its process ended with exit code 9"]
