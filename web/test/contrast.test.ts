// The colours of the style sheet, by the rules of WCAG 2.2 (1.4.3 and 1.4.11, level AA).
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

const kStyle = new URL("../../src/app.css", import.meta.url);

type Colours = Map<string, [light: string, dark: string]>;

function coloursOf(css: string): Colours {
  const pairs = css.matchAll(/--([\w-]+): light-dark\((#[0-9a-f]{6}), (#[0-9a-f]{6})\);/g);
  return new Map([...pairs].map(([, name, light, dark]) => [name!, [light!, dark!]]));
}

function luminance(colour: string): number {
  const [r, g, b] = [1, 3, 5].map((at) => {
    const part = parseInt(colour.slice(at, at + 2), 16) / 255;
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * r! + 0.7152 * g! + 0.0722 * b!;
}

function contrast(one: string, other: string): number {
  const [dark, light] = [luminance(one), luminance(other)].sort((a, b) => a - b);
  return (light! + 0.05) / (dark! + 0.05);
}

const colours = coloursOf(readFileSync(kStyle, "utf8"));

function check(texts: string[], grounds: string[], least: number): void {
  for (const text of texts)
    for (const ground of grounds)
      for (const mode of [0, 1]) {
        const [a, b] = [colours.get(text), colours.get(ground)];
        assert.ok(a !== undefined && b !== undefined, `${text} or ${ground} is no colour`);
        const found = contrast(a[mode]!, b[mode]!);
        assert.ok(
          found >= least,
          `${text} on ${ground}, ${mode === 0 ? "light" : "dark"}: ${found.toFixed(2)}, expected ${least}`,
        );
      }
}

test("texts can be read on their grounds", () => {
  check(["ink", "muted", "accent", "bad", "warn", "good"], ["panel", "ground"], 4.5);
  check(["ink"], ["warn-ground", "bad-ground"], 4.5);
  check(["muted"], ["bad-ground"], 4.5);
  check(["on-accent"], ["accent"], 4.5);
});

test("marks and curves can be told from their ground", () => {
  check(["good", "warn", "bad", "gone", "series-1", "series-2", "series-3", "series-4"], ["panel"], 3);
  check(["load", "compute", "encode", "wire", "wait"], ["panel"], 3);
});
