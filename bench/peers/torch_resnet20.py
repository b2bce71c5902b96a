"""The first steps of a training of ResNet-20 in PyTorch, with the weights and samples that bench_loss_curve has left.

    torch_resnet20.py FOLDER STEPS BATCH LEARNING_RATE WARMUP_STEPS      prints {"loss": [...]}

SGD with momentum 0.9 and weight decay 1e-4 that spares biases and batch normalisation.
"""
import json
import pathlib
import sys

import numpy
import torch
import torch.nn.functional as F

from torch_networks import resnet_cifar


def load_weights(model, flat):
    """Parameters come in the same order in both: convolution, scale and shift, layer by layer."""
    first = 0
    for parameter in model.parameters():
        count = parameter.numel()
        parameter.data.copy_(torch.from_numpy(flat[first:first + count]).view_as(parameter))
        first += count
    assert first == flat.size, f"{flat.size} weights for a network of {first}"


def main():
    folder = pathlib.Path(sys.argv[1])
    steps, batch, rate, warmup = int(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4]), int(sys.argv[5])
    torch.set_num_threads(1)
    model = resnet_cifar(20, False)
    load_weights(model, numpy.fromfile(folder / "weights.f32", numpy.float32))
    images = torch.from_numpy(numpy.fromfile(folder / "images.f32", numpy.float32)).view(steps, batch, 3, 32, 32)
    labels = torch.from_numpy(numpy.fromfile(folder / "labels.i32", numpy.int32)).long().view(steps, batch)
    decayed = [p for p in model.parameters() if p.dim() > 1]
    spared = [p for p in model.parameters() if p.dim() <= 1]
    optimizer = torch.optim.SGD([{"params": decayed, "weight_decay": 1e-4}, {"params": spared}], lr=rate, momentum=0.9)
    losses = []
    for step in range(steps):
        for group in optimizer.param_groups:
            group["lr"] = rate * min(1, (step + 1) / warmup)
        loss = F.cross_entropy(model(images[step]), labels[step])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    print(json.dumps({"loss": losses}))


if __name__ == "__main__":
    main()
