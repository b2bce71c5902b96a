import { useEffect, useState } from "preact/hooks";
import { Bar } from "./bars.tsx";
import { clusterStore } from "./cluster_feed.ts";
import { formatMoment, formatSeconds, formatShare, parseUtc, plural } from "./format.ts";
import { followJobs, jobsStore } from "./jobs_feed.ts";
import { nodeNames } from "./job_nodes.ts";
import { compareAddress, jobAddress } from "./route.ts";
import { StateMark } from "./state_mark.tsx";
import { useStore } from "./store.ts";
import type { Job, Progress } from "./types.ts";

const kPage = 50; // jobs that are shown at first, and more at each click
const kMostCompared = 4; // each that runs needs a connection, and a browser has six

export function JobsView({ mayAct }: { mayAct: boolean }) {
  const { jobs, problem } = useStore(jobsStore);
  const [chosen, setChosen] = useState<string[]>([]);
  useEffect(followJobs, []);
  const toggle = (id: string) =>
    setChosen((ids) => (ids.includes(id) ? ids.filter((one) => one !== id) : [...ids, id]));
  return (
    <section class="panel">
      <div class="title">
        <h1>Jobs</h1>
        <CompareButton chosen={chosen} />
        {mayAct && (
          <a class="button main" href="#/new">
            New job
          </a>
        )}
      </div>
      {problem !== null && (
        <p class="problem" role="status">
          {problem}
        </p>
      )}
      {jobs === null ? (
        problem === null && <p class="empty">Loading …</p>
      ) : jobs.length === 0 ? (
        <NoJobs mayAct={mayAct} />
      ) : (
        <JobTable jobs={jobs} chosen={chosen} toggle={toggle} />
      )}
    </section>
  );
}

function NoJobs({ mayAct }: { mayAct: boolean }) {
  return (
    <p class="empty">
      There was no job yet.{" "}
      {mayAct ? (
        <>
          Start one under <a href="#/new">New job</a>.
        </>
      ) : (
        "Those who may start one can do so here."
      )}
    </p>
  );
}

function CompareButton({ chosen }: { chosen: string[] }) {
  if (chosen.length < 2) return <span class="hint">Choose two or more to compare them.</span>;
  if (chosen.length > kMostCompared) return <span class="hint">At most {kMostCompared} can be compared.</span>;
  return (
    <a class="button" href={compareAddress(chosen)}>
      Compare {chosen.length} jobs
    </a>
  );
}

interface JobTableProps {
  jobs: Job[];
  chosen: string[];
  toggle: (id: string) => void;
}

function JobTable({ jobs: all, chosen, toggle }: JobTableProps) {
  const [most, setMost] = useState(kPage);
  const jobs = all.slice(0, most);
  const current = useStore(clusterStore).cluster?.jobs ?? [];
  return (
    <>
      <table class="jobs cards">
        <thead>
          <tr>
            <th scope="col">
              <span class="unseen">Compare</span>
            </th>
            {["Job", "State", "Progress", "Began", "Took", "Nodes"].map((name) => (
              <th key={name} scope="col">
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {jobs.map((job) => (
            <JobRow
              key={job.id}
              job={job}
              progress={current.find((one) => one.id === job.id)?.progress ?? null}
              isChosen={chosen.includes(job.id)}
              toggle={toggle}
            />
          ))}
        </tbody>
      </table>
      {all.length > most && (
        <button type="button" onClick={() => setMost(most + kPage)}>
          Show more of {all.length} jobs
        </button>
      )}
    </>
  );
}

interface JobRowProps {
  job: Job;
  progress: Progress | null;
  isChosen: boolean;
  toggle: (id: string) => void;
}

function JobRow({ job, progress, isChosen, toggle }: JobRowProps) {
  const names = nodeNames(job);
  const began = parseUtc(job.began);
  const end = parseUtc(job.ended);
  const seconds = began === null ? null : ((end ?? new Date()).getTime() - began.getTime()) / 1000;
  return (
    <tr>
      <td class="pick">
        <input type="checkbox" checked={isChosen} aria-label={`Compare ${job.id}`} onChange={() => toggle(job.id)} />
      </td>
      <th scope="row">
        <a href={jobAddress(job.id)}>{job.title}</a>
        <span class="muted id">{job.id}</span>
      </th>
      <td data-name="State">
        <StateMark state={job.state} />
      </td>
      <td data-name="Progress">
        <HowFar job={job} progress={progress} />
      </td>
      <td data-name="Began">{formatMoment(began, new Date())}</td>
      <td data-name="Took">{seconds === null ? "–" : formatSeconds(Math.max(0, Math.round(seconds)))}</td>
      <td data-name="Nodes" title={names.join(", ")}>
        {names.length <= 3 ? names.join(", ") || "–" : plural(names.length, "node")}
      </td>
    </tr>
  );
}

function HowFar({ job, progress }: { job: Job; progress: Progress | null }) {
  if (job.state === "failed") return <span class="bad">{job.message}</span>;
  if (job.state === "waiting") return <span class="muted">waits for nodes, priority {job.priority}</span>;
  if (job.state !== "running" || progress === null || !(progress.total > 0))
    return <span class="muted">{job.epoch > 0 ? plural(job.epoch, "epoch") : "–"}</span>;
  const share = progress.done / progress.total;
  return (
    <span class="stack">
      <Bar share={share} label={`Progress of ${job.id}`} />
      <span class="muted">
        {formatShare(share, 0)}
        {progress.eta_s != null && `, ${formatSeconds(progress.eta_s)} left`}
      </span>
    </span>
  );
}
