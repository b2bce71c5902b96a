#!/usr/bin/env bash
# What training reaches: LeNet on MNIST, ResNet-20 on CIFAR-10, and ResNet-20's loss curve beside PyTorch's.
#
#   bench/engine/accuracy.sh --data-dir DIR [--quick] [--epochs N] [--only lenet|resnet20|curve] [--out FILE]
set -euo pipefail
root=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." && pwd)
case " $* " in *" --help "* | *" -h "*) exec /usr/bin/python3 "$root/bench/engine/accuracy.py" --help ;; esac
"$root/scripts/install-packages.sh" build bench
"$root/scripts/build.sh" release mangrove bench_loss_curve
exec /usr/bin/python3 "$root/bench/engine/accuracy.py" "$root/build/release/bin/mangrove" \
  "$root/build/release/bench/bench_loss_curve" "$@"
