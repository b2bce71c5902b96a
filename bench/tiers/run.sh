#!/usr/bin/env bash
# The study of end, edge and cloud with a network each, on thirteen emulated boards (root) and CIFAR-100: each network on each tier;
# completion times of the schedulers by the number of end devices; how much of the delay to the cloud is hidden; what a privacy split
# costs; devices that die. Networks are trained first and kept in FOLDER; plots lie beside FILE.
#
#   bench/tiers/run.sh [--models FOLDER] [--only PART] [--quick] [--out FILE]
#   PART: networks, completion, privacy or failures; default bench/results/tiers.json
set -euo pipefail
root=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." && pwd)
case " $* " in *" --help "* | *" -h "*) exec /usr/bin/python3 "$root/bench/tiers/measure.py" --help ;; esac
"$root/scripts/install-packages.sh" build bench
"$root/scripts/build.sh" release mangrove
exec /usr/bin/python3 "$root/bench/tiers/measure.py" "$root/build/release/bin/mangrove" "$@"
