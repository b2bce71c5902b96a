import { useMemo } from "preact/hooks";
import { type Curve, Curves } from "./curves.tsx";
import { formatNumber, formatShare } from "./format.ts";
import { epochsOf, type JobState, type Point } from "./job_state.ts";
import type { EpochReport } from "./types.ts";

type Pair = readonly [number, number];

/** The points that have a value. */
function pairs(points: readonly Point[], value: (point: Point) => number | undefined): Pair[] {
  return points.flatMap((point): Pair[] => {
    const y = value(point);
    return y === undefined || y === null || !Number.isFinite(y) ? [] : [[point.x, y]];
  });
}

function epochPairs(epochs: readonly EpochReport[], value: (epoch: EpochReport) => number | undefined): Pair[] {
  return epochs.flatMap((epoch): Pair[] => {
    const y = value(epoch);
    return y === undefined || y === null || !Number.isFinite(y) ? [] : [[epoch.epoch, y]];
  });
}

export function lossCurves(state: JobState): Curve[] {
  const epochs = epochsOf(state);
  return [
    { label: "now", colour: 3, points: pairs(state.points, (point) => point.loss) },
    { label: "training, by epoch", colour: 1, hasDots: true, points: epochPairs(epochs, (epoch) => epoch.loss) },
    {
      label: "validation",
      colour: 2,
      hasDots: true,
      isDashed: true,
      points: epochPairs(epochs, (epoch) => epoch.validation_loss),
    },
  ];
}

export function accuracyCurves(state: JobState): Curve[] {
  const epochs = epochsOf(state);
  return [
    { label: "now", colour: 3, points: pairs(state.points, (point) => point.accuracy) },
    { label: "training, by epoch", colour: 1, hasDots: true, points: epochPairs(epochs, (epoch) => epoch.accuracy) },
    {
      label: "validation",
      colour: 2,
      hasDots: true,
      isDashed: true,
      points: epochPairs(epochs, (epoch) => epoch.validation_accuracy),
    },
  ];
}

/** For a comparison: a curve of one job. By epoch, or as it is told where no epoch has ended yet. */
export function comparedCurve(state: JobState, label: string, colour: number, key: "loss" | "accuracy"): Curve {
  const epochs = epochsOf(state);
  const whole = epochPairs(epochs, (epoch) => epoch[`validation_${key}`] ?? epoch[key]);
  const points =
    whole.length >= 2
      ? whole
      : mergeByX(
          pairs(state.points, (point) => point[key]),
          whole,
        );
  return { label, colour, points, isDashed: colour % 2 === 0, hasDots: whole.length >= 2 };
}

function mergeByX(some: Pair[], others: Pair[]): Pair[] {
  return [...some, ...others].sort(([one], [other]) => one - other);
}

export function JobCurves({ state }: { state: JobState }) {
  const { points, epochs, result } = state;
  const loss = useMemo(() => lossCurves(state), [points, epochs, result]);
  const accuracy = useMemo(() => accuracyCurves(state), [points, epochs, result]);
  const isTraining = [...loss, ...accuracy].some((curve) => curve.points.length > 0);
  return isTraining ? (
    <div class="two">
      <Curves title="Loss" xLabel="epochs" curves={loss} format={formatNumber} />
      <Curves title="Accuracy" xLabel="epochs" curves={accuracy} format={(value) => formatShare(value)} />
    </div>
  ) : (
    <SpeedCurve points={points} />
  );
}

function SpeedCurve({ points }: { points: readonly Point[] }) {
  const curves = useMemo(
    () => [
      {
        label: "images a second",
        colour: 1,
        points: pairs(points, (point) => point.speed).map(([x, y]): Pair => [x * 100, y]),
      },
    ],
    [points],
  );
  return <Curves title="Speed" xLabel="% of the images" curves={curves} format={formatNumber} />;
}
