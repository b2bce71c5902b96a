#!/usr/bin/python3
"""Checks docs/job.schema.json as an editor would use it: job files that the program takes fit it, and mistakes do not.

    check_schema.py MANGROVE
"""
import copy
import json
import pathlib
import subprocess
import sys
import tempfile

import jsonschema
import yaml

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
SECTIONS = ("train", "eval", "infer")
# What the schema has to refuse, put into examples/lenet-mnist.yaml; the program refuses each as well.
MISTAKES = {
    "an unknown key": ("train", "epoch", 1),
    "an unknown key before the sections": (None, "modle", "lenet"),
    "a text for a whole number": ("train", "epochs", "many"),
    "a number out of its range": ("train", "batch", 0),
    "a fraction for a whole number": ("infer", "stages", 1.5),
    "a name that is in no table": ("train", "strategy", "alreduce"),
    "a number for a switch": ("train", "insecure", 2),
}
# What it has to take.
VARIANTS = {
    "a time": ("train", "step_timeout", "30s"),
    "a method with an option": ("train", "aggregate", "trimmed_mean(1)"),
    "a text that YAML takes for a number": ("train", "codec", 0.5),
    "a section with the defaults alone": (None, "eval", None),
}


def changed(job, section, key, value):
    job = copy.deepcopy(job)
    (job if section is None else job[section])[key] = value
    return job


def refused_by_program(mangrove, job):
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "job.yaml"
        path.write_text(yaml.safe_dump(job, sort_keys=False))
        done = subprocess.run([mangrove, "run", path, "--run-dir", folder + "/run"], capture_output=True, text=True, timeout=120)
        return done.returncode == 2


def main():
    mangrove = sys.argv[1]
    schema = json.loads((ROOT / "docs" / "job.schema.json").read_text())
    jsonschema.Draft7Validator.check_schema(schema)
    validator = jsonschema.Draft7Validator(schema)
    problems = []
    jobs = {path: yaml.safe_load(path.read_text()) for path in sorted((ROOT / "examples").glob("*.yaml"))}
    jobs = {path: job for path, job in jobs.items() if any(section in job for section in SECTIONS)}
    if len(jobs) < 3:
        problems.append(f"only {len(jobs)} job files in examples")
    for path, job in jobs.items():
        problems += [f"{path.name}: {error.message}" for error in validator.iter_errors(job)]
    example = jobs[ROOT / "examples" / "lenet-mnist.yaml"]
    for what, (section, key, value) in VARIANTS.items():
        problems += [f"{what}: {error.message}" for error in validator.iter_errors(changed(example, section, key, value))]
    for what, (section, key, value) in MISTAKES.items():
        job = changed(example, section, key, value)
        if validator.is_valid(job):
            problems.append(f"the schema takes {what}")
        if not refused_by_program(mangrove, job):
            problems.append(f"the program takes {what}")
    print("\n".join(problems) or f"{len(jobs)} job files fit the schema, {len(MISTAKES)} mistakes do not")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
