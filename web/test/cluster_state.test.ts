import assert from "node:assert/strict";
import { test } from "node:test";
import {
  clusterSeen,
  coordinatorSilent,
  kHistorySeconds,
  kNoCluster,
  labelOf,
  summarise,
} from "../src/cluster_state.ts";
import type { Cluster, ClusterNode } from "../src/types.ts";
import { nodesAt } from "./mock_data.ts";

function clusterOf(nodes: ClusterNode[]): Cluster {
  return { coordinator: "c:1", jobs: [], straggler: null, nodes, refused: { too_many_joins: 2 } };
}

test("the history grows by a value a second, up to two minutes", () => {
  let state = kNoCluster;
  for (let second = 1; second <= kHistorySeconds + 30; second++)
    state = clusterSeen(state, clusterOf(nodesAt(3, second, "job")), second * 1000);
  const { cpu, traffic } = state.history.get("fern")!;
  assert.equal(cpu.length, kHistorySeconds);
  assert.equal(traffic.length, kHistorySeconds);
  assert.equal(cpu.at(-1), state.cluster!.nodes[0]!.cpu_percent);
});

test("seconds in which nothing was heard are a gap", () => {
  let state = clusterSeen(kNoCluster, clusterOf(nodesAt(1, 1, null)), 1000);
  state = coordinatorSilent(state, "no answer");
  assert.equal(state.problem, "no answer");
  assert.equal(state.cluster?.nodes.length, 1, "what was seen last stays");
  state = clusterSeen(state, clusterOf(nodesAt(1, 6, null)), 6000);
  assert.equal(state.problem, null);
  assert.deepEqual(state.history.get("fern")!.cpu.map(Number.isNaN), [false, true, true, true, true, false]);
});

test("a long silence does not make the history longer than it may be", () => {
  let state = clusterSeen(kNoCluster, clusterOf(nodesAt(1, 1, null)), 1000);
  state = clusterSeen(state, clusterOf(nodesAt(1, 2, null)), 1e9);
  assert.equal(state.history.get("fern")!.cpu.length, kHistorySeconds);
});

test("a lost node has no values, and one that is gone has no history", () => {
  const nodes = nodesAt(2, 1, "job");
  const lost = clusterOf([{ ...nodes[0]!, state: "lost" }, nodes[1]!]);
  let state = clusterSeen(kNoCluster, lost, 1000);
  assert.ok(Number.isNaN(state.history.get("fern")!.cpu[0]));
  state = clusterSeen(state, clusterOf([nodes[1]!]), 2000);
  assert.deepEqual([...state.history.keys()], ["moss"]);
});

test("the summary counts who is here, and finds the hottest", () => {
  const nodes = nodesAt(6, 1, "job");
  nodes[1] = { ...nodes[1]!, state: "lost", temperature_c: 99 };
  nodes[2] = { ...nodes[2]!, state: "idle", temperature_c: 91 };
  const summary = summarise({ ...clusterOf(nodes), jobs: [] });
  assert.equal(summary.nodes, 6);
  assert.equal(summary.here, 5);
  assert.equal(summary.lost, 1);
  assert.equal(summary.hottest?.name, "reed");
  assert.equal(summary.refused, 2);
  assert.ok(summary.coreLoad! > 0 && summary.coreLoad! < 1);
});

test("a cluster without nodes has no mean", () => {
  const summary = summarise(clusterOf([]));
  assert.equal(summary.coreLoad, null);
  assert.equal(summary.hottest, null);
});

test("labels", () => {
  const node = nodesAt(1, 1, null)[0]!;
  assert.equal(labelOf(node, "tier"), "end");
  assert.equal(labelOf(node, "zone"), "");
  assert.equal(labelOf({ ...node, labels: undefined }, "tier"), "");
});
