#!/usr/bin/env python3
"""Networks with early exits, trained and tuned here: accuracy and time with exits, beside the same networks without.
Thresholds are chosen on validation samples, everything is measured on test samples. Started by run.sh, which builds."""
import itertools
import os
import pathlib
import shutil
import sys
import tempfile

import numpy

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import figures as fig  # noqa: E402

AREA = "exits"


def trained(args, folder, model, data, flags, given):
    """The file of a trained network: a copy of the one that was given, or one trained now."""
    path = folder / f"{model}.onnx"
    if given:
        shutil.copy(given, path)
        return path
    run = folder / model
    fig.run_json([args.program, "train", "--model", model, "--data", data, "--run-dir", run, "--local", 1, "--json", "--quiet",
                  *flags], timeout=7 * 86400)
    best = run / "best.onnx"
    shutil.copy(best if best.exists() else run / "model.onnx", path)
    return path


def evaluated(args, model, data, batch, rounds, *more):
    """Of each round, on the test samples."""
    return [fig.run_json([args.program, "eval", "--model", model, "--data", data, "--batch", batch, "--json", *more], 3600)
            for _ in range(rounds)]


def figures_of(args, name, model, data, batches, accuracy_loss, targets):
    """Of a trained network: tuned for each batch, then measured."""
    rounds = 1 if args.quick else 5
    figures = []
    for batch in batches:
        fig.run_json([args.program, "tune-exits", model, "--target", f"accuracy({accuracy_loss})", "--batch", batch, "--json"],
                     3600)
        runs = evaluated(args, model, data, batch, rounds)
        whole = fig.column(runs, "without_exits")
        prefix = f"{name}_batch{batch}"
        figures += [
            fig.figure(f"{prefix}_speedup", fig.column(runs, "speedup"), "x", target=targets["speedup"] if batch == 1 else None,
                       peer="BranchyNet, published", peer_values=[targets["published"]]),
            fig.figure(f"{prefix}_time", [1e6 * run["seconds_per_sample"] for run in runs], "us", better="lower",
                       peer="without exits", peer_values=[1e6 * run["seconds_per_sample"] for run in whole]),
            fig.figure(f"{prefix}_accuracy", [100 * run["accuracy"] for run in runs], "%", target=targets.get("accuracy"),
                       peer="without exits", peer_values=[100 * run["accuracy"] for run in whole]),
            fig.figure(f"{prefix}_accuracy_lost", [100 * (w["accuracy"] - run["accuracy"]) for run, w in zip(runs, whole)],
                       "points", target=targets.get("lost"), better="lower"),
        ]
        for number, exit in enumerate(runs[0]["exits"][:-1], start=1):
            figures.append(fig.figure(f"{prefix}_left_at_exit{number}", [100 * exit["share"]], "%"))
    return figures


def lenet(args):
    with tempfile.TemporaryDirectory() as name:
        epochs = 2 if args.quick else 20
        flags = ["--epochs", epochs, "--batch", 64, "--schedule", "cosine", "--exit-weights", "1,0.3"]
        model = trained(args, pathlib.Path(name), "branchy-lenet", "mnist", flags, args.lenet)
        return figures_of(args, "lenet", model, "mnist", [1, 64], 0.001,
                          {"speedup": 5.4, "published": 5.4, "accuracy": 99})


def resnet(args):
    depth = 8 if args.quick else 110
    epochs = 1 if args.quick else 164
    with tempfile.TemporaryDirectory() as name:
        flags = ["--epochs", epochs, "--batch", 128, "--optimizer", "nesterov", "--learning-rate", 0.1, "--weight-decay", 1e-4,
                 "--augment", "normalise" if args.quick else "cifar", "--schedule", "cosine"]
        if args.quick:
            flags += ["--limit", 2000]
        model = trained(args, pathlib.Path(name), f"branchy-resnet-{depth}", args.cifar10, flags, args.resnet)
        targets = {"speedup": None if args.quick else 1.9, "published": 1.9, "lost": None if args.quick else 0.3}
        return figures_of(args, "resnet", model, args.cifar10, [1] if args.quick else [1, 64], 0.003, targets)


def accuracy_without(args, model, lost):
    """Of the whole network, without these devices."""
    return 100 * evaluated(args, model, "mnist", 100, 1, "--exit-thresholds", "none", "--lost-views", ",".join(map(str, lost)))[0]["accuracy"]


def ddnn(args):
    """Six devices that see a part of a digit each: what losing some of them costs, and what goes up for the others."""
    figures = []
    with tempfile.TemporaryDirectory() as name:
        for how, augment in (("", "normalise,drop-views:6:0.5"), ("_never_lost", "normalise")):
            folder = pathlib.Path(name) / f"ddnn{how}"
            folder.mkdir()
            flags = ["--epochs", 1 if args.quick else 60, "--batch", 64, "--schedule", "cosine", "--augment", augment]
            model = trained(args, folder, "ddnn-6", "mnist", flags, None)
            figures.append(fig.figure(f"ddnn{how}_accuracy", [accuracy_without(args, model, [])], "%"))
            for count, target in ((1, 95), (3, 85)):
                found = {lost: accuracy_without(args, model, lost) for lost in itertools.combinations(range(1, 7), count)}
                worst = min(found, key=found.get)
                figures += [fig.figure(f"ddnn{how}_accuracy_without_{count}", list(found.values()), "%", target=None if how else target),
                            fig.figure(f"ddnn{how}_accuracy_without_worst_{count}", [found[worst]], "%", target=None if how else target)]
            if not how:
                figures += ddnn_traffic(args, model)
                figures.append(fig.figure("lenet_of_the_other_three", [lenet_without(args, pathlib.Path(name), worst)], "%"))
    return figures


def lenet_without(args, folder, lost):
    """Accuracy of LeNet, trained and tested on images of which these parts are blank: what the others show at all."""
    data = folder / "blank"
    blank_parts(data / "mnist", lost)
    run = folder / "lenet"
    fig.run_json([args.program, "train", "--model", "lenet", "--data", "mnist", "--data-dir", data, "--run-dir", run, "--local", 1, "--json",
                  "--quiet", "--epochs", 1 if args.quick else 20, "--batch", 64, "--schedule", "cosine"], timeout=86400)
    return 100 * fig.run_json([args.program, "eval", "--model", run / "best.onnx", "--data", "mnist", "--data-dir", data, "--json"])["accuracy"]


def blank_parts(folder, lost):
    """MNIST of which these of the six views (mangrove/tensor/view_grid.h) see nothing."""
    shutil.copytree(mnist(), folder)
    for file in folder.glob("*images*"):
        content = numpy.fromfile(file, numpy.uint8)
        pixels = content[16:].reshape(-1, 28, 28)
        seen = numpy.zeros((28, 28), numpy.uint8)
        for view in set(range(6)) - {each - 1 for each in lost}:
            top, left = 14 * (view // 3), 9 * (view % 3)
            seen[top:top + 14, left:left + 10] = 1
        pixels *= seen
        content.tofile(file)


def ddnn_traffic(args, model):
    """Bytes of features that go up for a sample, with thresholds chosen on validation samples, beside the image's."""
    raw = 28 * 28
    tuned = fig.run_json([args.program, "tune-exits", model, "--target", f"traffic({raw // 22})", "--json"], 3600)
    run = evaluated(args, model, "mnist", 1, 1)[0]
    sent = tuned["segments"][0]["passed_bytes"] * (1 - run["exits"][0]["share"])
    return [fig.figure("ddnn_sent_up", [sent], "bytes/sample", better="lower", peer="the image", peer_values=[raw]),
            fig.figure("ddnn_fewer_bytes", [raw / sent], "times", target=20, peer="the image", peer_values=[1]),
            fig.figure("ddnn_with_exit_accuracy", [100 * run["accuracy"]], "%", peer="all features sent",
                       peer_values=[100 * run["without_exits"]["accuracy"]])]


def mnist():
    """The folder of its files."""
    return pathlib.Path(os.environ.get("MANGROVE_DATA", pathlib.Path.home() / ".cache" / "mangrove" / "data")) / "mnist"


def write_drifting(folder, images):
    """MNIST's first test images as files, the second half with half the contrast and noise; returns their labels."""
    data = mnist()
    pixels = numpy.fromfile(data / "t10k-images-idx3-ubyte", numpy.uint8)[16:].reshape(-1, 28, 28)[:images].astype(float)
    later = pixels[images // 2:]
    later[:] = (later + 127.5) / 2 + numpy.random.default_rng(0).normal(0, 0.12 * 255, later.shape)
    for i, image in enumerate(pixels.clip(0, 255).astype(numpy.uint8)):
        (folder / f"{i:05d}.pgm").write_bytes(b"P5 28 28 255\n" + image.tobytes())
    return numpy.fromfile(data / "t10k-labels-idx1-ubyte", numpy.uint8)[8:][:images].tolist()


def drift(args):
    """Inputs that become harder half-way: thresholds that stay as they were tuned, and those that are kept online."""
    images, figures = 1000 if args.quick else 10000, []
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name) / "images"
        folder.mkdir()
        labels = write_drifting(folder, images)
        flags = ["--epochs", 1 if args.quick else 5, "--batch", 64, "--schedule", "cosine", "--exit-weights", "1,0.3"]
        model = trained(args, pathlib.Path(name), "branchy-lenet", "mnist", flags, args.lenet)
        tuned = fig.run_json([args.program, "tune-exits", model, "--target", "latency(40us)", "--json"], 3600)
        figures.append(fig.figure("drift_tuned_to_leave", [100 * tuned["exits"][0]["share"]], "%"))
        as_tuned = ",".join(str(exit["threshold"]) for exit in tuned["exits"][:-1])
        for how, more in (("fixed", ["--exit-thresholds", as_tuned]), ("kept", [])):
            samples = fig.run_json([args.program, "predict", model, "--input", folder, "--json", "--quiet", *more], 3600)["samples"]
            found = [(100 * (sample["exit"] == 1), 100 * (sample["top"][0]["class"] == label)) for sample, label in zip(samples, labels)]
            for half, part in (("before", found[:images // 2]), ("after", found[images // 2:])):
                left, right = (sum(values) / len(values) for values in zip(*part))
                figures += [fig.figure(f"drift_{how}_left_{half}", [left], "%"), fig.figure(f"drift_{how}_right_{half}", [right], "%")]
    return figures


PARTS = {"lenet": lenet, "resnet": resnet, "ddnn": ddnn, "drift": drift}


def main():
    parser = fig.part_arguments(AREA, __doc__, PARTS)
    parser.add_argument("--lenet", metavar="FILE", help="a trained branchy-lenet")
    parser.add_argument("--resnet", metavar="FILE", help="a trained branchy-resnet")
    fig.publish_parts(AREA, parser.parse_args(), PARTS)


main()
