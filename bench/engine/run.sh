#!/usr/bin/env bash
# Speed and memory of training and inference beside PyTorch (from Debian's package), speed of the backend simd, of int8
# beside float32 (networks quantized dynamically also beside ONNX Runtime), of training within a memory budget, and the
# time that one prediction takes from start to end.
#
#   bench/engine/run.sh [--quick] [--only train|infer|simd|int8|budget|startup] [--threads N ...] [--onnx-runtime NODE_MODULES] [--out FILE]   # default bench/results/engine.json
set -euo pipefail
root=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." && pwd)
case " $* " in *" --help "* | *" -h "*) exec /usr/bin/python3 "$root/bench/engine/measure.py" --help ;; esac
"$root/scripts/install-packages.sh" build bench
"$root/scripts/build.sh" release bench_network mangrove
exec /usr/bin/python3 "$root/bench/engine/measure.py" "$root/build/release/bench/bench_network" \
  "$root/build/release/bin/mangrove" "$@"
