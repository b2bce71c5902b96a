import assert from "node:assert/strict";
import { test } from "node:test";
import { compareAddress, jobAddress, parseRoute } from "../src/route.ts";
import { splitFragment } from "../src/token.ts";

test("the token is taken out of the address", () => {
  assert.deepEqual(splitFragment("#token=a%2Fb"), { token: "a/b", hash: "" });
  assert.deepEqual(splitFragment("#/jobs/job-1&token=x"), { token: "x", hash: "#/jobs/job-1" });
  assert.deepEqual(splitFragment("#token=100%"), { token: "100%", hash: "" });
  assert.deepEqual(splitFragment("#/jobs"), { token: null, hash: "#/jobs" });
});

test("addresses lead to their views and back", () => {
  assert.deepEqual(parseRoute(jobAddress("job-7/é")), { view: "job", id: "job-7/é" });
  assert.deepEqual(parseRoute(compareAddress(["a", "b/c"])), { view: "compare", ids: ["a", "b/c"] });
  assert.deepEqual(parseRoute("#/members"), { view: "members" });
  for (const hash of ["", "#", "#/", "#/nothing", "#/%"]) assert.deepEqual(parseRoute(hash), { view: "cluster" });
});
