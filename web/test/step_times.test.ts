import assert from "node:assert/strict";
import { test } from "node:test";
import { kNoJob, type TimedStep } from "../src/job_state.ts";
import { slowest, stepsOfJob } from "../src/step_times.tsx";
import { nodesAt } from "./mock_data.ts";

const kStep: TimedStep = { step: 1, time_s: 1, load_s: 0, compute_s: 0.5, encode_s: 0, wire_s: 0, wait_s: 0 };

test("what the job's stream says of a node's steps comes before what the cluster's does", () => {
  const rows = stepsOfJob("job", new Map([["fern", [kStep, kStep]]]), nodesAt(6, 1, "job"));
  assert.deepEqual(rows.map((row) => row.name).sort(), ["egret", "fern", "heron", "moss", "reed", "sedge"]);
  assert.equal(rows.find((row) => row.name === "fern")?.mean.compute_s, 0.5);
});

test("nodes of other jobs, and those without a step, have no row", () => {
  assert.deepEqual(stepsOfJob("another", kNoJob.steps, nodesAt(6, 1, "job")), []);
  assert.deepEqual(stepsOfJob("job", kNoJob.steps, nodesAt(6, 0, "job")), []);
});

test("of many nodes the slowest are shown", () => {
  const rows = stepsOfJob("job", kNoJob.steps, nodesAt(200, 1, "job"));
  assert.equal(rows.length, 200);
  const shown = slowest(rows);
  assert.equal(shown.length, 12);
  const least = Math.min(...shown.map((row) => row.mean.load_s + row.mean.compute_s));
  const others = rows.filter((row) => !shown.includes(row));
  assert.ok(others.every((row) => row.mean.load_s + row.mean.compute_s <= least));
});
