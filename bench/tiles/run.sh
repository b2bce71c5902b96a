#!/usr/bin/env bash
# One image on several boards: how much sooner it is answered (strategy `tiles`), on emulated boards (root) and on modelled ones, beside
# one board and beside other ways to divide a network.
#
#   bench/tiles/run.sh [--only PART] [--quick] [--out FILE]
#   PART: boards or modelled; default bench/results/tiles.json
set -euo pipefail
root=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." && pwd)
case " $* " in *" --help "* | *" -h "*) exec /usr/bin/python3 "$root/bench/tiles/measure.py" --help ;; esac
"$root/scripts/install-packages.sh" build
"$root/scripts/build.sh" release mangrove mangrove-sim
exec /usr/bin/python3 "$root/bench/tiles/measure.py" "$root/build/release/bin/mangrove" "$@"
