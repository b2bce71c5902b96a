import { useEffect, useRef, useState } from "preact/hooks";
import uPlot from "uplot";
import { formatNumber } from "./format.ts";
import { useWidth } from "./size.ts";
import { onColoursChange } from "./theme.ts";

export interface Curve {
  label: string;
  points: readonly (readonly [number, number])[]; // in the order of x
  colour: number; // of the palette, from 1 to 4
  isDashed?: boolean;
  hasDots?: boolean;
}

interface CurvesProps {
  title: string;
  xLabel: string;
  curves: Curve[];
  format: (value: number) => string;
}

const kHeight = 220;

/** A colour of the style sheet as it is now, light or dark, for what is painted on a canvas. */
function colour(element: HTMLElement, name: string): string {
  element.style.color = `var(${name})`;
  const { color } = getComputedStyle(element);
  element.style.color = "";
  return color;
}

function dataOf(curves: Curve[]): uPlot.AlignedData {
  const tables = curves.map((curve): uPlot.AlignedData => [
    curve.points.map(([x]) => x),
    curve.points.map(([, y]) => y),
  ]);
  return tables.length === 0 ? [[]] : uPlot.join(tables);
}

function seriesOf(curve: Curve, element: HTMLElement): uPlot.Series {
  const stroke = colour(element, `--series-${curve.colour}`);
  return {
    label: curve.label,
    stroke,
    width: curve.hasDots ? 2 : 1.25,
    dash: curve.isDashed ? [6, 4] : undefined,
    spanGaps: true,
    points: { show: curve.hasDots === true || curve.points.length === 1, size: 7, fill: stroke },
  };
}

function axes(props: CurvesProps, element: HTMLElement): uPlot.Axis[] {
  const stroke = colour(element, "--muted");
  const grid = { stroke: colour(element, "--line"), width: 1 };
  const font = "12px system-ui, sans-serif";
  const common = { stroke, grid, ticks: grid, font, labelFont: font };
  return [
    {
      ...common,
      label: props.xLabel,
      labelSize: 18,
      size: 32,
      values: (_, values) => values.map((value) => String(Number(value.toFixed(2)))),
    },
    { ...common, size: 66, values: (_, values) => values.map(props.format) },
  ];
}

function optionsOf(
  props: CurvesProps,
  element: HTMLElement,
  width: number,
  hover: (index: number | null) => void,
): uPlot.Options {
  return {
    width,
    height: kHeight,
    legend: { show: false },
    cursor: { y: false, points: { size: 8 }, drag: { x: false, y: false } },
    scales: { x: { time: false } },
    series: [{}, ...props.curves.map((curve) => seriesOf(curve, element))],
    axes: axes(props, element),
    hooks: { setCursor: [(plot) => hover(plot.cursor.idx ?? null)] },
  };
}

/** What the chart must be made anew for; everything else it takes as new data. */
function shapeOf(curves: Curve[]): string {
  return JSON.stringify(
    curves.map((curve) => [curve.label, curve.colour, curve.isDashed, curve.hasDots, curve.points.length === 1]),
  );
}

/** Curves over the same x, with a legend that says the value under the pointer, or else the last one. */
export function Curves(props: CurvesProps) {
  const [place, width] = useWidth<HTMLDivElement>();
  const plot = useRef<uPlot | null>(null);
  const [hovered, setHovered] = useState<number | null>(null);
  const [colours, setColours] = useState(0);
  const shape = shapeOf(props.curves);
  const isEmpty = props.curves.every((curve) => curve.points.length === 0);
  useEffect(() => onColoursChange(() => setColours((count) => count + 1)), []);
  useEffect(() => {
    if (place.current === null || width === 0 || isEmpty) return undefined;
    const made = new uPlot(optionsOf(props, place.current, width, setHovered), dataOf(props.curves), place.current);
    plot.current = made;
    return () => {
      made.destroy();
      plot.current = null;
    };
  }, [shape, colours, width === 0, isEmpty]);
  useEffect(() => plot.current?.setSize({ width, height: kHeight }), [width]);
  useEffect(() => plot.current?.setData(dataOf(props.curves)), [props.curves]);
  return (
    <figure class="curves">
      <figcaption>{props.title}</figcaption>
      <Legend {...props} x={hovered === null ? null : (plot.current?.data[0][hovered] ?? null)} />
      <div
        class="plot"
        ref={(element) => {
          place.current = element;
        }}
      >
        {isEmpty && <p class="empty">Nothing yet.</p>}
      </div>
    </figure>
  );
}

/** The last value that is not behind x; null: there is none. */
export function valueAt(points: Curve["points"], x: number | null): number | null {
  if (x === null) return points.at(-1)?.[1] ?? null;
  return points.filter(([at]) => at <= x + 1e-9).at(-1)?.[1] ?? null;
}

function Legend({ curves, format, x, xLabel }: CurvesProps & { x: number | null }) {
  return (
    <ul class="legend">
      {curves
        .filter((curve) => curve.points.length > 0)
        .map((curve) => {
          const value = valueAt(curve.points, x);
          return (
            <li key={curve.label}>
              <span class={`swatch series-${curve.colour}${curve.isDashed ? " dashed" : ""}`} />
              {curve.label} <strong>{value === null ? "–" : format(value)}</strong>
            </li>
          );
        })}
      {x !== null && (
        <li class="muted">
          at {formatNumber(x)} {xLabel}
        </li>
      )}
    </ul>
  );
}
