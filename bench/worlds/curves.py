"""Virtual time to an accuracy, against the number of devices, their rate and their delay."""
import figures as fig

GOAL = 0.97
BASE = {"devices": 10, "rate": 10, "delay": 50}
AXES = {"devices": ("devices", (5, 10, 20)), "rate": ("Mbit/s of each device", (1, 3, 10, 100)),
        "delay": ("ms, one way", (5, 50, 150, 300))}
GLOBAL_BATCH = 160  # of a step that all devices make together
LIMIT, EPOCHS = 12000, 5
TWO_STEP = ["--codec", "two_step(0.01)", "--codec-pull", "two_step(0.05)"]


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
                                             "--codec-pull", "two_step(0.1)"],
}


def seconds_to(goal, validations):
    """To the end of the first epoch whose validation has the accuracy; without one, None."""
    return min((line["train_seconds"] for line in validations if line["validation_accuracy"] >= goal), default=None)


def measure(simulate, quick, plot_file):
    """The figures; draws them too. simulate: see measure.py."""
    job = f"train:\n  model: lenet\n  data: mnist\n  limit: {LIMIT}\n  epochs: {EPOCHS}\n  schedule: constant\n"
    known, figures, lines = {}, [], {}
    for axis, (_, values) in AXES.items():
        for value in values[1:3] if quick else values:
            point = {**BASE, axis: value}
            for method, flags in METHODS.items():
                key = (method, *point.values())
                if key not in known:
                    known[key] = seconds_to(GOAL, simulate(world(point), job, *flags(point["devices"]))["validations"])
                if known[key] is None:
                    continue
                name = method.replace(" + ", "_").replace(" ", "_")
                figures.append(fig.figure(f"seconds_to_97_{axis}_{value}_{name}", [known[key]], "s", better="lower"))
                lines.setdefault((axis, method), []).append((value, known[key]))
    draw(lines, plot_file)
    return figures


def draw(lines, plot_file):
    import matplotlib
    matplotlib.use("svg")
    from matplotlib import pyplot
    chart, panels = pyplot.subplots(1, len(AXES), figsize=(13, 4), sharey=True)
    for panel, (axis, (label, _)) in zip(panels, AXES.items()):
        for method in METHODS:
            panel.plot(*zip(*lines.get((axis, method), [(1, float("nan"))])), marker="o", label=method)
        panel.set(xscale="log", yscale="log", xlabel=label)
        panel.grid(True, which="both", alpha=0.3)
    panels[0].set_ylabel(f"virtual seconds to {100 * GOAL:g} %")
    panels[-1].legend()
    chart.suptitle(f"LeNet, {LIMIT:,} images of MNIST; else {BASE['devices']} devices, {BASE['rate']} Mbit/s, {BASE['delay']} ms")
    chart.tight_layout()
    chart.savefig(plot_file)
    print(f"drawn: {plot_file}")
