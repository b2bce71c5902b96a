#!/usr/bin/env python3
"""LeNet-300-100 and LeNet-5 (the variant of Caffe) on MNIST: trained, then compressed by a named recipe. Started by run.sh."""
import pathlib
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import figures as fig  # noqa: E402

AREA = "compress"
RECIPE = "smallest"
GOAL = 45  # times smaller than the float32 file, ours
PUBLISHED = {"lenet_300_100": 40, "lenet_5": 39}  # Han, Mao & Dally, Deep Compression, ICLR 2016, table 1
QUICK_SAMPLES = 6000


def network(args, name, model):
    """Figures of one network."""
    limit = ["--limit", QUICK_SAMPLES] if args.quick else []
    with tempfile.TemporaryDirectory() as folder:
        run = pathlib.Path(folder) / "run"
        train = [args.program, "train", "--model", model, "--data", "mnist", "--local", "1", "--epochs", "12", "--schedule", "cosine",
                 "--learning-rate", "0.05", "--weight-decay", "0.0001", "--run-dir", run, "--json", "--quiet", *limit]
        fig.run_json(train, timeout=3600)
        report = fig.run_json([args.program, "compress", run / "model.onnx", "--data", "mnist", "--recipe", RECIPE,
                               "--out", pathlib.Path(folder) / "small.mgz", "--json", "--quiet", *limit], timeout=7200)
    accuracy, size = report["accuracy"], report["bytes"]
    return [
        fig.figure(f"{name}_times_smaller", [size["before"] / size["after"]], "x", target=GOAL, peer="Deep Compression, published",
                   peer_values=[PUBLISHED[name]], setting=f"{size['before']:,} bytes of ONNX in float32 to {size['after']:,}; one run"),
        fig.figure(f"{name}_accuracy_change", [100 * (accuracy["after"] - accuracy["before"])], "points", target=0,
                   setting=f"top-1 on 10,000 test images: {100 * accuracy['before']:.2f} % before, {100 * accuracy['after']:.2f} % after"),
    ]


def main():
    parts = {"lenet_300_100": lambda args: network(args, "lenet_300_100", "mlp-300-100"),
             "lenet_5": lambda args: network(args, "lenet_5", "lenet")}
    args = fig.part_arguments(AREA, __doc__, parts).parse_args()
    fig.publish_parts(AREA, args, parts)


main()
