import assert from "node:assert/strict";
import { test } from "node:test";
import {
  groupKeys,
  isOfStrategy,
  keyNamedBy,
  problemOf,
  rangeOf,
  rangeText,
  splitKeys,
  valueOf,
} from "../src/key_checks.ts";
import type { Key } from "../src/types.ts";
import { kKeys } from "./mock_data.ts";

function key(type: string, more: Partial<Key> = {}): Key {
  return { name: "k", group: "g", type, help: "", ...more };
}

test("ranges come as numbers or as words", () => {
  assert.deepEqual(rangeOf(key("whole", { low: 1, high: 5 })), { low: 1, high: 5 });
  assert.deepEqual(rangeOf(key("whole", { range: "1 to 1,048,576" })), { low: 1, high: 1_048_576 });
  assert.deepEqual(rangeOf(key("number", { range: "1e-12 or more" })), { low: 1e-12, high: Infinity });
  assert.deepEqual(rangeOf(key("whole", { range: "-100 to 100" })), { low: -100, high: 100 });
  assert.deepEqual(rangeOf(key("text")), { low: -Infinity, high: Infinity });
  assert.equal(rangeText(key("whole", { range: "1 to 1,048,576" })), "1 to 1,048,576");
  assert.equal(rangeText(key("whole", { low: 0 })), "0 or more");
  assert.equal(rangeText(key("text")), "");
});

test("values are checked before they are sent", () => {
  const whole = key("whole", { range: "1 to 64" });
  for (const good of ["", " ", "1", "64", " 7 "]) assert.equal(problemOf(whole, good), "");
  for (const bad of ["0", "65", "1.5", "ten", "1e400"]) assert.notEqual(problemOf(whole, bad), "", bad);
  assert.equal(problemOf(whole, "65"), "Expected 1 to 64.");
  assert.equal(problemOf(key("duration"), "500ms"), "");
  assert.match(problemOf(key("duration"), "soon"), /a time/);
  assert.equal(problemOf(key("size"), "64MB"), "");
  assert.match(problemOf(key("size"), "64 apples"), /a size/);
  assert.match(problemOf(key("choice", { choices: ["a", "b"] }), "c"), /a, b/);
  assert.equal(problemOf(key("text", { choices: ["a"] }), "folder:PATH"), "", "choices of a text are examples");
});

test("values are sent as what they are", () => {
  assert.equal(valueOf(key("whole"), " 3 "), 3);
  assert.equal(valueOf(key("number"), "1e-3"), 0.001);
  assert.equal(valueOf(key("flag"), "true"), true);
  assert.equal(valueOf(key("size"), "64MB"), "64MB");
});

test("the key that a message names is found", () => {
  const names = ["model", "learning_rate", "batch"];
  assert.equal(keyNamedBy("learning_rate: expected a NUMBER, found 'x'", names), "learning_rate");
  assert.equal(keyNamedBy("--learning-rate: 7 is not in range", names), "learning_rate");
  assert.equal(keyNamedBy("the key 'batch' belongs to other strategies", names), "batch");
  assert.equal(keyNamedBy("batch must be at least 1", names), "batch");
  assert.equal(keyNamedBy("key 'batch': '0' is not a whole number", names, { model: "0" }), "batch");
  assert.equal(
    keyNamedBy("no model is called 'lenot'; did you mean 'lenet'?", names, { model: "lenot", batch: 2 }),
    "model",
  );
  assert.equal(keyNamedBy("no node has joined", names, { model: "lenet" }), null);
});

test("common keys come first, and keys of other strategies not at all", () => {
  const [common, others] = splitKeys(kKeys);
  assert.deepEqual(
    common.slice(0, 4).map((one) => one.name),
    ["model", "data", "epochs", "batch"],
  );
  assert.equal(common.length + others.length, kKeys.length);
  const stages = kKeys.find((one) => one.name === "stages")!;
  assert.equal(isOfStrategy(stages, "parameter_server"), false);
  assert.equal(isOfStrategy(stages, "gpipe"), true);
  assert.deepEqual(
    groupKeys(kKeys).map(([group]) => group),
    ["Model", "Data", "Cluster", "Strategy", "Learning", "Output"],
  );
});
