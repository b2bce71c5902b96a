#!/usr/bin/env python3
"""`mangrove privacy` of trained networks: how like the images are that a decoder reconstructs from what is sent, on images that neither
has seen, and what each setting costs. The peer is a mean image, which needs nothing sent. Started by run.sh, which builds."""
import pathlib
import re
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import figures as fig  # noqa: E402

AREA = "privacy"
SNR = 0.5  # of trained noise


def trained(args, folder, model, data, flags, given):
    """The file of a network: the one that was given, or one trained now."""
    if given:
        return given
    run = folder / model
    fig.run_json([args.program, "train", "--model", model, "--data", data, "--run-dir", run, "--local", 1, "--json", "--quiet",
                  *flags], timeout=86400)
    best = run / "best.onnx"
    return best if best.exists() else run / "model.onnx"


def report_of(args, model, data, cuts, *protection):
    """The report on each cut: as it is, with four levels, and with `protection`. An attacker's success depends on the steps."""
    steps, images = (20, 50) if args.quick else (1500, 200)
    return fig.run_json([args.program, "privacy", "--model", model, "--data", data, "--cuts", cuts, "--levels", "4", *protection,
                         "--steps", steps, "--images", images, "--threads", 2, "--json"], 86400)


def figures_of(name, report):
    guess, figures = report["guess"], []
    for setting in report["settings"]:
        text = setting["privacy"].removeprefix("split@").replace(f"={setting['trained']}", "").lower()
        prefix = name + "_" + re.sub(r"[^a-z0-9.]+", "_", text)
        figures += [
            fig.figure(f"{prefix}_ssim", [setting["ssim"]], "", better="lower", peer="mean image", peer_values=[guess["ssim"]]),
            fig.figure(f"{prefix}_psnr", [setting["psnr_db"]], "dB", better="lower", peer="mean image",
                       peer_values=[guess["psnr_db"]]),
            fig.figure(f"{prefix}_accuracy", [100 * setting["accuracy"]], "%"),
            fig.figure(f"{prefix}_sent", [setting["bytes"]], "B", better="lower", peer="image", peer_values=[report["image_bytes"]]),
        ]
        if setting["snr"] is not None:
            figures.append(fig.figure(f"{prefix}_snr", [setting["snr"]], ""))
        else:  # the cut as it is
            figures.append(fig.figure(f"{prefix}_bottom_share", [100 * setting["bottom_share"]], "%", better="lower"))
    return figures


def measure(args, name, model, data, shallow, deep):
    """Measures levels on both cuts, and noise on the deep one only: the shallow cut shows much whatever is done."""
    with tempfile.TemporaryDirectory() as folder:
        noise = ["--noise", "0.5", "--trained", pathlib.Path(folder) / "noise.safetensors", "--snr", SNR]
        return (figures_of(name, report_of(args, model, data, shallow, "--noise", ""))
                + figures_of(name, report_of(args, model, data, deep, *noise)))


def lenet(args):
    with tempfile.TemporaryDirectory() as folder:
        model = trained(args, pathlib.Path(folder), "lenet", "mnist", ["--epochs", 1 if args.quick else 5], args.lenet)
        return measure(args, "lenet", model, "mnist", "pool1", "pool2")


def resnet(args):
    flags = ["--epochs", 10, "--batch", 128, "--augment", "cifar", "--schedule", "cosine"]
    if args.quick:
        flags = ["--epochs", 1, "--batch", 128, "--augment", "normalise", "--limit", 2000]
    with tempfile.TemporaryDirectory() as folder:
        model = trained(args, pathlib.Path(folder), "resnet-20", args.cifar10, flags, args.resnet)
        return measure(args, "resnet", model, args.cifar10, "stage1.block3.relu", "stage3.block3.relu")


PARTS = {"lenet": lenet, "resnet": resnet}


def main():
    parser = fig.part_arguments(AREA, __doc__, PARTS)
    parser.add_argument("--lenet", metavar="FILE", help="a trained lenet")
    parser.add_argument("--resnet", metavar="FILE", help="a trained resnet-20")
    fig.publish_parts(AREA, parser.parse_args(), PARTS)


main()
