import assert from "node:assert/strict";
import { test } from "node:test";
import { backoffMs } from "../src/backoff.ts";
import { nodeNames } from "../src/job_nodes.ts";
import { qrCode } from "../src/qr.ts";
import { sparkPath } from "../src/sparkline.tsx";
import { makeJob } from "./mock_jobs.ts";

test("a QR code has a quiet zone and its three corners", () => {
  const code = qrCode("MG1 a join string");
  assert.ok(code.size >= 21 + 8);
  for (const corner of ["M4 4h", `M${code.size - 5} 4h`, `M4 ${code.size - 5}h`])
    assert.ok(code.path.includes(corner), corner);
  const numbers = [...code.path.matchAll(/M(\d+) (\d+)/g)].flatMap(([, x, y]) => [Number(x), Number(y)]);
  assert.ok(Math.min(...numbers) === 4 && Math.max(...numbers) === code.size - 5);
});

test("a QR code takes the longest join strings, and other letters", () => {
  assert.ok(qrCode("x".repeat(1200)).size > qrCode("x").size);
  assert.doesNotThrow(() => qrCode("käse:é"));
  assert.throws(() => qrCode("x".repeat(4000)));
});

test("a small chart ends at the right edge, and is broken at gaps", () => {
  assert.equal(sparkPath([], 1, 119, 22), "");
  assert.equal(sparkPath([1, 0], 1, 119, 22), "M118.0 1.0L119.0 21.0");
  assert.equal(sparkPath([1, Number.NaN, 0], 1, 119, 22), "M117.0 1.0M119.0 21.0");
  assert.equal(sparkPath([5], 0, 119, 22), "M119.0 21.0", "nothing to compare with");
});

test("attempts come ever later, up to a bound, and spread by chance", () => {
  assert.deepEqual(
    [1, 2, 3].map((failures) => backoffMs(failures, 0)),
    [500, 1000, 2000],
  );
  assert.equal(backoffMs(100, 0), 15_000);
  assert.equal(backoffMs(1, 1), 375);
});

test("nodes of a job come as words or as a list", () => {
  const { job } = makeJob("j", "done", 0, 1);
  assert.deepEqual(nodeNames({ ...job, nodes: "cat ann ben" }), ["cat", "ann", "ben"]);
  assert.deepEqual(nodeNames({ ...job, nodes: ["cat"] }), ["cat"]);
  assert.deepEqual(nodeNames({ ...job, nodes: "" }), []);
});
