import { kHistorySeconds } from "./cluster_state.ts";

const kWidth = 70;
const kHeight = 22;

/** Lines from the oldest value to the newest, which lies at the right edge; broken where values are missing. */
export function sparkPath(values: readonly number[], top: number, width: number, height: number): string {
  const step = width / (kHistorySeconds - 1);
  const x0 = width - (values.length - 1) * step;
  let path = "";
  let isDown = false;
  values.forEach((value, index) => {
    if (Number.isNaN(value)) {
      isDown = false;
      return;
    }
    const y = height - 1 - (top > 0 ? Math.min(1, value / top) : 0) * (height - 2);
    path += `${isDown ? "L" : "M"}${(x0 + index * step).toFixed(1)} ${y.toFixed(1)}`;
    isDown = true;
  });
  return path;
}

interface SparklineProps {
  values: readonly number[];
  least: number; // that the top of the picture stands for, so that noise does not look like work
  label: string;
}

/** The last two minutes of a value. */
export function Sparkline({ values, least, label }: SparklineProps) {
  const top = values.reduce((most, value) => (value > most ? value : most), least);
  return (
    <svg
      class="spark"
      width={kWidth}
      height={kHeight}
      viewBox={`0 0 ${kWidth} ${kHeight}`}
      role="img"
      aria-label={label}
    >
      <path d={sparkPath(values, top, kWidth, kHeight)} />
    </svg>
  );
}
