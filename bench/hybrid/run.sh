#!/usr/bin/env bash
# What workers send, and how long a step takes, when they divide large fully connected layers, beside pure data
# parallelism, also on emulated boards with links of 100 Mbit/s. Emulated boards need root.
#
#   bench/hybrid/run.sh [--quick] [--only PART] [--out FILE]     # default bench/results/hybrid.json
#   PART: bytes, or boards (the time of a step, about ten minutes)
set -euo pipefail
root=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." && pwd)
case " $* " in *" --help "* | *" -h "*) exec /usr/bin/python3 "$root/bench/hybrid/measure.py" --help ;; esac
"$root/scripts/install-packages.sh" build bench
"$root/scripts/build.sh" release mangrove
exec /usr/bin/python3 "$root/bench/hybrid/measure.py" "$root/build/release/bin/mangrove" "$@"
