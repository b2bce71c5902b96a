#!/usr/bin/env bash
# What watching a cluster costs: processor time of a node and a coordinator that have nothing else to do, bytes of metrics.jsonl.
#
#   bench/watching/run.sh [--quick] [--out FILE]      # default bench/results/watching.json; four minutes
set -euo pipefail
root=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." && pwd)
case " $* " in *" --help "* | *" -h "*) exec /usr/bin/python3 "$root/bench/watching/measure.py" --help ;; esac
"$root/scripts/install-packages.sh" build bench
"$root/scripts/build.sh" release mangrove
exec /usr/bin/python3 "$root/bench/watching/measure.py" "$root/build/release/bin/mangrove" "$@"
