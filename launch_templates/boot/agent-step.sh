#!/bin/bash
# Steps before the start of the ECS agent: how a boothook adds one, and what happens to a node on which one fails.
#
# As a boothook this only puts itself where the next boothooks find it. They call
#   add ORDER SECONDS NAME FILE ARGUMENT   FILE, kept as NAME, is a step from now on, at every start of the agent
# which makes the agent's unit call, in the order of the numbers, before the agent itself
#   run SECONDS FILE ARGUMENT              the step; if it fails or takes longer, the node takes no work
# A step knows nothing of this: it is a program that ends with 0, or says why not in its last line on stderr.
set -euo pipefail

libexec=${MNP_LIBEXEC:-/usr/local/libexec/mnp}
drop_ins=${ECS_DROP_INS:-/etc/systemd/system/ecs.service.d}
console=${CONSOLE:-/dev/console}

add() {
  local order=$1 seconds=$2 name=$3 file=$4 argument=$5
  install -D -m 755 "$file" "$libexec/$name"
  mkdir -p "$drop_ins"
  # Each step has its own limit; systemd's, 90 s by default and the last one given, must be longer than all together.
  printf '[Service]\nExecStartPre=%s run %s %s %s\nTimeoutStartSec=%s\n' \
    "$libexec/agent-step.sh" "$seconds" "$libexec/$name" "$argument" 2400 >"$drop_ins/$order-${name%.sh}.conf"
  systemctl daemon-reload
  echo "mnp: the ECS agent waits for $name"
}

run() {
  local seconds=$1 file=$2 status=0 reason
  shift
  timeout --kill-after=10 "$seconds" "$@" 2>"$file.errors" || status=$?
  cat "$file.errors" >&2 || true
  case $status in
    0) ;;
    124 | 137) refuse_work "${file##*/} was stopped; its limit is $seconds s" ;;
    *)
      reason=$(tail -n 1 "$file.errors") || true
      refuse_work "${reason:-${file##*/} ended with status $status}"
      ;;
  esac
}

# The node shuts down, which by its launch template ends it. Nothing else would: the agent never registers, and to mark
# the node unhealthy would take a permission that it does not have.
refuse_work() {
  echo "mnp: $1: this node takes no work and shuts down" | tee -a "$console" >&2 || true
  systemctl --no-block poweroff
  exit 1
}

case ${1:-} in
  add | run) "$@" ;;
  *) install -D -m 755 "$0" "$libexec/agent-step.sh" ;;
esac
