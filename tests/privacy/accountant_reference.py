#!/usr/bin/env python3
"""What mangrove/privacy/ computes by sums and series, once more by its definitions: prints what accountant_test.cc
expects.

A divergence is an integral over the real line, by the trapezoidal rule. The exact delta of the Gaussian mechanism
without sampling is the closed form of Balle & Wang, Improving the Gaussian mechanism for differential privacy, ICML
2018, theorem 8; epsilon is found by bisection.
"""
import math

CASES = [(0.01, 2.5, 1.5), (0.01, 2.5, 2.5), (0.01, 2.5, 5), (0.01, 2.5, 50), (0.01, 2.5, 100), (0.1, 2, 10),
         (0.004, 1.1, 1.1), (0.004, 1.1, 8.3), (0.2, 0.7, 1.7), (0.2, 0.7, 4), (0.5, 1, 2.9), (0.9, 1.5, 3.3),
         (0.999, 3, 6.5), (1e-5, 0.8, 10.9), (0.05, 20, 64.0), (0.3, 100, 512.0)]


def log_sum(logs):
    largest = max(logs)
    return largest + math.log(math.fsum(math.exp(value - largest) for value in logs))


def divergence(rate, noise, order, points=400001):
    low, high = -40 * noise, order + 40 * noise
    step = (high - low) / (points - 1)
    logs = []
    for i in range(points):
        x = low + i * step
        ratio = log_sum([math.log1p(-rate), math.log(rate) + (2 * x - 1) / (2 * noise ** 2)])
        density = -x * x / (2 * noise ** 2) - math.log(noise * math.sqrt(2 * math.pi))
        logs.append(density + order * ratio)
    return (log_sum(logs) + math.log(step)) / (order - 1)


def exact_epsilon(noise, steps, delta):
    """So many steps of the Gaussian mechanism are one with less noise."""
    sensitivity = math.sqrt(steps) / noise

    def phi(x):
        return math.erfc(-x / math.sqrt(2)) / 2

    def delta_of(epsilon):
        return (phi(sensitivity / 2 - epsilon / sensitivity)
                - math.exp(epsilon) * phi(-sensitivity / 2 - epsilon / sensitivity))
    low, high = 0.0, 100.0
    for _ in range(200):
        middle = (low + high) / 2
        if delta_of(middle) > delta:
            low = middle
        else:
            high = middle
    return high


def sampled_epsilon(rate, noise, steps, delta):
    """At the orders that accountant.cc has between 1 and 65."""
    orders = [tenths / 10 for tenths in range(11, 110)] + list(range(11, 65))
    return min(steps * divergence(rate, noise, order, 4001) + math.log1p(-1 / order)
               - math.log(delta * order) / (order - 1) for order in orders)


for rate, noise, order in CASES:
    print(f"    {{{rate}, {noise}, {order}, {divergence(rate, noise, order):.9g}}},")
for noise, steps, delta in ((1, 1, 1e-5), (10, 100, 1e-5), (5, 4, 1e-6), (0.5, 1, 1e-5), (40, 64, 1e-9)):
    print(f"    {{{noise}, {steps}, {delta}, {exact_epsilon(noise, steps, delta):.9g}}},")
for rate, noise, steps, delta in ((256 / 60000, 1.12, 14040, 1e-5), (0.05, 0.8, 500, 1e-6), (0.5, 6, 200, 1e-3)):
    print(f"    {{{rate:.9g}, {noise}, {steps}, {delta}, {sampled_epsilon(rate, noise, steps, delta):.9g}}},")
