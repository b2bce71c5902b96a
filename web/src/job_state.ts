// What the page knows of one job, and how each event of its stream changes it. Pure.
import type { ServerEvent } from "./sse.ts";
import { parseData } from "./parse_data.ts";
import type { EpochReport, JobEvent, NodesReport, Progress, Result, Sample, StepTimes } from "./types.ts";

/** A point of a curve: x counts epochs that have passed (training), or is the share that is done. */
export interface Point {
  x: number;
  loss?: number;
  accuracy?: number;
  speed?: number; // images a second
}

export type TimedStep = StepTimes & { step: number; time_s: number };

export interface JobState {
  progress: Progress | null;
  points: readonly Point[]; // since the page looks
  epochs: readonly EpochReport[];
  events: readonly JobEvent[];
  steps: ReadonlyMap<string, readonly TimedStep[]>; // the last ones, by node
  result: Result | null;
  end: { state: string; message: string } | null;
}

export const kNoJob: JobState = {
  progress: null,
  points: [],
  epochs: [],
  events: [],
  steps: new Map(),
  result: null,
  end: null,
};

const kMostPoints = 1200;
const kMostSteps = 60; // of a node
const kTraining = ["train", "head", "fine_tuning"];

/** Null: it says nothing of a curve, as validation does. */
export function pointOf(progress: Progress): Point | null {
  if (!(progress.total > 0)) return null;
  const share = Math.min(1, progress.done / progress.total);
  if (progress.epochs === undefined) return { x: share, speed: progress.images_per_s };
  if (!kTraining.includes(progress.phase)) return null;
  return { x: share * progress.epochs, loss: progress.loss, accuracy: progress.accuracy, speed: progress.images_per_s };
}

/** Puts a point behind the others. A run that was set back to a checkpoint overwrites what came after that. */
export function withPoint(points: readonly Point[], point: Point): readonly Point[] {
  const last = points.at(-1);
  if (last !== undefined && last.x === point.x) return points;
  const kept = last !== undefined && last.x > point.x ? points.filter((one) => one.x < point.x) : points;
  const thinned = kept.length >= kMostPoints ? kept.filter((_, index) => index % 2 === 0) : kept;
  return [...thinned, point];
}

export function withProgress(state: JobState, progress: Progress): JobState {
  const point = pointOf(progress);
  return { ...state, progress, points: point === null ? state.points : withPoint(state.points, point) };
}

function withSamples(state: JobState, samples: Sample[]): JobState {
  const steps = new Map(state.steps);
  for (const sample of samples) {
    const recent = sample.steps?.recent ?? [];
    if (recent.length > 0) steps.set(sample.node, [...(steps.get(sample.node) ?? []), ...recent].slice(-kMostSteps));
  }
  return { ...state, steps };
}

/** The server begins to tell everything from the start. What it does not keep, the points of curves, stays. */
export function streamBegins(state: JobState): JobState {
  return { ...kNoJob, progress: state.progress, points: state.points };
}

export function jobTold(state: JobState, told: ServerEvent): JobState {
  const data = parseData(told.data);
  if (data === null) return state;
  switch (told.event) {
    case "progress":
      return withProgress(state, data as Progress);
    case "epoch":
      return { ...state, epochs: [...state.epochs, data as EpochReport] };
    case "event":
      return { ...state, events: [...state.events, data as JobEvent] };
    case "nodes":
      return withSamples(state, (data as NodesReport).samples ?? []);
    case "result":
      return { ...state, result: data as Result };
    case "end":
      return { ...state, end: data as JobState["end"] };
    default:
      return state;
  }
}

/** The epochs of a job: as they were told, or as its result has them. */
export function epochsOf(state: JobState): readonly EpochReport[] {
  const curve = state.result?.["curve"];
  return Array.isArray(curve) && curve.length > state.epochs.length ? (curve as EpochReport[]) : state.epochs;
}

/** The events of a job: as they were told, or as its result has them. */
export function eventsOf(state: JobState): readonly JobEvent[] {
  const events = state.result?.["events"];
  return Array.isArray(events) && events.length > state.events.length ? (events as JobEvent[]) : state.events;
}

export function meanStep(steps: readonly StepTimes[]): StepTimes {
  const mean = (key: keyof StepTimes) => steps.reduce((sum, step) => sum + step[key], 0) / Math.max(1, steps.length);
  return {
    load_s: mean("load_s"),
    compute_s: mean("compute_s"),
    encode_s: mean("encode_s"),
    wire_s: mean("wire_s"),
    wait_s: mean("wait_s"),
  };
}
