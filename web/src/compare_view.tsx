import { useEffect, useMemo, useState } from "preact/hooks";
import { Curves } from "./curves.tsx";
import { formatNumber, formatShare } from "./format.ts";
import { comparedCurve } from "./job_curves.tsx";
import { followJob, jobStore } from "./job_feed.ts";
import type { JobState } from "./job_state.ts";
import { followJobs, jobsStore } from "./jobs_feed.ts";
import { compareResults } from "./result_rows.ts";
import { jobAddress } from "./route.ts";
import { StateMark } from "./state_mark.tsx";
import { useStore } from "./store.ts";

const kMost = 4;

/** The states of several jobs, which are followed as long as this is shown. */
function useJobStates(ids: string[]): [JobState[], string[]] {
  const [, setVersion] = useState(0);
  const [problems, setProblems] = useState<string[]>([]);
  useEffect(() => {
    const ends = ids.flatMap((id) => [
      followJob(id, (message) => setProblems((all) => [...all, `${id}: ${message}`])),
      jobStore(id).subscribe(() => setVersion((version) => version + 1)),
    ]);
    return () => ends.forEach((end) => end());
  }, []);
  return [ids.map((id) => jobStore(id).get()), problems];
}

export function CompareView({ ids }: { ids: string[] }) {
  const shown = ids.slice(0, kMost);
  const [states, problems] = useJobStates(shown);
  useEffect(followJobs, []);
  const loss = useMemo(() => shown.map((id, i) => comparedCurve(states[i]!, id, i + 1, "loss")), states);
  const accuracy = useMemo(() => shown.map((id, i) => comparedCurve(states[i]!, id, i + 1, "accuracy")), states);
  if (shown.length < 2)
    return (
      <p class="empty">
        Choose two or more jobs under <a href="#/jobs">Jobs</a>.
      </p>
    );
  return (
    <>
      <section class="panel">
        <p class="crumbs">
          <a href="#/jobs">Jobs</a> / compare
        </p>
        <h1>{shown.length} jobs compared</h1>
        {problems.map((problem) => (
          <p key={problem} class="problem" role="status">
            {problem}
          </p>
        ))}
        <div class="two">
          <Curves
            title="Loss (of validation, where there is one)"
            xLabel="epochs"
            curves={loss}
            format={formatNumber}
          />
          <Curves
            title="Accuracy (of validation, where there is one)"
            xLabel="epochs"
            curves={accuracy}
            format={(value) => formatShare(value)}
          />
        </div>
      </section>
      <ComparedTable ids={shown} states={states} />
    </>
  );
}

function ComparedTable({ ids, states }: { ids: string[]; states: JobState[] }) {
  const jobs = useStore(jobsStore).jobs ?? [];
  const rows = compareResults(states.map((state) => state.result));
  return (
    <section class="panel">
      <h2>Side by side</h2>
      <div class="wide-table" tabIndex={0} role="region" aria-label="Side by side">
        <table class="compare">
          <thead>
            <tr>
              <td />
              {ids.map((id, index) => (
                <th key={id} scope="col">
                  <span class={`swatch series-${index + 1}`} />
                  <a href={jobAddress(id)}>{id}</a>
                  <span class="muted id">{jobs.find((job) => job.id === id)?.title}</span>
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            <tr>
              <th scope="row">state</th>
              {ids.map((id) => (
                <td key={id}>
                  <StateMark state={jobs.find((job) => job.id === id)?.state ?? "unknown"} />
                </td>
              ))}
            </tr>
            {rows.map((row) => (
              <tr key={row.label}>
                <th scope="row">{row.label}</th>
                {row.texts.map((text, index) => (
                  <td key={index} class={row.best === index ? "best" : ""}>
                    {text}
                    {row.best === index && <span class="tag good">best</span>}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {rows.length === 0 && <p class="hint">Results come when jobs end.</p>}
    </section>
  );
}
