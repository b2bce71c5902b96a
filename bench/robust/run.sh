#!/usr/bin/env bash
# What workers that lie cost: the accuracy of LeNet on MNIST with 0 to 40 % of ten simulated workers lying in five ways, by
# the mean and by each rule of `aggregate`; with uneven data; and with more liars than a rule is told of. In `mangrove sim`.
#
#   bench/robust/run.sh [--quick] [--only PART] [--data-dir DIR] [--out FILE]   # default bench/results/robust.json
#   PART: server, federated, uneven or beyond
set -euo pipefail
root=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." && pwd)
case " $* " in *" --help "* | *" -h "*) exec /usr/bin/python3 "$root/bench/robust/measure.py" --help ;; esac
"$root/scripts/install-packages.sh" build bench
"$root/scripts/build.sh" release mangrove
exec /usr/bin/python3 "$root/bench/robust/measure.py" "$root/build/release/bin/mangrove" "$@"
