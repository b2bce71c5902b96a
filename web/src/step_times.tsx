import { formatSeconds } from "./format.ts";
import { meanStep, type TimedStep } from "./job_state.ts";
import type { ClusterNode, StepTimes } from "./types.ts";

const kPhases: { key: keyof StepTimes; name: string; help: string }[] = [
  { key: "load_s", name: "load", help: "waiting for samples" },
  { key: "compute_s", name: "compute", help: "forward and backward" },
  { key: "encode_s", name: "encode", help: "gradients into messages and back" },
  { key: "wire_s", name: "wire", help: "on the way" },
  { key: "wait_s", name: "wait", help: "for other nodes" },
];

const kLastSteps = 8; // whose mean the bar is
const kStripSteps = 40;
const kMostRows = 12; // more make a page that nobody reads to its end
const kStrip = { column: 5, height: 36 };

function sum(times: StepTimes): number {
  return kPhases.reduce((all, phase) => all + times[phase.key], 0);
}

export interface NodeSteps {
  name: string;
  mean: StepTimes;
  last: readonly TimedStep[];
}

/** Of the nodes of a job: what its stream says of their steps, or else what the cluster's does. */
export function stepsOfJob(
  id: string,
  told: ReadonlyMap<string, readonly TimedStep[]>,
  nodes: ClusterNode[],
): NodeSteps[] {
  const rows = [...told].map(([name, steps]) => ({ name, mean: meanStep(steps.slice(-kLastSteps)), last: steps }));
  const others = nodes.filter((node) => !told.has(node.name) && node.roles.some((role) => role.job === id));
  for (const { name, steps } of others)
    if (steps !== undefined && steps.count > 0) rows.push({ name, mean: steps, last: [] });
  return rows;
}

/** Of many nodes those that load and compute longest, which the others wait for. */
export function slowest(rows: NodeSteps[]): NodeSteps[] {
  if (rows.length <= kMostRows) return rows;
  const own = (row: NodeSteps) => row.mean.load_s + row.mean.compute_s;
  return [...rows].sort((one, other) => own(other) - own(one)).slice(0, kMostRows);
}

/** Where the time of the last steps went, by node: bars of the same scale, and the steps themselves. */
export function StepTimesView({ rows: all }: { rows: NodeSteps[] }) {
  const rows = slowest(all);
  const longest = Math.max(...rows.map((row) => sum(row.mean)), 1e-9);
  const longestStep = Math.max(...rows.flatMap((row) => row.last.slice(-kStripSteps).map(sum)), 1e-9);
  return (
    <section class="panel">
      <h2>Where the time of a step goes</h2>
      {rows.length < all.length && (
        <p class="hint">
          The {rows.length} of {all.length} nodes that load and compute longest.
        </p>
      )}
      <ul class="legend">
        {kPhases.map((phase) => (
          <li key={phase.key}>
            <span class={`block ${phase.name}`} />
            {phase.name}: {phase.help}
          </li>
        ))}
      </ul>
      <table class="steps">
        <thead class="unseen">
          <tr>
            <th scope="col">Node</th>
            <th scope="col">Mean of the last steps</th>
            <th scope="col">Time</th>
            <th scope="col">The last steps</th>
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <StepRow key={row.name} row={row} longest={longest} longestStep={longestStep} />
          ))}
        </tbody>
      </table>
    </section>
  );
}

function StepRow({ row, longest, longestStep }: { row: NodeSteps; longest: number; longestStep: number }) {
  const text = kPhases.map((phase) => `${phase.name} ${formatSeconds(row.mean[phase.key])}`).join(", ");
  return (
    <tr>
      <th scope="row">{row.name}</th>
      <td class="wide">
        <div class="phases" role="img" aria-label={text} title={text}>
          {kPhases.map((phase) => (
            <span
              key={phase.key}
              class={`block ${phase.name}`}
              style={{ width: `${((row.mean[phase.key] / longest) * 100).toFixed(2)}%` }}
            />
          ))}
        </div>
      </td>
      <td class="number">{formatSeconds(sum(row.mean))}</td>
      <td>
        <Strip steps={row.last.slice(-kStripSteps)} longest={longestStep} />
      </td>
    </tr>
  );
}

/** One column for each step. */
function Strip({ steps, longest }: { steps: readonly TimedStep[]; longest: number }) {
  if (steps.length === 0) return null;
  return (
    <svg
      class="strip"
      width={kStripSteps * kStrip.column}
      height={kStrip.height}
      role="img"
      aria-label={`The last ${steps.length} steps, the longest ${formatSeconds(Math.max(...steps.map(sum)))}`}
    >
      {steps.map((step, index) => (
        <StripColumn key={step.step} step={step} x={index * kStrip.column} scale={kStrip.height / longest} />
      ))}
    </svg>
  );
}

function StripColumn({ step, x, scale }: { step: TimedStep; x: number; scale: number }) {
  let y = kStrip.height;
  return (
    <g>
      <title>{`step ${step.step}: ${formatSeconds(sum(step))}`}</title>
      {kPhases.map((phase) => {
        const height = step[phase.key] * scale;
        y -= height;
        return <rect key={phase.key} class={phase.name} x={x} y={y} width={kStrip.column - 1} height={height} />;
      })}
    </g>
  );
}
