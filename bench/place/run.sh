#!/usr/bin/env bash
# Placement: how far each solver is from the best bound, and how long it takes, on the scenarios of examples/placement.
#
#   bench/place/run.sh [--quick] [--out FILE]     # default bench/results/place.json
#
# Without --quick it also writes examples/placement/results/optima.yaml: the proven optimum of each scenario that is solved exactly.
set -euo pipefail
root=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." && pwd)
case " $* " in *" --help "* | *" -h "*) exec /usr/bin/python3 "$root/bench/place/measure.py" --help ;; esac
"$root/scripts/install-packages.sh" build
"$root/scripts/build.sh" release mangrove
exec /usr/bin/python3 "$root/bench/place/measure.py" "$root/build/release/bin/mangrove" "$@"
