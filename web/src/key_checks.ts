// The keys of a job as a form has them: which come first, what a value must look like, which key a message names. Pure.
import type { Key } from "./types.ts";

/** What nearly everybody sets; the others are one click away. */
const kCommon = ["model", "data", "epochs", "batch", "learning_rate", "strategy", "nodes", "limit"];

/** The common keys in the order in which people think of them; and the others. */
export function splitKeys(keys: Key[]): [common: Key[], others: Key[]] {
  const common = kCommon.flatMap((name) => keys.filter((key) => key.name === name));
  return [common, keys.filter((key) => !kCommon.includes(key.name))];
}

export interface Range {
  low: number;
  high: number;
}

const number = (text: string) => Number(text.replaceAll(",", ""));

/** The range of a key: `low` and `high`, or a text such as "1 to 1,000" and "0 or more". */
export function rangeOf(key: Key): Range {
  const range = { low: key.low ?? -Infinity, high: key.high ?? Infinity };
  const between = /^\s*(\S+) to (\S+)\s*$/.exec(key.range ?? "");
  if (between !== null) return { low: number(between[1]!), high: number(between[2]!) };
  const above = /^\s*(\S+) or more\s*$/.exec(key.range ?? "");
  return above === null ? range : { ...range, low: number(above[1]!) };
}

/** "from 1 to 1,000"; "": anything. */
export function rangeText(key: Key): string {
  const { low, high } = rangeOf(key);
  const text = (value: number) => value.toLocaleString("en-US", { maximumSignificantDigits: 12 });
  if (low === -Infinity && high === Infinity) return "";
  if (high === Infinity) return `${text(low)} or more`;
  return low === -Infinity ? `at most ${text(high)}` : `${text(low)} to ${text(high)}`;
}

const kTime = /^\d+(\.\d+)?\s*(ms|s|min|h|d)$/;
const kSize = /^\d+(\.\d+)?\s*([kKMGT]i?B|B)?$/;

function numberProblem(key: Key, text: string): string {
  const value = Number(text);
  if (text === "" || !Number.isFinite(value)) return "Expected a number.";
  if (key.type === "whole" && !Number.isInteger(value)) return "Expected a whole number.";
  const { low, high } = rangeOf(key);
  return value < low || value > high ? `Expected ${rangeText(key)}.` : "";
}

/** What is wrong with a value; "": nothing. An empty one stands for the default. */
export function problemOf(key: Key, value: string): string {
  const text = value.trim();
  if (text === "") return "";
  if (key.type === "whole" || key.type === "number") return numberProblem(key, text);
  if (key.type === "duration" && !kTime.test(text)) return "Expected a time, such as 30s, 500ms or 2min.";
  if (key.type === "size" && !kSize.test(text)) return "Expected a size, such as 256MB or 1GiB.";
  if (key.type === "choice" && key.choices !== undefined && !key.choices.includes(text))
    return `Expected ${key.choices.join(", ")}.`;
  return "";
}

/** The value as the server wants it: numbers and flags are no texts. */
export function valueOf(key: Key, value: string): string | number | boolean {
  const text = value.trim();
  if (key.type === "flag") return text === "true";
  return key.type === "whole" || key.type === "number" ? Number(text) : text;
}

/** Whether the chosen strategy reads the key. */
export function isOfStrategy(key: Key, strategy: string): boolean {
  const strategies = key.strategies ?? [];
  return strategies.length === 0 || strategies.includes(strategy);
}

/**
 * The key that a message of the server is about: "learning_rate: ...", "--learning-rate", or the one whose value it
 * quotes. Null: none of these. values: what was sent.
 */
export function keyNamedBy(message: string, names: string[], values: Record<string, unknown> = {}): string | null {
  const first = /^\s*(?:--)?([a-z][a-z0-9_-]*)\b/.exec(message)?.[1]?.replaceAll("-", "_");
  if (first !== undefined && names.includes(first) && /^\s*(?:--)?[a-z][a-z0-9_-]*\s*[:=]/.test(message)) return first;
  for (const [, flag] of message.matchAll(/(?:--|['"`])([a-z][a-z0-9_-]*)/g)) {
    const name = flag!.replaceAll("-", "_");
    if (names.includes(name)) return name;
  }
  const quoted = names.filter((name) => values[name] !== undefined && message.includes(`'${String(values[name])}'`));
  if (quoted.length === 1) return quoted[0]!;
  return first !== undefined && names.includes(first) ? first : null;
}

export function defaultText(key: Key): string {
  return key.default === undefined || key.default === null ? "" : String(key.default);
}

/** The keys by their group, in the order in which the server names them. */
export function groupKeys(keys: Key[]): [string, Key[]][] {
  const groups = new Map<string, Key[]>();
  for (const key of keys) groups.set(key.group, [...(groups.get(key.group) ?? []), key]);
  return [...groups];
}
