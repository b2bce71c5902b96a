#!/usr/bin/env python3
"""Training and inference of the zoo's networks: ours against PyTorch in turn. Started by run.sh, which builds and installs."""
import dataclasses
import os
import pathlib
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import figures as fig  # noqa: E402

AREA = "engine"


@dataclasses.dataclass
class Case:
    """One network at one batch size. `network` is its name here and in bench/peers/torch_networks.py."""
    network: str
    model: str       # of the zoo
    sample: str      # its shape, C,H,W
    classes: int
    batch: int
    over_torch: float = None   # target: times PyTorch in its best setting
    resident: int = None       # target: MiB
    bare: str = None           # its name in the bare oneDNN program, if one is given

    def name(self, what, threads):
        return f"{what}_{self.network}_b{self.batch}_t{threads}"


TRAIN = [
    Case("mlp", "mlp-128-64", "1,28,28", 10, 64, 2.7, 20, "mlp"),
    Case("lenet", "lenet", "1,28,28", 10, 64, 1.4, 36, "lenet"),
    Case("resnet-32-b", "resnet-32-b", "3,32,32", 10, 32, 1.4, 80, "resnet32"),
    Case("resnet-32-b", "resnet-32-b", "3,32,32", 10, 128, 1.4, 250, "resnet32"),
    Case("resnet-110-b", "resnet-110-b", "3,32,32", 10, 32, 1.35, 220, "resnet110"),
    Case("mobilenetv2-96", "mobilenetv2", "3,96,96", 10, 32, 1.7, 300, "mbv2_96"),
    Case("mobilenetv2-224", "mobilenetv2", "3,224,224", 10, 8, 2.1, None, "mbv2_224"),
]
INFER = [case for network, model, sample, classes, single, batch, batched, bare in [
    ("mobilenet-0.5", "mobilenet-0.5", "3,32,32", 20, 4.5, 50, 1.55, "mbv1_05_32"),
    ("resnet-34-cifar", "resnet-34-cifar", "3,32,32", 10, 1.15, 50, 1.0, "resnet34"),
    ("resnet-34", "resnet-34", "3,32,32", 10, 1.9, 50, 1.0, "resnet34_7x7"),
    ("wrn-28-10", "wrn-28-10", "3,32,32", 10, 1.05, 8, 1.0, "wrn28_10"),
    ("mobilenetv2-224", "mobilenetv2", "3,224,224", 10, 1.4, 50, 2.1, "mbv2_224"),
] for case in (Case(network, model, sample, classes, 1, single, None, bare),
               Case(network, model, sample, classes, batch, batched, None, bare))]


# Training within a budget, beside the same without one, on as many threads as the machine has cores.
BUDGETS = [("resnet-110", "3,32,32", 10, 128, "256MB", 244), ("resnet-152", "3,224,224", 1000, 16, "1000MB", 953)]


def measure_budget(args, model, sample, classes, batch, budget, resident):
    name = f"budget_{model}_b{batch}_{budget}"
    command = [args.program, "train", model, "--sample-shape", sample, "--classes", classes, "--batch", batch,
               "--threads", os.cpu_count(), "--seconds", 0.3 if args.quick else 10]
    runs = fig.in_turn({"budget": [*command, "--memory", budget], "unlimited": command}, 1 if args.quick else 3)
    within, unlimited = runs["budget"], runs["unlimited"]
    peer = "without a budget"
    return [fig.figure(f"{name}_speed_over_unlimited", fig.ratios(speeds(within), speeds(unlimited)), "times", peer=peer,
                       peer_values=[1]),
            fig.figure(f"{name}_peak_resident", fig.column(within, "peak_resident_mib"), "MiB", target=resident,
                       better="lower", peer=peer, peer_values=fig.column(unlimited, "peak_resident_mib")),
            fig.figure(f"{name}_peak_over_predicted",
                       fig.ratios(fig.column(within, "peak_resident_mib"), fig.column(within, "predicted_peak_mib")),
                       "times", target=1.05, better="lower")]


def measure_startup(args, folder):
    """`mangrove predict` of one image, from its start to its end."""
    import numpy
    model, image = folder / "mobilenetv2-224.onnx", folder / "image.ppm"
    save = [args.program, "save", "mobilenetv2", "--sample-shape", "3,224,224", "--classes", 1000, "--out", model]
    subprocess.run([str(part) for part in save], check=True, stdout=subprocess.DEVNULL)
    image.write_bytes(b"P6 224 224 255\n" + numpy.random.default_rng(1).integers(0, 256, [224, 224, 3], "uint8").tobytes())
    milliseconds = []
    for _ in range(6 if args.quick else 41):
        start = time.perf_counter()
        subprocess.run([args.mangrove, "predict", model, "--input", image], check=True, stdout=subprocess.DEVNULL)
        milliseconds.append(1000 * (time.perf_counter() - start))
    return [fig.figure("startup_mobilenetv2-224", milliseconds[1:], "ms", target=150, better="lower")]


# In int8, beside itself in float32.
QUANTIZED = [Case("mobilenetv2-224", "mobilenetv2", "3,224,224", 10, 1), Case("mobilenetv2-224", "mobilenetv2", "3,224,224", 10, 8),
             Case("resnet-34", "resnet-34", "3,32,32", 10, 1), Case("resnet-34", "resnet-34", "3,32,32", 10, 50)]


# The backend for processors without AVX-512, beside oneDNN's and PyTorch, all limited to AVX2. The targets are for training.
SIMD = [(what, case) for what, batch in (("train", None), ("infer", 1)) for case in (
    Case("lenet", "lenet", "1,28,28", 10, batch or 64),
    Case("resnet-32-b", "resnet-32-b", "3,32,32", 10, batch or 32),
    Case("mobilenetv2-96", "mobilenetv2", "3,96,96", 10, batch or 32),
    Case("mobilenetv2-224", "mobilenetv2", "3,224,224", 10, batch or 8),
    Case("resnet-34", "resnet-34", "3,32,32", 10, batch or 16))]
AVX2 = ["env", "ONEDNN_MAX_CPU_ISA=AVX2", "DNNL_MAX_CPU_ISA=AVX2", "ATEN_CPU_CAPABILITY=avx2"]


def measure_simd(args, what, case, threads):
    rounds, seconds = (1, 0.3) if args.quick else (3, 3)
    every = commands(args, case, what, threads, seconds)
    ours = every.pop("mangrove")
    every.pop("bare oneDNN", None)
    runs = fig.in_turn({"simd": [*AVX2, *ours, "--backend", "simd"], "onednn": [*AVX2, *ours, "--backend", "onednn"],
                        **{peer: [*AVX2, *command] for peer, command in every.items()}}, rounds)
    name, simd, onednn = "simd_" + case.name(what, threads), speeds(runs["simd"]), speeds(runs["onednn"])
    torch = {peer: speeds(results) for peer, results in runs.items() if peer.startswith("PyTorch")}
    best = max(torch, key=lambda peer: sorted(torch[peer])[len(torch[peer]) // 2])
    trains = what == "train"
    return [fig.figure(f"{name}_images_per_s", simd, "images/s", peer="the backend onednn", peer_values=onednn, setting="AVX2"),
            fig.figure(f"{name}_speed_over_onednn", fig.ratios(simd, onednn), "times", target=0.9 if trains else None,
                       peer="the backend onednn", peer_values=[1], setting="AVX2"),
            fig.figure(f"{name}_speed_over_torch", fig.ratios(simd, torch[best]), "times", target=1.3 if trains else None,
                       peer=best, peer_values=[1], setting="AVX2")]


def commands(args, case, what, threads, seconds):
    """{name: command} of ours and of every peer."""
    timing = ["--batch", case.batch, "--threads", threads, "--seconds", seconds]
    torch = ["/usr/bin/python3", fig.ROOT / "bench" / "peers" / "torch_run.py", what, case.network, *timing]
    styles = ["eager", "channels_last"] if what == "train" else ["optimized", "channels_last"]
    runs = {"mangrove": [args.program, what, case.model, "--sample-shape", case.sample, "--classes", case.classes, *timing]}
    runs |= {f"PyTorch {style}": [*torch, "--style", style] for style in styles}
    if args.bare_onednn and case.bare:
        runs["bare oneDNN"] = [args.bare_onednn, "--what", what, "--model", case.bare, *timing]
    return runs


def speeds(results):
    return [result.get("images_per_s", result.get("img_s")) for result in results]


def measure(args, case, what, threads):
    rounds, seconds = (1, 0.3) if args.quick else (3, 3)
    runs = fig.in_turn(commands(args, case, what, threads, seconds), rounds)
    name, ours = case.name(what, threads), speeds(runs["mangrove"])
    torch = {peer: speeds(results) for peer, results in runs.items() if peer.startswith("PyTorch")}
    best = max(torch, key=lambda peer: sorted(torch[peer])[len(torch[peer]) // 2])
    figures = [fig.figure(f"{name}_images_per_s", ours, "images/s", peer=best, peer_values=torch[best]),
               fig.figure(f"{name}_speed_over_torch", fig.ratios(ours, torch[best]), "times", target=case.over_torch,
                          peer=best, peer_values=[1])]
    if "bare oneDNN" in runs:
        figures.append(fig.figure(f"{name}_speed_over_bare_onednn", fig.ratios(ours, speeds(runs["bare oneDNN"])), "times",
                                  target=0.97 if what == "train" else None, peer="bare oneDNN", peer_values=[1]))
    figures.append(fig.figure(f"{name}_peak_resident", fig.column(runs["mangrove"], "peak_resident_mib"), "MiB",
                              target=case.resident, better="lower", peer=best,
                              peer_values=fig.column(runs[best], "peak_resident_mib")))
    return figures


def with_best_batch(figures, case, smaller, threads):
    """A batch can be computed in smaller ones. So where PyTorch is faster with a smaller batch of the same network, the figures of
    `case` are compared with that setting. `figures`: those of both cases. The runs of two batches are not taken in turn."""
    by_name = {figure["name"]: figure for figure in figures}
    name, other = case.name("infer", threads), smaller.name("infer", threads)
    ours, best = by_name[f"{name}_images_per_s"], by_name[f"{other}_images_per_s"]
    if best["peer_value"] <= ours["peer_value"]:
        return figures
    setting = f"{best['peer']} with batch {smaller.batch}, its best"
    note = f"PyTorch reaches {ours['peer_value']:g} images/s with batch {case.batch}"
    target = by_name[f"{name}_speed_over_torch"]["target"]
    speed = fig.figure(f"{name}_speed_over_torch", [ours[key] / best["peer_value"] for key in ("low", "value", "high")], "times",
                       target=target, peer=setting, peer_values=[1], setting=f"not taken in turn; {note}")
    changed = {ours["name"]: {**ours, "peer": setting, "peer_value": best["peer_value"], "setting": note}, speed["name"]: speed,
               f"{name}_peak_resident": {**by_name[f"{name}_peak_resident"], "peer": setting,
                                         "peer_value": by_name[f"{other}_peak_resident"]["peer_value"]}}
    return [changed.get(figure["name"], figure) for figure in figures]


def quantized(args, case, folder):
    """The network as `mangrove quantize` makes it of the initial weights and random samples: speed does not depend on them."""
    made = folder / f"{case.network}-int8.onnx"
    if made.exists():
        return made
    import numpy
    shape = [int(size) for size in case.sample.split(",")]
    samples, original = folder / f"{case.network}.npy", folder / f"{case.network}.onnx"
    numpy.save(samples, numpy.random.default_rng(1).standard_normal([24, *shape]).astype("float32"))
    for command in ([args.program, "save", case.model, "--sample-shape", case.sample, "--classes", case.classes, "--out", original],
                    [args.mangrove, "quantize", original, "--calibrate", samples, "--samples", 16, "-o", made, "--quiet"]):
        subprocess.run([str(part) for part in command], check=True, stdout=subprocess.DEVNULL)
    return made


def measure_quantized(args, case, threads, folder):
    rounds, seconds = (1, 0.3) if args.quick else (3, 3)
    more = ["--sample-shape", case.sample, "--classes", case.classes, "--batch", case.batch, "--threads", threads, "--seconds", seconds]
    models = {"int8": quantized(args, case, folder), "float32": case.model}
    runs = fig.in_turn({name: [args.program, "infer", model, *more] for name, model in models.items()}, rounds)
    name, ours, floats = case.name("int8", threads), speeds(runs["int8"]), speeds(runs["float32"])
    return [fig.figure(f"{name}_images_per_s", ours, "images/s", peer="float32", peer_values=floats),
            fig.figure(f"{name}_speed_over_float32", fig.ratios(ours, floats), "times", target=1.0, peer="float32", peer_values=[1]),
            fig.figure(f"{name}_planned", fig.column(runs["int8"], "planned_mib"), "MiB", better="lower", peer="float32",
                       peer_values=fig.column(runs["float32"], "planned_mib"))]


# Quantized dynamically, beside itself in float32 and in ONNX Runtime.
DYNAMIC = [Case("resnet-18", "resnet-18", "3,224,224", 1000, 1, None), Case("mobilenetv2-224", "mobilenetv2", "3,224,224", 1000, 1, None)]


def measure_dynamic(args, case, threads, folder):
    """The network with its initial weights, as quantize_dynamically.py rewrites it."""
    original, made = folder / f"{case.network}-float.onnx", folder / f"{case.network}-dynamic.onnx"
    if not made.exists():
        save = [args.program, "save", case.model, "--sample-shape", case.sample, "--classes", case.classes, "--out", original]
        rewrite = ["/usr/bin/python3", fig.ROOT / "bench" / "engine" / "quantize_dynamically.py", original, made]
        for command in (save, rewrite):
            subprocess.run([str(part) for part in command], check=True, stdout=subprocess.DEVNULL)
    rounds, seconds = (1, 0.3) if args.quick else (3, 3)
    more = ["--sample-shape", case.sample, "--classes", case.classes, "--batch", case.batch, "--threads", threads, "--seconds", seconds]
    every = {"dynamic": [args.program, "infer", made, *more], "float32": [args.program, "infer", case.model, *more]}
    if args.onnx_runtime:
        every["ONNX Runtime"] = ["env", f"NODE_PATH={args.onnx_runtime}", "node", fig.ROOT / "bench" / "peers" / "ort_run.js", made,
                                 f"{case.batch},{case.sample}", threads, seconds]
    runs = fig.in_turn(every, rounds)
    name, ours = "int8_dynamic" + case.name("", threads), speeds(runs.pop("dynamic"))
    figures = [fig.figure(f"{name}_images_per_s", ours, "images/s", peer="float32", peer_values=speeds(runs["float32"]))]
    for peer, results in runs.items():
        target = 1.0 if peer == "ONNX Runtime" else None
        figures.append(fig.figure(f"{name}_speed_over_{peer.lower().replace(' ', '_')}", fig.ratios(ours, speeds(results)), "times",
                                  target=target, peer=peer, peer_values=[1]))
    return figures


def main():
    parser = fig.arguments(AREA, __doc__)
    parser.add_argument("program", help="bench_network")
    parser.add_argument("mangrove", help="makes int8 networks")
    parser.add_argument("--bare-onednn", type=pathlib.Path, metavar="PROGRAM",
                        help="also compare with a program of bare oneDNN calls that takes --what --model --batch --threads --seconds")
    parser.add_argument("--onnx-runtime", type=pathlib.Path, metavar="FOLDER",
                        help="also compare with ONNX Runtime: the node_modules in which npm installed onnxruntime-node")
    parser.add_argument("--only", default="", help="cases whose name contains this, e.g. train_resnet")
    parser.add_argument("--threads", type=int, nargs="+", default=None, help="default: 1 2; with --quick: 1")
    args = parser.parse_args()
    figures = []
    for threads in args.threads or ([1] if args.quick else [1, 2]):
        for what, cases in (("train", TRAIN), ("infer", INFER)):
            for case in cases:
                if args.only in case.name(what, threads):
                    figures += measure(args, case, what, threads)
        for what, case in SIMD:
            name = "simd_" + case.name(what, threads)
            if args.only in name and args.only[:4] in ("", "simd"):
                figures += measure_simd(args, what, case, threads)
        for single, batched in zip(INFER[::2], INFER[1::2]):
            if all(args.only in case.name("infer", threads) for case in (single, batched)):
                figures = with_best_batch(figures, batched, single, threads)
        with tempfile.TemporaryDirectory() as folder:
            for case in QUANTIZED:
                if args.only in case.name("int8", threads):
                    figures += measure_quantized(args, case, threads, pathlib.Path(folder))
            for case in DYNAMIC:
                if args.only in "int8_dynamic" + case.name("", threads):
                    figures += measure_dynamic(args, case, threads, pathlib.Path(folder))
    if args.only in "startup":
        with tempfile.TemporaryDirectory() as folder:
            figures += measure_startup(args, pathlib.Path(folder))
    for budget in BUDGETS:
        if args.only in f"budget_{budget[0]}":
            figures += measure_budget(args, *budget)
    fig.publish(AREA, args.quick, figures, args.out)


main()
