import { useEffect, useState } from "preact/hooks";
import { ApiError, getJob, getJobEvents, messageOf } from "./api.ts";
import { Bar } from "./bars.tsx";
import { clusterStore } from "./cluster_feed.ts";
import { formatCount, formatMoment, formatSeconds, formatShare, formatSpeed, parseUtc, words } from "./format.ts";
import { hasEnded, ModelButton, StopButton } from "./job_actions.tsx";
import { JobCurves } from "./job_curves.tsx";
import { JobEvents } from "./job_events.tsx";
import { followJob, jobStore } from "./job_feed.ts";
import { nodeNames } from "./job_nodes.ts";
import { epochsOf, eventsOf, type JobState } from "./job_state.ts";
import { followJobs, jobsStore } from "./jobs_feed.ts";
import { ResultView } from "./result_view.tsx";
import { StateMark } from "./state_mark.tsx";
import { StepTimesView, stepsOfJob } from "./step_times.tsx";
import { useStore } from "./store.ts";
import type { Job, JobEvent, Progress } from "./types.ts";

/** The job in the list that is kept up to date; asked for by itself as long as it is not there. */
function useJob(id: string): [Job | null, string | null] {
  const listed = useStore(jobsStore).jobs?.find((job) => job.id === id) ?? null;
  const [asked, setAsked] = useState<Job | null>(null);
  const [problem, setProblem] = useState<string | null>(null);
  useEffect(followJobs, []);
  useEffect(() => {
    getJob(id).then(setAsked, (error: unknown) => {
      setProblem(error instanceof ApiError && error.status === 404 ? `There is no job ${id}.` : messageOf(error));
    });
  }, [id]);
  return [listed ?? asked, listed === null ? problem : null];
}

/** The events that the coordinator keeps of a job that has ended without a result. */
function useKeptEvents(id: string, isNeeded: boolean): readonly JobEvent[] {
  const [events, setEvents] = useState<readonly JobEvent[]>([]);
  useEffect(() => {
    if (isNeeded)
      getJobEvents(id).then(
        (answer) => setEvents(answer.events),
        () => undefined,
      );
  }, [id, isNeeded]);
  return events;
}

export function JobView({ id, mayAct }: { id: string; mayAct: boolean }) {
  const [job, problem] = useJob(id);
  const state = useStore(jobStore(id));
  const nodes = useStore(clusterStore).cluster?.nodes ?? [];
  const [streamProblem, setStreamProblem] = useState<string | null>(null);
  useEffect(() => followJob(id, setStreamProblem), [id]);
  const told = eventsOf(state);
  const kept = useKeptEvents(id, state.end !== null && told.length === 0);
  if (job === null)
    return (
      <p class="empty" role="status">
        {problem ?? "Loading …"}
      </p>
    );
  const steps = stepsOfJob(id, state.steps, nodes);
  return (
    <>
      <JobHead job={job} mayAct={mayAct} />
      {job.state === "failed" && <p class="problem">{job.message}</p>}
      {streamProblem !== null && (
        <p class="problem" role="status">
          {streamProblem}
        </p>
      )}
      {!hasEnded(job) && <ProgressPanel job={job} state={state} />}
      {hasCurves(job, state) && (
        <section class="panel">
          <h2 class="unseen">Curves</h2>
          <JobCurves state={state} />
        </section>
      )}
      {state.result !== null && <ResultView result={state.result} />}
      {steps.length > 0 && <StepTimesView rows={steps} />}
      <JobEvents events={told.length > 0 ? told : kept} />
    </>
  );
}

/** A job that waits, or has failed at its beginning, has none. */
function hasCurves(job: Job, state: JobState): boolean {
  return job.state === "running" || state.points.length > 0 || epochsOf(state).length > 0;
}

function JobHead({ job, mayAct }: { job: Job; mayAct: boolean }) {
  const began = parseUtc(job.began);
  const ended = parseUtc(job.ended);
  const now = new Date();
  return (
    <section class="panel head">
      <p class="crumbs">
        <a href="#/jobs">Jobs</a> / {job.id}
      </p>
      <div class="title">
        <h1>{job.title}</h1>
        <StateMark state={job.state} />
        <span class="buttons">
          {mayAct && !hasEnded(job) && <StopButton job={job} />}
          {hasEnded(job) && <ModelButton job={job} />}
        </span>
      </div>
      <dl class="facts-line">
        <div>
          <dt>Began</dt>
          <dd>{formatMoment(began, now)}</dd>
        </div>
        {ended !== null && (
          <div>
            <dt>Ended</dt>
            <dd>{formatMoment(ended, now)}</dd>
          </div>
        )}
        {began !== null && ended !== null && (
          <div>
            <dt>Took</dt>
            <dd>{formatSeconds((ended.getTime() - began.getTime()) / 1000)}</dd>
          </div>
        )}
        <div>
          <dt>Priority</dt>
          <dd>{job.priority}</dd>
        </div>
        {job.share !== undefined && (
          <div>
            <dt>Share of each node</dt>
            <dd>{formatShare(job.share, 0)}</dd>
          </div>
        )}
        <div>
          <dt>Nodes</dt>
          <dd>{nodeNames(job).join(", ") || "none yet"}</dd>
        </div>
        {job.starts > 1 && (
          <div>
            <dt>Starts</dt>
            <dd>{job.starts}: its coordinator was restarted</dd>
          </div>
        )}
      </dl>
    </section>
  );
}

const kPhases: Record<string, string> = {
  train: "Training",
  head: "Training the new layers",
  fine_tuning: "Fine-tuning",
  validate: "Validating",
  test: "Testing",
  single: "Measuring one node",
};

function ProgressPanel({ job, state }: { job: Job; state: JobState }) {
  const progress = state.progress ?? job.progress ?? null;
  if (job.state === "waiting")
    return (
      <p class="panel" role="status">
        The job waits for nodes.
      </p>
    );
  if (progress === null || !(progress.total > 0))
    return (
      <p class="panel" role="status">
        The job begins …
      </p>
    );
  const share = progress.done / progress.total;
  return (
    <section class="panel progress">
      <div class="title">
        <h2>{kPhases[progress.phase] ?? words(progress.phase)}</h2>
        <span class="left">{progress.eta_s == null ? "" : `${formatSeconds(progress.eta_s)} left`}</span>
      </div>
      <Bar share={share} label="Progress" kind="large" />
      <p class="facts-text">{facts(progress).join(" · ")}</p>
    </section>
  );
}

function facts(progress: Progress): string[] {
  const list = [formatShare(progress.done / progress.total, 0)];
  if (progress.epoch !== undefined) list.push(`epoch ${progress.epoch} of ${progress.epochs}`);
  if (progress.step !== undefined) list.push(`step ${formatCount(progress.step)} of ${formatCount(progress.steps)}`);
  if (progress.images_per_s !== undefined) list.push(formatSpeed(progress.images_per_s));
  return list;
}
