#!/usr/bin/env bash
# What differential privacy of samples costs: the accuracy of a multi-layer perceptron on MNIST and of LeNet on CIFAR-10 at
# epsilon 2, 4 and 8 (delta 1e-5), beside published ones and beside the same training without noise and cutting.
#
#   bench/differential-privacy/run.sh [--quick] [--only PART] [--cifar10 NAME] [--data-dir DIR] [--out FILE]
#   PART: mnist or cifar10. NAME: of the data set of CIFAR-10. FILE: bench/results/differential-privacy.json by default
set -euo pipefail
root=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." && pwd)
case " $* " in *" --help "* | *" -h "*) exec /usr/bin/python3 "$root/bench/differential-privacy/measure.py" --help ;; esac
"$root/scripts/install-packages.sh" build bench
"$root/scripts/build.sh" release mangrove
exec /usr/bin/python3 "$root/bench/differential-privacy/measure.py" "$root/build/release/bin/mangrove" "$@"
