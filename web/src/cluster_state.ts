// What the page knows of the cluster, and how each event changes it. Pure: times come in as arguments.
import type { Cluster, ClusterNode } from "./types.ts";

export const kHistorySeconds = 120;

/** Of the last two minutes, one value a second; NaN where nothing was heard. */
export interface NodeHistory {
  cpu: number[]; // percent of one core
  traffic: number[]; // bytes a second, both ways
}

export interface ClusterState {
  cluster: Cluster | null; // the last that was seen, even if nothing answers now
  seenAtMs: number;
  problem: string | null; // why the coordinator does not answer
  history: ReadonlyMap<string, NodeHistory>;
}

export const kNoCluster: ClusterState = { cluster: null, seenAtMs: 0, problem: null, history: new Map() };

function missedSeconds(state: ClusterState, nowMs: number): number {
  if (state.cluster === null) return 0;
  const gap = Math.round((nowMs - state.seenAtMs) / 1000) - 1;
  return gap <= 1 ? 0 : Math.min(gap, kHistorySeconds); // events come a second apart, more or less
}

function extended(values: number[] | undefined, missed: number, value: number): number[] {
  const gap = new Array<number>(values === undefined ? 0 : missed).fill(Number.NaN);
  return [...(values ?? []), ...gap, value].slice(-kHistorySeconds);
}

export function clusterSeen(state: ClusterState, cluster: Cluster, nowMs: number): ClusterState {
  const missed = missedSeconds(state, nowMs);
  const history = new Map<string, NodeHistory>();
  for (const node of cluster.nodes) {
    const before = state.history.get(node.name);
    const isHeard = node.state === "alive" || node.state === "idle";
    history.set(node.name, {
      cpu: extended(before?.cpu, missed, isHeard ? node.cpu_percent : Number.NaN),
      traffic: extended(before?.traffic, missed, isHeard ? node.sent_per_s + node.received_per_s : Number.NaN),
    });
  }
  return { cluster, seenAtMs: nowMs, problem: null, history };
}

export function coordinatorSilent(state: ClusterState, message: string): ClusterState {
  return { ...state, problem: message };
}

/** "zone" of a node with the label "zone=greenhouse" is "greenhouse". */
export function labelOf(node: ClusterNode, key: string): string {
  const found = (node.labels ?? []).find((label) => label.startsWith(`${key}=`));
  return found === undefined ? "" : found.slice(key.length + 1);
}

/** How busy the cores of a node's machine are, from 0 to 1; null where it does not say. */
export function coreLoad(node: ClusterNode): number | null {
  const cores = node.core_percent ?? [];
  if (cores.length === 0) return null;
  return cores.reduce((sum, percent) => sum + percent, 0) / cores.length / 100;
}

export interface Summary {
  nodes: number;
  here: number; // alive or idle
  lost: number;
  running: number;
  waiting: number;
  sentPerSecond: number;
  coreLoad: number | null;
  hottest: ClusterNode | null;
  refused: number;
}

/** The figures above the picture. */
export function summarise(cluster: Cluster): Summary {
  const here = cluster.nodes.filter((node) => node.state === "alive" || node.state === "idle");
  const loads = here.map(coreLoad).filter((load) => load !== null);
  const warm = here.filter((node) => node.temperature_c !== undefined);
  return {
    nodes: cluster.nodes.length,
    here: here.length,
    lost: cluster.nodes.filter((node) => node.state === "lost").length,
    running: cluster.jobs.filter((job) => job.state === "running").length,
    waiting: cluster.jobs.filter((job) => job.state === "waiting").length,
    sentPerSecond: here.reduce((sum, node) => sum + node.sent_per_s, 0),
    coreLoad: loads.length === 0 ? null : loads.reduce((sum, load) => sum + load, 0) / loads.length,
    hottest: warm.reduce<ClusterNode | null>(
      (hottest, node) => (node.temperature_c! > (hottest?.temperature_c ?? -Infinity) ? node : hottest),
      null,
    ),
    refused: Object.values(cluster.refused ?? {}).reduce((sum, count) => sum + count, 0),
  };
}
