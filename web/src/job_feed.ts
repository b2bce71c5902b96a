import { type JobState, jobTold, kNoJob, streamBegins, withProgress } from "./job_state.ts";
import { Store } from "./store.ts";
import { Stream } from "./stream.ts";
import type { Progress } from "./types.ts";
import { whileVisible } from "./visible.ts";

const kMostJobs = 50; // whose curves are kept in memory

const followed = new Set<string>(); // whose own streams are read
const stores = new Map<string, Store<JobState>>();

/** What is known of a job. It is kept while other pages are shown, since the server does not keep every point. */
export function jobStore(id: string): Store<JobState> {
  let store = stores.get(id);
  if (store === undefined) {
    store = new Store<JobState>(kNoJob);
    if (stores.size >= kMostJobs) forgetOne();
    stores.set(id, store);
  }
  return store;
}

/** The job that came first of those that no view shows. */
function forgetOne(): void {
  for (const [id, store] of stores) {
    if (store.isWatched() || followed.has(id)) continue;
    stores.delete(id);
    return;
  }
}

/** What the stream of the cluster says of a job. It is older than what the job's own stream says, if that is read. */
export function noteProgress(id: string, progress: Progress): void {
  if (followed.has(id)) return;
  jobStore(id).update((state) => withProgress(state, progress));
}

/** Follows the stream of a job until the function that it returns is called. problem: what to say if there is none. */
export function followJob(id: string, problem: (message: string) => void): () => void {
  const store = jobStore(id);
  return whileVisible(() => {
    const stream = new Stream(`jobs/${encodeURIComponent(id)}/stream`, {
      begin: () => store.update(streamBegins),
      state: (state) => {
        if (state.kind === "ended") problem(state.message);
      },
      event: (event) => {
        store.update((state) => jobTold(state, event));
        const end = store.get().end;
        if (end?.state === "lost") stream.reconnect();
        else if (end !== null) stream.close();
      },
    });
    followed.add(id);
    return () => {
      followed.delete(id);
      stream.close();
    };
  });
}
