"""Accuracy: LeNet on MNIST after 5 epochs, ResNet-20 on CIFAR-10, and ResNet-20's loss curve beside PyTorch's."""
import json
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import figures  # noqa: E402

PEERS = figures.ROOT / "bench" / "peers"


def train(program, options, arguments):
    with tempfile.TemporaryDirectory() as folder:
        command = [program, "train", "--data-dir", options.data_dir, "--local", "1", "--threads", options.threads,
                   "--run-dir", folder, "--json", "--quiet", *arguments]
        done = subprocess.run([str(part) for part in command], check=True, stdout=subprocess.PIPE, text=True)
        return json.loads(done.stdout)


def lenet(program, options):
    epochs = 1 if options.quick else 5
    result = train(program, options, ["--model", "lenet", "--data", "mnist", "--epochs", epochs,
                                               "--validation", "0"])
    return figures.figure(f"LeNet on MNIST, {figures.things(epochs, 'epoch')}: test accuracy", [100 * result["accuracy"]], "%",
                          target=None if options.quick else 99.0)


def resnet20(program, options):
    arguments = ["--model", "resnet-20", "--data", options.cifar10, "--epochs", options.epochs, "--batch", "128",
                 "--augment", "cifar", "--optimizer", "nesterov", "--learning-rate", "0.1", "--weight-decay", "5e-4",
                 "--schedule", "cosine", "--warmup-steps", "200"]
    if options.quick:
        arguments += ["--limit", "2000"]
    result = train(program, options, arguments)
    samples = ", 2,000 samples" if options.quick else ""
    return figures.figure(f"ResNet-20 on {options.cifar10}, {figures.things(options.epochs, 'epoch')}{samples}: test accuracy",
                          [100 * result["accuracy"]], "%")


def loss_curve(program, options):
    # Rounding errors grow with each step, the faster the higher the rate: at a rate of 0.01 from the start float32 is 1e-3
    # away from float64 after 9 steps, in PyTorch as in Mangrove. Five epochs of warm-up to 0.04 keep them small.
    recipe = [5 if options.quick else 50, 128, 0.04, 5 * 391]  # steps, batch, learning rate, steps of warm-up
    steps = recipe[0]
    with tempfile.TemporaryDirectory() as folder:
        ours = figures.run_json([program, options.data_dir, options.cifar10, folder, *recipe])["loss"]
        theirs = figures.run_json(["/usr/bin/python3", PEERS / "torch_resnet20.py", folder, *recipe])["loss"]
    differences = [abs(a - b) / abs(b) for a, b in zip(ours, theirs)]
    for step, (a, b, d) in enumerate(zip(ours, theirs, differences)):
        print(f"step {step:3}  Mangrove {a:.6f}  PyTorch {b:.6f}  difference {d:.1e}", file=sys.stderr)
    return figures.figure(f"ResNet-20 loss beside PyTorch's, {steps} steps: largest relative difference",
                          [1e3 * max(differences)], "1e-3", target=1, better="lower")


def main():
    parser = figures.arguments("accuracy", __doc__)
    parser.add_argument("program", type=pathlib.Path)
    parser.add_argument("curve_program", type=pathlib.Path)
    parser.add_argument("--data-dir", required=True)
    parser.add_argument("--cifar10", default="cifar10", help="the data set's name, e.g. cifar10-lossless")
    parser.add_argument("--epochs", type=int, default=10, help="of ResNet-20")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--only", choices=["lenet", "resnet20", "curve"])
    options = parser.parse_args()
    parts = {"lenet": lambda: lenet(options.program, options), "curve": lambda: loss_curve(options.curve_program, options),
             "resnet20": lambda: resnet20(options.program, options)}
    chosen = [options.only] if options.only else list(parts)
    figures.publish("accuracy", options.quick, [parts[name]() for name in chosen], options.out)


if __name__ == "__main__":
    main()
