#!/bin/bash
# Unlimited locked memory for every container on this host.
#
# EFA registers memory with the network card and needs it locked. Clients such as Metaflow and TorchX cannot set a
# ulimit in the job definitions they register, so the Docker daemon's default has to be right. The default stands in
# /etc/sysconfig/docker beside Amazon Linux's own: a second place (daemon.json) would make the daemon refuse to start.
set -euo pipefail

file=${DOCKER_OPTIONS_FILE:-/etc/sysconfig/docker}
limit='--default-ulimit memlock=-1:-1'

if [ -f "$file" ] && grep -q 'memlock=' "$file"; then
  exit 0
fi
if [ -f "$file" ] && grep -q '^OPTIONS="' "$file"; then
  sed -i "s/^OPTIONS=\"\(.*\)\"/OPTIONS=\"\1 $limit\"/" "$file"
else
  printf 'OPTIONS="%s"\n' "$limit" >>"$file"
fi
echo "mnp: containers may lock memory without limit"
