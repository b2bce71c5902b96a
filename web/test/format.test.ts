import assert from "node:assert/strict";
import { test } from "node:test";
import {
  compareNames,
  formatAgo,
  formatBytes,
  formatMoment,
  formatNumber,
  formatRate,
  formatSeconds,
  formatShare,
  formatSpeed,
  parseUtc,
  plural,
} from "../src/format.ts";

test("numbers have three digits that count", () => {
  const cases: [number, string][] = [
    [0, "0"],
    [15340, "15,340"],
    [1234.5, "1,235"],
    [123.4, "123"],
    [12.34, "12.3"],
    [1.234, "1.23"],
    [0.01234, "0.0123"],
    [0.9999, "1.00"],
    [9.999, "10.0"],
    [99.97, "100"],
    [0.00001234, "1.2e-5"],
    [-0.5, "-0.5"],
  ];
  for (const [value, text] of cases) assert.equal(formatNumber(value), text);
});

test("what is no number is a dash", () => {
  for (const value of [null, undefined, Number.NaN, Infinity, "12"])
    for (const format of [formatNumber, formatBytes, formatRate, formatSeconds, formatShare, formatSpeed])
      assert.equal(format(value), "–");
});

test("sizes and rates have units of 1,000", () => {
  const cases: [number, string][] = [
    [0, "0 B"],
    [999, "999 B"],
    [1000, "1.0 kB"],
    [88_199_168, "88.2 MB"],
    [999_600, "1.0 MB"],
    [4e9, "4.0 GB"],
    [123e9, "123 GB"],
  ];
  for (const [bytes, text] of cases) assert.equal(formatBytes(bytes), text);
  assert.equal(formatRate(3.2e6), "3.2 MB/s");
});

test("times go from microseconds to days", () => {
  const cases: [number, string][] = [
    [0, "0 s"],
    [0.0000123, "12 µs"],
    [0.0012, "1.2 ms"],
    [0.012, "12 ms"],
    [0.9996, "1.0 s"],
    [1.311, "1.3 s"],
    [9.96, "10 s"],
    [59.6, "1 min"],
    [125, "2 min 5 s"],
    [3600, "1 h"],
    [12_000, "3 h 20 min"],
    [86_400, "1 day"],
    [187_200, "2 days 4 h"],
    [-2, "-2.0 s"],
  ];
  for (const [seconds, text] of cases) assert.equal(formatSeconds(seconds), text);
});

test("shares and speeds", () => {
  assert.equal(formatShare(0.9858), "98.6 %");
  assert.equal(formatShare(0.9858, 2), "98.58 %");
  assert.equal(formatSpeed(15340.4), "15,340 images/s");
  assert.equal(formatSpeed(3.14), "3.1 images/s");
});

test("moments of today are times, others have their day", () => {
  const moment = parseUtc("2026-11-28 08:30:38")!;
  assert.equal(moment.getTime(), Date.UTC(2026, 10, 28, 8, 30, 38));
  assert.match(formatMoment(moment, moment), /^\d\d:\d\d:\d\d$/);
  assert.match(formatMoment(moment, new Date(moment.getTime() + 2 * 86_400_000)), /^2[789] Nov, \d\d:\d\d$/);
  assert.match(formatMoment(moment, new Date(2028, 1, 1)), /^2[789] Nov 2026$/);
  assert.equal(formatMoment(parseUtc(""), moment), "–");
  assert.equal(parseUtc("yesterday"), null);
});

test("words", () => {
  assert.equal(plural(1, "node"), "1 node");
  assert.equal(plural(1200, "node"), "1,200 nodes");
  assert.equal(formatAgo(0.4), "just now");
  assert.equal(formatAgo(12.2), "12 s ago");
  assert.deepEqual(["pi-10", "pi-2", "Pi-1"].sort(compareNames), ["Pi-1", "pi-2", "pi-10"]);
});
