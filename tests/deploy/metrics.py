#!/usr/bin/env python3
"""Compares what deploy/prometheus and deploy/grafana read with what the program exports:  metrics.py

Every metric that an alert or a panel names is exported under this name, and with these labels.
"""
import json
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
SOURCE = ROOT / "mangrove" / "dashboard" / "cluster_metrics.cc"
OWN_LABELS = {"mangrove_nodes": "state", "mangrove_jobs": "state", "mangrove_refused_total": "reason"}


def expressions():
    """(where, expression of Prometheus) of all alerts and panels."""
    alerts = (ROOT / "deploy" / "prometheus" / "alerts.yaml").read_text()
    for expression in re.findall(r"^ *expr: (.+)$", alerts, re.MULTILINE):
        yield "alerts.yaml", expression
    for file in sorted((ROOT / "deploy" / "grafana").glob("*.json")):
        board = json.loads(file.read_text())
        for panel in board["panels"]:
            for target in panel["targets"]:
                yield f"{file.name}, {panel['title']}", target["expr"]
        for variable in board["templating"]["list"]:
            if variable["type"] == "query":
                yield f"{file.name}, {variable['name']}", variable["query"]["query"]


def main():
    exported = set(re.findall(r'"(mangrove_[a-z_]+)"', SOURCE.read_text()))
    problems, count = [], 0
    for where, expression in expressions():
        for name, labels in re.findall(r"(mangrove_[a-z_]+)(?:\{([^}]*)\})?", expression):
            count += 1
            if name not in exported:
                problems.append(f"{where}: {name} is not exported")
            for label in re.findall(r'([a-z_]+)=~?"', labels):
                if label != OWN_LABELS.get(name, "node"):
                    problems.append(f"{where}: {name} has no label {label}")
    if count < 10 or not exported:
        problems.append(f"only {count} metrics found, {len(exported)} exported: does this test look in the right files?")
    sys.exit("\n".join(problems) if problems else 0)


if __name__ == "__main__":
    main()
