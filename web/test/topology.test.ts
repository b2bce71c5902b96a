import assert from "node:assert/strict";
import { test } from "node:test";
import { type Box, groupNodes, layOut, lineWidth, shorten } from "../src/topology.ts";
import { nodesAt } from "./mock_data.ts";

function overlap(one: Box, other: Box): boolean {
  return (
    one.x < other.x + other.width &&
    other.x < one.x + one.width &&
    one.y < other.y + other.height &&
    other.y < one.y + one.height
  );
}

test("no node lies on another, outside of the picture, or on a line of others", () => {
  for (const count of [1, 2, 6, 7, 40, 41, 200])
    for (const width of [300, 360, 800, 1400]) {
      const picture = layOut(nodesAt(count, 1, null), width);
      const placed = picture.groups.flatMap((group) => group.nodes);
      assert.equal(placed.length, count);
      const boxes = [picture.coordinator, ...placed.map((one) => one.box)];
      for (const [i, box] of boxes.entries()) {
        assert.ok(box.x >= 0 && box.x + box.width <= width + 0.5, `${count} nodes, ${width} pixels`);
        assert.ok(box.y + box.height <= picture.height);
        for (const other of boxes.slice(i + 1)) assert.ok(!overlap(box, other), `${count} nodes, ${width} pixels`);
      }
      for (const { y, x2 } of picture.groups.flatMap((group) => group.buses)) {
        const line = { x: picture.trunkX, y, width: x2 - picture.trunkX, height: 0.1 };
        for (const box of boxes) assert.ok(!overlap(line, box), `${count} nodes, ${width} pixels`);
      }
    }
});

test("tiers come from the cloud down, other groups by name, nodes without a label last", () => {
  const [node] = nodesAt(1, 1, null);
  const labelled = (name: string, ...labels: string[]) => ({ ...node!, name, labels });
  const groups = groupNodes([
    labelled("a"),
    labelled("b", "tier=end"),
    labelled("c", "tier=cloud"),
    labelled("d", "tier=edge"),
    labelled("pi-10", "tier=end"),
    labelled("pi-9", "tier=end"),
  ]);
  assert.deepEqual(
    groups.map(([name]) => name),
    ["cloud", "edge", "end", ""],
  );
  assert.deepEqual(
    groups[2]![1].map((one) => one.name),
    ["b", "pi-9", "pi-10"],
  );
  const zones = groupNodes([labelled("a", "zone=z10"), labelled("b", "zone=z9")]);
  assert.deepEqual(
    zones.map(([name]) => name),
    ["z9", "z10"],
  );
});

test("many nodes are drawn small", () => {
  assert.equal(layOut(nodesAt(40, 1, null), 1200).isCompact, false);
  assert.equal(layOut(nodesAt(41, 1, null), 1200).isCompact, true);
});

test("lines grow with traffic, within bounds", () => {
  assert.deepEqual([0, 1000, Number.NaN].map(lineWidth), [1, 1, 1]);
  assert.ok(lineWidth(1e5) < lineWidth(1e6));
  assert.equal(lineWidth(1e15), 7);
});

test("long names are cut", () => {
  assert.equal(shorten("fern", 100), "fern");
  assert.equal(shorten("a-very-long-name-of-a-board", 74), "a-very-lo…");
});
