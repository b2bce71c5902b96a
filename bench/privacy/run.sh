#!/usr/bin/env bash
# What a decoder sees of images in what devices get that are not trusted, by cut and setting, and what each setting costs: LeNet on
# MNIST, ResNet-20 on CIFAR-10.
#
#   bench/privacy/run.sh [--quick] [--only lenet|resnet] [--lenet FILE] [--resnet FILE] [--out FILE]   # default bench/results/privacy.json
# --lenet and --resnet take trained networks, which are then not trained here. No figure is a time, so other work beside
# it
# changes none. `--only lenet` takes some three minutes on two cores that have nothing else to do, resnet longer.
set -euo pipefail
root=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." && pwd)
case " $* " in *" --help "* | *" -h "*) exec /usr/bin/python3 "$root/bench/privacy/measure.py" --help ;; esac
"$root/scripts/install-packages.sh" build bench
"$root/scripts/build.sh" release mangrove
exec /usr/bin/python3 "$root/bench/privacy/measure.py" "$root/build/release/bin/mangrove" "$@"
