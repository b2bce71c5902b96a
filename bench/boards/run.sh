#!/usr/bin/env bash
# The study of training on boards, on ten emulated ones: speed, accuracy, CPU, memory and traffic with 1 to 10 devices; a large
# network in a small memory; every strategy's accuracy; scaling beside PyTorch's DistributedDataParallel. Boards need root.
#
#   bench/boards/run.sh [--quick] [--only PART] [--cifar10 NAME] [--out FILE]   # default bench/results/boards.json
#   PART: lenet, seeds, mlp, resnet-32, resnet-80, resnet-110, memory, accuracy or scaling
set -euo pipefail
root=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." && pwd)
case " $* " in *" --help "* | *" -h "*) exec /usr/bin/python3 "$root/bench/boards/measure.py" --help ;; esac
"$root/scripts/install-packages.sh" build bench
"$root/scripts/build.sh" release mangrove
exec /usr/bin/python3 "$root/bench/boards/measure.py" "$root/build/release/bin/mangrove" "$@"
