import assert from "node:assert/strict";
import { test } from "node:test";
import { EventParser, type ServerEvent } from "../src/sse.ts";

function parse(...pieces: string[]): ServerEvent[] {
  const parser = new EventParser();
  return pieces.flatMap((piece) => parser.push(piece));
}

const kText = ': nothing new\n\nevent: cluster\ndata: {"a":1}\n\ndata: one\r\ndata: two\r\n\r\nevent:end\rdata:x\r\r\n';
const kEvents = [
  { event: "cluster", data: '{"a":1}' },
  { event: "message", data: "one\ntwo" },
  { event: "end", data: "x" },
];

test("events with all three ends of lines", () => {
  assert.deepEqual(parse(kText), kEvents);
});

test("a stream may be cut anywhere", () => {
  for (let cut = 0; cut <= kText.length; cut++) assert.deepEqual(parse(kText.slice(0, cut), kText.slice(cut)), kEvents);
  assert.deepEqual(parse(...kText), kEvents);
});

test("an event that has not ended is kept back", () => {
  assert.deepEqual(parse("event: a\ndata: 1\n"), []);
  assert.deepEqual(parse("event: a\ndata: 1\n", "\n"), [{ event: "a", data: "1" }]);
});

test("comments, unknown fields and events without data tell nothing", () => {
  assert.deepEqual(parse(": hello\n\nid: 7\nretry: 3\nnonsense\n\nevent: empty\n\n"), []);
});

test("the name of an event is not that of the next", () => {
  assert.deepEqual(parse("event: a\n\ndata: 1\n\n"), [{ event: "message", data: "1" }]);
});

test("only one space after the colon is taken away", () => {
  assert.deepEqual(parse("data:  x: y\n\n"), [{ event: "message", data: " x: y" }]);
});
