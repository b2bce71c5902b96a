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
LIARS = (1, 2, 4)  # 10, 20 and 40 %
LIES = ("sign_flip", "scale(10)", "stale", "random(10)", "label_flip")
# By how many lie. Krum needs 2f + 3 workers, so of ten it bears three; it is told of three where four lie.
RULES = {
    "mean": lambda liars: "mean",
    "median": lambda liars: "median",
    "trimmed_mean": lambda liars: f"trimmed_mean({max(1, liars)})",
    "krum": lambda liars: f"krum({min(3, max(1, liars))})",
    "multi_krum": lambda liars: f"multi_krum({min(3, max(1, liars))})",
    "geometric_median": lambda liars: "geometric_median",
    "centered_clipping": lambda liars: "centered_clipping",
}
STRATEGIES = {  # in step, and by rounds of some steps
    "server": ["--strategy", "parameter_server"],
    "federated": ["--strategy", "federated", "--local-steps", 4],
}


def accuracy(args, strategy, rule, lie, liars):
    """On the test images, in percent; 0 where training diverged."""
    images, epochs = (4000, 1) if args.quick else (12000, 2)
    world = f"honest:\n  count: {WORKERS - liars}\n" + (f"liar:\n  count: {liars}\n  lies: {lie}\n" if liars else "")
    job = (f"train:\n  model: lenet\n  data: mnist\n  limit: {images}\n  epochs: {epochs}\n  batch: 16\n  learning_rate: 0.05\n"
           "  validation: 0\n")
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        (folder / "world.yaml").write_text(world)
        (folder / "job.yaml").write_text(job)
        data = ["--data-dir", args.data_dir] if args.data_dir else []
        command = [args.program, "sim", folder / "world.yaml", folder / "job.yaml", "--aggregate", RULES[rule](liars), *STRATEGIES[strategy],
                   "--run-dir", folder / "run", "--json", "--quiet", *data]
        done = subprocess.run([str(part) for part in command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
        if done.returncode != 0 and "diverged" not in done.stderr:
            sys.exit(f"{' '.join(map(str, command))}: failed\n{done.stderr}")
        return 100 * json.loads(done.stdout.strip().splitlines()[-1])["accuracy"] if done.returncode == 0 else 0


def measure(args, strategy):
    lies, liars = (LIES[:2], LIARS[1:2]) if args.quick else (LIES, LIARS)
    cases = [(rule, "none", 0) for rule in RULES] + [(rule, lie, count) for rule in RULES for lie in lies for count in liars]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:  # a simulation takes one core
        found = list(pool.map(lambda case: accuracy(args, strategy, *case), cases))
    return [fig.figure(f"{strategy}_{lie.split('(')[0]}_{10 * count}_{rule}", [percent], "%",
                       setting=f"{RULES[rule](count)}, {count} of {WORKERS} workers" + (f" send {lie}" if count else " lie"))
            for (rule, lie, count), percent in zip(cases, found)]


def main():
    parts = {name: lambda args, name=name: measure(args, name) for name in STRATEGIES}
    parser = fig.part_arguments(AREA, __doc__, parts)
    parser.add_argument("--data-dir", help="where MNIST is")
    fig.publish_parts(AREA, parser.parse_args(), parts)


main()
