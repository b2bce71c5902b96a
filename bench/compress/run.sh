#!/usr/bin/env bash
# Compression: how many times smaller a trained network becomes, and what that costs in accuracy.
#
#   bench/compress/run.sh [--quick] [--out FILE] [--only PART]     # default bench/results/compress.json
set -euo pipefail
root=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." && pwd)
case " $* " in *" --help "* | *" -h "*) exec /usr/bin/python3 "$root/bench/compress/measure.py" --help ;; esac
"$root/scripts/install-packages.sh" build
"$root/scripts/build.sh" release mangrove
exec /usr/bin/python3 "$root/bench/compress/measure.py" "$root/build/release/bin/mangrove" "$@"
