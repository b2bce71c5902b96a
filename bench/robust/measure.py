#!/usr/bin/env python3
"""Accuracy with workers that lie, by the mean and by each rule. Started by run.sh."""
import concurrent.futures
import json
import os
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import figures as fig  # noqa: E402

AREA = "robust"
WORKERS = 10
LIARS = (1, 2, 3, 4)
LIES = ("sign_flip", "scale(-10)", "stale", "random(10)", "label_flip")
MOST_OF_KRUM = (WORKERS - 3) // 2  # the largest f of krum, which needs 2f + 3 workers
# The text of each rule. Rules with a parameter f are told how many workers lie, or the largest f that they take.
RULES = {
    "mean": lambda liars: "mean",
    "median": lambda liars: "median",
    "trimmed_mean": lambda liars: f"trimmed_mean({max(1, liars)})",
    "krum": lambda liars: f"krum({min(MOST_OF_KRUM, max(1, liars))})",
    "multi_krum": lambda liars: f"multi_krum({min(MOST_OF_KRUM, max(1, liars))})",
    "geometric_median": lambda liars: "geometric_median",
    "centered_clipping": lambda liars: "centered_clipping",
}
TOLD_OF_ONE = ("trimmed_mean", "krum", "multi_krum")
IN_STEP = ["--strategy", "parameter_server"]
IN_ROUNDS = ["--strategy", "federated", "--local-steps", 4]


def accuracy(args, flags, aggregate, lie, liars):
    """On the test images, in percent; None where training diverged."""
    images, epochs = (4000, 1) if args.quick else (12000, 2)
    world = f"honest:\n  count: {WORKERS - liars}\n" + (f"liar:\n  count: {liars}\n  lies: {lie}\n" if liars else "")
    job = (f"train:\n  model: lenet\n  data: mnist\n  limit: {images}\n  epochs: {epochs}\n  batch: 16\n  learning_rate: 0.05\n"
           "  validation: 0\n")
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        (folder / "world.yaml").write_text(world)
        (folder / "job.yaml").write_text(job)
        data = ["--data-dir", args.data_dir] if args.data_dir else []
        command = [args.program, "sim", folder / "world.yaml", folder / "job.yaml", "--aggregate", aggregate, *flags,
                   "--run-dir", folder / "run", "--json", "--quiet", *data]
        done = subprocess.run([str(part) for part in command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
        if done.returncode != 0 and "diverged" not in done.stderr:
            sys.exit(f"{' '.join(map(str, command))}: failed\n{done.stderr}")
        return 100 * json.loads(done.stdout.strip().splitlines()[-1])["accuracy"] if done.returncode == 0 else None


def measure(args, part, flags, cases):
    """The accuracy of each case. cases: (rule, value of `aggregate`, lie, number of liars)."""
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:  # a simulation takes one core
        found = list(pool.map(lambda case: accuracy(args, flags, *case[1:]), cases))
    return [fig.figure(f"{part}_{lie.split('(')[0]}_{100 * liars // WORKERS}_{rule}", [percent or 0], "%",
                       setting=f"{aggregate}, {liars} of {WORKERS} workers" + (f" send {lie}" if liars else " lie")
                       + (", training diverged" if percent is None else ""))
            for (rule, aggregate, lie, liars), percent in zip(cases, found)]


def grid(lies, liars):
    cases = [("none", 0)] + [(lie, count) for lie in lies for count in liars]
    return [(rule, told(count), lie, count) for rule, told in RULES.items() for lie, count in cases]


def in_step(args):
    """Every rule under every lie, in synchronous steps of a parameter server."""
    return measure(args, "server", IN_STEP, grid(LIES[:2], LIARS[1:2]) if args.quick else grid(LIES, LIARS))


def in_rounds(args):
    """Federated averaging, where an update is the change of four steps."""
    return measure(args, "federated", IN_ROUNDS, grid(LIES[:1] if args.quick else LIES, LIARS[1:2]))


def uneven(args):
    """Federated averaging where honest workers have different data: two classes each."""
    return measure(args, "uneven", IN_ROUNDS + ["--split", "by_label(2)"], grid(LIES[:1], LIARS[1:2]))


def beyond(args):
    """Rules that are told of one liar, when more workers lie."""
    cases = [(rule, RULES[rule](1), LIES[1], liars) for rule in TOLD_OF_ONE for liars in (LIARS[3:] if args.quick else LIARS)]
    return measure(args, "beyond", IN_STEP, cases)


def main():
    parts = {"server": in_step, "federated": in_rounds, "uneven": uneven, "beyond": beyond}
    parser = fig.part_arguments(AREA, __doc__, parts)
    parser.add_argument("--data-dir", help="where MNIST is")
    fig.publish_parts(AREA, parser.parse_args(), parts)


main()
