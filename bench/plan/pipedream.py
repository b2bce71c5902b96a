"""PipeDream's planning algorithm, as the peer: the dynamic programme of Narayanan et al., SOSP 2019, section 3.1, over the antichains of the
operator graph, with the costs of the authors' optimizer_graph.py for one level of equal machines and activations sent uncompressed:
a stage of r machines takes (computing + 4 (r-1) weights / (r bandwidth)) / r, and 2 activations / (r bandwidth) at each of its ends."""
import re

import numpy

NODE = re.compile(r"(\S+) -- (.*) -- forward_compute_time=([\d.e+-]+), backward_compute_time=([\d.e+-]+), "
                  r"activation_size=([\d.e+-]+), parameter_size=([\d.e+-]+)")


class Graph:
    """Operators in topological order, without the input: seconds (forward and backward), bytes, and who reads whom."""

    def __init__(self, path):
        nodes, edges = {}, []
        for line in open(path):
            if line.startswith("\t"):
                edges.append(line.strip().split(" -- "))
            elif line.strip():
                found = NODE.match(line)
                nodes[found[1]] = (found[2], (float(found[3]) + float(found[4])) / 1e3, float(found[5]), float(found[6]))
        inputs = {name for name, node in nodes.items() if node[0].startswith("Input")}
        edges = [(a, b) for a, b in edges if a not in inputs]
        order, waiting = [], {name: sum(b == name for _, b in edges) for name in nodes if name not in inputs}
        while waiting:
            ready = [name for name, count in waiting.items() if count == 0]
            for name in ready:
                del waiting[name]
                order.append(name)
                for a, b in edges:
                    if a == name:
                        waiting[b] -= 1
        place = {name: i for i, name in enumerate(order)}
        self.seconds = numpy.array([nodes[name][1] for name in order])
        self.activation = numpy.array([nodes[name][2] for name in order])
        self.weights = numpy.array([nodes[name][3] for name in order])
        self.reads = [[place[a] for a, b in edges if b == name] for name in order]
        self.readers = [[place[b] for a, b in edges if a == name] for name in order]


def states_of(graph):
    """Everything up to each antichain, as sets of operators; smaller ones first."""
    known, states = {frozenset()}, [frozenset()]
    for state in states:
        for i, reads in enumerate(graph.reads):
            more = state | {i}
            if i not in state and all(read in state for read in reads) and more not in known:
                known.add(more)
                states.append(more)
    return sorted(states[1:], key=len)


def plan(path, machines, bandwidth, first_sends):
    """The least bottleneck, [(operators up to here, replicas)], and what these stages take where every link counts; seconds a batch.
    first_sends: whether what the first stage sends keeps its own links busy too. The authors' code leaves that out."""
    graph = Graph(path)
    states = states_of(graph)
    count = len(states)
    held = numpy.array([[i in state for i in range(len(graph.seconds))] for state in states])
    seconds, weights = held @ graph.seconds, held @ graph.weights
    # of all operators up to an antichain that somebody behind it reads
    crossing = numpy.array([sum(graph.activation[i] for i in state if any(r not in state for r in graph.readers[i]))
                            for state in states])
    within = [numpy.array([k for k in range(j) if states[k] < states[j]], dtype=int) for j in range(count)]

    def stage(time, weight, replicas):
        return (time + 4 * (replicas - 1) * weight / (replicas * bandwidth)) / replicas

    best = numpy.empty((count, machines + 1))
    best[:, 0] = numpy.inf
    choice = {}
    for machine in range(1, machines + 1):
        best[:, machine] = stage(seconds, weights, machine)
        if first_sends:
            best[:-1, machine] = numpy.maximum(best[:-1, machine], 2 * crossing[:-1] / (bandwidth * machine))
    for j in range(count):
        before = within[j]
        for machine in range(2, machines + 1):
            for replicas in range(1, machine if len(before) else 1):
                time = stage(seconds[j] - seconds[before], weights[j] - weights[before], replicas)
                time = numpy.maximum(time, 2 * crossing[before] / (bandwidth * replicas))
                if j + 1 < count:
                    time = numpy.maximum(time, 2 * crossing[j] / (bandwidth * replicas))
                time = numpy.maximum(time, best[before, machine - replicas])
                at = int(time.argmin())
                if time[at] < best[j, machine]:
                    best[j, machine] = time[at]
                    choice[j, machine] = (int(before[at]), replicas)
    stages, j, machine, sends = [], count - 1, machines, 0
    while (j, machine) in choice:
        k, replicas = choice[j, machine]
        stages.append((len(states[j]), replicas))
        j, machine = k, machine - replicas
        sends = 2 * crossing[j] / (bandwidth * machine)  # of the first stage, once the loop is done
    return float(best[-1, machines]), [(len(states[j]), machine)] + stages[::-1], float(max(best[-1, machines], sends))
