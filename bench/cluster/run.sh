#!/usr/bin/env bash
# The study of a cluster of boards as one classifier, on emulated ones: one board, an ensemble and a pipeline of five stages classify
# tomato leaves; a pipeline of unequal boards; predicted speeds and memory beside measured ones; a pipeline that trains ResNet-110 beside one
# board; networks that fit no single board. Boards need root. Networks for tomato leaves are trained first (transfer learning) and kept in FOLDER.
#
#   bench/cluster/run.sh --backbone mobilenetv2-1.0-224.onnx [--models FOLDER] [--only PART] [--quick] [--out FILE]
#   PART: table, unequal, prediction, training or memory; the last two need no backbone (training has --cifar10 NAME); default bench/results/cluster.json
set -euo pipefail
root=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." && pwd)
case " $* " in *" --help "* | *" -h "*) exec /usr/bin/python3 "$root/bench/cluster/measure.py" --help ;; esac
"$root/scripts/install-packages.sh" build bench
"$root/scripts/build.sh" release mangrove
exec /usr/bin/python3 "$root/bench/cluster/measure.py" "$root/build/release/bin/mangrove" "$@"
