"""Thirteen emulated boards in three tiers, jobs on them, and boards that die at a given moment."""
import json
import os
import pathlib
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
    """Boards and tier file of so many end devices, four edge servers and a cloud device, in a folder that goes."""

    def __init__(self, models, end=8, delays=None, private=None, coarse=("end",)):
        self._folder = tempfile.TemporaryDirectory()
        folder = pathlib.Path(self._folder.name)
        self.boards, self.tiers = folder / "boards.yaml", folder / "tiers.yaml"
        counts = {"end": end, "edge": 4, "cloud": 1}
        self.boards.write_text("memory: 1GB\n" + "".join(
            f"{tier}-{i}: {{cpu: {SHARE * SHARES[tier]:g}}}\n" for tier, count in counts.items() for i in range(1, count + 1)))
        text = ""
        for tier, count in counts.items():
            text += f"{tier}:\n  count: {count}\n  model: {models[tier]}\n  labels: {'coarse' if tier in coarse else 'fine'}\n"
            text += f"  trusted: false\n  privacy: {private[tier]}\n" if private and tier in private else ""
        self.tiers.write_text(text + "".join(f"end - {tier}:\n  delay: {round(1000 * delay)}ms\n" for tier, delay in (delays or DELAY).items()))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._folder.cleanup()

    def classify(self, program, data, images, *flags, failing=0, after=12):
        """What `mangrove infer` prints, and under "answers" its lines of tasks; that many end devices are killed (SIGKILL), each when
        it has answered so many tasks."""
        run = pathlib.Path(self._folder.name) / "run"
        command = [program, "infer", "--tiers", self.tiers, "--testbed", self.boards, "--data", data, "--limit", images, "--micro-batch",
                   BATCH, "--run-dir", run, "--json", "--quiet", *flags]
        process = subprocess.Popen([str(part) for part in command], stdout=subprocess.PIPE, text=True)
        doomed = threading.Thread(target=self._kill, args=(program, process, run, failing, after))
        doomed.start()
        output, _ = process.communicate(timeout=3600)
        doomed.join()
        if process.returncode != 0:
            sys.exit(f"{' '.join(map(str, command))}: failed")
        return {**json.loads(output.strip().splitlines()[-1]), "answers": answers(run)}

    def _kill(self, program, process, run, failing, after):
        left = {f"end-{i}" for i in range(1, failing + 1)}
        pids = {}
        while left and process.poll() is None:
            if not pids:
                pids = self._pids(program)
            done = [answer["node"] for answer in answers(run)]
            for name in [name for name in left if done.count(name) >= after and name in pids]:
                os.kill(pids[name], signal.SIGKILL)
                left.remove(name)
            time.sleep(0.05)
        if left:
            print(f"never killed, as they did not answer {after} tasks: {', '.join(sorted(left))}", file=sys.stderr)

    def _pids(self, program):
        status = subprocess.run([program, "testbed", "status", self.boards, "--json"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False)
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
