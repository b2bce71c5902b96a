#!/usr/bin/env bash
# The planner beside PipeDream's own planning algorithm, on the same costs: the published profiles of the PipeDream project where they are
# given, and made-up networks; and how long it takes for 200 operators and 16 mixed devices.
#
#   bench/plan/run.sh [--profiles FOLDER] [--quick] [--out FILE]      # default bench/results/plan.json; FOLDER holds *.graph.txt
set -euo pipefail
root=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." && pwd)
case " $* " in *" --help "* | *" -h "*) exec /usr/bin/python3 "$root/bench/plan/measure.py" --help ;; esac
"$root/scripts/install-packages.sh" build bench
"$root/scripts/build.sh" release mangrove
exec /usr/bin/python3 "$root/bench/plan/measure.py" "$root/build/release/bin/mangrove" "$@"
