#!/bin/bash
# Install the Debian packages that tests on several hosts run: an SSH daemon, Open MPI and a C compiler.
# Only as root, where apt is, and quick if they are there. Never fails: without them those tests say so and are skipped.
set -euo pipefail

packages=(openssh-server openssh-client openmpi-bin libopenmpi-dev gcc libc6-dev iproute2 util-linux)
export DEBIAN_FRONTEND=noninteractive

say() { printf 'install-host-test-packages: %s\n' "$*" >&2; }

missing=()
for package in "${packages[@]}"; do
  dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing+=("$package")
done
[ ${#missing[@]} -gt 0 ] || exit 0

if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
  say "not root, or no apt: tests that need ${missing[*]} will be skipped"
  exit 0
fi
say "installing ${missing[*]}"
# A daemon that the package would start is no business of ours; this is how Debian is told.
policy=/usr/sbin/policy-rc.d
if [ ! -e "$policy" ]; then
  printf '#!/bin/sh\nexit 101\n' >"$policy"
  chmod +x "$policy"
  trap 'rm -f "$policy"' EXIT
fi
install=(apt-get install -y -qq --no-install-recommends "${missing[@]}")
"${install[@]}" >/dev/null 2>&1 || { apt-get update -qq >/dev/null 2>&1 && "${install[@]}" >/dev/null; } ||
  say "apt cannot install them: tests that need ${missing[*]} will be skipped"
