#!/bin/bash
# AWS's EFA driver of one version, verified as AWS describes it:
# https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/efa-start-nccl.html#nccl-start-base-enable (checked 2026-11-21).
#
# As a boothook, at every boot, this becomes a step before the ECS agent's start, and before the wait for the devices:
# the installer loads the driver anew. That step is `efa-installer.sh install`, which needs nothing else of ours: it
# installs at once, or says why not and fails. It makes images too.
set -euo pipefail

version=1.51.0
fingerprint=4E9091BCBB97A96B26B15E59A05480B1DD2D3CCC

if [ "${1:-}" != install ]; then
  exec "${MNP_LIBEXEC:-/usr/local/libexec/mnp}/agent-step.sh" add 10 900 efa-installer.sh "$0" install
fi

packages=${EFA_INSTALLED_PACKAGES:-/opt/amazon/efa_installed_packages}
tarball=aws-efa-installer-$version.tar.gz
key=aws-efa-installer.key

fail() {
  echo "EFA installer $version: $1" >&2
  exit 1
}

is_installed() {
  grep -qsxF "# EFA installer version: $version" "$packages"
}

download() {
  curl --fail --silent --show-error --proto '=https' --tlsv1.2 --connect-timeout 10 --max-time 240 \
    --retry 5 --retry-all-errors --retry-max-time 240 --output "$1" "https://efa-installer.amazonaws.com/$1" ||
    fail "$1 cannot be downloaded"
}

# Without gpg-agent, which Amazon Linux's small GnuPG lacks and public keys do not need.
gpg_here() {
  gpg --batch --no-autostart --quiet --no-default-keyring --keyring "$folder/keys.gpg" --trust-model always "$@"
}

# GnuPG is content with a signature by any key of the ring, and the ring is what was downloaded. Only one counts here:
# by the pinned key or a subkey of it, neither expired nor revoked, and no other beside it.
verify() {
  mkdir -m 700 gnupg
  export GNUPGHOME=$folder/gnupg
  gpg --batch --no-autostart --quiet --import-options import-export --import "$key" >keys.gpg || fail "$key cannot be read"
  gpg_here --list-keys "$fingerprint" >/dev/null || fail "$key is not the key $fingerprint"
  gpg_here --status-fd 1 --verify "$tarball.sig" "$tarball" | awk -v pinned="$fingerprint" '
    $2 == "GOODSIG" { good++ }
    $2 == "VALIDSIG" { valid++; signer = $NF }
    END { exit !(good == 1 && valid == 1 && signer == pinned) }
  ' || fail "$tarball is not signed by the key $fingerprint"
}

if is_installed; then
  echo "mnp: EFA installer $version ran before"
  exit 0
fi
# /tmp is memory on Amazon Linux.
folder=$(mktemp -d "${TMPDIR:-/var/tmp}/mnp-efa-installer.XXXXXX")
trap 'rm -rf "$folder"' EXIT
cd "$folder"
for file in "$key" "$tarball.sig" "$tarball"; do
  download "$file"
done
verify
tar -xzf "$tarball" --no-same-owner || fail "$tarball cannot be unpacked"
cd aws-efa-installer
# The kernel module and rdma-core: libfabric and NCCL's plugin come with the container.
timeout 600 ./efa_installer.sh -y --minimal </dev/null || fail "efa_installer.sh failed"
is_installed || fail "efa_installer.sh did not install it"
echo "mnp: EFA installer $version ran"
