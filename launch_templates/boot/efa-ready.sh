#!/bin/bash
# No work for this node before all of its EFA devices are there.
#
# Some types bring them up late (p5en), and a job placed on a node that lacks one fails to start or runs slower than
# it should. As a boothook, at every boot, this becomes a step before the ECS agent's start; there it waits.
set -euo pipefail

if [ "${1:-}" != wait ]; then
  exec "${MNP_LIBEXEC:-/usr/local/libexec/mnp}/agent-step.sh" add 20 180 efa-ready.sh "$0" wait
fi

# shellcheck source=/dev/null
. "${MNP_NODE_ENV:-/etc/mnp/node.env}"
devices=${INFINIBAND_DEVICES:-/dev/infiniband}
verbs=${INFINIBAND_VERBS:-/sys/class/infiniband_verbs}

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

echo "$efa_devices of $MNP_EFA_DEVICES EFA devices after $waited s" >&2
exit 1
