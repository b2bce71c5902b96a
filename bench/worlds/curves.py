"""Virtual time to an accuracy, against the number of devices, their rate and their delay."""
import concurrent.futures
import os

import figures as fig

BASE = {"devices": 10, "rate": 10, "delay": 50}
AXES = {"devices": ("devices", (5, 10, 20)), "rate": ("Mbit/s of each device", (1, 3, 10, 100)),
        "delay": ("ms, one way", (5, 50, 150, 300))}
GLOBAL_BATCH = 160  # of a step that all devices make together
EPOCHS = 8
TWO_STEP = ["--codec", "two_step(0.01)", "--downlink-codec", "two_step(0.05)"]


def world(point):
    return (f"coordinator:\n  up: 1gbit\n  down: 1gbit\ndevice:\n  count: {point['devices']}\n  flops: 4e9\n"
            f"  up: {point['rate']}mbit\n  down: {point['rate']}mbit\n  delay: {point['delay']}ms\n")


def in_step(devices):
    return ["--strategy", "parameter_server", "--batch", max(1, GLOBAL_BATCH // devices), "--learning-rate", 0.1]


# Name -> flags, by the number of devices.
METHODS = {
    "dense": in_step,
    "two_step": lambda devices: in_step(devices) + TWO_STEP,
    "local SGD + two_step": lambda devices: ["--strategy", "federated", "--local-epochs", 1, "--batch", 8, "--optimizer", "sgd",
                                             "--learning-rate", 0.1, "--outer-momentum", 0.7, "--codec", "two_step(0.1)",
                                             "--downlink-codec", "two_step(0.1)"],
}


def seconds_to(target, validations):
    """To the end of the first epoch whose validation has the accuracy; without one, None."""
    return min((line["train_seconds"] for line in validations if line["validation_accuracy"] >= target), default=None)


def points(quick):
    """Of every axis, the others at their base."""
    return [(axis, value, {**BASE, axis: value}) for axis, (_, values) in AXES.items() for value in (values[1:2] if quick else values)]


def measure(simulate, quick, plot_file):
    """The figures; draws them too. simulate: see measure.py."""
    images, target = (2000, 0.85) if quick else (6000, 0.95)
    job = f"train:\n  model: lenet\n  data: mnist\n  limit: {images}\n  epochs: {EPOCHS}\n  schedule: constant\n"

    def seconds(method, point):
        return seconds_to(target, simulate(world(point), job, *METHODS[method](point["devices"]))["validations"])

    known = {}  # the base is on every axis
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:  # a simulation takes one core
        for _, _, point in points(quick):
            for method in METHODS:
                key = (method, *point.values())
                if key not in known:
                    known[key] = pool.submit(seconds, method, point)
    figures, lines = [fig.figure("curves_target", [target], "share")], {}
    for axis, value, point in points(quick):
        for method in METHODS:
            took = known[(method, *point.values())].result()
            if took is None:
                continue
            name = method.replace(" + ", "_").replace(" ", "_")
            figures.append(fig.figure(f"seconds_to_target_{axis}_{value}_{name}", [took], "s", better="lower"))
            lines.setdefault((axis, method), []).append((value, took))
    draw(lines, f"virtual seconds to {100 * target:g} %", f"LeNet, {images:,} images of MNIST", plot_file)
    return figures


def draw(lines, to_target, what, plot_file):
    import matplotlib
    matplotlib.use("svg")
    from matplotlib import pyplot
    chart, panels = pyplot.subplots(1, len(AXES), figsize=(13, 4), sharey=True)
    for panel, (axis, (label, _)) in zip(panels, AXES.items()):
        for method in METHODS:
            panel.plot(*zip(*lines.get((axis, method), [(1, float("nan"))])), marker="o", label=method)
        panel.set(xscale="log", yscale="log", xlabel=label)
        panel.grid(True, which="both", alpha=0.3)
    panels[0].set_ylabel(to_target)
    panels[-1].legend()
    chart.suptitle(f"{what}; else {BASE['devices']} devices, {BASE['rate']} Mbit/s, {BASE['delay']} ms")
    chart.tight_layout()
    chart.savefig(plot_file)
    print(f"drawn: {plot_file}")
