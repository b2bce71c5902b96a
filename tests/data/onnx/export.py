#!/usr/bin/python3
"""Writes the ONNX files of this folder, small networks as PyTorch exports them, and what PyTorch computes with them.

Run with Debian 12's python3-torch (1.13); the files are committed, so tests need neither. For each network
NAME-opsetN.onnx for some opsets N, and NAME.safetensors with tensors "input" and "output".
"""
import json
import os
import warnings

import torch
import torch.nn as nn
import torch.nn.functional as F

FOLDER = os.path.dirname(os.path.abspath(__file__))


class Residual(nn.Module):
    """A residual block with a projection, adaptive pooling, and the flatten that people write by hand."""

    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(3, 4, 3, padding=1, bias=False)
        self.norm = nn.BatchNorm2d(4)
        self.conv1 = nn.Conv2d(4, 8, 3, stride=2, padding=1, bias=False)
        self.norm1 = nn.BatchNorm2d(8)
        self.conv2 = nn.Conv2d(8, 8, 3, padding=1, bias=False)
        self.norm2 = nn.BatchNorm2d(8)
        self.project = nn.Conv2d(4, 8, 1, stride=2, bias=False)
        self.drop = nn.Dropout(0.3)
        self.classify = nn.Linear(8, 5)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.norm(self.stem(x))), 2)
        y = F.relu(self.norm1(self.conv1(x)))
        y = F.relu(self.norm2(self.conv2(y)) + self.project(x))
        y = F.adaptive_avg_pool2d(y, 1)
        return self.classify(self.drop(y.view(y.size(0), -1)))


class Shuffle(nn.Module):
    """ShuffleNetV2's unit: chunk, depthwise convolution, concatenation, channel shuffle by view."""

    def __init__(self):
        super().__init__()
        self.point = nn.Conv2d(4, 4, 1)
        self.depth = nn.Conv2d(4, 4, 3, padding=1, groups=4)

    def forward(self, x):
        a, b = x.chunk(2, dim=1)
        y = torch.cat((a, F.relu6(self.depth(self.point(b)))), dim=1)
        n, c, h, w = y.size()
        y = y.view(n, 2, c // 2, h, w).transpose(1, 2).contiguous().view(n, -1, h, w)
        return y.mean([2, 3])


class Upsampling(nn.Module):
    """Feature maps brought to each other's size in the ways of segmentation networks."""

    def __init__(self):
        super().__init__()
        self.down = nn.Conv2d(2, 4, 3, stride=2, padding=1)
        self.shuffle = nn.Conv2d(4, 8, 1)

    def forward(self, x):
        y = self.down(F.pad(x, (1, 0, 2, 1)))
        y = y[:, :, :3, 1:]
        near = F.interpolate(y, scale_factor=2, mode="nearest")
        smooth = F.interpolate(y, size=near.shape[2:], mode="bilinear", align_corners=False)
        corners = F.interpolate(y, scale_factor=2, mode="bilinear", align_corners=True)
        return torch.cat((near, smooth, corners, F.pixel_shuffle(self.shuffle(y), 2)), dim=1)


class Recurrent(nn.Module):
    """A classifier of sensor windows [N, T, C] whose initial states are the default zeros."""

    def __init__(self, kind, bidirectional):
        super().__init__()
        self.body = kind(3, 4, num_layers=2, batch_first=True, bidirectional=bidirectional)
        self.classify = nn.Linear(8 if bidirectional else 4, 3)

    def forward(self, x):
        y, _ = self.body(x)
        return self.classify(y[:, -1, :])


class Attention(nn.Module):
    """Self-attention over a sequence [N, T, C], heads split by view, as written by hand."""

    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(8)
        self.qkv = nn.Linear(8, 24)
        self.out = nn.Linear(8, 8)
        self.mlp = nn.Sequential(nn.Linear(8, 16), nn.GELU(), nn.Linear(16, 8))
        self.token = nn.Parameter(torch.randn(1, 1, 8))

    def forward(self, x):
        x = torch.cat((self.token.expand(x.size(0), -1, -1), x), dim=1)
        n, t, c = x.shape
        q, k, v = self.qkv(self.norm(x)).view(n, t, 3, 2, c // 2).permute(2, 0, 3, 1, 4).unbind(0)
        scores = (q @ k.transpose(-2, -1)) * (c // 2) ** -0.5
        y = (scores.softmax(dim=-1) @ v).transpose(1, 2).reshape(n, t, c)
        x = x + self.out(y)
        return (x + self.mlp(x))[:, 0]


class Normalizations(nn.Module):
    """Group, instance and batch norms between activations of every kind; softmax over the channels."""

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 6, 3, padding=1)
        self.group = nn.GroupNorm(3, 6)
        self.instance = nn.InstanceNorm2d(6, affine=True)
        self.slope = nn.PReLU(6)

    def forward(self, x):
        y = F.hardswish(self.group(self.conv(x)))
        y = self.slope(self.instance(y))
        y = F.elu(y) + torch.clamp(y, -0.5, 0.75) * torch.sigmoid(y) + F.softplus(y) + F.leaky_relu(y, 0.2)
        y = F.avg_pool2d(y, 3, stride=2, padding=1, count_include_pad=False)
        return torch.log_softmax(F.softmax(y, dim=1).flatten(1), dim=1)


NETWORKS = {
    "residual": (Residual(), (2, 3, 12, 12), (9, 11, 13, 17)),
    "shuffle": (Shuffle(), (2, 8, 5, 4), (9, 13, 17)),
    "upsampling": (Upsampling(), (2, 2, 6, 7), (11, 13, 16)),
    "lstm": (Recurrent(nn.LSTM, False), (2, 6, 3), (9, 13, 17)),
    "gru": (Recurrent(nn.GRU, True), (2, 6, 3), (9, 14)),
    "rnn": (Recurrent(nn.RNN, True), (2, 6, 3), (11,)),
    "attention": (Attention(), (2, 4, 8), (11, 17)),
    "normalizations": (Normalizations(), (2, 3, 7, 6), (9, 12, 17)),
}


def write_safetensors(path, tensors):
    """https://github.com/huggingface/safetensors: length of the header, header in JSON, data."""
    header, data = {}, b""
    for name, tensor in tensors.items():
        part = tensor.detach().numpy().astype("<f4").tobytes()
        header[name] = {"dtype": "F32", "shape": list(tensor.shape), "data_offsets": [len(data), len(data) + len(part)]}
        data += part
    text = json.dumps(header).encode()
    with open(path, "wb") as file:
        file.write(len(text).to_bytes(8, "little") + text + data)


def randomise(network):
    """Statistics and scales as after some training, not the neutral ones."""
    for module in network.modules():
        if isinstance(module, nn.BatchNorm2d):
            nn.init.uniform_(module.running_mean, -0.5, 0.5)
            nn.init.uniform_(module.running_var, 0.5, 2)
        if isinstance(module, (nn.BatchNorm2d, nn.GroupNorm, nn.LayerNorm, nn.InstanceNorm2d)):
            nn.init.uniform_(module.weight, 0.5, 1.5)
            nn.init.uniform_(module.bias, -0.5, 0.5)


def main():
    warnings.simplefilter("ignore")
    for name, (network, shape, opsets) in NETWORKS.items():
        torch.manual_seed(1)
        randomise(network)
        network.eval()
        x = torch.randn(shape)
        write_safetensors(f"{FOLDER}/{name}.safetensors", {"input": x, "output": network(x)})
        for opset in opsets:
            path = f"{FOLDER}/{name}-opset{opset}.onnx"
            axes = {"input": {0: "batch"}}
            torch.onnx.export(network, x, path, opset_version=opset, input_names=["input"], output_names=["output"],
                              dynamic_axes=axes)
        if name == "residual":  # with batch normalization and dropout, as for training elsewhere
            torch.onnx.export(network, x, f"{FOLDER}/{name}-training-opset13.onnx", opset_version=13,
                              input_names=["input"], output_names=["output"], dynamic_axes=axes,
                              training=torch.onnx.TrainingMode.TRAINING, do_constant_folding=False)
            network.eval()  # exporting has updated the running statistics, which are in the file
            write_safetensors(f"{FOLDER}/{name}-training.safetensors", {"input": x, "output": network(x)})


if __name__ == "__main__":
    torch.manual_seed(0)
    main()
