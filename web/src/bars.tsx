/** A bar that is filled from 0 to 1. label: what it measures, for those who hear the page. */
export function Bar({ share, label, kind = "" }: { share: number; label: string; kind?: string }) {
  const percent = Math.round(Math.max(0, Math.min(1, share)) * 1000) / 10;
  return (
    <span
      class={`meter ${kind}`}
      role="progressbar"
      aria-label={label}
      aria-valuemin={0}
      aria-valuemax={100}
      aria-valuenow={Math.round(percent)}
    >
      <span style={{ width: `${percent}%` }} />
    </span>
  );
}

const kMostCores = 16;

/** A column for each core; of more than sixteen, neighbours share one. */
function columns(percents: number[]): number[] {
  const each = Math.ceil(percents.length / kMostCores);
  const columns: number[] = [];
  for (let i = 0; i < percents.length; i += each) {
    const some = percents.slice(i, i + each);
    columns.push(some.reduce((sum, one) => sum + one, 0) / some.length);
  }
  return columns;
}

const kColumn = 7;
const kHeight = 22;

/** How busy each core is. */
export function CoreBars({ percents }: { percents: number[] }) {
  const values = columns(percents);
  const text = percents.map((percent) => `${percent.toFixed(0)} %`).join(", ");
  return (
    <svg class="cores" width={values.length * kColumn} height={kHeight} role="img" aria-label={`Cores: ${text}`}>
      <title>{`Cores: ${text}`}</title>
      {values.map((percent, core) => {
        const height = Math.max(1, (Math.min(100, percent) / 100) * kHeight);
        return (
          <g key={core}>
            <rect class="rail" x={core * kColumn} y={0} width={kColumn - 2} height={kHeight} />
            <rect class="fill" x={core * kColumn} y={kHeight - height} width={kColumn - 2} height={height} />
          </g>
        );
      })}
    </svg>
  );
}
