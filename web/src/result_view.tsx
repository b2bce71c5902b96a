import { formatCount } from "./format.ts";
import { resultRows, resultTables, type SubTable } from "./result_rows.ts";
import type { Result } from "./types.ts";

const kMostClasses = 25; // in a confusion matrix that still can be read

export function ResultView({ result }: { result: Result }) {
  const advice = result["advice"] as { why?: string } | undefined;
  return (
    <section class="panel">
      <h2>Result</h2>
      {typeof advice?.why === "string" && <p class="hint">{advice.why}.</p>}
      <table class="facts">
        <tbody>
          {resultRows(result).map((row) => (
            <tr key={row.label}>
              <th scope="row">{row.label}</th>
              <td>{row.text}</td>
            </tr>
          ))}
        </tbody>
      </table>
      <Confusion result={result} />
      {resultTables(result).map((table) => (
        <SubTableView key={table.label} table={table} />
      ))}
    </section>
  );
}

function SubTableView({ table }: { table: SubTable }) {
  return (
    <details>
      <summary>{table.label}</summary>
      <div class="wide-table" tabIndex={0} role="region" aria-label={table.label}>
        <table>
          <thead>
            <tr>
              {table.columns.map((column) => (
                <th key={column} scope="col">
                  {column}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {table.rows.map((row, index) => (
              <tr key={index}>
                {row.map((text, column) => (
                  <td key={column}>{text}</td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </details>
  );
}

/** Which class was taken for which; a row for each true class. */
function Confusion({ result }: { result: Result }) {
  const counts = result["confusion"];
  const classes = result["classes"];
  if (!Array.isArray(counts) || !Array.isArray(classes) || counts.length === 0 || counts.length > kMostClasses)
    return null;
  return (
    <details>
      <summary>confusion matrix</summary>
      <div class="wide-table" tabIndex={0} role="region" aria-label="confusion matrix">
        <table class="confusion">
          <caption>Rows: what it is. Columns: what the network took it for.</caption>
          <thead>
            <tr>
              <td />
              {classes.map((name, index) => (
                <th key={index} scope="col">
                  {String(name)}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {(counts as number[][]).map((row, index) => (
              <ConfusionRow key={index} row={row} index={index} name={String(classes[index] ?? index)} />
            ))}
          </tbody>
        </table>
      </div>
    </details>
  );
}

function ConfusionRow({ row, index, name }: { row: number[]; index: number; name: string }) {
  const wrong = row.reduce((sum, count, column) => sum + (column === index ? 0 : count), 0);
  return (
    <tr>
      <th scope="row">{name}</th>
      {row.map((count, column) => {
        const kind =
          column === index ? "right" : count > 0 && count >= wrong / 4 ? "often" : count > 0 ? "wrong" : "zero";
        return (
          <td key={column} class={kind}>
            {formatCount(count)}
          </td>
        );
      })}
    </tr>
  );
}
