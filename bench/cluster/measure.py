#!/usr/bin/env python3
"""LeNet-5 on a cluster of nodes on this machine, training and inference, in turn. Started by run.sh, which builds and installs."""
import pathlib
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import figures as fig  # noqa: E402

AREA = "cluster"


def commands(program, folder):
    """The same 235 steps of 256 samples by four workers and by one; then the trained network on three nodes."""
    common = ["--data", "mnist", "--data-fallback", "glyphs", "--json", "--quiet"]
    train = [program, "train", "--model", "lenet", "--epochs", "1", *common]
    model = pathlib.Path(folder) / "four" / "model.onnx"
    return {
        "four": [*train, "--local", "4", "--batch", "64", "--run-dir", model.parent],
        "one": [*train, "--local", "1", "--batch", "256", "--run-dir", pathlib.Path(folder) / "one"],
        "infer": [program, "infer", "--model", model, "--stages", "3", "--local", "3", *common,
                  "--run-dir", pathlib.Path(folder) / "infer"],
    }


def measure(program, rounds):
    with tempfile.TemporaryDirectory() as folder:
        runs = fig.in_turn(commands(program, folder), rounds)
    four, one, infer = runs["four"], runs["one"], runs["infer"]
    four_speed, one_speed = fig.column(four, "images_per_s"), fig.column(one, "images_per_s")
    speed, single = fig.column(infer, "images_per_s"), fig.column(infer, "single_images_per_s")
    data = four[0]["data"]
    return [
        fig.figure(f"accuracy_after_one_epoch_{data}", fig.column(four, "accuracy"), "share", goal=0.98),
        fig.figure("train_four_nodes_images_per_s", four_speed, "images/s", peer="one node", peer_values=one_speed),
        fig.figure("train_four_nodes_over_one", fig.ratios(four_speed, one_speed), "times"),
        fig.figure("train_seconds", fig.column(four, "train_seconds"), "s", better="lower"),
        fig.figure("pipeline_images_per_s", speed, "images/s", peer="one node", peer_values=single),
        fig.figure("pipeline_over_one_node", fig.ratios(speed, single), "times"),
        fig.figure("pipeline_measured_over_predicted", fig.ratios(speed, fig.column(infer, "predicted_images_per_s")), "times"),
        fig.figure("pipeline_agreement", fig.column(infer, "agreement"), "share", goal=1),
    ]


def main():
    parser = fig.arguments(AREA, __doc__)
    parser.add_argument("program", help="mangrove")
    args = parser.parse_args()
    fig.publish(AREA, args.quick, measure(args.program, 1 if args.quick else 5), args.out)


main()
