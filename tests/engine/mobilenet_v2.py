#!/usr/bin/env python3
"""Prints the logits of MobileNetV2 of width 0.25 for one image, computed by plain loops from tables 1 and 2 of the paper:
Sandler et al., MobileNetV2: inverted residuals and linear bottlenecks, CVPR 2018. The weights follow from their names.

  tests/engine/mobilenet_v2.py > tests/engine/mobilenet_v2.logits
"""
import math
import struct

SIDE, CLASSES, WIDTH = 64, 10, 0.25
BLOCKS = [  # expansion, channels, repeats, stride of the first
    (1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1)]
MASK = (1 << 64) - 1


def numbers(name, count, scale, offset=0.0):
    """Uniform in offset - scale to offset + scale: SplitMix64 from the FNV-1a hash of the name."""
    state = 0xcbf29ce484222325
    for byte in name.encode():
        state = (state ^ byte) * 0x100000001b3 & MASK
    found = []
    for _ in range(count):
        state = state + 0x9e3779b97f4a7c15 & MASK
        z = state
        z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9 & MASK
        z = (z ^ z >> 27) * 0x94d049bb133111eb & MASK
        z ^= z >> 31
        value = offset + scale * (2 * (z >> 40) / (1 << 24) - 1)
        found.append(struct.unpack("f", struct.pack("f", value))[0])
    return found


def channels_of(channels, width):
    rounded = max(8, int(channels * width + 4) // 8 * 8)
    return rounded + 8 if rounded < 0.9 * channels * width else rounded


def convolve(name, planes, outputs, kernel, stride, depthwise):
    """Convolution without bias, padded so that stride 1 keeps the size, and batch normalization."""
    side, pad = len(planes[0]), kernel // 2
    inputs = 1 if depthwise else len(planes)
    fan = inputs * kernel * kernel
    weights = numbers(name + ".weight", outputs * fan, math.sqrt(6 / fan))
    scale = numbers(name + ".bn.scale", outputs, 0.2, 1)
    shift = numbers(name + ".bn.shift", outputs, 0.1)
    mean = numbers(name + ".bn.mean", outputs, 0.1)
    variance = numbers(name + ".bn.variance", outputs, 0.3, 1)
    size = (side + 2 * pad - kernel) // stride + 1
    result = []
    for o in range(outputs):
        gain = scale[o] / math.sqrt(variance[o] + 1e-5)
        sums = [[0.0] * size for _ in range(size)]
        for i in range(inputs):
            plane = planes[o if depthwise else i]
            for ky in range(kernel):
                for kx in range(kernel):
                    weight = weights[o * fan + (i * kernel + ky) * kernel + kx]
                    for y in range(size):
                        row = y * stride + ky - pad
                        if not 0 <= row < side:
                            continue
                        for x in range(size):
                            column = x * stride + kx - pad
                            if 0 <= column < side:
                                sums[y][x] += weight * plane[row][column]
        result.append([[(value - mean[o]) * gain + shift[o] for value in row] for row in sums])
    return result


def relu6(planes):
    return [[[min(max(value, 0.0), 6.0) for value in row] for row in plane] for plane in planes]


def main():
    pixels = numbers("input", 3 * SIDE * SIDE, 1)
    x = [[pixels[(c * SIDE + y) * SIDE:][:SIDE] for y in range(SIDE)] for c in range(3)]
    x = relu6(convolve("conv1", x, channels_of(32, WIDTH), 3, 2, False))
    number = 0
    for expansion, channels, repeats, first_stride in BLOCKS:
        outputs = channels_of(channels, WIDTH)
        for repeat in range(repeats):
            number += 1
            name, stride = f"block{number}", first_stride if repeat == 0 else 1
            f = x
            if expansion != 1:
                f = relu6(convolve(name + ".expand", f, expansion * len(x), 1, 1, False))
            f = relu6(convolve(name + ".depthwise", f, len(f), 3, stride, True))
            f = convolve(name + ".project", f, outputs, 1, 1, False)
            if stride == 1 and len(x) == outputs:
                f = [[[a + b for a, b in zip(*rows)] for rows in zip(*planes)] for planes in zip(x, f)]
            x = f
    x = relu6(convolve("conv2", x, channels_of(1280, 1), 1, 1, False))
    features = [sum(map(sum, plane)) / (len(plane) * len(plane)) for plane in x]
    weights = numbers("fc.weight", CLASSES * len(features), math.sqrt(6 / len(features)))
    bias = numbers("fc.bias", CLASSES, 0.1)
    for o in range(CLASSES):
        row = weights[o * len(features):][:len(features)]
        print(repr(bias[o] + sum(w * f for w, f in zip(row, features))))


if __name__ == "__main__":
    main()
