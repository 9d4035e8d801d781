#!/bin/bash
# No work for this node before all of its EFA devices are there.
#
# Some types bring them up late (p5en), and a job placed on a node that lacks one fails to start or runs slower than
# it should. As a boothook, at every boot, this installs itself before the ECS agent's start; there it waits. A node
# that stays incomplete never registers. It shuts down, as nothing else ends it: to mark it unhealthy would take a
# permission that the node does not have.
set -euo pipefail

if [ "${1:-}" != wait ]; then
  program=${MNP_LIBEXEC:-/usr/local/libexec/mnp}/efa-ready.sh
  drop_ins=${ECS_DROP_INS:-/etc/systemd/system/ecs.service.d}
  install -D -m 755 "$0" "$program"
  mkdir -p "$drop_ins"
  # systemd's own limit on a start, 90 s by default, is shorter than the wait.
  printf '[Service]\nExecStartPre=%s wait\nTimeoutStartSec=%s\n' "$program" 900 >"$drop_ins/10-efa-ready.conf"
  systemctl daemon-reload
  echo "mnp: the ECS agent waits for the EFA devices"
  exit 0
fi

# shellcheck source=/dev/null
. "${MNP_NODE_ENV:-/etc/mnp/node.env}"
devices=${INFINIBAND_DEVICES:-/dev/infiniband}
verbs=${INFINIBAND_VERBS:-/sys/class/infiniband_verbs}
console=${CONSOLE:-/dev/console}

# P6 types have devices of NVLink's management here too, which are not Amazon's. One whose maker cannot be read counts:
# a mistake of this check must not cost a node.
count_efa_devices() {
  local device maker
  efa_devices=0
  for device in "$devices"/uverbs*; do
    [ -e "$device" ] || continue
    maker=0x1d0f
    { read -r maker <"$verbs/${device##*/}/device/vendor"; } 2>/dev/null || true
    [ "$maker" = 0x1d0f ] && efa_devices=$((efa_devices + 1))
  done
  return 0
}

for ((waited = 0; waited < ${MNP_EFA_WAIT:-120}; waited++)); do
  count_efa_devices
  if [ "$efa_devices" -ge "$MNP_EFA_DEVICES" ]; then
    echo "mnp: $efa_devices of $MNP_EFA_DEVICES EFA devices after $waited s"
    exit 0
  fi
  sleep 1
done

message="mnp: $efa_devices of $MNP_EFA_DEVICES EFA devices after $waited s: this node takes no work and shuts down"
echo "$message" | tee -a "$console" >&2 || true
systemctl --no-block poweroff
exit 1
