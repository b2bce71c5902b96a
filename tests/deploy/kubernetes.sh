#!/usr/bin/env bash
# Renders the manifests of deploy/kubernetes and the chart of deploy/helm, and checks them against the schemas that
# Kubernetes publishes. Needs no cluster, and neither root nor Helm.
#
#   tests/deploy/kubernetes.sh
set -euo pipefail
cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.."
scripts/install-packages.sh kubernetes
folder=tests/deploy/kubernetes
log=$(mktemp)
trap 'rm -f "$log"' EXIT
npm ci --prefix "$folder" --ignore-scripts --no-audit --no-fund > "$log" 2>&1 || { tail -n 20 "$log" >&2; exit 1; }
python3 "$folder/check.py"
