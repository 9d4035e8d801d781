#!/bin/bash
# Pulls a container image into the node image: pull-image.sh IMAGE
set -euo pipefail

image=$1
registry=${image%%/*}

# The registry's password must not stay in the image.
DOCKER_CONFIG=$(mktemp -d)
export DOCKER_CONFIG
trap 'rm -rf "$DOCKER_CONFIG"' EXIT

if [[ $registry =~ ^[0-9]{12}\.dkr\.ecr\.([a-z0-9-]+)\.amazonaws\.com(\.cn)?$ ]]; then
  command -v aws >/dev/null || timeout 600 dnf install -y -q awscli-2
  aws ecr get-login-password --region "${BASH_REMATCH[1]}" |
    docker login --username AWS --password-stdin "$registry" >/dev/null
fi
systemctl start docker
timeout 3600 docker pull --quiet "$image"
echo "mnp: $image is pulled"
