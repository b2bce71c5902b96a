#!/usr/bin/env bash
# What compressed exchange costs and gains: accuracy and bytes of sparse updates and of local steps, and the time of a
# training over slow links with every codec. Emulated links need root.
#
#   bench/exchange/run.sh [--quick] [--only PART] [--cifar10 NAME] [--out FILE]   # default bench/results/exchange.json
#   PART: sparse, local, lenet-links or resnet-links
set -euo pipefail
root=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." && pwd)
case " $* " in *" --help "* | *" -h "*) exec /usr/bin/python3 "$root/bench/exchange/measure.py" --help ;; esac
"$root/scripts/install-packages.sh" build bench
"$root/scripts/build.sh" release mangrove
exec /usr/bin/python3 "$root/bench/exchange/measure.py" "$root/build/release/bin/mangrove" "$@"
