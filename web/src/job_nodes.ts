import type { Job } from "./types.ts";

/** The names of a job's nodes, which come as a list or as words with spaces between. */
export function nodeNames(job: Job): string[] {
  return typeof job.nodes === "string" ? job.nodes.split(/[\s,]+/).filter(Boolean) : (job.nodes ?? []);
}
