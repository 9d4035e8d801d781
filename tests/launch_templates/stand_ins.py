"""Stand-ins for what only an instance has: commands that write themselves down and remember what a machine would."""

from __future__ import annotations

from pathlib import Path

# Bodies of shell scripts. $state holds a file for the mount, for the array, and for the label of every device.
COMMANDS = {
    "systemctl": "",
    "sysctl": "",
    "udevadm": "",
    # Whatever the address, what is there to download is in $state/downloads.
    "curl": """\
url=${@: -1}
while [ "$1" != --output ]; do shift; done
cp "$state/downloads/${url##*/}" "$2" 2>/dev/null || { echo "curl: (22) error: 404" >&2; exit 22; }""",
    # What is in $state/late comes up while somebody waits.
    "sleep": 'mv "$state"/late/* "${INFINIBAND_DEVICES:-/dev/infiniband}/" 2>/dev/null || true',
    "dnf": '[ "$1" = clean ] || mv "$state/packages/${@: -1}/"* "$(dirname "$0")" 2>/dev/null',
    # What the bake of an image finds: a registry's password, the images that were pulled, and the EFA package's files.
    "aws": "echo password",
    "docker": """\
case $1 in
  login) cat >"$DOCKER_CONFIG/config.json" ;;
  pull) echo "${@: -1}" >>"$state/images" ;;
  image) grep -qsxF "$3" "$state/images" ;;
esac""",
    "rpm": 'cat "$state/package" 2>/dev/null',
    "modinfo": 'cat "$state/module" 2>/dev/null',
    "mountpoint": '[ -e "$state/mounted" ]',
    "mount": 'touch "$state/mounted"',
    "blkid": 'cat "$state/label-$(basename "${@: -1}")" 2>/dev/null || exit 2',
    "mkfs.xfs": 'echo mnp-scratch >"$state/label-$(basename "${@: -1}")"',
    "mkfs.ext4": 'echo mnp-scratch >"$state/label-$(basename "${@: -1}")"',
    "mdadm": """\
case $1 in
  --create) mkdir -p "$(dirname "$2")" && touch "$2" && echo "$2" >"$state/array" ;;
  --assemble) xargs -r -a "$state/array" dirname | xargs -r mkdir -p; xargs -r -a "$state/array" touch ;;
esac""",
}
PACKAGES = {"mdadm": "mdadm", "mkfs.xfs": "xfsprogs"}


class StandIns:
    """Commands in `folder`/usr/local/bin, to stand first on PATH, and their memory in `folder`/var/stand-ins.

    `seen_as` is the folder's name on the machine that runs them; `not_installed` come with dnf only.
    """

    def __init__(self, folder: Path, *, seen_as: Path | None = None, not_installed: tuple[str, ...] = ()) -> None:
        self.commands = folder / "usr/local/bin"
        self.state = folder / "var/stand-ins"
        state = (seen_as or folder) / "var/stand-ins"
        for name, body in COMMANDS.items():
            home = self.state / "packages" / PACKAGES[name] if name in not_installed else self.commands
            home.mkdir(parents=True, exist_ok=True)
            (home / name).write_text(f'#!/bin/bash\nstate={state}\necho "{name} $*" >>"$state/log"\n{body}\n')
            (home / name).chmod(0o755)
        self.state.mkdir(parents=True, exist_ok=True)

    def log(self) -> list[str]:
        """The commands that ran, with their arguments; the log starts anew."""
        file = self.state / "log"
        lines = file.read_text().splitlines() if file.exists() else []
        file.unlink(missing_ok=True)
        return lines
