import { type ClusterState, clusterSeen, coordinatorSilent, kNoCluster } from "./cluster_state.ts";
import { noteProgress } from "./job_feed.ts";
import { parseData } from "./parse_data.ts";
import { Store } from "./store.ts";
import { Stream, type StreamState } from "./stream.ts";
import type { Cluster } from "./types.ts";
import { whileVisible } from "./visible.ts";

export const clusterStore = new Store<ClusterState>(kNoCluster);
export const connectionStore = new Store<StreamState>({ kind: "connecting" });

let stream: Stream | null = null;

function take(name: string, data: object | null): void {
  if (name === "problem") {
    const { message } = (data ?? {}) as { message?: string };
    clusterStore.update((state) => coordinatorSilent(state, message ?? "It does not answer."));
  }
  if (name !== "cluster" || data === null) return;
  const cluster = data as Cluster;
  clusterStore.update((state) => clusterSeen(state, cluster, Date.now()));
  for (const job of cluster.jobs) if (job.progress !== null) noteProgress(job.id, job.progress);
}

/** Keeps `clusterStore` up to date until the function that it returns is called. */
export function followCluster(): () => void {
  return whileVisible(() => {
    const opened = new Stream("cluster/stream", {
      begin: () => undefined,
      state: (state) => connectionStore.set(state),
      event: (event) => take(event.event, parseData(event.data)),
    });
    stream = opened;
    return () => opened.close();
  });
}

export function retryNow(): void {
  stream?.retryNow();
}
