#!/usr/bin/env bash
# Early exits: time of a sample with exits beside the same network without, at which accuracy: BranchyNet's LeNet on MNIST
# and its ResNet on CIFAR-10; DDNN: accuracy with lost devices, and bytes that go up, of a network over six views of MNIST; and
# thresholds that are kept while images become harder.
#
#   bench/exits/run.sh [--quick] [--only lenet|resnet|ddnn|drift] [--lenet FILE] [--resnet FILE] [--out FILE]
#                                                                 # default bench/results/exits.json
# --lenet and --resnet take trained networks, which are then not trained here; ResNet-110 takes days on two cores.
set -euo pipefail
root=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." && pwd)
case " $* " in *" --help "* | *" -h "*) exec /usr/bin/python3 "$root/bench/exits/measure.py" --help ;; esac
"$root/scripts/install-packages.sh" build bench
"$root/scripts/build.sh" release mangrove
exec /usr/bin/python3 "$root/bench/exits/measure.py" "$root/build/release/bin/mangrove" "$@"
