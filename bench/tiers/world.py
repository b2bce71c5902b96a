"""Thirteen emulated boards in three tiers, jobs on them, and boards that die at a given moment."""
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

BATCH = 50  # images in a task, as in the study
SHARE = 0.05  # of a core: what an end device has; an edge server has four, as in the study
SHARES = {"end": 1, "edge": 4, "cloud": 12}
DELAY = {"edge": 0.5, "cloud": 1.0}  # seconds, as in the study


class World:
    """Boards of so many end devices, four edge servers and a cloud device, which run job after job."""

    def __init__(self, program, end=8):
        self._program = program
        self._counts = {"end": end, "edge": 4, "cloud": 1}
        self._folder = tempfile.TemporaryDirectory()
        folder = pathlib.Path(self._folder.name)
        self._boards, self._tiers, self._run = folder / "boards.yaml", folder / "tiers.yaml", folder / "run"
        self._boards.write_text("memory: 1GB\n" + "".join(
            f"{tier}-{i}: {{cpu: {SHARE * SHARES[tier]:g}}}\n" for tier, count in self._counts.items() for i in range(1, count + 1)))

    def __enter__(self):
        self._testbed = subprocess.Popen([self._program, "testbed", "up", self._boards], stdout=subprocess.PIPE, text=True)
        for line in self._testbed.stdout:
            if "ready on" in line:
                self._coordinator = line.split()[-1]
                return self
        sys.exit(f"{self._program} testbed up: failed")

    def __exit__(self, *_):
        subprocess.run([self._program, "testbed", "down", self._boards], stdout=subprocess.DEVNULL, check=True)
        self._testbed.communicate()

    def restart(self):
        """With all boards alive again."""
        self.__exit__()
        self.__enter__()

    def classify(self, models, images, *flags, delays=None, private=None, coarse=("end",), failing=0, after=12):
        """What `mangrove infer` prints, and under "answers" its lines of tasks; that many end devices are killed (SIGKILL), each when
        it has answered so many tasks. delays: seconds by tier; private: tiers that are not trusted, and their split."""
        text = ""
        for tier, count in self._counts.items():
            text += f"{tier}:\n  count: {count}\n  model: {models[tier]}\n  labels: {'coarse' if tier in coarse else 'fine'}\n"
            text += f"  trusted: false\n  privacy: {private[tier]}\n" if private and tier in private else ""
        self._tiers.write_text(text + "".join(f"end - {tier}:\n  delay: {round(1000 * delay)}ms\n" for tier, delay in (delays or DELAY).items()))
        shutil.rmtree(self._run, ignore_errors=True)
        command = [self._program, "infer", "--tiers", self._tiers, "--coordinator", self._coordinator, "--data", "cifar100", "--limit", images,
                   "--micro-batch", BATCH, "--run-dir", self._run, "--json", "--quiet", *flags]
        process = subprocess.Popen([str(part) for part in command], stdout=subprocess.PIPE, text=True)
        doomed = threading.Thread(target=self._kill, args=(process, failing, after))
        doomed.start()
        output, _ = process.communicate(timeout=3600)
        doomed.join()
        if process.returncode != 0:
            sys.exit(f"{' '.join(map(str, command))}: failed")
        return {**json.loads(output.strip().splitlines()[-1]), "answers": answers(self._run)}

    def _kill(self, process, failing, after):
        left = {f"end-{i}" for i in range(1, failing + 1)}
        pids = {}
        while left and process.poll() is None:
            if not pids:
                pids = self._pids()
            done = [answer["node"] for answer in answers(self._run)]
            for name in [name for name in left if done.count(name) >= after and name in pids]:
                os.kill(pids[name], signal.SIGKILL)
                left.remove(name)
            time.sleep(0.05)
        if left:
            print(f"never killed, as they did not answer {after} tasks: {', '.join(sorted(left))}", file=sys.stderr)

    def _pids(self):
        status = subprocess.run([self._program, "testbed", "status", self._boards, "--json"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False)
        beds = json.loads(status.stdout)["testbeds"] if status.returncode == 0 else []
        return {board["name"]: board["pid"] for bed in beds for board in bed["boards"]}


def answers(run):
    """Lines of the kind tier_answers that are there; the last one may still be written."""
    file, found = run / "metrics.jsonl", []
    for line in file.read_text().splitlines() if file.exists() else []:
        try:
            found.append(json.loads(line))
        except json.JSONDecodeError:
            break
    return [line for line in found if line.get("kind") == "tier_answers"]


def draw(lines, labels, title, file):
    """{name: [(x, y)]} as a plot."""
    import matplotlib
    matplotlib.use("svg")
    from matplotlib import pyplot
    chart, panel = pyplot.subplots(figsize=(7, 4.5))
    for name, points in lines.items():
        panel.plot(*zip(*points), marker="o", label=name)
    panel.set(xlabel=labels[0], ylabel=labels[1], title=title)
    panel.set_ylim(bottom=0)
    panel.grid(True, alpha=0.3)
    panel.legend()
    chart.tight_layout()
    chart.savefig(file)
    print(f"drawn: {file}")
