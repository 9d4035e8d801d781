#!/bin/bash
# Settings of the ECS agent. AWS Batch adds its own lines (cluster, attributes) to the same file.
set -euo pipefail

file=${ECS_CONFIG_FILE:-/etc/ecs/ecs.config}
mkdir -p "$(dirname "$file")"
touch "$file"

set_once() {
  grep -q "^$1=" "$file" || echo "$1=$2" >>"$file"
}

# Tasks get the job role's credentials from the agent and have no business with the instance's.
set_once ECS_AWSVPC_BLOCK_IMDS true
# A training image is tens of gigabytes: a retry on a warm node must not pull it again.
set_once ECS_IMAGE_PULL_BEHAVIOR prefer-cached
echo "mnp: ECS agent configured"
