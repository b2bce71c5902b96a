// Numbers and times for people: pure functions from values to short texts.

const kNothing = "–";
const whole = new Intl.NumberFormat("en-US", { maximumFractionDigits: 0 });

function isNumber(value: unknown): value is number {
  return typeof value === "number" && Number.isFinite(value);
}

/** Three digits that count: 0.0123, 1.23, 12.3, 123, 1,230. */
export function formatNumber(value: unknown): string {
  if (!isNumber(value)) return kNothing;
  if (Number.isInteger(value)) return whole.format(value);
  const size = Math.abs(value);
  if (size >= 99.95) return whole.format(value);
  if (size >= 9.995) return value.toFixed(1);
  if (size >= 0.9995) return value.toFixed(2);
  return size < 1e-4 ? value.toExponential(1) : String(Number(value.toPrecision(3)));
}

export function formatCount(value: unknown): string {
  return isNumber(value) ? whole.format(value) : kNothing;
}

const kSizeUnits = ["B", "kB", "MB", "GB", "TB", "PB"];

/** Bytes, with units of 1,000: "88.2 MB". */
export function formatBytes(bytes: unknown): string {
  if (!isNumber(bytes)) return kNothing;
  let unit = 0;
  let size = bytes;
  while (Math.abs(size) >= 999.5 && unit + 1 < kSizeUnits.length) {
    size /= 1000;
    unit += 1;
  }
  const text = unit === 0 ? whole.format(size) : size >= 99.95 ? size.toFixed(0) : size.toFixed(1);
  return `${text} ${kSizeUnits[unit]}`;
}

export function formatRate(bytesPerSecond: unknown): string {
  return isNumber(bytesPerSecond) ? `${formatBytes(bytesPerSecond)}/s` : kNothing;
}

/** A share from 0 to 1: "98.6 %". */
export function formatShare(share: unknown, digits = 1): string {
  return isNumber(share) ? `${(share * 100).toFixed(digits)} %` : kNothing;
}

export function formatSpeed(imagesPerSecond: unknown): string {
  if (!isNumber(imagesPerSecond)) return kNothing;
  const text = imagesPerSecond >= 9.95 ? whole.format(imagesPerSecond) : imagesPerSecond.toFixed(1);
  return `${text} images/s`;
}

function twoParts(large: number, largeUnit: string, small: number, smallUnit: string): string {
  return small === 0 ? `${large} ${largeUnit}` : `${large} ${largeUnit} ${small} ${smallUnit}`;
}

/** Seconds: "12 ms", "1.3 s", "2 min 5 s", "3 h 20 min", "2 days 4 h". */
export function formatSeconds(seconds: unknown): string {
  if (!isNumber(seconds)) return kNothing;
  if (seconds < 0) return `-${formatSeconds(-seconds)}`;
  if (seconds === 0) return "0 s";
  if (seconds < 0.000_999_5) return `${(seconds * 1e6).toFixed(0)} µs`;
  if (seconds < 0.009_95) return `${(seconds * 1e3).toFixed(1)} ms`;
  if (seconds < 0.9995) return `${(seconds * 1e3).toFixed(0)} ms`;
  if (seconds < 9.95) return `${seconds.toFixed(1)} s`;
  const s = Math.round(seconds);
  if (s < 60) return `${s} s`;
  if (s < 3600) return twoParts(Math.floor(s / 60), "min", s % 60, "s");
  const minutes = Math.round(s / 60);
  if (minutes < 24 * 60) return twoParts(Math.floor(minutes / 60), "h", minutes % 60, "min");
  const hours = Math.round(minutes / 60);
  const days = Math.floor(hours / 24);
  return twoParts(days, days === 1 ? "day" : "days", hours % 24, "h");
}

/** A moment of the server, "2026-11-28 08:30:38" in UTC. Null: it says none. */
export function parseUtc(text: string): Date | null {
  if (text === "") return null;
  const date = new Date(`${text.replace(" ", "T")}Z`);
  return Number.isNaN(date.getTime()) ? null : date;
}

const dayAndTime = new Intl.DateTimeFormat("en-GB", {
  day: "numeric",
  month: "short",
  hour: "2-digit",
  minute: "2-digit",
});
const timeOnly = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", second: "2-digit" });
const dayAndYear = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", year: "numeric" });

/** In the reader's time zone: the time of today, "27 Nov, 08:30" of another day, "27 Nov 2025" of another year. */
export function formatMoment(date: Date | null, now: Date): string {
  if (date === null) return kNothing;
  if (date.toDateString() === now.toDateString()) return timeOnly.format(date);
  return (date.getFullYear() === now.getFullYear() ? dayAndTime : dayAndYear).format(date);
}

/** How long ago: "just now", "12 s ago". */
export function formatAgo(seconds: number): string {
  return seconds < 1.5 ? "just now" : `${formatSeconds(Math.round(seconds))} ago`;
}

/** "1 node", "3 nodes". */
export function plural(count: number, one: string, many = `${one}s`): string {
  return `${whole.format(count)} ${count === 1 ? one : many}`;
}

/** "best_validation_accuracy" as "best validation accuracy". */
export function words(key: string): string {
  return key.replaceAll("_", " ");
}

const naturally = new Intl.Collator("en", { numeric: true, sensitivity: "base" });

/** Orders names as people do: pi-2 before pi-10. */
export function compareNames(one: string, other: string): number {
  return naturally.compare(one, other);
}
