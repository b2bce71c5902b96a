// Each state has a shape and a word besides its colour.

const kShapes: Record<string, string> = {
  alive: "M8 3a5 5 0 1 0 0 10a5 5 0 0 0 0-10z", // a full circle
  running: "M5 3l8 5l-8 5z", // a triangle
  idle: "M8 3a5 5 0 1 0 0 10a5 5 0 0 0 0-10zm0 1.8v6.4a3.2 3.2 0 0 1 0-6.4z", // a half circle
  lost: "M4.4 3L8 6.6L11.6 3L13 4.4L9.4 8L13 11.6L11.6 13L8 9.4L4.4 13L3 11.6L6.6 8L3 4.4z", // a cross
  left: "M8 3a5 5 0 1 0 0 10a5 5 0 0 0 0-10zm0 1.8a3.2 3.2 0 1 1 0 6.4a3.2 3.2 0 0 1 0-6.4z", // a ring
  done: "M6.4 12.6L2.6 8.8L4 7.4l2.4 2.4L12 4.2l1.4 1.4z", // a tick
  stopped: "M4 4h8v8H4z", // a square
  waiting: "M4 3h8v2L9.2 8L12 11v2H4v-2L6.8 8L4 5z", // an hourglass
};

const kSame: Record<string, string> = { failed: "lost", member: "alive", revoked: "lost", invited: "waiting" };

export function shapeOf(state: string): string {
  return kShapes[kSame[state] ?? state] ?? kShapes["left"]!;
}

/** For a picture that is SVG itself; the shape is 16 units wide. */
export function StateShape({ state, x, y }: { state: string; x: number; y: number }) {
  return <path class={`mark ${state}`} d={shapeOf(state)} fill-rule="evenodd" transform={`translate(${x} ${y})`} />;
}

export function StateMark({ state }: { state: string }) {
  return (
    <span class={`state ${state}`}>
      <svg viewBox="0 0 16 16" width="14" height="14" aria-hidden="true">
        <StateShape state={state} x={0} y={0} />
      </svg>
      {state}
    </span>
  );
}
