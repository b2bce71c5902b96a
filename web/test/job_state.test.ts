import assert from "node:assert/strict";
import { test } from "node:test";
import {
  epochsOf,
  eventsOf,
  jobTold,
  kNoJob,
  meanStep,
  type Point,
  pointOf,
  streamBegins,
  withPoint,
  withProgress,
} from "../src/job_state.ts";
import type { JobState } from "../src/job_state.ts";
import { makeJob, progressAt, toldAtEnd, toldBetween } from "./mock_jobs.ts";

function tell(state: JobState, event: string, data: unknown): JobState {
  return jobTold(state, { event, data: JSON.stringify(data) });
}

const kJob = makeJob("job-1", "done", 0, 60, { epochs: 4 });

test("a job is told from its beginning to its end", () => {
  let state = kNoJob;
  for (const [event, data] of [...toldBetween(kJob, 0, 0.9), ...toldBetween(kJob, 0.9, 1), ...toldAtEnd(kJob)])
    state = tell(state, event, data);
  assert.deepEqual(
    state.epochs.map((epoch) => epoch.epoch),
    [1, 2, 3, 4],
  );
  assert.ok(state.events.some((event) => event.warning));
  assert.equal(state.steps.size, 6);
  assert.equal(state.result?.["model"], "lenet");
  assert.deepEqual(state.end, { state: "done", message: "" });
});

test("a stream that begins again tells all but the points of curves anew", () => {
  let state = withProgress(kNoJob, progressAt(kJob, 0.5));
  state = tell(state, "epoch", { epoch: 1 });
  const again = streamBegins(state);
  assert.deepEqual(again.epochs, []);
  assert.equal(again.points.length, 1);
  assert.deepEqual(again.progress, state.progress);
});

test("progress of validation and of nothing makes no point", () => {
  assert.equal(pointOf({ phase: "validate", done: 5, total: 10, epochs: 2 }), null);
  assert.equal(pointOf({ phase: "train", done: 0, total: 0, epochs: 2 }), null);
  assert.deepEqual(pointOf({ phase: "train", done: 5, total: 10, epochs: 4, loss: 1 }), {
    x: 2,
    loss: 1,
    accuracy: undefined,
    speed: undefined,
  });
  assert.equal(pointOf({ phase: "pipeline", done: 5, total: 10, images_per_s: 7 })?.speed, 7);
});

test("a run that goes back to a checkpoint overwrites what came after it", () => {
  let points: readonly Point[] = [];
  for (const x of [0.1, 0.2, 0.2, 0.3, 0.15]) points = withPoint(points, { x });
  assert.deepEqual(
    points.map((point) => point.x),
    [0.1, 0.15],
  );
});

test("a long curve is thinned, and keeps its order and its end", () => {
  let points: readonly Point[] = [];
  for (let i = 0; i < 10_000; i++) points = withPoint(points, { x: i });
  assert.ok(points.length <= 1201);
  assert.equal(points.at(-1)?.x, 9999);
  assert.ok(points.every((point, i) => i === 0 || points[i - 1]!.x < point.x));
});

test("what is no JSON, or of an unknown name, changes nothing", () => {
  assert.equal(jobTold(kNoJob, { event: "progress", data: "{" }), kNoJob);
  assert.equal(jobTold(kNoJob, { event: "progress", data: "7" }), kNoJob);
  assert.equal(tell(kNoJob, "answers", {}), kNoJob);
});

test("a result fills in what was told before the page was opened", () => {
  const state = toldAtEnd(kJob).reduce((before, [event, data]) => tell(before, event, data), kNoJob);
  assert.equal(epochsOf(state).length, 4);
  assert.ok(eventsOf(state).length > 0);
});

test("means of steps", () => {
  const step = { load_s: 1, compute_s: 2, encode_s: 3, wire_s: 4, wait_s: 5 };
  assert.deepEqual(meanStep([step, { ...step, load_s: 3 }]), { ...step, load_s: 2 });
  assert.equal(meanStep([]).load_s, 0);
});
