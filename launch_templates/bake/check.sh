#!/bin/bash
# Is in the image what should be? check.sh EFA_INSTALLER_VERSION [IMAGE]
#
# Runs on the build host, and again on an instance of the finished image.
set -euo pipefail

packages=${EFA_INSTALLED_PACKAGES:-/opt/amazon/efa_installed_packages}

fail() {
  echo "mnp: not as it should be: $1" >&2
  exit 1
}

installed=$(sed -n 's/^# EFA installer version: //p' "$packages" 2>/dev/null) || true
[ "$installed" = "$1" ] || fail "EFA installer ${installed:-none}, not $1"

# The kernel has an efa module of its own; the package's must have taken its place. A g after the version stands for
# GPUDirect.
package=$(rpm -q --queryformat '%{VERSION}' efa) || fail "the package efa is not installed"
module=$(modinfo -F version efa) || fail "the kernel has no module efa"
[ "${module%g}" = "$package" ] || fail "the kernel module efa is $module, not the package's $package"

for tool in mdadm mkfs.xfs; do
  command -v "$tool" >/dev/null || fail "no $tool"
done
if [ -n "${2:-}" ]; then
  docker image inspect "$2" >/dev/null 2>&1 || fail "no container image $2"
fi
echo "mnp: EFA installer $1 with kernel module $module, tools${2:+ and $2} are there"
