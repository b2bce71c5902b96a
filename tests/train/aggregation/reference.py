#!/usr/bin/env python3
"""The rules of mangrove/train/aggregation/ once more, each as its definition says: prints what rules_test.cc expects.

The geometric median is found by descent on the sum of distances, not by Weiszfeld's iterations.
"""
import itertools
import math
import statistics

N, D = 9, 4


def element(i, k):
    value = ((7 * i * i + 5 * k * i + 3 * k) % 29 - 14) / 8
    return 100 * value if i in (2, 6) else value  # two that lie


VECTORS = [[element(i, k) for k in range(D)] for i in range(N)]


def distance(a, b):
    return math.dist(a, b)


def mean(vectors):
    return [sum(column) / len(vectors) for column in zip(*vectors)]


def median():
    return [statistics.median(column) for column in zip(*VECTORS)]


def trimmed_mean(f):
    return [sum(sorted(column)[f:N - f]) / (N - 2 * f) for column in zip(*VECTORS)]


def krum_score(i, f):
    others = [distance(VECTORS[i], VECTORS[j]) ** 2 for j in range(N) if j != i]
    return min(sum(chosen) for chosen in itertools.combinations(others, N - f - 2))


def multi_krum(f, m):
    return mean([VECTORS[i] for i in sorted(range(N), key=lambda i: krum_score(i, f))[:m]])


def geometric_median():
    def cost(point):
        return sum(distance(point, vector) for vector in VECTORS)
    point, step = median(), 1.0
    while step > 1e-9:
        moves = [[p + sign * step * (k == axis) for k, p in enumerate(point)] for axis in range(D) for sign in (1, -1)]
        gradient = [sum((p - v[k]) / max(1e-12, distance(point, v)) for v in VECTORS) for k, p in enumerate(point)]
        length = math.sqrt(sum(g * g for g in gradient))
        moves.append([p - step * g / length for p, g in zip(point, gradient)])
        best = min(moves, key=cost)
        if cost(best) < cost(point):
            point = best
        else:
            step /= 2
    return point


def centered_clipping(radius, iterations):
    centre = median()
    for _ in range(iterations):
        lengths = [distance(centre, vector) for vector in VECTORS]
        limit = radius or statistics.median_low(lengths)
        clipped = [[(v - c) * min(1, limit / length) if length else 0 for v, c in zip(vector, centre)]
                   for vector, length in zip(VECTORS, lengths)]
        centre = [c + step for c, step in zip(centre, mean(clipped))]
    return centre


for name, result in (("median", median()), ("trimmed_mean(2)", trimmed_mean(2)), ("krum(2)", multi_krum(2, 1)),
                     ("multi_krum(2, 3)", multi_krum(2, 3)), ("multi_krum(2)", multi_krum(2, N - 2 - 2)),
                     ("geometric_median(1000)", geometric_median()), ("centered_clipping", centered_clipping(0, 3)),
                     ("centered_clipping(0.5, 2)", centered_clipping(0.5, 2))):
    print('    {"%s", {%s}},' % (name, ", ".join(f"{value:.7g}" for value in result)))
