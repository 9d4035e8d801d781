#!/bin/bash
# What the cluster file says of this node.
set -euo pipefail

file=${MNP_NODE_ENV:-/etc/mnp/node.env}
mkdir -p "$(dirname "$file")"
cat >"$file" <<'END'
@VALUES@
END
