#!/usr/bin/env python3
"""Runs the commands of a page, in their order, in one temporary folder:  run_commands.py MANGROVE PAGE.md

What a page may say:

    ```sh                                    a block of commands, run by bash as it stands; it must end with status 0
    <!-- not run: needs three boards -->     before such a block: it is not run, for this reason
    <!-- fails: the model is missing -->     before such a block: its last command must fail

So that a page takes seconds, `mangrove` in these blocks is a wrapper that makes the work smaller, as SMALLER says: data sets
that the program draws itself, few samples, one epoch. Of every `mangrove ...` that a page mentions, run or not, the command and
its flags must be in `mangrove COMMAND --help`; every file of ours that is named must exist. Free ports take the place of those in ADDRESSES. Blocks without a language hold output, and may not begin with a command.
"""
import os
import pathlib
import re
import shlex
import signal
import socket
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BLOCK_TIMEOUT_S = 120
PROSE_WIDTH = 120
ADDRESSES = ("127.0.0.1:7070", "127.0.0.1:8000", "127.0.0.1:8001")
NAMESPACE = ("-n", "--namespace")  # of Kubernetes: the word behind is no program
GENERATED = ("figures.md", "operators.md", "jobs.md")  # their lines are as wide as their generators make them

# Data sets that need a download are replaced by ones that the program draws; of sizes, the smaller one counts.
DRAWN = {"mnist": "glyphs", "cifar10": "leaves", "cifar100": "leaves", "cifar100,labels=coarse": "leaves,labels=coarse"}
AT_MOST = {"--epochs": 1, "--limit": 400, "--batch": 32, "--local": 8}
LIMITED = {"train": 400, "compress": 400, "infer": 200, "run": 400, "sim": 400}


def strategies_of(command):
    """The names in the command's list of strategies."""
    rows = ROOT / "mangrove" / command / "rows.h"
    listed = re.search(r"#define MG_\w+_STRATEGIES((?:.*\\\n)*.*)", rows.read_text() if rows.exists() else "")
    return re.findall(r"\w+", listed[1]) if listed else []


def smaller(arguments):
    """The same command with less to do."""
    arguments = list(arguments)
    for i, argument in enumerate(arguments[:-1]):
        value = arguments[i + 1]
        if argument in ("--data", "--calibrate") and value in DRAWN:
            arguments[i + 1] = DRAWN[value]
        if argument in AT_MOST and value.isdigit():
            arguments[i + 1] = str(min(int(value), AT_MOST[argument]))
    command = arguments[0] if arguments else ""
    if command in LIMITED and "--limit" not in arguments and "--help" not in arguments and "--resume" not in arguments:
        arguments += ["--limit", str(LIMITED[command])]
    return arguments


class Page:
    def __init__(self, program, path):
        self.program, self.path, self.failures, self.helps, self.sessions = program, path, [], {}, []
        probes = [socket.socket() for _ in ADDRESSES]  # all at once, so that they differ
        for probe in probes:
            probe.bind(("127.0.0.1", 0))
        self.addresses = {address: f"127.0.0.1:{probe.getsockname()[1]}" for address, probe in zip(ADDRESSES, probes)}
        for probe in probes:
            probe.close()

    def fail(self, line, what):
        self.failures.append(f"{self.path.relative_to(ROOT)}:{line}: {what}")

    def blocks(self):
        """(line, language, marker or None, text) of each fenced block."""
        lines = self.path.read_text().splitlines()
        start = language = None
        for number, line in enumerate(lines, 1):
            fence = re.match(r"^( *)```(\w*)\s*$", line)
            if not fence:
                continue
            if start is None:
                start, language = number, fence[2]
                before = next((text for text in reversed(lines[:number - 1]) if text.strip()), "")
                marker = re.match(r"\s*<!-- (not run|fails): (.+) -->$", before)
            else:
                yield start, language, marker[1] if marker else None, "\n".join(lines[start:number - 1])
                start = None

    def flags_of(self, command):
        """None where there is no such command. Flags of one strategy alone are in `--help STRATEGY`."""
        if command not in self.helps:
            text = self.help_of(command)
            usage = re.search(r"^Usage: mangrove +(.*)$", text, re.MULTILINE)
            for strategy in strategies_of(command[0]) if len(command) == 1 else []:
                text += self.help_of(command, strategy)
            words = re.findall(r"(?<!\S)-{1,2}[a-z][a-z0-9-]*", re.sub(r"[,/\[\]|]", " ", text))
            self.helps[command] = set(words) if usage and usage[1].startswith(" ".join(command)) else None
        return self.helps[command]

    def help_of(self, command, *strategy):
        done = subprocess.run([self.program, *command, "--help", *strategy], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              check=False)
        return done.stdout if done.returncode == 0 else ""

    def check_call(self, line, text):
        """Of `mangrove a b --c`: that the command and its flags exist."""
        try:
            words = shlex.split(text, comments=True)
        except ValueError:
            words = text.split()
        calls = [i for i, word in enumerate(words) if word == "mangrove" and words[max(i - 1, 0)] not in NAMESPACE]
        if not calls:
            return
        words = words[calls[0] + 1:]
        ends = [i for i, word in enumerate(words) if re.fullmatch(r"[|>&;]+|\d?>.*", word)]
        words = words[:ends[0]] if ends else words
        if not words or words[0] == "help" or not re.fullmatch(r"[a-z][a-z-]*", words[0]):
            return
        command = tuple(words[:1])
        flags = self.flags_of(command)
        for length in (2, 3):  # of commands within commands: mangrove data make images
            longer = tuple(words[:length])
            if len(longer) == length and re.fullmatch(r"[a-z]+", longer[-1]) and self.flags_of(longer) is not None:
                command, flags = longer, self.flags_of(longer)
        if flags is None:
            self.fail(line, f"no command '{words[0]}': {text}")
            return
        for word in words[1:]:
            flag = re.match(r"--[a-z][a-z-]*", word)
            if flag and flag[0] not in flags and flag[0] not in ("--help", "--json"):
                self.fail(line, f"no flag {flag[0]} of '{' '.join(command)}': {text}")

    def check_mentions(self):
        inside = False
        for number, line in enumerate(self.path.read_text().splitlines(), 1):
            if re.match(r"^ *```", line):
                inside = not inside
            elif not inside:
                for code in re.findall(r"`(mangrove [^`]+)`", line):
                    self.check_call(number, code)
                for file in re.findall(r"`((?:mangrove|tests|bench|scripts|examples)/[\w/.-]+)`", line):
                    if not re.search("[A-Z]{2}", file) and not (ROOT / file).exists() and not list(ROOT.glob(file + ".*")) and not self.path.name.startswith("adding-"):
                        self.fail(number, f"no file {file}")
                is_prose = not line.lstrip().startswith("|") and "](http" not in line and "<!--" not in line
                if is_prose and len(line) > PROSE_WIDTH and self.path.name not in GENERATED:
                    self.fail(number, f"a line of {len(line)} characters; at most {PROSE_WIDTH}")

    def check_block(self, line, language, text):
        for offset, call in enumerate(text.replace("\\\n", "  ").splitlines(), 1):
            if language == "sh":
                self.check_call(line + offset, call)
            elif not language and re.match(r"(mangrove [a-z]|\./run\.sh|\./test\.sh|scripts/)", call):
                self.fail(line + offset, f"a command in a block that is not marked as sh: {call}")
                return

    def run(self, folder, line, marker, text):
        environment = {**os.environ, "PATH": f"{folder}/bin:{os.environ['PATH']}", "HOME": f"{folder}/home", "TERM": "dumb",
                       "MANGROVE_DATA": f"{folder}/data", "XDG_CONFIG_HOME": f"{folder}/home/.config",
                       "XDG_STATE_HOME": f"{folder}/home/.local/state"}
        for address, free in self.addresses.items():
            text = text.replace(address, free)
        shell = subprocess.Popen(["bash", "-euo", "pipefail", "-c", text], cwd=folder / "work", env=environment, text=True, stdin=subprocess.DEVNULL,
                                 stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True)
        self.sessions.append(shell.pid)
        try:
            output, _ = shell.communicate(timeout=BLOCK_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            os.killpg(shell.pid, signal.SIGKILL)
            self.fail(line, f"took more than {BLOCK_TIMEOUT_S} s:\n{text}")
            return
        if (shell.returncode != 0) != (marker == "fails"):
            self.fail(line, f"exit status {shell.returncode} of\n{text}\n{output[-2000:]}")

    def check(self):
        self.check_mentions()
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            prepare(folder, self.program)
            for line, language, marker, text in self.blocks():
                self.check_block(line, language, text)
                if language == "sh" and marker != "not run":
                    self.run(folder, line, marker, text)
            for session in self.sessions:  # what a block left running
                try:
                    os.killpg(session, signal.SIGTERM)
                except ProcessLookupError:
                    pass
        return self.failures


def prepare(folder, program):
    """The working folder of a page, with the repository's examples, and the wrapper of mangrove."""
    for name in ("bin", "work", "data", "home"):
        (folder / name).mkdir()
    (folder / "work" / "examples").symlink_to(ROOT / "examples")
    wrapper = folder / "bin" / "mangrove"
    wrapper.write_text(f"#!/bin/sh\nexec {sys.executable} {pathlib.Path(__file__).resolve()} --smaller {program} \"$@\"\n")
    wrapper.chmod(0o755)


def main():
    if sys.argv[1] == "--smaller":
        os.execv(sys.argv[2], ["mangrove", *smaller(sys.argv[3:])])
    failures = Page(str(pathlib.Path(sys.argv[1]).resolve()), pathlib.Path(sys.argv[2]).resolve()).check()
    print("\n".join(failures), end="\n" if failures else "")
    sys.exit(bool(failures))


main()
