#!/bin/bash
# What launch_templates/boot/scratch.sh would otherwise download at a node's first boot.
set -euo pipefail

timeout 600 dnf install -y -q mdadm xfsprogs
echo "mnp: mdadm and xfsprogs are installed"
