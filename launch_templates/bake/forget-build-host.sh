#!/bin/bash
# Nodes must not take themselves for the host on which their image was made.
#
# AWS's page on AMIs of ECS instances: stop the agent and remove its checkpoint.
# https://docs.aws.amazon.com/batch/latest/userguide/create-batch-ami.html, checked 2026-11-21.
set -euo pipefail

systemctl stop ecs
rm -rf "${ECS_DATA:-/var/lib/ecs/data}"/*
dnf clean all -q
echo "mnp: the ECS agent remembers nothing"
