"""The networks of bench/engine in PyTorch, layer for layer as the zoo builds them.

NETWORKS[name] is (constructor, sample shape [C, H, W], classes).
"""
import torch.nn.functional as F
from torch import nn


def mlp():
    return nn.Sequential(nn.Flatten(), nn.Linear(784, 128), nn.ReLU(), nn.Linear(128, 64), nn.ReLU(), nn.Linear(64, 10))


def lenet():
    """LeCun et al. 1998, in the 20-50-500 form."""
    return nn.Sequential(
        nn.Conv2d(1, 20, 5), nn.Tanh(), nn.MaxPool2d(2, 2),
        nn.Conv2d(20, 50, 5), nn.Tanh(), nn.MaxPool2d(2, 2),
        nn.Flatten(), nn.Linear(800, 500), nn.Tanh(), nn.Linear(500, 10))


def conv_norm(inputs, outputs, kernel, stride=1, groups=1, activation=None):
    layers = [nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2, groups=groups, bias=False), nn.BatchNorm2d(outputs)]
    return nn.Sequential(*layers, *([activation(inplace=True)] if activation else []))


class Shortcut(nn.Module):
    """Option A of He et al. 2016: every second pixel, and zeros for the channels that are new."""

    def __init__(self, new_channels, stride):
        super().__init__()
        self.new_channels, self.stride = new_channels, stride

    def forward(self, x):
        half = self.new_channels // 2
        return F.pad(x[:, :, ::self.stride, ::self.stride], (0, 0, 0, 0, half, self.new_channels - half))


class BasicBlock(nn.Module):
    """He et al. 2016: two 3x3 convolutions and a shortcut: padded (option A) or projected (option B)."""

    def __init__(self, inputs, outputs, stride, projected):
        super().__init__()
        self.first = conv_norm(inputs, outputs, 3, stride, activation=nn.ReLU)
        self.second = conv_norm(outputs, outputs, 3)
        self.shortcut = nn.Identity()
        if stride != 1 or inputs != outputs:
            self.shortcut = conv_norm(inputs, outputs, 1, stride) if projected else Shortcut(outputs - inputs, stride)

    def forward(self, x):
        return F.relu(self.second(self.first(x)) + self.shortcut(x), inplace=True)


def residual(stem, groups, channels, projected, classes):
    """groups: (channels, blocks) of each; every group but the first halves the image."""
    layers = list(stem)
    for index, (outputs, blocks) in enumerate(groups):
        for block in range(blocks):
            layers.append(BasicBlock(channels, outputs, 2 if block == 0 and index > 0 else 1, projected))
            channels = outputs
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(channels, classes))


def resnet_cifar(depth, projected):
    n = (depth - 2) // 6
    return residual([conv_norm(3, 16, 3, activation=nn.ReLU)], [(16, n), (32, n), (64, n)], 16, projected, 10)


def resnet34(small_stem):
    stem = [conv_norm(3, 64, 3, activation=nn.ReLU)] if small_stem else [
        conv_norm(3, 64, 7, 2, activation=nn.ReLU), nn.MaxPool2d(3, 2, 1)]
    return residual(stem, [(64, 3), (128, 4), (256, 6), (512, 3)], 64, True, 10)


class WideBlock(nn.Module):
    """Zagoruyko & Komodakis 2016: activations before convolutions."""

    def __init__(self, inputs, outputs, stride):
        super().__init__()
        self.norm1, self.norm2 = nn.BatchNorm2d(inputs), nn.BatchNorm2d(outputs)
        self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
        self.projected = stride != 1 or inputs != outputs
        self.projection = nn.Conv2d(inputs, outputs, 1, stride, bias=False) if self.projected else nn.Identity()

    def forward(self, x):
        a = F.relu(self.norm1(x), inplace=True)
        y = self.conv2(F.relu(self.norm2(self.conv1(a)), inplace=True))
        return y + (self.projection(a) if self.projected else x)


def wide_resnet(depth, width):
    channels, layers = 16, [nn.Conv2d(3, 16, 3, 1, 1, bias=False)]
    for index, outputs in enumerate((16 * width, 32 * width, 64 * width)):
        for block in range((depth - 4) // 6):
            layers.append(WideBlock(channels, outputs, 2 if block == 0 and index > 0 else 1))
            channels = outputs
    return nn.Sequential(*layers, nn.BatchNorm2d(channels), nn.ReLU(inplace=True), nn.AdaptiveAvgPool2d(1), nn.Flatten(),
                         nn.Linear(channels, 10))


def mobilenet(width, classes):
    """Howard et al. 2017."""
    channels = int(32 * width)
    layers = [conv_norm(3, channels, 3, 2, activation=nn.ReLU)]
    for outputs, stride in [(64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2)] + 5 * [(512, 1)] + [(1024, 2), (1024, 1)]:
        outputs = int(outputs * width)
        layers += [conv_norm(channels, channels, 3, stride, channels, nn.ReLU), conv_norm(channels, outputs, 1, activation=nn.ReLU)]
        channels = outputs
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(channels, classes))


class InvertedResidual(nn.Module):
    """Sandler et al. 2018."""

    def __init__(self, inputs, outputs, stride, expansion):
        super().__init__()
        hidden = inputs * expansion
        expand = [conv_norm(inputs, hidden, 1, activation=nn.ReLU6)] if expansion != 1 else []
        self.body = nn.Sequential(*expand, conv_norm(hidden, hidden, 3, stride, hidden, nn.ReLU6), conv_norm(hidden, outputs, 1))
        self.is_residual = stride == 1 and inputs == outputs

    def forward(self, x):
        return x + self.body(x) if self.is_residual else self.body(x)


def mobilenetv2():
    channels, layers = 32, [conv_norm(3, 32, 3, 2, activation=nn.ReLU6)]
    for expansion, outputs, blocks, stride in [(1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1),
                                               (6, 160, 3, 2), (6, 320, 1, 1)]:
        for block in range(blocks):
            layers.append(InvertedResidual(channels, outputs, stride if block == 0 else 1, expansion))
            channels = outputs
    return nn.Sequential(*layers, conv_norm(channels, 1280, 1, activation=nn.ReLU6), nn.AdaptiveAvgPool2d(1), nn.Flatten(),
                         nn.Dropout(0.2), nn.Linear(1280, 10))


NETWORKS = {
    "mlp": (mlp, (1, 28, 28), 10),
    "lenet": (lenet, (1, 28, 28), 10),
    "resnet-32-b": (lambda: resnet_cifar(32, True), (3, 32, 32), 10),
    "resnet-110-b": (lambda: resnet_cifar(110, True), (3, 32, 32), 10),
    "resnet-34-cifar": (lambda: resnet34(True), (3, 32, 32), 10),
    "resnet-34": (lambda: resnet34(False), (3, 32, 32), 10),
    "wrn-28-10": (lambda: wide_resnet(28, 10), (3, 32, 32), 10),
    "mobilenet-0.5": (lambda: mobilenet(0.5, 20), (3, 32, 32), 20),
    "mobilenetv2-96": (mobilenetv2, (3, 96, 96), 10),
    "mobilenetv2-224": (mobilenetv2, (3, 224, 224), 10),
}
