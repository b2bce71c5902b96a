#!/usr/bin/env bash
# Emulated boards against what their file says: CPU share, link rate, delay. Needs root.
#
#   bench/testbed/run.sh [--quick] [--out FILE]      # default bench/results/testbed.json
set -euo pipefail
root=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." && pwd)
"$root/scripts/install-packages.sh" build
"$root/scripts/build.sh" release mangrove
exec /usr/bin/python3 "$root/bench/testbed/measure.py" "$root/build/release/bin/mangrove" "$@"
