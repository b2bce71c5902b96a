#!/usr/bin/env python3
"""Compares what pages repeat with what the program says:  check_lists.py MANGROVE

Every command of `mangrove --help` is shown on some page. docs/json.md has a section for each command with --json, and
each of them is run here: every key of the JSON that it prints, and that it writes to metrics.jsonl, stands in
backquotes in its section, or in one to which this section links.
"""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
EXAMPLES = ROOT / "examples"
WAIT_S = 120
SAMPLES = ["--data", "glyphs", "--limit", "512", "--local", "2"]
TRAIN = ["--model", "lenet", *SAMPLES]
NETWORK = ["--model", "run/model.onnx", "--data", "glyphs", "--limit", "200"]
PLAN = ["plan", "--model", "lenet", "--profile", "lenet.yaml", "--devices", str(EXAMPLES / "plan" / "boards.yaml")]
SIM = ["sim", str(EXAMPLES / "worlds" / "boards.yaml"), str(EXAMPLES / "worlds" / "job.yaml"), "--limit", "256"]
# In their order, in one folder.
RUNS = [
    ["train", *TRAIN, "--run-dir", "run"],
    ["train", *TRAIN, "--strategy", "federated", "--codec", "int8", "--run-dir", "federated"],
    ["train", *TRAIN, "--privacy", "epsilon=8,delta=0.001", "--run-dir", "private"],
    ["train", *TRAIN, "--strategy", "one_f_one_b", "--batch", "32", "--run-dir", "pipeline"],
    ["train", "--model", "branchy-lenet", *SAMPLES, "--run-dir", "branchy"],
    ["eval", "--model", "run/model.onnx", "--data", "glyphs"],
    ["tune-exits", "branchy/model.onnx", "--data", "glyphs,validation=0.1", "--target", "traffic(6KB)", "-o",
     "tuned.onnx"],
    ["eval", "--model", "tuned.onnx", "--data", "glyphs"],
    ["infer", *NETWORK, "--local", "2", "--stages", "2", "--run-dir", "infer"],
    ["infer", *NETWORK, "--local", "2", "--strategy", "single", "--run-dir", "single"],
    ["infer", "--tiers", str(ROOT / "tests" / "data" / "tiers.yaml"), "--data", "glyphs", "--limit", "200", "--run-dir",
     "tiers"],
    ["run", "job.yaml", "--run-dir", "all"],
    ["data", "make", "images", "--data", "glyphs", "--to", "digits", "--limit", "10"],
    ["predict", "run/model.onnx", "--input", "digits/test/0"],
    ["predict", "tuned.onnx", "--input", "digits/test/0"],
    ["privacy", "--model", "run/model.onnx", "--data", "glyphs", "--cuts", "pool1", "--steps", "2", "--images", "16",
     "--grid", "grid.png"],
    ["quantize", "run/model.onnx", "--calibrate", "glyphs", "--samples", "32", "-o", "int8.onnx"],
    ["compress", "run/model.onnx", "--data", "glyphs", "--limit", "256", "--recipe", "deep_compression"],
    ["bench", "--seconds", "4", "--output", "bench.json"],
    ["profile", "lenet", "--output", "lenet.yaml"],
    PLAN,
    [*PLAN, "--tiles"],
    ["place", str(EXAMPLES / "placement" / "tomato-farm.yaml"), "--compare"],
    [*SIM, "--run-dir", "sim"],
    ["report", "run"],
    ["model", "list"],
    ["model", "show", "lenet", "--train"],
    ["model", "show", "lenet", "--dot"],
    ["model", "export", "lenet", "--output", "lenet.onnx"],
    ["data", "make", "sensors", "--to", "motion.csv"],
    ["data", "list"],
    ["data", "info", "glyphs"],
    ["data", "info", "leaves"],
    ["data", "pack", "glyphs", "--out", "shards"],
    ["strategies"],
]
JOB = "data: glyphs\nlimit: 128\ntrain:\n  model: lenet\neval: {}\ninfer:\n  strategy: single\n"
# An image a task, and 64 of them on their way: it takes a quarter of a minute.
SLOW_TIERS = "end:\n  model: mlp-32\nedge:\n  model: mlp-32\nend - edge:\n  delay: 500ms\n"
SENSORS = "gate:\n  kind: coap\n  url: coap://127.0.0.1:0/gate\n  payload: image\n"


def wait_until(condition, what):
    deadline = time.monotonic() + WAIT_S
    while not condition():
        if time.monotonic() > deadline:
            sys.exit(f"waited {WAIT_S} s until {what}")
        time.sleep(0.1)


class Started:
    """A command that runs in the background until it is stopped."""

    def __init__(self, words, folder, number, environment):
        self.words, self.out, self.err = words, folder / f"{number}.out", folder / f"{number}.err"
        with self.out.open("w") as out, self.err.open("w") as err:
            self.process = subprocess.Popen(words, cwd=folder, env=environment, stdout=out, stderr=err)

    def text(self):
        return self.out.read_text() + self.err.read_text()

    def wait_for(self, pattern):
        """The first group of what it says."""
        wait_until(lambda: self.process.poll() is not None or re.search(pattern, self.text()), f"'{pattern}' is said")
        if found := re.search(pattern, self.text()):
            return found[1]
        sys.exit(f"{' '.join(self.words[:3])} has ended without '{pattern}':\n{self.text()[-1000:]}")

    def stop(self):
        """What it has printed on standard output."""
        self.process.terminate()
        try:
            self.process.wait(WAIT_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise
        return self.out.read_text()


class Session:
    """Commands that are run in one folder, and what they print."""

    def __init__(self, program, folder):
        self.program, self.folder, self.started = program, folder, []
        self.results = []  # the words of a command, and its JSON
        self.environment = {**os.environ, "HOME": str(folder), "XDG_CONFIG_HOME": str(folder / "config"),
                            "XDG_STATE_HOME": str(folder / "state")}

    def call(self, *words, statuses=(0,), **environment):
        done = subprocess.run([self.program, *words], cwd=self.folder, env={**self.environment, **environment},
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=300, check=False)
        if done.returncode not in statuses:
            sys.exit(f"mangrove {' '.join(words)}: exit status {done.returncode}\n{done.stderr[-1000:]}")
        return done.stdout

    def run(self, *words, **more):
        result = json.loads(self.call(*words, "--json", "--quiet", **more))
        self.results.append((words, result))
        return result

    def start(self, *words, **environment):
        self.started.append(Started([self.program, *words], self.folder, len(self.started),
                                    {**self.environment, **environment}))
        return self.started[-1]

    def write(self, name, text):
        (self.folder / name).write_text(text)
        (self.folder / name).chmod(0o600)

    def end(self):
        for one in reversed(self.started):
            one.stop()


def run_alone(session):
    session.write("job.yaml", JOB)
    session.call("data", "register", "mine", "job.yaml")
    for words in RUNS:
        session.run(*words)
    session.run("doctor", statuses=(0, 1))  # 1: something of this machine is broken


def run_testbed(session):
    session.write("boards.yaml", "pi:\n  count: 1\n")
    session.start("testbed", "up", "boards.yaml", "--no-limits").wait_for(r"testbed ready on (\S+)")
    session.run("testbed", "status", "boards.yaml")


def run_cluster(session):
    coordinator = session.start("coordinator", "--state", "jobs", "--listen", "127.0.0.1:0",
                                MANGROVE_HEALTH_FILE="health")
    where = ["--coordinator", coordinator.wait_for(r"ready on (\S+)")]
    for name in ("ann", "ben"):
        session.start("node", *where, "--name", name, "--threads", "1").wait_for(r"ready on (\S+)")
    invited = session.run("invite", "--role", "client", "--name", "cat", *where)
    session.run("join", invited["join_string"], XDG_CONFIG_HOME=str(session.folder / "cat"))
    session.run("nodes", *where)
    session.run("health", "--file", "health")

    session.run("train", "--model", "lenet", "--data", "glyphs", "--limit", "128", "--run-dir", "cluster", *where)
    session.run("model", "verify", "cluster/model.onnx")
    session.run("job", "follow", session.run("jobs", *where)["jobs"][0]["id"], "--run-dir", "followed", *where)
    session.write("slow.yaml", SLOW_TIERS)
    session.start("infer", "--tiers", "slow.yaml", "--data", "glyphs", "--limit", "4000", "--micro-batch", "1",
                  "--scheduler", "end-edge", "--run-dir", "slow", *where)
    wait_until((session.folder / "slow" / "metrics.jsonl").exists, "the job with tiers writes metrics.jsonl")
    session.run("switch", "--scheduler", "end", *where)
    job = session.run("top", *where)["jobs"][0]["id"]
    for action in ("show", "logs", "stop"):
        session.run("job", action, job, *where)
    session.run("members", *where)
    session.run("revoke", "cat", *where)
    session.run("ca", "rotate", *where)


def run_server(session):
    session.write("tokens", "admin fedcba9876543210\n")
    session.write("token", "fedcba9876543210\n")
    session.write("sensors.yaml", SENSORS)
    words = ["serve", "digits", "--model", "run/model.onnx", "--listen", "127.0.0.1:0", "--grpc", "", "--token-file",
             "tokens", "--sources", "sensors.yaml", "--json"]
    server = session.start(*words)
    where = ["--url", server.wait_for(r"serving on (\S+)"), "--token-file", "token"]
    session.run("infer", "--data", "glyphs", "--limit", "200", *where)
    session.run("service", "list", *where)
    session.run("service", "update", "digits", "--model", "federated/model.onnx", *where)
    session.run("service", "show", "digits", *where)
    session.run("service", "stop", "digits", *where)
    session.results.append((words, json.loads(server.stop())))


def keys_of(value):
    """All keys in it; those of objects that map names (of nodes, classes, peers) to something are left out."""
    if isinstance(value, list):
        return set().union(*map(keys_of, value)) if value else set()
    if not isinstance(value, dict):
        return set()
    return {key for key in value if re.fullmatch(r"[a-z][a-z0-9]*(_[a-z0-9]+)*", key)} | keys_of(list(value.values()))


class JsonPage:
    """docs/json.md: the keys that its sections name."""

    def __init__(self):
        parts = re.split(r"^## (.+)\n", (ROOT / "docs" / "json.md").read_text(), flags=re.MULTILINE)
        self.sections = dict(zip(parts[1::2], parts[2::2]))
        anchors = {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-"): heading for heading in self.sections}
        self.links = {heading: {anchors[anchor] for anchor in re.findall(r"\]\(#([^)]+)\)", text) if anchor in anchors}
                      for heading, text in self.sections.items()}

    def headings(self, words):
        """Of the sections of a command, `mangrove job show|stop JOB --json` for example; those of the longest name."""
        found = {}
        for heading in self.sections:
            for call in re.findall(r"`([^`]+)`", heading):
                names = [word.split("|") for word in call.removeprefix("mangrove ").split() if re.match(r"[a-z]", word)]
                flags = {word for word in call.split() if word.startswith("--")}
                is_named = all(word in some for word, some in zip(words, names))
                if is_named and "--json" in flags and flags <= {*words, "--json"}:
                    found.setdefault(len(flags), set()).add(heading)
        return found[max(found)] if found else set()

    def keys(self, headings):
        """Of these sections and those to which they link."""
        todo, seen = set(headings), set()
        while todo:
            heading = todo.pop()
            seen.add(heading)
            todo |= self.links[heading] - seen
        quoted = re.findall(r"`([^`]+)`", " ".join(self.sections[heading] for heading in seen))
        return set(re.findall(r"[a-z][a-z0-9_]*", " ".join(quoted)))


def undocumented_keys(page, session):
    missing = {}
    for words, result in session.results:
        name = f"mangrove {' '.join(words[:2])}"
        for key in keys_of(result) - page.keys(page.headings(words)):
            missing.setdefault(key, name)
    for metrics in sorted(session.folder.glob("*/metrics.jsonl")):
        lines = [json.loads(line) for line in metrics.read_text().splitlines()]
        for key in keys_of(lines) - page.keys(["`metrics.jsonl`"]):
            missing.setdefault(key, f"metrics.jsonl of {metrics.parent.name}")
    return [f"docs/json.md: no key `{key}`, which {where} has" for key, where in sorted(missing.items())]


def help_of(program, *words):
    done = subprocess.run([program, *words, "--help"], stdout=subprocess.PIPE, text=True, timeout=WAIT_S, check=True)
    return done.stdout


def commands(program, *words):
    """The names of the commands below this one."""
    listed = re.search(r"^Subcommands:\n(.*?)(\n\n|\Z)", help_of(program, *words), re.MULTILINE | re.DOTALL)
    return re.findall(r"^  ([a-z][a-z-]*) ", listed[1], re.MULTILINE) if listed else []


def commands_with_json(program, *words):
    below = [name for name in commands(program, *words) if name != "help"]
    if not below:
        return [words] if re.search(r"^  --json\b", help_of(program, *words), re.MULTILINE) else []
    return [found for name in below for found in commands_with_json(program, *words, name)]


def commands_without_page(program):
    pages = " ".join(page.read_text() for page in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))])
    return [f"docs: no page shows `mangrove {command}`" for command in commands(program)
            if not re.search(rf"mangrove {command}\b", pages)]


def commands_not_compared(program, page, session):
    ran = [words for words, _ in session.results]
    wrong = []
    for command in commands_with_json(program):
        name = f"mangrove {' '.join(command)} --json"
        if not page.headings(command):
            wrong.append(f"docs/json.md: no section of `{name}`")
        if not any(tuple(words[:len(command)]) == command for words in ran):
            wrong.append(f"tests/docs/check_lists.py: nothing runs `{name}`")
    return wrong


def main():
    program = str(pathlib.Path(sys.argv[1]).resolve())
    page = JsonPage()
    wrong = commands_without_page(program)
    with tempfile.TemporaryDirectory() as folder:
        session = Session(program, pathlib.Path(folder))
        try:
            for part in (run_alone, run_testbed, run_cluster, run_server):
                part(session)
        finally:
            session.end()
        wrong += commands_not_compared(program, page, session) + undocumented_keys(page, session)
    print("\n".join(wrong), end="\n" if wrong else "")
    sys.exit(bool(wrong))


main()
