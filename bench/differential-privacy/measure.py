#!/usr/bin/env python3
"""Accuracy on MNIST with differential privacy of samples. Started by run.sh."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import figures as fig  # noqa: E402

AREA = "differential-privacy"
DELTA = "1e-5"
# Abadi et al., Deep learning with differential privacy, CCS 2016, section 5.2: a PCA layer and 1,000 hidden units, delta 1e-5.
PUBLISHED = {2: 95, 8: 97}
SEEDS = (1, 2)


def accuracy(args, privacy, seed):
    """On the test images, in percent, and the result's `privacy`."""
    images, epochs, batch = (6000, 2, 150) if args.quick else (60000, 10, 300)
    job = ["--limit", images, "--epochs", epochs, "--batch", batch, "--local", 2, "--optimizer", "sgd", "--learning-rate", 0.5,
           "--schedule", "constant", "--warmup-steps", 0, "--weight-decay", 0, "--seed", seed]
    data = ["--data-dir", args.data_dir] if args.data_dir else []
    result = fig.train(args.program, "mlp", "mnist", *job, *data, *(["--privacy", privacy] if privacy else []))
    return 100 * result["accuracy"], result.get("privacy")


def main():
    parser = fig.arguments(AREA, __doc__)
    parser.add_argument("program", help="mangrove")
    parser.add_argument("--data-dir", help="where MNIST is")
    args = parser.parse_args()
    seeds = SEEDS[:1] if args.quick else SEEDS
    plain = [accuracy(args, None, seed)[0] for seed in seeds]
    figures = [fig.figure("accuracy_without_privacy", plain, "%", setting="the same training, no noise and no cutting")]
    for epsilon in (2, 4, 8):
        found = [accuracy(args, f"epsilon={epsilon},delta={DELTA},clip=1", seed) for seed in seeds]
        spent = max(privacy["epsilon"] for _, privacy in found)
        assert spent <= epsilon, spent
        noise, steps = found[0][1]["noise"], found[0][1]["steps"]
        published = PUBLISHED.get(epsilon)
        figures.append(fig.figure(f"accuracy_at_epsilon_{epsilon}", [percent for percent, _ in found], "%",
                                  peer="Abadi et al. 2016" if published else None, peer_values=[published] if published else None,
                                  setting=f"noise {noise:.3g} in {steps} steps, delta {DELTA}"))
    fig.publish(AREA, args.quick, figures, args.out)


main()
