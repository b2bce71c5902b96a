import { useState } from "preact/hooks";
import { ApiError, getModel, messageOf, stopJob } from "./api.ts";
import { Confirm } from "./dialog.tsx";
import { refreshJobs } from "./jobs_feed.ts";
import type { Job } from "./types.ts";

export function hasEnded(job: Job): boolean {
  return job.state !== "running" && job.state !== "waiting";
}

/** Ends a job, after a question. */
export function StopButton({ job }: { job: Job }) {
  const [isAsking, setAsking] = useState(false);
  const stop = async () => {
    await stopJob(job.id);
    await refreshJobs();
  };
  return (
    <>
      <button type="button" class="danger" onClick={() => setAsking(true)}>
        Stop
      </button>
      {isAsking && (
        <Confirm
          title={`Stop ${job.id}?`}
          action="Stop the job"
          perform={stop}
          close={() => setAsking(false)}
          question={`“${job.title}” ends in good order. What it has learnt so far is kept, but it does not go on.`}
        />
      )}
    </>
  );
}

/** Saves the trained network. A link cannot: it would send no token. */
export function ModelButton({ job }: { job: Job }) {
  const [problem, setProblem] = useState<string | null>(null);
  const [isBusy, setBusy] = useState(false);
  const download = async () => {
    setBusy(true);
    setProblem(null);
    try {
      save(await getModel(job.id), `${job.id}.onnx`);
    } catch (error) {
      const isNone = error instanceof ApiError && error.status === 404;
      setProblem(isNone ? "This job has left no network." : messageOf(error));
    }
    setBusy(false);
  };
  return (
    <>
      <button type="button" disabled={isBusy} onClick={download}>
        {isBusy ? "Loading …" : "Download the model"}
      </button>
      {problem !== null && (
        <span class="problem" role="alert">
          {problem}
        </span>
      )}
    </>
  );
}

function save(bytes: Blob, name: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(bytes);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000); // the browser may still be reading it
}
