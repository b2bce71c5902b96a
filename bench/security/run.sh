#!/usr/bin/env bash
# What certificates and encryption cost: a training run and a pipeline on emulated boards with TLS beside plain text, connections that a
# coordinator accepts in a second, 1,000 members that join at once. Boards need root. Nothing else is to run beside it.
#
#   bench/security/run.sh [--only training|pipeline|handshakes|joins] [--backbone mobilenetv2-1.0-224.onnx] [--quick] [--out FILE]
# Default bench/results/security.json. The pipeline needs the backbone: an ONNX file of a MobileNetV2 trained on ImageNet.
set -euo pipefail
root=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." && pwd)
case " $* " in *" --help "* | *" -h "*) exec /usr/bin/python3 "$root/bench/security/measure.py" --help ;; esac
"$root/scripts/install-packages.sh" build bench
"$root/scripts/build.sh" release mangrove
exec /usr/bin/python3 "$root/bench/security/measure.py" "$root/build/release/bin/mangrove" "$@"
