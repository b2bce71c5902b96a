#!/usr/bin/env python3
"""Accuracy on MNIST and CIFAR-10 with differential privacy of samples. Started by run.sh."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import figures as fig  # noqa: E402

AREA = "differential-privacy"
DELTA = "1e-5"
EPSILONS = (2, 4, 8)
SEEDS = (1, 2)
# Abadi et al., Deep learning with differential privacy, CCS 2016, with delta 1e-5. Section 5.2: MNIST, a PCA layer and 1,000
# hidden units. Section 5.3: CIFAR-10, convolutions that were trained on CIFAR-100 and stay as they are.
PEER = "Abadi et al. 2016"
PUBLISHED = {"mnist": {2: 95, 8: 97}, "cifar10": {2: 67, 4: 70, 8: 73}}
IN_ALL = {"mnist": 60000, "cifar10": 50000}
NETWORK = {"mnist": ["mlp"], "cifar10": ["lenet", "--augment", "normalise:0.5/0.5/0.5:0.25/0.25/0.25"]}


def accuracy(args, part, privacy, seed):
    """On the test images, in percent, and the result's `privacy`."""
    images, epochs, batch = (6000, 2, 150) if args.quick else (IN_ALL[part], 10, 300)
    model, *flags = NETWORK[part]
    job = ["--limit", images, "--epochs", epochs, "--batch", batch, "--local", 2, "--optimizer", "sgd", "--learning-rate", 0.5,
           "--schedule", "constant", "--warmup-steps", 0, "--weight-decay", 0, "--seed", seed]
    data = ["--data-dir", args.data_dir] if args.data_dir else []
    name = args.cifar10 if part == "cifar10" else part
    result = fig.train(args.program, model, name, *flags, *job, *data, *(["--privacy", privacy] if privacy else []))
    return 100 * result["accuracy"], result.get("privacy")


def measure(args, part):
    seeds = SEEDS[:1] if args.quick else SEEDS
    plain = [accuracy(args, part, None, seed)[0] for seed in seeds]
    figures = [fig.figure(f"{part}_without_privacy", plain, "%", setting="the same training, no noise and no cutting")]
    for epsilon in EPSILONS:
        found = [accuracy(args, part, f"epsilon={epsilon},delta={DELTA},clip=1", seed) for seed in seeds]
        spent = max(privacy["epsilon"] for _, privacy in found)
        assert spent <= epsilon, spent
        noise, steps = found[0][1]["noise"], found[0][1]["steps"]
        published = PUBLISHED[part].get(epsilon)
        figures.append(fig.figure(f"{part}_at_epsilon_{epsilon}", [percent for percent, _ in found], "%",
                                  peer=PEER if published else None, peer_values=[published] if published else None,
                                  setting=f"noise {noise:.3g} in {steps} steps, delta {DELTA}"))
    return figures


PARTS = {part: (lambda args, part=part: measure(args, part)) for part in NETWORK}


def main():
    parser = fig.part_arguments(AREA, __doc__, PARTS)
    parser.add_argument("--data-dir", help="where the images are")
    fig.publish_parts(AREA, parser.parse_args(), PARTS)


main()
