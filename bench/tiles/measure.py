#!/usr/bin/env python3
"""Tiled inference on emulated and on modelled boards. Started by run.sh."""
import os
import pathlib
import random
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import figures as fig  # noqa: E402

AREA = "tiles"
NETWORKS = {"vgg-16": 224, "resnet-18": 224, "mobilenetv2": 224, "darknet-19": 608}  # pixels of the square images
RATES = ("1gbit", "100mbit")
CLASSES = 10

LATENCY_GOALS = {2: 1.7, 4: 2.5, 6: 3.2}  # times as soon as one board at 1 Gbit/s
THROUGHPUT_GOAL = 4.5  # times as many images a second, six boards
WORK_GOAL = 1.15  # of the whole network's operations

# Emulated boards. Six of them share two hyper-threads of one core, so each gets little, and the rest is for links and the coordinator.
# Boards compute at the same time, and two hyper-threads slow each other down, which the board alone does not meet.
SHARE = 0.2  # of a core, in periods of 20 ms
BOARDS_SETTING = f"boards of {SHARE:g} of a core in periods of 20 ms, all on two hyper-threads of one core"
# With its fastest kernels, a fifth of a server's core computes as much as five cores of a Raspberry Pi 4, and links seem slow beside it.
# With portable ones it computes about as much as one. That takes too long for the two large networks.
KERNELS = {"fast": ([], tuple(NETWORKS)), "portable": (["--backend", "portable"], ("resnet-18", "mobilenetv2"))}

# Modelled boards: about one core of a Raspberry Pi 4. To pack and unpack messages takes processor time too.
FLOPS, HANDLING, DELAY = 5e9, "2gbit", "0.1ms"
MODELLED_SETTING = f"boards of {FLOPS / 1e9:g} GFLOP/s that pack and unpack {HANDLING[:-4]} Gbit/s, one-way delay {DELAY}"
PEERS = {"even_grid": "DeepThings", "biased_strips": "MoDNN"}


def noise_images(folder, pixels, count):
    """PPM files, the same each time, `count` of them in the test split."""
    random.seed(1)
    header = f"P6 {pixels} {pixels} 255\n".encode()
    for split, images in (("train", CLASSES), ("test", count)):
        for i in range(images):
            place = folder / split / f"class{i % CLASSES}"
            place.mkdir(parents=True, exist_ok=True)
            (place / f"{i:03}.ppm").write_bytes(header + random.randbytes(3 * pixels * pixels))
    return f"folder:{folder}"


class Network:
    """An untrained network as a file, and images for it."""

    def __init__(self, args, name, images):
        self.name = name
        self._folder = tempfile.TemporaryDirectory()
        folder, pixels = pathlib.Path(self._folder.name), NETWORKS[name]
        self.data, self.model = noise_images(folder / "images", pixels, images), folder / "model.onnx"
        subprocess.run([args.program, "model", "export", name, "--sample-shape", f"3,{pixels},{pixels}", "--classes", str(CLASSES), "--output",
                        self.model], check=True, stdout=subprocess.DEVNULL)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._folder.cleanup()


def networks(args, images):
    """One after the other, so that only one lies on the disk."""
    for name in ("resnet-18",) if args.quick else NETWORKS:
        with Network(args, name, images) as network:
            yield network


def run_tiles(network, command, folder, *flags):
    """What a command prints that classifies the network's images in tiles."""
    job = ["--strategy", "tiles", "--micro-batch", 1, "--model", network.model, "--data", network.data, "--answer-timeout", "120s", "--run-dir",
           pathlib.Path(folder) / "run", "--json", "--quiet"]
    return fig.run_json([*command, *job, *flags], timeout=3600)


def on_boards(args, network, count, rate, *flags):
    with tempfile.TemporaryDirectory() as folder:
        boards = pathlib.Path(folder) / "boards.yaml"
        boards.write_text(f"board:\n  count: {count}\n  cpu: {SHARE}\n  memory: 2GB\n  rate: {rate}\n")
        return run_tiles(network, [args.program, "infer", "--testbed", boards], folder, "--fresh", *flags)


def in_world(args, network, count, rate, *flags):
    """Without kernels: only the time is simulated."""
    with tempfile.TemporaryDirectory() as folder:
        world, job = pathlib.Path(folder) / "world.yaml", pathlib.Path(folder) / "job.yaml"
        world.write_text(f"coordinator: {{up: 10gbit, down: 10gbit}}\nboard:\n  count: {count}\n  flops: {FLOPS:g}\n  up: {rate}\n  down: {rate}\n"
                         f"  handling: {HANDLING}\n  delay: {DELAY}\n")
        job.write_text("infer: {}\n")
        return run_tiles(network, [args.program, "sim", world, job, "--compute", "modelled"], folder, *flags)


def latency(run):
    return run["latency"]["p50_s"]


def work(run):
    """Of the team with the most."""
    return max(team["work"] for team in run["teams"])


def of_latency(name, runs, setting, target=None, work_target=None):
    """How much sooner than one board of the same run, how well that was foretold, and the work."""
    single = fig.column(runs, "single_latency_s")
    measured = [latency(run) for run in runs]
    return [
        fig.figure(f"{name}_latency", [1000 * seconds for seconds in measured], "ms", better="lower", peer="one board",
                   peer_values=[1000 * seconds for seconds in single], setting=setting),
        fig.figure(f"{name}_speedup", fig.ratios(single, measured), "times", target=target, peer="one board", peer_values=[1]),
        fig.figure(f"{name}_predicted", fig.ratios(fig.column(runs, "predicted_latency_s"), measured), "of measured"),
        fig.figure(f"{name}_work", [work(run) for run in runs], "times", better="lower", target=work_target)]


def measure_boards(args):
    """Processes on emulated boards."""
    figures = []
    for network in networks(args, 8):
        for kernels, (flags, names) in KERNELS.items():
            if network.name not in names:
                continue
            for rate in RATES[:1] if args.quick else RATES:
                for count in (2, 4) if args.quick else (1, 2, 4, 6):
                    runs = [on_boards(args, network, count, rate, *flags) for _ in range(1 if args.quick else 3)]
                    name = f"{network.name}_{kernels}_kernels_{count}_boards_at_{rate}"
                    figures += of_latency(name, runs, BOARDS_SETTING)
                    resident = [max(fig.column(run["tile_nodes"], "rss_bytes")) / 1e6 for run in runs]
                    figures.append(fig.figure(f"{name}_most_memory", resident, "MB", better="lower"))
    return figures


def measure_modelled(args):
    """The same in virtual time, which no other work of this machine disturbs; beside other ways to divide a network; and the throughput."""
    figures = []
    for network in networks(args, 60):
        for rate in RATES:
            for count in (2, 4, 6):
                name = f"modelled_{network.name}_{count}_boards_at_{rate}"
                target = LATENCY_GOALS[count] if rate == RATES[0] else None
                figures += of_latency(name, [in_world(args, network, count, rate, "--limit", 4)], MODELLED_SETTING, target, WORK_GOAL)
                for tiling, source in PEERS.items():
                    run = in_world(args, network, count, rate, "--limit", 4, "--tiling", tiling)
                    figures.append(fig.figure(f"{name}_{tiling}_speedup", [run["latency_speedup"]], "times", setting=f"as {source}"))
        run = in_world(args, network, 6, RATES[0], "--objective", "throughput")
        name = f"modelled_{network.name}_6_boards_at_{RATES[0]}"
        figures += [fig.figure(f"{name}_throughput", [run["speedup"]], "times", target=THROUGHPUT_GOAL, peer="one board", peer_values=[1],
                               setting="objective throughput"),
                    fig.figure(f"{name}_throughput_predicted", [run["predicted_images_per_s"] / run["images_per_s"]], "of measured")]
    return figures


PARTS = {"boards": measure_boards, "modelled": measure_modelled}


def main():
    args = fig.part_arguments(AREA, __doc__, PARTS).parse_args()
    if args.only in (None, "boards") and os.geteuid() != 0:
        sys.exit("emulated boards need root; --only with another part does without")
    fig.publish_parts(AREA, args, PARTS)


main()
