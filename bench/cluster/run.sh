#!/usr/bin/env bash
# The main job on this machine: LeNet-5 trained by four nodes beside one, and served as a pipeline of three stages beside one node.
# On MNIST where it is there or can be downloaded, else on glyphs.
#
#   bench/cluster/run.sh [--quick] [--out FILE]      # default bench/results/cluster.json
set -euo pipefail
root=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." && pwd)
"$root/scripts/install-packages.sh" build bench
"$root/scripts/build.sh" release mangrove
exec /usr/bin/python3 "$root/bench/cluster/measure.py" "$root/build/release/bin/mangrove" "$@"
