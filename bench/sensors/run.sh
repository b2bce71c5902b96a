#!/usr/bin/env bash
# Sensors: messages a second that `mangrove serve --sources` answers from a broker, and its resident memory.
# Nothing else is to run beside it.
#
#   bench/sensors/run.sh [--quick] [--out FILE]
# Default bench/results/sensors.json.
set -euo pipefail
root=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." && pwd)
case " $* " in *" --help "* | *" -h "*) exec /usr/bin/python3 "$root/bench/sensors/measure.py" --help ;; esac
"$root/scripts/install-packages.sh" build test bench
"$root/scripts/build.sh" release mangrove
exec /usr/bin/python3 "$root/bench/sensors/measure.py" "$root/build/release/bin/mangrove" "$@"
