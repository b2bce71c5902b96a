#!/usr/bin/env python3
"""Compressed exchange: accuracy, bytes and time. Started by run.sh."""
import math
import os
import pathlib
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import figures as fig  # noqa: E402

AREA = "exchange"
RATES = (10, 50, 100)  # Mbit/s
CODECS = ("none", "fp16", "bf16", "int8", "one_bit", "terngrad", "qsgd", "top_k", "random_k(0.1)", "variance", "dgc(0.01)", "esgd",
          "two_step", "structured_mask(0.3)", "structured_low_rank", "sketched", "power")
QUICK = ("none", "two_step")
TARGET = 0.985  # of accuracy
BOARDS = 4


def compared(name, dense, coded, most_lost, target):
    """Accuracy against that of the dense run, and bytes against its floats, in each direction and in both."""
    figures = [fig.figure(f"{name}_accuracy", [coded["accuracy"]], "share", peer="dense", peer_values=[dense["accuracy"]]),
               fig.figure(f"{name}_accuracy_lost", [100 * (dense["accuracy"] - coded["accuracy"])], "points", target=most_lost,
                          better="lower")]
    # against the dense run: fewer exchanges count as much as smaller ones
    floats = {direction: dense["exchange"][direction]["float_bytes"] for direction in ("uplink", "downlink")}
    sent = {direction: coded["exchange"][direction]["bytes"] for direction in ("uplink", "downlink")}
    for direction in floats:
        figures.append(fig.figure(f"{name}_{direction}_fewer_bytes", [floats[direction] / sent[direction]], "times"))
    figures.append(fig.figure(f"{name}_fewer_bytes", [sum(floats.values()) / sum(sent.values())], "times", target=target))
    return figures


def measure_sparse(args):
    """ResNet-20 on CIFAR-10, four workers that leave 99.9 % of the elements for later; the server sends what four of them sent.
    An element goes out about once in 1,000 steps, so the steps are many and small."""
    epochs, images = (1, 5000) if args.quick else (args.epochs, 50000)
    recipe = ["--local", 4, "--batch", 8, "--epochs", epochs, "--limit", images, "--schedule", "cosine", "--augment", "cifar",
              "--learning-rate", 0.05, "--weight-decay", 1e-4, "--warmup-steps", 200, "--validation", 0]
    dense = fig.train(args.program, "resnet-20", args.cifar10, *recipe)
    coded = fig.train(args.program, "resnet-20", args.cifar10, *recipe, "--codec", "two_step(0.001)", "--downlink-codec", "two_step(0.004)")
    return compared("resnet-20_two_step", dense, coded, 0.3, 900)


def measure_local(args):
    """LeNet on MNIST, four workers: local steps with an outer optimizer, alone and with two_step."""
    epochs, images = (1, 12000) if args.quick else (10, 60000)
    recipe = ["--local", 4, "--epochs", epochs, "--limit", images, "--schedule", "cosine", "--validation", 0, "--batch", 16]
    steps = round(images / 4 / 16 / 4)  # four rounds an epoch
    local = ["--strategy", "federated", "--local-steps", steps, "--learning-rate", 0.03, "--outer-momentum", 0.7]
    dense = fig.train(args.program, "lenet", "mnist", *recipe)
    figures = compared("lenet_local", dense, fig.train(args.program, "lenet", "mnist", *recipe, *local), 0.5, 100)
    both = fig.train(args.program, "lenet", "mnist", *recipe, *local, "--codec", "two_step(0.1)", "--downlink-codec", "two_step(0.1)")
    return figures + compared("lenet_local_two_step", dense, both, 0.5, 1000)


# What a difference of values may be encoded with.
FOR_DOWNLINK = ("fp16", "bf16", "int8", "one_bit", "top_k", "two_step", "power")


def downlink_of(codec):
    """A codec that may go from the server to workers goes in both directions; of others the values come as int8."""
    return [] if codec in ("none", "auto") else ["--downlink-codec", codec if codec in FOR_DOWNLINK else "int8"]


def over_links(args, rate, codec, model, data, *more):
    """On emulated boards with this rate, as fast as the machine is."""
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
        file.write(f"rate: {rate}mbit\nboard:\n  count: {BOARDS}\n  cpu: 0.45\n  memory: 1GB\n")
        file.flush()
        return fig.train(args.program, model, data, "--testbed", file.name, "--codec", codec, *downlink_of(codec), *more)


def step_seconds(args, rate, codec, model, data, batch, steps):
    run = over_links(args, rate, codec, model, data, "--epochs", 1, "--limit", steps * batch * BOARDS, "--batch", batch, "--validation", 0)
    return run["train_seconds"] / run["steps"]


def measure_links(args, name, estimate, whole):
    """`auto` beside every codec. estimate, whole: seconds with a rate and a codec, from the time of some steps and of a run from its
    begin to its end. `auto`, which changes on its way, and then the fastest of the others, in the same minute, run as a whole."""
    figures = []
    for rate in RATES[:1] if args.quick else RATES:
        times = {codec: estimate(rate, codec) for codec in (QUICK if args.quick else CODECS)}
        best = min(times, key=lambda codec: times[codec])
        times["auto"] = whole(rate, "auto")
        figures += [fig.figure(f"{name}_{rate}mbit_{codec}", [seconds], "s", better="lower") for codec, seconds in times.items()
                    if seconds < math.inf]
        beside = whole(rate, best)
        if not (math.isfinite(times["auto"]) and math.isfinite(beside)):
            sys.exit(f"{name}, {rate} Mbit/s: not comparable: auto took {times['auto']} s, {best} {beside} s")
        figures.append(fig.figure(f"{name}_{rate}mbit_auto_over_best", [times["auto"] / beside], "times", target=1.1, better="lower",
                                  peer=best, peer_values=[1]))
    return figures


def to_target(run, target):
    """(steps, training seconds) to the end of the first epoch with this accuracy; without one, infinite."""
    for line in run["validations"]:
        if line["validation_accuracy"] >= target:
            return line["epoch"] * run["steps"] / run["epochs"], line["train_seconds"]
    return math.inf, math.inf


def measure_lenet_links(args):
    """To 98.5 % of the validation images. What synchronous workers learn does not depend on their links, so the steps to the target are
    counted without links, the time of a step is measured on few steps over them."""
    recipe = ["--epochs", 3, "--limit", 12000] if args.quick else ["--epochs", 6]
    target = 0.9 if args.quick else TARGET
    recipe += ["--batch", 64]
    steps = {}

    def whole(rate, codec):
        return to_target(over_links(args, rate, codec, "lenet", "mnist", *recipe), target)[1]

    def estimate(rate, codec):
        if codec not in steps:
            run = fig.train(args.program, "lenet", "mnist", "--local", BOARDS, "--codec", codec, *downlink_of(codec), *recipe)
            steps[codec] = to_target(run, target)[0]
        return steps[codec] * step_seconds(args, rate, codec, "lenet", "mnist", 64, 16) if steps[codec] < math.inf else math.inf

    figures = measure_links(args, "lenet_seconds_to_98.5", estimate, whole)
    return figures + [fig.figure(f"lenet_steps_to_98.5_{codec}", [count], "steps", better="lower") for codec, count in steps.items()
                      if count < math.inf]


def measure_resnet_links(args):
    """As many steps as an epoch of all 50,000 images has."""
    batch, epochs, images = (32, 1, 640) if args.quick else (32, 5, 10000)
    steps = epochs * math.ceil(images / batch / BOARDS)

    def whole(rate, codec):
        return over_links(args, rate, codec, "resnet-32", args.cifar10, "--epochs", epochs, "--limit", images, "--batch", batch,
                          "--validation", 0)["train_seconds"]

    def estimate(rate, codec):
        return steps * step_seconds(args, rate, codec, "resnet-32", args.cifar10, batch, 12)

    return measure_links(args, "resnet-32_seconds_per_epoch", estimate, whole)


PARTS = {"sparse": measure_sparse, "local": measure_local, "lenet-links": measure_lenet_links, "resnet-links": measure_resnet_links}


def main():
    parser = fig.part_arguments(AREA, __doc__, PARTS)
    parser.add_argument("--epochs", type=int, default=20, help="of the part `sparse`, with and without a codec")
    args = parser.parse_args()
    if (args.only is None or args.only.endswith("links")) and os.geteuid() != 0:
        sys.exit("emulated links need root; --only sparse and --only local do without")
    fig.publish_parts(AREA, args, PARTS)


main()
