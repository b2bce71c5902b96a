#!/usr/bin/env bash
# Size, error and speed of every codec, with its default parameters, on gradients of the size of LeNet's and ResNet-20's.
#
#   bench/codec/run.sh [--quick] [--only CODEC] [--out FILE]      # default bench/results/codec.json
set -euo pipefail
root=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." && pwd)
case " $* " in *" --help "* | *" -h "*) exec /usr/bin/python3 "$root/bench/codec/measure.py" --help ;; esac
"$root/scripts/install-packages.sh" build bench
"$root/scripts/build.sh" release bench_codec
exec /usr/bin/python3 "$root/bench/codec/measure.py" "$root/build/release/bench/bench_codec" "$@"
