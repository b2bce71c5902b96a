// A job's result as rows for people: known keys in an order that tells a story, with their units; then the others.
import { formatBytes, formatNumber, formatSeconds, formatShare, formatSpeed, words } from "./format.ts";
import type { Result } from "./types.ts";

export interface Row {
  key: string;
  label: string;
  text: string;
  value: number | null; // to compare by
}

export interface SubTable {
  label: string;
  columns: string[];
  rows: string[][];
}

const kLabels: Record<string, string> = {
  model: "network",
  data: "data",
  strategy: "strategy",
  accuracy: "accuracy on the test split",
  macro_f1: "macro F1",
  test_loss: "loss on the test split",
  train_accuracy: "accuracy while training, last epoch",
  loss: "loss while training, last epoch",
  best_epoch: "best epoch",
  best_validation_accuracy: "best accuracy of validation",
  best_validation_loss: "loss of that validation",
  images_per_s: "speed",
  train_seconds: "time of training",
  seconds: "time",
  eval_seconds: "time of evaluation",
  epochs: "epochs",
  steps: "steps",
  samples: "samples learnt from",
  workers: "workers",
  batch: "samples of a worker and step",
  speedup: "speed compared with one node",
  single_images_per_s: "speed of one node alone",
  predicted_images_per_s: "predicted speed",
  limited_by: "limited by",
  agreement: "same answer as one node",
  lost: "images without an answer",
  duplicated: "images answered twice",
};

/** What nobody reads: paths on another machine, and what is shown elsewhere on the page. */
const kElsewhere = new Set([
  "run_dir",
  "report",
  "model_file",
  "events",
  "curve",
  "confusion",
  "classes",
  "embedded",
  "advice",
]);

const kSmallIsBetter = new Set([
  "test_loss",
  "loss",
  "train_seconds",
  "seconds",
  "eval_seconds",
  "best_validation_loss",
  "lost",
  "duplicated",
]);
const kLargeIsBetter = new Set([
  "accuracy",
  "macro_f1",
  "train_accuracy",
  "best_validation_accuracy",
  "images_per_s",
  "speedup",
  "agreement",
]);

const isShare = /(^|_)(accuracy|share|utilisation|agreement|idle|macro_f1|confidence)$/;
const isTime = /(_s|seconds)$/;
const isSize = /(_bytes|_peak|^bytes|^unlimited|^memory)$/;

/** A value by what its key says of its unit. */
export function formatValue(key: string, value: unknown): string {
  if (value === null || value === undefined) return "–";
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (typeof value === "string") return value === "" ? "–" : value;
  if (Array.isArray(value)) return value.map((one) => formatValue(key, one)).join(", ");
  if (typeof value !== "number")
    return Object.entries(value)
      .map(([k, v]) => `${words(k)} ${formatValue(k, v)}`)
      .join("; ");
  if (key.endsWith("images_per_s")) return formatSpeed(value);
  if (key === "cpu_percent") return `${value.toFixed(0)} %`;
  if (isShare.test(key)) return formatShare(value, 2);
  if (isTime.test(key)) return formatSeconds(value);
  if (isSize.test(key)) return formatBytes(value);
  return formatNumber(value);
}

export function labelOfKey(key: string): string {
  return (
    kLabels[key] ??
    words(key)
      .replace(/ (s|seconds|bytes)$/, "")
      .replace(/ per s$/, " per second")
  );
}

function isTable(value: unknown): value is Record<string, unknown>[] {
  return (
    Array.isArray(value) &&
    value.length > 0 &&
    value.every((one) => typeof one === "object" && one !== null && !Array.isArray(one))
  );
}

function isRow(key: string, value: unknown): boolean {
  if (kElsewhere.has(key) || isTable(value)) return false;
  return !(Array.isArray(value) && value.length === 0);
}

/** Nested objects become rows of their own: "latency, p50". */
function flatten(result: Result): [string, string, unknown][] {
  return Object.entries(result).flatMap(([key, value]): [string, string, unknown][] => {
    if (!isRow(key, value)) return [];
    if (typeof value !== "object" || value === null || Array.isArray(value)) return [[key, labelOfKey(key), value]];
    return Object.entries(value)
      .filter(([inner, one]) => isRow(inner, one))
      .map(([inner, one]) => [inner, `${words(key)}, ${labelOfKey(inner)}`, one]);
  });
}

export function resultRows(result: Result): Row[] {
  const order = Object.keys(kLabels);
  const place = (key: string) => (order.indexOf(key) + order.length + 1) % (order.length + 1);
  return flatten(result)
    .map(([key, label, value]) => ({
      key: label.includes(",") ? label : key,
      label,
      text: formatValue(key, value),
      value: typeof value === "number" ? value : null,
    }))
    .sort((one, other) => place(one.key) - place(other.key));
}

/** Lists of objects, such as the nodes and stages of a job. */
export function resultTables(result: Result): SubTable[] {
  return Object.entries(result)
    .filter(([key, value]) => !kElsewhere.has(key) && isTable(value))
    .map(([key, value]) => {
      const rows = value as Record<string, unknown>[];
      const keys = [...new Set(rows.flatMap((row) => Object.keys(row)))];
      return {
        label: words(key),
        columns: keys.map(labelOfKey),
        rows: rows.map((row) => keys.map((column) => formatValue(column, row[column]))),
      };
    });
}

export interface ComparedRow {
  label: string;
  texts: string[];
  best: number | null; // column of the best value, where one is better than another
}

/** Results side by side; a row for each key that one of them has. */
export function compareResults(results: (Result | null)[]): ComparedRow[] {
  const rows = results.map(
    (result) => new Map((result === null ? [] : resultRows(result)).map((row) => [row.key, row])),
  );
  const order = Object.keys(kLabels);
  const keys = [...new Set(rows.flatMap((one) => [...one.keys()]))].filter((key) => order.includes(key));
  keys.sort((one, other) => order.indexOf(one) - order.indexOf(other));
  return keys.map((key) => ({
    label: labelOfKey(key),
    texts: rows.map((one) => one.get(key)?.text ?? "–"),
    best: bestColumn(
      key,
      rows.map((one) => one.get(key)?.value ?? null),
    ),
  }));
}

function bestColumn(key: string, values: (number | null)[]): number | null {
  const sign = kLargeIsBetter.has(key) ? 1 : kSmallIsBetter.has(key) ? -1 : 0;
  const known = values.filter((value) => value !== null);
  if (sign === 0 || known.length < 2 || new Set(known).size < 2) return null;
  const best = sign > 0 ? Math.max(...known) : Math.min(...known);
  return values.filter((value) => value === best).length === 1 ? values.indexOf(best) : null;
}
