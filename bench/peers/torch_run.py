#!/usr/bin/env python3
"""One network of torch_networks.py, trained or run in PyTorch: the peer of bench_network. Random data in memory, the same
four batches again and again; training is forward, cross entropy, backward and SGD with momentum.

  torch_run.py train|infer NETWORK [--batch 64] [--threads 1] [--seconds 5] [--style eager|channels_last|optimized]

`eager` is PyTorch as people run it; `optimized` (inference only) is script, freeze and optimize_for_inference. Prints one
line of JSON with bench_network's keys.
"""
import argparse
import json
import os
import time

parser = argparse.ArgumentParser()
parser.add_argument("what", choices=["train", "infer"])
parser.add_argument("network")
parser.add_argument("--batch", type=int, default=64)
parser.add_argument("--threads", type=int, default=1)
parser.add_argument("--seconds", type=float, default=5)
parser.add_argument("--style", choices=["eager", "channels_last", "optimized"], default="eager")
args = parser.parse_args()
for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = str(args.threads)

import torch  # noqa: E402: after the thread counts

from torch_networks import NETWORKS  # noqa: E402

BATCHES = 4
WARM_UP_SECONDS = 1.0


def peak_resident_mib():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) / 1024 for line in status if line.startswith("VmHWM:"))


torch.set_num_threads(args.threads)
torch.manual_seed(1)
make, shape, classes = NETWORKS[args.network]
model = make()
model.train(args.what == "train")
images = [torch.randn(args.batch, *shape) for _ in range(BATCHES)]
labels = [torch.randint(0, classes, (args.batch,)) for _ in range(BATCHES)]
if args.style == "channels_last":
    model = model.to(memory_format=torch.channels_last)
    images = [image.to(memory_format=torch.channels_last) for image in images]
if args.style == "optimized":
    with torch.no_grad():
        model = torch.jit.optimize_for_inference(torch.jit.freeze(torch.jit.script(model)))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9) if args.what == "train" else None


def train(i):
    optimizer.zero_grad(set_to_none=True)
    loss = torch.nn.functional.cross_entropy(model(images[i % BATCHES]), labels[i % BATCHES])
    loss.backward()
    optimizer.step()


def infer(i):
    with torch.no_grad():
        model(images[i % BATCHES])


step = train if args.what == "train" else infer
times = []
start = time.perf_counter() + WARM_UP_SECONDS
before = time.perf_counter()
i = 0
while before < start + args.seconds or len(times) < 5:
    step(i)
    i += 1
    after = time.perf_counter()
    if before >= start:
        times.append(after - before)
    before = after
times.sort()


def quantile(q):
    return times[int(q * (len(times) - 1))]


print(json.dumps({
    "what": args.what, "network": args.network, "backend": "torch " + torch.__version__, "style": args.style,
    "batch": args.batch, "threads": args.threads, "images_per_s": round(args.batch / quantile(0.5), 1),
    "step_ms": round(quantile(0.5) * 1e3, 4), "step_ms_p10": round(quantile(0.1) * 1e3, 4),
    "step_ms_p90": round(quantile(0.9) * 1e3, 4), "steps": len(times), "peak_resident_mib": round(peak_resident_mib(), 1)}))
