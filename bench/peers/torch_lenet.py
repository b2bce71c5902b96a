#!/usr/bin/env python3
"""LeNet-5 (20-50-500) in PyTorch, eager: the peer of bench_lenet. Random data in memory, the same four batches again and
again; training is forward, cross entropy, backward and SGD with momentum.

  torch_lenet.py train|infer [SECONDS] [BATCH] [THREADS] [--channels-last]

Prints one line of JSON with bench_lenet's keys. Everything not named is PyTorch's default, as people run it.
"""
import argparse
import json
import os
import time

parser = argparse.ArgumentParser()
parser.add_argument("what", choices=["train", "infer"])
parser.add_argument("seconds", type=float, nargs="?", default=5)
parser.add_argument("batch", type=int, nargs="?", default=64)
parser.add_argument("threads", type=int, nargs="?", default=1)
parser.add_argument("--channels-last", action="store_true")
args = parser.parse_args()
for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = str(args.threads)

import torch  # noqa: E402: after the thread counts
from torch import nn  # noqa: E402

BATCHES = 4
WARM_UP_SECONDS = 0.5


def peak_resident_mib():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) / 1024 for line in status if line.startswith("VmHWM:"))


def lenet():
    return nn.Sequential(
        nn.Conv2d(1, 20, 5), nn.Tanh(), nn.MaxPool2d(2, 2),
        nn.Conv2d(20, 50, 5), nn.Tanh(), nn.MaxPool2d(2, 2),
        nn.Flatten(), nn.Linear(800, 500), nn.Tanh(), nn.Linear(500, 10))


torch.set_num_threads(args.threads)
torch.manual_seed(1)
model = lenet()
images = [torch.randn(args.batch, 1, 28, 28) for _ in range(BATCHES)]
labels = [torch.randint(0, 10, (args.batch,)) for _ in range(BATCHES)]
if args.channels_last:
    model = model.to(memory_format=torch.channels_last)
    images = [image.to(memory_format=torch.channels_last) for image in images]
optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)


def train(i):
    optimizer.zero_grad(set_to_none=True)
    loss = nn.functional.cross_entropy(model(images[i % BATCHES]), labels[i % BATCHES])
    loss.backward()
    optimizer.step()
    return float(loss.detach())


def infer(i):
    with torch.no_grad():
        model(images[i % BATCHES]).argmax(dim=1)
    return 0.0


step = train if args.what == "train" else infer
model.train(args.what == "train")
times = []
loss = 0.0
start = time.perf_counter() + WARM_UP_SECONDS
before = time.perf_counter()
i = 0
while before < start + args.seconds or len(times) < 5:
    loss = step(i)
    i += 1
    after = time.perf_counter()
    if before >= start:
        times.append(after - before)
    before = after
times.sort()


def quantile(q):
    return times[int(q * (len(times) - 1))]


print(json.dumps({
    "what": args.what, "backend": "torch " + torch.__version__, "batch": args.batch, "threads": args.threads,
    "channels_last": args.channels_last, "images_per_s": round(args.batch / quantile(0.5), 1),
    "step_ms": round(quantile(0.5) * 1e3, 4), "step_ms_p10": round(quantile(0.1) * 1e3, 4),
    "step_ms_p90": round(quantile(0.9) * 1e3, 4), "steps": len(times), "loss": round(loss, 4),
    "peak_resident_mib": round(peak_resident_mib(), 1)}))
