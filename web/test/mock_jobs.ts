// Jobs of the mock: their rows, and what their streams tell. A job that runs takes as many seconds as it says.
import { epochReport, kEvents, nodesAt, resultOf } from "./mock_data.ts";
import type { Job, Progress } from "../src/types.ts";

export interface MockJob {
  job: Job;
  startedMs: number;
  seconds: number; // that it takes
  model: string;
  data: string;
  epochs: number;
  bias: number;
}

export const kBoardNames = ["fern", "moss", "reed", "sedge", "heron", "egret"];

export function utc(ms: number): string {
  return new Date(ms).toISOString().slice(0, 19).replace("T", " ");
}

export function makeJob(
  id: string,
  state: string,
  startedMs: number,
  seconds: number,
  more: Partial<MockJob> = {},
): MockJob {
  const { model = "lenet", data = "mnist", epochs = 5, bias = 0 } = more;
  const isOver = state !== "running" && state !== "waiting";
  const job: Job = {
    id,
    state,
    title: `train ${data},validation=0.05, parameter_server`,
    priority: 0,
    starts: 1,
    message: "",
    epoch: isOver ? epochs : 0,
    step: isOver ? epochs * 938 : 0,
    began: state === "waiting" ? "" : utc(startedMs),
    ended: isOver ? utc(startedMs + seconds * 1000) : "",
    nodes: state === "waiting" ? "" : kBoardNames.join(" "),
  };
  return { job, startedMs, seconds, model, data, epochs, bias };
}

export function shareDone(one: MockJob, nowMs: number): number {
  return Math.min(1, (nowMs - one.startedMs) / 1000 / one.seconds);
}

export function progressAt(one: MockJob, share: number): Progress {
  const epochs = share * one.epochs;
  const epoch = Math.min(one.epochs, Math.floor(epochs) + 1);
  const wobble = 0.05 * Math.sin(epochs * 40) * Math.exp(-epochs / 3);
  const loss = Math.max(0.01, 2.3 * Math.exp(-3.5 * epochs) + 0.62 * Math.exp(-0.55 * epochs) + 0.03 + wobble);
  const total = one.epochs * 57_000;
  return {
    phase: "train",
    done: Math.round(share * total),
    total,
    images_per_s: 4014,
    eta_s: (1 - share) * one.seconds,
    epoch,
    epochs: one.epochs,
    step: Math.round(epochs * 938),
    steps: one.epochs * 938,
    loss,
    accuracy: Math.max(0.1, 1 - loss / 2.6),
    learning_rate: 0.05,
  };
}

type Told = [event: string, data: unknown];

function recentSteps(second: number): Told {
  const samples = nodesAt(kBoardNames.length, second, "job").map((node) => ({
    node: node.name,
    job: "job",
    time_s: second,
    steps: {
      ...node.steps,
      recent: Array.from({ length: 8 }, (_, i) => ({
        ...nodesAt(kBoardNames.length, second * 8 + i, "job").find((other) => other.name === node.name)!.steps!,
        step: second * 8 + i,
        time_s: second + i / 8,
      })),
    },
  }));
  return ["nodes", { nodes: [], samples }];
}

/** What a stream tells of a job between two shares of its time; from 0 on, everything. */
export function toldBetween(one: MockJob, before: number, after: number): Told[] {
  const told: Told[] = [];
  if (before === 0) told.push(...kEvents.slice(0, 2).map((event): Told => ["event", event]));
  for (let epoch = Math.floor(before * one.epochs) + 1; epoch <= after * one.epochs; epoch++)
    told.push(["epoch", epochReport(epoch, one.bias)]);
  told.push(
    ...kEvents
      .slice(2)
      .filter((_, i) => (i + 1) / 6 > before && (i + 1) / 6 <= after)
      .map((event): Told => ["event", event]),
  );
  if (after < 1) told.push(["progress", progressAt(one, after)], recentSteps(Math.floor(after * one.seconds)));
  return told;
}

/** How a stream ends. */
export function toldAtEnd(one: MockJob): Told[] {
  const result = resultOf(one.model, one.data, one.epochs, one.bias, kBoardNames);
  const end: Told = ["end", { state: one.job.state, message: one.job.message }];
  return one.job.state === "done" ? [["result", result], end] : [end];
}
