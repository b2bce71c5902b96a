#!/usr/bin/env bash
# Speed and memory of training and inference beside PyTorch (from Debian's package).
#
#   bench/engine/run.sh [--quick] [--out FILE]      # default bench/results/engine.json
set -euo pipefail
root=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." && pwd)
case " $* " in *" --help "* | *" -h "*) exec /usr/bin/python3 "$root/bench/engine/measure.py" --help ;; esac
"$root/scripts/install-packages.sh" build bench
"$root/scripts/build.sh" release bench_network
exec /usr/bin/python3 "$root/bench/engine/measure.py" "$root/build/release/bench/bench_network" "$@"
