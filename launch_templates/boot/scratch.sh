#!/bin/bash
# The node's NVMe instance store as one file system at /scratch, open to all as /tmp is.
#
# The disks survive a reboot and come back empty after a stop, so there is no fstab entry: as a boothook, at every boot,
# this becomes a step before the ECS agent's start; there it mounts, and makes only what is not there. A node without
# its scratch would fill the root volume instead, so it takes no work.
set -euo pipefail

if [ "${1:-}" != mount ]; then
  exec "${MNP_LIBEXEC:-/usr/local/libexec/mnp}/agent-step.sh" add 30 900 scratch.sh "$0" mount
fi

disks_by_id=${DISKS_BY_ID:-/dev/disk/by-id}
scratch=${SCRATCH:-/scratch}
array=${SCRATCH_ARRAY:-/dev/md/mnp-scratch}
label=mnp-scratch

fail() {
  echo "no $scratch: $1" >&2
  exit 1
}

need() {
  command -v "$1" >/dev/null || timeout 300 dnf install -y -q "$2"
}

# A disk has several links, and its partitions have more; the root volume, on EBS, has none by this name.
instance_store() {
  local link
  for link in "$disks_by_id"/nvme-Amazon_EC2_NVMe_Instance_Storage_*; do
    case $link in
      *-part[0-9]*) ;;
      *) if [ -e "$link" ]; then readlink -f "$link"; fi ;;
    esac
  done | sort -u
}

make_array() {
  if [ ! -e "$array" ]; then
    mdadm --create "$array" --name=mnp-scratch --homehost=any --run --level=0 --raid-devices="$#" "$@" || return
  fi
}

# Without discarding: the disks are new, and to trim 30 TB takes minutes.
make_file_system() {
  if need mkfs.xfs xfsprogs; then
    mkfs.xfs -q -f -K -L "$label" "$1"
  else
    mkfs.ext4 -q -F -E nodiscard -L "$label" "$1"
  fi
}

if mountpoint -q "$scratch"; then
  echo "mnp: $scratch is mounted"
  exit 0
fi

udevadm settle --timeout=60 || true
mapfile -t disks < <(instance_store)
case ${#disks[@]} in
  0) fail "this instance has no instance-store disk" ;;
  1) device=${disks[0]} ;;
  *)
    need mdadm mdadm || fail "mdadm cannot be installed"
    # Finds nothing on new disks, and what is there already after a reboot.
    mdadm --assemble --scan >/dev/null 2>&1 || true
    make_array "${disks[@]}" || fail "mdadm cannot join ${#disks[@]} disks"
    device=$array
    ;;
esac

if [ "$(blkid -o value -s LABEL "$device" || true)" != "$label" ]; then
  make_file_system "$device" || fail "no file system can be made on $device"
fi
mkdir -p "$scratch"
mount -o noatime "$device" "$scratch" || fail "$device cannot be mounted"
chmod 1777 "$scratch"
echo "mnp: $scratch is mounted, of ${#disks[@]} disks"
