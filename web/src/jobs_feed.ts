import { getJobs, messageOf } from "./api.ts";
import { clusterStore } from "./cluster_feed.ts";
import { Store } from "./store.ts";
import type { Job } from "./types.ts";

const kEveryMs = 5000;

export interface JobsState {
  jobs: Job[] | null;
  problem: string | null;
}

export const jobsStore = new Store<JobsState>({ jobs: null, problem: null });

/** Asks for the jobs now. What was seen last stays if nobody answers. */
export async function refreshJobs(): Promise<void> {
  try {
    jobsStore.set({ jobs: (await getJobs()).jobs, problem: null });
  } catch (error) {
    jobsStore.update((state) => ({ ...state, problem: messageOf(error) }));
  }
}

/** What tells that a job came, began or ended. */
function fingerprint(): string {
  return (clusterStore.get().cluster?.jobs ?? []).map((job) => `${job.id} ${job.state}`).join(";");
}

/** Keeps `jobsStore` up to date until the function that it returns is called. */
export function followJobs(): () => void {
  let seen = fingerprint();
  void refreshJobs();
  const timer = setInterval(() => {
    if (document.visibilityState === "visible") void refreshJobs();
  }, kEveryMs);
  const unsubscribe = clusterStore.subscribe(() => {
    if (fingerprint() === seen) return;
    seen = fingerprint();
    void refreshJobs();
  });
  return () => {
    clearInterval(timer);
    unsubscribe();
  };
}
