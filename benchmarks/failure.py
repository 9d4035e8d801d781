"""How long a job takes to end everywhere after one of its processes or hosts is gone.

    python benchmarks/failure.py [RUNS]

On hosts of this machine (tests/hosts/lab.py, as root) the same program, an endless all-reduce over gloo, is started by
`mnp.node launch --with torchrun`, by torchrun alone (static) and, where they are installed, by mpirun over ssh. Then
one rank is killed, or one host loses its power: nobody there says goodbye. Prints the median time until the last
process on the other hosts has ended, and the ratio to mnp's. What still runs after the limit is told as such.
"""

from __future__ import annotations

import os
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from tests.hosts.lab import Host, Lab, why_not

HOSTS = 3
VICTIM = HOSTS - 1
LIMIT_SECONDS = 60.0
START_SECONDS = 120.0
LOOK_SECONDS = 0.02
SSHD = shutil.which("sshd") or "/usr/sbin/sshd"
TORCHRUN = (sys.executable, "-m", "torch.distributed.run")
WORKER = """
import os, pathlib, sys
os.environ.setdefault("RANK", os.environ.get("OMPI_COMM_WORLD_RANK", ""))
os.environ.setdefault("WORLD_SIZE", os.environ.get("OMPI_COMM_WORLD_SIZE", ""))
import torch
torch.distributed.init_process_group("gloo")
values = torch.ones(1024)
torch.distributed.all_reduce(values)
pathlib.Path(sys.argv[1], os.environ["RANK"]).write_text(str(os.getpid()))
while True:
    torch.distributed.all_reduce(values)
"""
SSHD_CONFIG = """
Port 2222
HostKey {folder}/key
AuthorizedKeysFile {folder}/key.pub
PidFile none
StrictModes no
UsePAM no
UseDNS no
PasswordAuthentication no
"""
SSH_OPTIONS = "-p 2222 -i {folder}/key -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o LogLevel=ERROR"

Start = Callable[[Lab, Path], None]


def with_mnp(lab: Lab, folder: Path) -> None:
    """Every node by mnp, with the bounds it has without options."""
    for host in lab.hosts:
        batch = {
            "AWS_BATCH_JOB_ID": "benchmark",
            "AWS_BATCH_JOB_ATTEMPT": "1",
            "AWS_BATCH_JOB_NUM_NODES": str(HOSTS),
            "AWS_BATCH_JOB_NODE_INDEX": str(host.index),
            "AWS_BATCH_JOB_MAIN_NODE_INDEX": "0",
            "MNP_SECRET": "of no consequence",
        }
        if host.index:
            batch["AWS_BATCH_JOB_MAIN_NODE_PRIVATE_IPV4_ADDRESS"] = lab[0].address
        launch = (sys.executable, "-m", "mnp.node", "launch", "--with=torchrun", "--processes-per-node=1", "--")
        start(host, (*launch, *worker(folder)), **batch)


def with_torchrun(lab: Lab, folder: Path) -> None:
    """Every node by torchrun alone, with its defaults."""
    for host in lab.hosts:
        main = (f"--master-addr={lab[0].address}", "--master-port=29500")
        node = (f"--nnodes={HOSTS}", f"--node-rank={host.index}", "--nproc-per-node=1")
        start(host, (*TORCHRUN, *node, *main, *worker(folder)))


def with_mpirun(lab: Lab, folder: Path) -> None:
    """All from the first host by mpirun, over an sshd on each, with mpirun's defaults."""
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", folder / "key"], check=True)
    (folder / "sshd_config").write_text(SSHD_CONFIG.format(folder=folder), encoding="utf-8")
    for host in lab.hosts:
        start(host, (SSHD, "-D", "-f", f"{folder}/sshd_config"))
    hosts = ",".join(f"{host.address}:1" for host in lab.hosts)
    variables = {"MASTER_ADDR": lab[0].address, "MASTER_PORT": "29500", "GLOO_SOCKET_IFNAME": "eth0"}
    exported = [word for name in variables for word in ("-x", name)]
    network = ["--mca", "btl_tcp_if_include", "eth0", "--mca", "oob_tcp_if_include", "eth0"]
    ssh = ["--mca", "plm_rsh_args", SSH_OPTIONS.format(folder=folder)]
    command = ["mpirun", "--allow-run-as-root", "--host", hosts, *exported, *network, *ssh]
    start(lab[0], (*command, sys.executable, *worker(folder)), **variables)


def start(host: Host, command: Sequence[str], **environ: str) -> None:
    variables = {"GLOO_SOCKET_IFNAME": host.interface, "OMP_NUM_THREADS": "1", **environ}
    quiet = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    host.popen(*command, environ=variables, **quiet)


def worker(folder: Path) -> tuple[str, str]:
    """The program's path and argument."""
    path = folder / "worker.py"
    path.write_text(WORKER, encoding="utf-8")
    (folder / "ranks").mkdir(exist_ok=True)
    return str(path), str(folder / "ranks")


def kill_rank(lab: Lab, folder: Path) -> None:
    """SIGKILL to the last host's rank."""
    lab[VICTIM].run("kill", f"-{signal.SIGKILL.value}", (folder / "ranks" / str(VICTIM)).read_text())


def power_off(lab: Lab, _: Path) -> None:
    """The last host is gone."""
    lab[VICTIM].power_off()


def running(lab: Lab) -> bool:
    return any("sshd" not in line for host in lab.hosts for line in host.processes())


def measure(begin: Start, fault: Start) -> float | None:
    """Seconds from the fault to the last process's end; None if some go on beyond the limit."""
    with tempfile.TemporaryDirectory() as name, Lab(HOSTS) as lab:
        folder = Path(name)
        begin(lab, folder)
        wait(lambda: len(list((folder / "ranks").glob("*"))) == HOSTS, START_SECONDS)
        began = time.perf_counter()
        fault(lab, folder)
        try:
            wait(lambda: not running(lab), LIMIT_SECONDS)
        except TimeoutError:
            return None
        return time.perf_counter() - began


def wait(condition: Callable[[], bool], seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError(f"not so within {seconds:g} s")
        time.sleep(LOOK_SECONDS)


def main() -> None:
    if reason := why_not():
        raise SystemExit(reason)
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 3
    contenders = {"mnp launch --with torchrun": with_mnp, "torchrun alone": with_torchrun}
    if shutil.which("mpirun") and shutil.which("ssh-keygen") and os.access(SSHD, os.X_OK):
        contenders["mpirun"] = with_mpirun
    else:
        print("mpirun, ssh-keygen or sshd is not installed: measured without mpirun")
    print(f"{HOSTS} hosts, median of {runs} runs (all of them in parentheses), limit {LIMIT_SECONDS:g} s")
    for fault in (kill_rank, power_off):
        print(f"{fault.__doc__}")
        reference = None
        for name, begin in contenders.items():
            found = [measure(begin, fault) for _ in range(runs)]
            told = ", ".join("still running" if each is None else f"{each:.1f}" for each in found)
            median = statistics.median(LIMIT_SECONDS if each is None else each for each in found)
            reference = reference or median
            least = "at least " if None in found else ""
            print(f"  {name:28} {least}{median:6.1f} s  {median / reference:5.1f} x  ({told})", flush=True)


if __name__ == "__main__":
    main()
