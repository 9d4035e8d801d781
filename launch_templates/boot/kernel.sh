#!/bin/bash
# Kernel settings of the host that hold in every container too.
set -euo pipefail

file=${SYSCTL_FILE:-/etc/sysctl.d/90-mnp.conf}
mkdir -p "$(dirname "$file")"
cat >"$file" <<'END'
# Between the processes of one node libfabric copies by Cross Memory Attach, which ptrace protection forbids:
# https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/efa-start.html#efa-start-ptrace (checked 2026-11-21).
kernel.yama.ptrace_scope = 0
END
# A kernel without that protection has no such key, and one that was told to keep it for good refuses: both can work.
sysctl --quiet --ignore --load="$file" || true
echo "mnp: kernel settings applied"
