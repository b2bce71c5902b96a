#!/usr/bin/env bash
# What `mangrove sim` can do: 1,000 devices with real gradients, 10,000 with modelled computation, how the time to an
# accuracy depends on the number of devices, their rate and their delay, and what a round takes on emulated boards beside
# what the simulator says. Boards need root.
#
#   bench/worlds/run.sh [--quick] [--only PART] [--data-dir DIR] [--cifar10 NAME] [--out FILE]   # default bench/results/worlds.json
#   PART: global, modelled, curves (also draws FILE's name with .svg) or rounds
set -euo pipefail
root=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." && pwd)
case " $* " in *" --help "* | *" -h "*) exec /usr/bin/python3 "$root/bench/worlds/measure.py" --help ;; esac
"$root/scripts/install-packages.sh" build bench
"$root/scripts/build.sh" release mangrove
exec /usr/bin/python3 "$root/bench/worlds/measure.py" "$root/build/release/bin/mangrove" "$@"
