import assert from "node:assert/strict";
import { test } from "node:test";
import { compareResults, formatValue, resultRows, resultTables } from "../src/result_rows.ts";
import { resultOf } from "./mock_data.ts";

const kResult = resultOf("lenet", "mnist", 5, 0, ["fern", "moss"]);

test("rows begin with what people ask first, and have units", () => {
  const rows = resultRows(kResult);
  assert.deepEqual(
    rows.slice(0, 3).map((row) => row.label),
    ["network", "data", "accuracy on the test split"],
  );
  assert.equal(rows.find((row) => row.key === "images_per_s")?.text, "4,014 images/s");
  assert.equal(rows.find((row) => row.key === "train_seconds")?.text, "1 min 11 s");
  assert.ok(rows.some((row) => row.label === "exchange, uplink"));
  for (const hidden of ["run_dir", "curve", "confusion"]) assert.ok(!rows.some((row) => row.key === hidden));
});

test("lists of objects are tables", () => {
  const [nodes] = resultTables(kResult);
  assert.equal(nodes?.label, "nodes");
  assert.equal(nodes?.rows.length, 2);
  assert.ok(nodes?.rows[0]?.includes("88.2 MB"));
});

test("values go by what their keys say", () => {
  assert.equal(formatValue("macro_f1", 0.9886), "98.86 %");
  assert.equal(formatValue("p50_s", 0.0257), "26 ms");
  assert.equal(formatValue("sent_bytes", 1e6), "1.0 MB");
  assert.equal(formatValue("limited_by", "the cores"), "the cores");
  assert.equal(formatValue("proven_best", true), "yes");
  assert.equal(formatValue("staleness", [3, 0]), "3, 0");
  assert.equal(formatValue("predicted", null), "–");
});

test("of compared results the best is marked, if there is one", () => {
  const better = resultOf("mlp", "mnist", 5, -0.5, ["fern"]);
  const rows = compareResults([kResult, better, null]);
  assert.equal(rows.find((row) => row.label === "accuracy on the test split")?.best, 1);
  assert.equal(rows.find((row) => row.label === "loss on the test split")?.best, 1);
  assert.equal(rows.find((row) => row.label === "network")?.best, null);
  assert.equal(rows.find((row) => row.label === "speed")?.best, null, "both are as fast");
  assert.equal(rows[0]?.texts[2], "–");
});
