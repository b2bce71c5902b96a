#!/usr/bin/env python3
"""Divided layers beside pure data parallelism: bytes and time of a training step. Started by run.sh."""
import os
import pathlib
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import figures as fig  # noqa: E402

import matplotlib.image  # noqa: E402
import numpy  # noqa: E402

AREA = "hybrid"
BOARDS = 4
BATCH = 32
RATE = 100  # Mbit/s
CPU = 0.4  # of a core for each board
EPOCHS = 2  # the first one, in which boards get their first values, is not counted
STRATEGIES = ("all_reduce", "hybrid")
LEAST_FEWER_BYTES = {"alexnet": 3}  # times


def make_pictures(folder, count):
    """Noise: what a step sends and how long it takes does not depend on what it learns."""
    random = numpy.random.default_rng(1)
    for split in ("train", "test"):
        for label in ("a", "b"):
            (folder / split / label).mkdir(parents=True)
            for number in range(count // 2 if split == "train" else 2):
                matplotlib.image.imsave(folder / split / label / f"{number}.png", random.random((64, 64, 3)))


def train(args, model, strategy, size, steps, *where):
    with tempfile.TemporaryDirectory() as folder:
        make_pictures(pathlib.Path(folder), steps * BATCH * BOARDS)
        return fig.train(args.program, model, f"folder:{folder},size={size}", *where, "--strategy", strategy, "--batch", BATCH, "--epochs", EPOCHS,
                         "--validation", 0, "--learning-rate", 0.001, "--step-timeout", "600s")


def sent(run):
    """MB that a board sends in a step."""
    return (run["exchange"]["uplink"]["bytes"] + run["exchange"]["peers"]["bytes"]) / run["steps"] / BOARDS / 1e6


def measure_bytes(args):
    """As large as CIFAR's images, and as ImageNet's. Four workers with VGG-11 for the latter need more memory than most machines have."""
    figures = []
    for model, size in [("alexnet", 32)] if args.quick else [("alexnet", 32), ("vgg-11", 32), ("alexnet", 224)]:
        all_reduce, hybrid = (sent(train(args, model, strategy, size, 1, "--local", BOARDS)) for strategy in STRATEGIES)
        setting = f"{BOARDS} workers, {BATCH} samples of {size}x{size} each in a step"
        figures += [fig.figure(f"{model}_{size}_sent", [hybrid], "MB", better="lower", peer="all_reduce", peer_values=[all_reduce],
                               setting=setting),
                    fig.figure(f"{model}_{size}_fewer_bytes", [all_reduce / hybrid], "times", target=LEAST_FEWER_BYTES.get(model),
                               setting=setting)]
    return figures


def step_seconds(args, model, strategy, size, steps):
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as boards:
        boards.write(f"rate: {RATE}mbit\nboard:\n  count: {BOARDS}\n  cpu: {CPU}\n  memory: 4GB\n")
        boards.flush()
        run = train(args, model, strategy, size, steps, "--testbed", boards.name)
        first, *_, last = (line["train_seconds"] for line in run["validations"])
        return (last - first) / (run["steps"] * (EPOCHS - 1) / EPOCHS)


def measure_boards(args):
    """The time of a step of AlexNet on images of 32x32."""
    steps, rounds = (1, 1) if args.quick else (3, 2)
    seconds = {strategy: [] for strategy in STRATEGIES}
    for _ in range(rounds):
        for strategy, values in seconds.items():
            values.append(step_seconds(args, "alexnet", strategy, 32, steps))
    setting = f"{BOARDS} emulated boards, {RATE} Mbit/s, {BATCH} samples each in a step"
    return [fig.figure("alexnet_32_step", seconds["hybrid"], "s", better="lower", peer="all_reduce", peer_values=seconds["all_reduce"],
                       setting=setting),
            fig.figure("alexnet_32_faster", fig.ratios(seconds["all_reduce"], seconds["hybrid"]), "times", setting=setting)]


PARTS = {"bytes": measure_bytes, "boards": measure_boards}


def main():
    args = fig.part_arguments(AREA, __doc__, PARTS).parse_args()
    if args.only != "bytes" and os.geteuid() != 0:
        sys.exit("bench/hybrid: emulated boards need root")
    fig.publish_parts(AREA, args, PARTS)


if __name__ == "__main__":
    main()
