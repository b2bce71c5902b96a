#!/usr/bin/env python3
"""A cluster of emulated boards as one classifier of tomato leaves (PlantVillage). Started by run.sh."""
import json
import pathlib
import random
import re
import struct
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import figures as fig  # noqa: E402

AREA = "cluster"
FIVE = pathlib.Path(__file__).resolve().parent / "five-boards.yaml"

# The study's Table 1: seconds and share of right answers of one board, five binary classifiers and five stages.
STUDY = {"single": (580, 0.92), "ensemble": (260, 0.97), "pipeline": (60, 0.95)}
# Its cut of MobileNetV2 into 27, 27, 36, 53 and 14 layers lies before blocks 3, 6, 10 and 16.
CUTS_OF_STUDY = "conv09,conv18,conv30,conv48"

# What the pipelines are, which their names do not tell.
SETTINGS = {"pipeline": "the planner cuts nothing: the whole network on every board", "five_stages": "five true stages, one on each board",
            "study's_cut": "the study's cut into five true stages"}

# As examples/tomato-transfer.yaml does it.
TRANSFER = ["--freeze", "backbone", "--fine-tune-rate", 0.0003, "--batch", 16, "--optimizer", "adam", "--learning-rate", 0.003,
            "--weight-decay", 0, "--schedule", "cosine", "--warmup-steps", 20, "--augment",
            "flip,flip-vertical,normalise:0.5/0.5/0.5:0.5/0.5/0.5", "--sample-cache", "128MB"]


def train(args, name, data, *flags):
    """The network of that name in the models' folder, trained unless it is there."""
    model = args.models / ("quick" if args.quick else "full") / name / "model.onnx"
    if not model.exists():
        fig.run_json([args.program, "train", "--data", data, "--init-from", args.backbone, *TRANSFER, *flags, "--run-dir", model.parent,
                      "--local", 2, "--json", "--quiet"], timeout=7200)
    return model


QUICK = ("--head-epochs", 1, "--epochs", 2)


def network(args):
    """For all classes."""
    return train(args, "whole", args.data, *(QUICK if args.quick else ("--head-epochs", 5, "--epochs", 15)))


def pair_networks(args):
    """Five for two classes each."""
    names = fig.run_json([args.program, "data", "info", args.data, "--json"])["classes"]
    pairs = [names[i:i + 2] for i in range(0, len(names), 2)]
    return [train(args, f"member-{i}", f"{args.data},classes={';'.join(pair)}", "--loss", "binary_cross_entropy",
                  *(QUICK if args.quick else ("--head-epochs", 5, "--epochs", 8))) for i, pair in enumerate(pairs)]


def infer(args, testbed, *flags, data=None, micro_batch=None):
    with tempfile.TemporaryDirectory() as folder:
        return fig.run_json([args.program, "infer", "--data", data or args.data, "--testbed", testbed, "--micro-batch", micro_batch or args.micro_batch, "--run-dir",
                             pathlib.Path(folder) / "run", "--json", "--quiet", *flags], timeout=3600)


def measure_table(args):
    """One board, an ensemble and a pipeline, beside the study's Table 1."""
    whole, members = network(args), pair_networks(args)
    rounds = 1 if args.quick else 3
    runs = {"single": ["--strategy", "single", "--model", whole],
            "ensemble": ["--strategy", "ensemble", "--models", ",".join(map(str, members))],
            "pipeline": ["--model", whole],  # as it is planned
            "five_stages": ["--model", whole, "--stages", 5],
            "study's_cut": ["--model", whole, "--cuts", CUTS_OF_STUDY]}
    found = {name: [] for name in runs}
    for _ in range(rounds):
        for name, flags in runs.items():
            found[name].append(infer(args, FIVE, *flags))
    single = fig.column(found["single"], "images_per_s")
    figures = []
    for name, results in found.items():
        seconds, accuracy = STUDY.get(name, STUDY["pipeline"])
        is_pipeline = name == "pipeline"
        setting = SETTINGS.get(name)
        figures += [
            fig.figure(f"{name}_seconds", fig.column(results, "seconds"), "s", better="lower", peer="the study's boards", peer_values=[seconds]),
            fig.figure(f"{name}_accuracy", fig.column(results, "accuracy"), "share", target=0.95 if is_pipeline else None,
                       peer="the study", peer_values=[accuracy]),
            fig.figure(f"{name}_macro_f1", fig.column(results, "macro_f1"), "share", target=0.94 if is_pipeline else None),
            fig.figure(f"{name}_speedup", fig.ratios(fig.column(results, "images_per_s"), single), "times",
                       peer="one board, same round", peer_values=[1], setting=setting)]
        if "stages" in results[0]:
            figures += of_stages(name, results)
    return figures + measure_frames(args, whole, rounds)


def measure_frames(args, whole, rounds):
    """Frames per second, of a stream: the test set is over in half a second, in which a board gets five or six times its share."""
    single, pipeline = [], []
    for _ in range(rounds):
        single.append(stream(args, FIVE, 16, "--strategy", "single", "--model", whole)["images_per_s"])
        pipeline.append(stream(args, FIVE, 16, "--model", whole)["images_per_s"])
    return [fig.figure("frames_of_one_board", single, "images/s"), fig.figure("frames_of_pipeline", pipeline, "images/s"),
            fig.figure("frames_speedup", fig.ratios(pipeline, single), "times", target=4.6, peer="one board, same round", peer_values=[1],
                       setting=SETTINGS["pipeline"])]


def of_stages(name, results):
    """What the stages of a pipeline did: how evenly, how well predicted, and whether the answers are the unsplit network's."""
    used = [[stage["utilisation"] for stage in result["stages"]] for result in results]
    return [
        fig.figure(f"{name}_agreement", fig.column(results, "agreement"), "share", target=1, peer="the unsplit network", peer_values=[1]),
        fig.figure(f"{name}_utilisation_spread", [max(each) - min(each) for each in used], "of 1", better="lower",
                   target=0.1 if name == "pipeline" else None),
        fig.figure(f"{name}_utilisation_mean", [sum(each) / len(each) for each in used], "of 1"),
        fig.figure(f"{name}_predicted", fig.ratios(fig.column(results, "predicted_images_per_s"), fig.column(results, "images_per_s")),
                   "of measured"),
    ]


def boards(folder, shares, rate="100mbit"):
    """A file of one emulated board for each share of a core."""
    path = pathlib.Path(folder) / "boards.yaml"
    path.write_text("".join(f"b{i}: {{cpu: {share}, memory: 1GB, rate: {rate}}}\n" for i, share in enumerate(shares)))
    return path


def stream(args, testbed, micro_batch, *flags):
    """Of more images than the test set has, so that beginning and end do not count for much."""
    return infer(args, testbed, *flags, "--limit", 300 if args.quick else 4000, data=args.images, micro_batch=micro_batch)


def measure_unequal(args):
    """Boards of 1x, 1x, 2x and 4x: the pipeline beside the sum of what each does alone."""
    whole = network(args)
    shares, micro_batch, ratios, predicted = (0.15, 0.15, 0.3, 0.6), 8, [], []
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(1 if args.quick else 3):
            alone = {share: stream(args, boards(folder, [share]), micro_batch, "--strategy", "single", "--model", whole)["images_per_s"] for share in set(shares)}
            run = stream(args, boards(folder, shares), micro_batch, "--model", whole)
            ratios.append(run["images_per_s"] / sum(alone[share] for share in shares))
            predicted.append(run["predicted_images_per_s"] / run["images_per_s"])
    return [fig.figure("unequal_of_the_sum", ratios, "of 1", target=0.9, peer="sum of the boards alone", peer_values=[1]),
            fig.figure("unequal_predicted", predicted, "of measured")]


# Shares of a core, rate of the links, images in a micro-batch, further flags.
CONFIGURATIONS = [
    ((0.2,) * 2, "100mbit", 4), ((0.2,) * 3, "100mbit", 4), ((0.2,) * 4, "100mbit", 4), ((0.2,) * 5, "100mbit", 4),
    ((0.2,) * 5, "100mbit", 1), ((0.2,) * 5, "100mbit", 16), ((0.2,) * 3, "10mbit", 4), ((0.1, 0.2), "100mbit", 4),
    ((0.1, 0.2, 0.4), "100mbit", 4), ((0.15, 0.15, 0.3, 0.6), "20mbit", 4)]


def memory_error(run):
    """Of the process that is foretold worst, in percent. A board that got no micro-batch was not looked at."""
    return max(100 * abs(stage["predicted_rss_bytes"] / stage["rss_bytes"] - 1) for stage in run["stages"] if stage["rss_bytes"])


def measure_prediction(args):
    """How far the predicted throughput and memory are off, over ten clusters."""
    whole = network(args)
    figures, errors, of_memory = [], [], []
    with tempfile.TemporaryDirectory() as folder:
        for shares, rate, micro_batch in CONFIGURATIONS[:3] if args.quick else CONFIGURATIONS:
            run = stream(args, boards(folder, shares, rate), micro_batch, "--model", whole, "--fresh")
            error = 100 * abs(run["predicted_images_per_s"] / run["images_per_s"] - 1)
            errors.append(error)
            name = "_".join(f"{share:g}" for share in shares)
            figures.append(fig.figure(f"error_{name}_at_{rate}_batch_{micro_batch}", [error], "%", target=10, better="lower"))
            of_memory.append(memory_error(run))
            figures.append(fig.figure(f"memory_error_{name}_at_{rate}_batch_{micro_batch}", of_memory[-1:], "%", target=5, better="lower"))
    return figures + [fig.figure("error_of_all", errors, "%", target=10, better="lower"),
                      fig.figure("memory_error_of_all", of_memory, "%", target=5, better="lower")]


# ResNet-110 in updates of 512 images, 64 micro-batches of 8. One board alone tells the coordinator once an epoch.
UPDATE = ["--batch", 512, "--validation", 0, "--sample-cache", 0]
ALONE = ["--strategy", "federated", "--local-epochs", 1, *UPDATE]
STAGES = ["--strategy", "one_f_one_b", "--stages", 4, "--micro-batches", 64, "--local-steps", 8, *UPDATE]
TRAINED = "resnet-110"


def train_on(args, testbed, epochs, *flags):
    return fig.train(args.program, TRAINED, args.cifar10, "--testbed", testbed, "--limit", 512 if args.quick else 2048, "--epochs", epochs, *flags)


def second_epoch(run):
    """Its seconds: without starting, and without what is measured once before the network is cut."""
    first, second = fig.column(run["validations"], "train_seconds")
    return second - first


def needed_by_one(args, testbed, memory):
    """MB that one board needs at least to train in the same micro-batches, however much of it is computed twice; None: it has so
    much memory, and trains."""
    with tempfile.TemporaryDirectory() as folder:
        command = [args.program, "train", "--model", TRAINED, "--data", args.cifar10, "--testbed", testbed, "--limit", 512, "--epochs", 1,
                   "--run-dir", pathlib.Path(folder) / "run", "--quiet", "--micro-batch", 8, "--memory", f"{memory}MB", *ALONE]
        done = subprocess.run([str(part) for part in command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=1800, check=False)
    if done.returncode == 0:
        return None
    refused = re.search(r"is not possible: it needs at least ([0-9.]+) MB", done.stderr)
    if refused is None:
        sys.exit(f"one board with {memory} MB: not refused for its memory: {done.stderr}")
    return float(refused.group(1))


def measure_training(args):
    """ResNet-110 on four boards as a pipeline: beside one board with enough memory, and with too little for one."""
    with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as four:
        single, several = boards(one, [0.2]), boards(four, [0.2] * 4)
        alone = train_on(args, single, 2, *ALONE)
        run = train_on(args, several, 2, "--recompute", "never", "--ahead", 1, *STAGES)
        speedup, with_start = second_epoch(alone) / second_epoch(run), alone["train_seconds"] / run["train_seconds"]
        idle, predicted = fig.column(run["stages"], "idle"), fig.column(run["stages"], "predicted_idle")
        busy, planned = ([1000 * seconds for seconds in fig.column(run["stages"], key)] for key in ("busy_s", "predicted_busy_s"))
        needed = needed_by_one(args, single, 64)
        memory = int(0.95 * needed)
        is_refused = needed_by_one(args, single, memory) is not None
        run = train_on(args, several, 1, "--memory", f"{memory}MB", *STAGES)
    return [
        fig.figure("training_speedup", [speedup], "times", target=3.2, peer="one board", peer_values=[1],
                   setting="the second epoch of one run"),
        fig.figure("training_speedup_with_start", [with_start], "times", peer="one board", peer_values=[1]),
        fig.figure("training_stages_idle", idle, "of 1", better="lower", peer="by the schedule", peer_values=predicted),
        fig.figure("training_stages_busy", busy, "ms", better="lower", peer="by the plan", peer_values=planned),
        fig.figure("training_memory_of_each", [memory], "MB", better="lower", peer="needed by one board", peer_values=[needed]),
        fig.figure("training_refused_by_one", [int(is_refused)], "of 1", target=1),
        fig.figure("training_in_little_memory", [run["images_per_s"]], "images/s"),
        fig.figure("training_measured_peak", [max(fig.column(run["memory"], "measured_peak")) / 1e6], "MB", better="lower", target=memory),
    ]


# Networks whose weights no board of these can hold: boards and their memory.
LARGE = {"vgg-16": (4, 256), "resnet-152": (6, 136)}


def noise_images(folder, count):
    """PPM files of 224x224 pixels, the same each time."""
    folder.mkdir()
    random.seed(1)
    for i in range(count):
        (folder / f"{i:03}.ppm").write_bytes(b"P6 224 224 255\n" + random.randbytes(3 * 224 * 224))
    return folder


def float32(value):
    """As `mangrove infer` sends it."""
    return struct.unpack("f", struct.pack("f", value))[0]


def measure_memory(args):
    """Networks that fit no single board, on several; their answers beside those of one process without limits."""
    figures = []
    for name, (count, megabytes) in LARGE.items():
        with tempfile.TemporaryDirectory() as temporary:
            folder = pathlib.Path(temporary)
            images, model = noise_images(folder / "images", 8 if args.quick else 40), folder / "model.onnx"
            subprocess.run([args.program, "model", "export", name, "--sample-shape", "3,224,224", "--classes", "1000", "--output", model], check=True,
                           stdout=subprocess.DEVNULL)
            (folder / "boards.yaml").write_text(f"board:\n  count: {count}\n  cpu: {1.8 / count:.2f}\n  memory: {megabytes}MB\n  rate: 100mbit\n")
            alone = fig.run_json([args.program, "predict", model, "--input", images, "--json", "--quiet"])
            run = [args.program, "infer", "--model", model, "--input", images, "--testbed", folder / "boards.yaml", "--micro-batch", 1, "--run-dir",
                   folder / "run", "--json", "--quiet"]
            *answers, result = map(json.loads, subprocess.run(list(map(str, run)), check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines())
        best = [sample["top"][0] for sample in alone["samples"]]
        same = sum(one["class"] == other["class"] and one["confidence"] == float32(other["probability"])
                   for one, other in zip(answers, best, strict=True))
        setting = f"{name}, {count} boards of {megabytes} MB and {1.8 / count:.2f} of a core, 100 Mbit/s, micro-batches of one image of 224x224"
        figures += [
            fig.figure(f"{name}_same_answers", [same / len(answers)], "share", target=1, peer="one process without limits", peer_values=[1], setting=setting),
            fig.figure(f"{name}_most_memory", [max(stage["rss_bytes"] for stage in result["stages"]) / 1e6], "MB", better="lower",
                       setting=f"{setting}; with pages of files, which do not count to the boards' limit alone"),
            fig.figure(f"{name}_sent_weights", [result["model_bytes"] / 1e6], "MB", better="lower", setting=setting),
            fig.figure(f"{name}_images_per_s", [result["images_per_s"]], "images/s", setting=setting)]
    return figures


PARTS = {"table": measure_table, "unequal": measure_unequal, "prediction": measure_prediction, "training": measure_training, "memory": measure_memory}


def main():
    parser = fig.part_arguments(AREA, __doc__, PARTS)
    parser.add_argument("--backbone", type=pathlib.Path, help="ONNX file of a MobileNetV2 trained on ImageNet; for all parts but training and memory")
    parser.add_argument("--models", type=pathlib.Path, default=pathlib.Path.home() / ".cache" / "mangrove" / "cluster", help="where trained networks are kept")
    parser.add_argument("--data", default="plantvillage-tomato/", help="a data set with ten classes")
    parser.add_argument("--images", default="plantvillage-tomato/train/,test=0.9", help="data set of the throughput of unequal boards and of predictions")
    parser.add_argument("--micro-batch", type=int, default=2)
    args = parser.parse_args()
    if args.only not in ("training", "memory") and args.backbone is None:
        parser.error("--backbone is needed for all parts but training and memory")
    fig.publish_parts(AREA, args, PARTS)


main()
