#!/usr/bin/env python3
"""Training on ten emulated boards (examples/testbed/ten-pi3.yaml), as a study of ten Raspberry Pis did it. Started by run.sh."""
import os
import pathlib
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import figures as fig  # noqa: E402

AREA = "boards"
TEN = fig.ROOT / "examples" / "testbed" / "ten-pi3.yaml"
SMALL = pathlib.Path(__file__).resolve().parent / "small-memory.yaml"  # the same with 256 MB

AVERAGES_PER_EPOCH = 4

# One board alone learns best in steps of 64 images, and tells the coordinator once an epoch.
ALONE = ["--strategy", "federated", "--local-epochs", 1, "--batch", 64]
# ResNets compute enough for a sum of gradients at every step, overlapped with the backward pass.
TOGETHER = ["--strategy", "all_reduce", "--topology", "servers(10)", "--codec", "int8"]
PARAMETER_SERVER = ["--strategy", "parameter_server"]


def apart(boards, images):
    """For networks that send much and compute little, both LeNets: each board makes many small steps of its own between two
    averages, in a byte a number, and momentum from average to average (DiLoCo) makes up for how few averages there are."""
    batch = 16
    steps = max(1, round(images / boards / batch / AVERAGES_PER_EPOCH))
    return ["--strategy", "federated", "--local-steps", steps, "--batch", batch, "--learning-rate", 0.03, "--outer-momentum", 0.7,
            "--codec", "int8", "--downlink-codec", "int8"]


def on_boards(args, boards, model, data, *more, testbed=TEN):
    return fig.train(args.program, model, data, "--testbed", testbed, "--nodes", boards, *more)


def of_nodes(run, key):
    """Of the boards of a run, not of the coordinator."""
    return [node[key] for node in run["nodes"] if node["sent_bytes"] > 0 and node["name"].startswith("pi")]


def mean(values):
    return sum(values) / max(1, len(values))


def measure_run(name, run):
    """What the study shows of each run."""
    return [
        fig.figure(f"{name}_seconds", [run["train_seconds"]], "s", better="lower"),
        fig.figure(f"{name}_accuracy", [run["accuracy"]], "share"),
        fig.figure(f"{name}_cpu_of_each", [mean(of_nodes(run, "cpu_percent"))], "% of a core"),
        fig.figure(f"{name}_memory_of_each", [mean(of_nodes(run, "rss_bytes")) / 2**20], "MiB", better="lower"),
        fig.figure(f"{name}_sent_by_each", [mean(of_nodes(run, "sent_bytes")) / 1e6], "MB", better="lower"),
    ]


def lenet_recipe(epochs, images):
    return ["--epochs", epochs, "--limit", images, "--schedule", "cosine", "--validation", 0]


# What the deeper networks' speed-ups hold for.
AVERAGED = "one average, at the end of one short epoch"
SUMMED = "one short epoch, gradients exchanged in each step"


def measure_devices(args, model, target):
    """A LeNet on 1 to 10 boards."""
    figures = []
    counts, images, epochs = ((1, 10), 12000, 1) if args.quick else ((1, 2, 4, 6, 8, 10), 60000, 5)
    recipe = lenet_recipe(epochs, images)
    first = None
    for boards in counts:
        run = on_boards(args, boards, model, "mnist", *recipe, *(ALONE if boards == 1 else apart(boards, images)))
        first = first or run
        name = f"{model}_on_{boards}"
        figures += measure_run(name, run)
        if boards > 1:
            figures.append(fig.figure(f"{name}_speedup", [first["train_seconds"] / run["train_seconds"]], "times", peer="one board",
                                      peer_values=[1], target=target if boards == 10 or target == 1 else None))
            figures.append(fig.figure(f"{name}_accuracy_gained", [100 * (run["accuracy"] - first["accuracy"])], "points",
                                      target=0 if boards == 10 and model == "lenet" else None, peer="one board", peer_values=[0]))
    return figures


def measure_seeds(args):
    """What is learnt does not depend on the boards' speed but does on the seed: the same runs without limits, several times."""
    seeds, images, epochs = (1, 12000, 1) if args.quick else (5, 60000, 5)
    accuracies = {1: [], 10: []}
    for seed in range(1, seeds + 1):
        for boards, found in accuracies.items():
            run = fig.train(args.program, "lenet", "mnist", "--local", boards, "--seed", seed, *lenet_recipe(epochs, images),
                        *(ALONE if boards == 1 else apart(boards, images)))
            found.append(run["accuracy"])
    gained = [100 * (ten - one) for one, ten in zip(*accuracies.values())]
    return [fig.figure(f"lenet_seeds_accuracy_on_{boards}", found, "share") for boards, found in accuracies.items()] + [
        fig.figure("lenet_seeds_accuracy_gained_on_10", gained, "points", target=0, peer="one board", peer_values=[0])]


def measure_resnet(args, depth):
    """One epoch of a part of CIFAR-10: 1,280 images for each board that there is, twice; of the deeper networks 256, once."""
    figures = []
    model, images, rounds = (f"resnet-{depth}", 1280, 2) if depth == 32 else (f"resnet-{depth}", 256, 1)
    if args.quick:
        images, rounds = 640, 1
    for batch in (32,) if args.quick else (32, 64, 128):
        ways = {"on_1_sync": (1, ALONE[:-2]),
                "on_10_sync": (10, TOGETHER),
                "on_10_async": (10, [*PARAMETER_SERVER, "--consistency", "async"]),
                "on_10_apart": (10, ALONE[:-2])}  # the study's own: one average, at the end of the epoch
        found = {way: [] for way in ways}
        for _ in range(rounds):
            for way, (boards, flags) in ways.items():
                found[way].append(on_boards(args, boards, model, args.cifar10, "--batch", batch, "--limit", boards * images, *flags))
        one = fig.column(found["on_1_sync"], "images_per_s")
        for way, runs in found.items():
            name = f"{model}_b{batch}_{way}"
            figures += measure_run(name, runs[-1])
            if way != "on_1_sync":
                figures.append(fig.figure(f"{name}_speedup", fig.ratios(fig.column(runs, "images_per_s"), one), "times", peer="one board",
                                          peer_values=[1], target=9 if depth == 32 and way != "on_10_async" else None,
                                          setting=f"{AVERAGED if way == 'on_10_apart' else SUMMED}; test accuracy {runs[-1]['accuracy']:.3f}, chance 0.100"))
    return figures


def measure_memory(args):
    """The network that did not fit into a gigabyte in the study, on boards that have a quarter of that."""
    run = on_boards(args, 2, "resnet-110", args.cifar10, "--batch", 128, "--limit", 512, testbed=SMALL)
    return [fig.figure("resnet-110_b128_in_256_MB_peak", of_nodes(run, "rss_bytes"), "bytes", target=256e6, better="lower"),
            fig.figure("resnet-110_b128_in_256_MB_images_per_s", [run["images_per_s"]], "images/s")]


# Targets are shares of the test images that may be lost against a single device with as many epochs.
STRATEGIES = {
    "parameter_server_sync": (PARAMETER_SERVER, 0.005),
    "parameter_server_async": ([*PARAMETER_SERVER, "--consistency", "async"], 0.005),
    "parameter_server_stale": ([*PARAMETER_SERVER, "--consistency", "stale(4)"], 0.005),
    "parameter_server_k_of_n": ([*PARAMETER_SERVER, "--consistency", "k_of_n(3)"], 0.005),
    "all_reduce": (["--strategy", "all_reduce"], 0.005),
    "federated": (["--strategy", "federated"], 0.01),
    "gossip": (["--strategy", "gossip"], 0.01),
}


def measure_accuracy(args):
    """Every strategy with four workers against one, LeNet on MNIST; asynchronous against synchronous."""
    size = ["--epochs", 1, "--limit", 12000] if args.quick else ["--epochs", 3]
    single = fig.train(args.program, "lenet", "mnist", "--local", 1, "--batch", 64, *size)["accuracy"]
    figures = [fig.figure("accuracy_single_device", [single], "share")]
    found = {}
    for name, (flags, loss) in STRATEGIES.items():
        found[name] = fig.train(args.program, "lenet", "mnist", "--local", 4, "--batch", 64, *size, *flags)["accuracy"]
        figures.append(fig.figure(f"accuracy_{name}", [found[name]], "share", target=round(single - loss, 4), peer="single device",
                                  peer_values=[single]))
    lost = found["parameter_server_sync"] - found["parameter_server_async"]
    figures.append(fig.figure("accuracy_lost_by_async", [100 * lost], "points", target=0.5, better="lower"))
    return figures


def measure_scaling(args):
    """Two processes of one thread against one, beside DistributedDataParallel, in turn."""
    peer = ["/usr/bin/python3", fig.ROOT / "bench" / "peers" / "torch_ddp.py"]
    figures = []
    with tempfile.TemporaryDirectory() as folder:
        for model, network, data, batch, limit in (("lenet", "lenet", "mnist", 64, 60000), ("resnet-32-b", "resnet-32-b", args.cifar10, 32, 2560)):
            limit = limit // 5 if args.quick else limit

            def ours(processes):
                return [args.program, "train", "--model", model, "--data", data, "--batch", batch, "--limit",
                        limit * processes // 2, "--local", processes, "--strategy", "all_reduce" if processes > 1 else "parameter_server",
                        "--json", "--quiet", "--run-dir", pathlib.Path(folder) / f"{model}-{processes}"]

            def theirs(processes):
                return [*peer, network, "--processes", processes, "--batch", batch, "--seconds", 1 if args.quick else 6]

            runs = fig.in_turn({(who, n): command(n) for who, command in (("ours", ours), ("DDP", theirs)) for n in (1, 2)},
                               1 if args.quick else 5)
            speed = {key: fig.column(results, "images_per_s") for key, results in runs.items()}

            def efficiency(who):
                return [two / (2 * one) for two, one in zip(speed[who, 2], speed[who, 1])]

            figures += [
                fig.figure(f"scaling_{model}_b{batch}_images_per_s", speed["ours", 2], "images/s", peer="DDP", peer_values=speed["DDP", 2]),
                fig.figure(f"scaling_{model}_b{batch}_efficiency", efficiency("ours"), "share", peer="DDP", peer_values=efficiency("DDP")),
                fig.figure(f"scaling_{model}_b{batch}_efficiency_over_ddp", fig.ratios(efficiency("ours"), efficiency("DDP")), "times",
                           target=1, peer="DDP", peer_values=[1]),
            ]
    return figures


PARTS = {
    "lenet": lambda args: measure_devices(args, "lenet", 6),
    "seeds": measure_seeds,
    "mlp": lambda args: measure_devices(args, "mlp", 1),
    "resnet-32": lambda args: measure_resnet(args, 32),
    "resnet-80": lambda args: measure_resnet(args, 80),
    "resnet-110": lambda args: measure_resnet(args, 110),
    "memory": measure_memory,
    "accuracy": measure_accuracy,
    "scaling": measure_scaling,
}
LIMITLESS = ("seeds", "accuracy", "scaling")
IN_QUICK = ("lenet", "seeds", "mlp", "resnet-32", "memory", "accuracy", "scaling")


def main():
    args = fig.part_arguments(AREA, __doc__, PARTS).parse_args()
    if args.only not in LIMITLESS and os.geteuid() != 0:
        sys.exit("emulated boards need root; --only " + " and --only ".join(LIMITLESS) + " do without")
    fig.publish_parts(AREA, args, {name: PARTS[name] for name in PARTS if args.only or not args.quick or name in IN_QUICK})


main()
