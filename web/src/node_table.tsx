import { Component, createRef } from "preact";
import { useState } from "preact/hooks";
import { Bar, CoreBars } from "./bars.tsx";
import { coreLoad, type NodeHistory } from "./cluster_state.ts";
import { compareNames, formatBytes, formatRate, formatSeconds, formatShare } from "./format.ts";
import { onView } from "./in_view.ts";
import { jobAddress } from "./route.ts";
import { Sparkline } from "./sparkline.tsx";
import { StateMark } from "./state_mark.tsx";
import type { Cluster, ClusterNode } from "./types.ts";

interface Column {
  name: string;
  value: (node: ClusterNode) => number | string; // to sort by; numbers from large to small
}

const kColumns: Column[] = [
  { name: "Node", value: (node) => node.name },
  { name: "State", value: (node) => node.state },
  { name: "CPU", value: (node) => coreLoad(node) ?? node.cpu_percent / 100 },
  { name: "Memory", value: (node) => node.rss_bytes },
  { name: "Heat", value: (node) => node.temperature_c ?? -Infinity },
  { name: "Network", value: (node) => node.sent_per_s + node.received_per_s },
  { name: "Step", value: (node) => (node.steps === undefined ? 0 : node.steps.load_s + node.steps.compute_s) },
  { name: "Roles", value: (node) => node.roles.length },
  { name: "Heartbeat", value: (node) => node.heartbeat_age_s },
];

const kFilterFrom = 12; // nodes; a list that fits a screen needs no filter

function sorted(nodes: ClusterNode[], column: Column, isReversed: boolean): ClusterNode[] {
  const compare = (one: ClusterNode, other: ClusterNode) => {
    const a = column.value(one),
      b = column.value(other);
    const order = typeof a === "number" && typeof b === "number" ? b - a : compareNames(String(a), String(b));
    return order || compareNames(one.name, other.name);
  };
  const rows = [...nodes].sort(compare);
  return isReversed ? rows.reverse() : rows;
}

function matches(node: ClusterNode, filter: string): boolean {
  const texts = [node.name, node.state, ...(node.labels ?? []), ...node.roles.map((role) => role.job)];
  return texts.some((text) => text.toLowerCase().includes(filter.toLowerCase()));
}

interface NodeTableProps {
  cluster: Cluster;
  history: ReadonlyMap<string, NodeHistory>;
  marked: string | null;
}

export function NodeTable({ cluster, history, marked }: NodeTableProps) {
  const [sort, setSort] = useState({ column: 0, isReversed: false });
  const [filter, setFilter] = useState("");
  const shown = sorted(
    cluster.nodes.filter((node) => matches(node, filter)),
    kColumns[sort.column]!,
    sort.isReversed,
  );
  const choose = (column: number) => setSort({ column, isReversed: sort.column === column ? !sort.isReversed : false });
  return (
    <section class="panel">
      <div class="title">
        <h2>Nodes</h2>
        {cluster.nodes.length >= kFilterFrom && (
          <input
            type="search"
            placeholder="Name, state, label or job"
            aria-label="Show only nodes with"
            value={filter}
            onInput={(event) => setFilter(event.currentTarget.value)}
          />
        )}
      </div>
      <div class="wide-table">
        <table class="nodes cards">
          <thead>
            <Headings sort={sort} choose={choose} />
          </thead>
          <tbody>
            {shown.map((node) => (
              <NodeRow
                key={node.name}
                node={node}
                history={history.get(node.name)}
                isMarked={node.name === marked}
                isStraggler={node.name === cluster.straggler}
              />
            ))}
          </tbody>
        </table>
      </div>
      {shown.length === 0 && <p class="empty">No node has “{filter}” in its name, state, labels or jobs.</p>}
    </section>
  );
}

function Headings(props: { sort: { column: number; isReversed: boolean }; choose: (column: number) => void }) {
  return (
    <tr>
      {kColumns.map((column, index) => {
        const isChosen = props.sort.column === index;
        const isNumber = index > 1 && index !== 7;
        const isRising = isNumber === props.sort.isReversed;
        return (
          <th key={column.name} scope="col" aria-sort={isChosen ? (isRising ? "ascending" : "descending") : undefined}>
            <button type="button" class="sort" onClick={() => props.choose(index)}>
              {column.name}
              <span class="arrow" aria-hidden="true">
                {isChosen ? (isRising ? "↑" : "↓") : ""}
              </span>
            </button>
          </th>
        );
      })}
    </tr>
  );
}

interface NodeRowProps {
  node: ClusterNode;
  history: NodeHistory | undefined;
  isMarked: boolean;
  isStraggler: boolean;
}

const kUnknown = "–"; // what a node last said before it was lost is not how it is
const kOutOfViewMs = 10_000; // rows that nobody sees are drawn anew this seldom

/** A row of a node. Of two hundred, only those that are in view change every second. */
class NodeRow extends Component<NodeRowProps> {
  private readonly row: { current: HTMLTableRowElement | null } = createRef<HTMLTableRowElement>();
  private isInView = true;
  private drawnMs = 0;
  private unwatch: () => void = () => undefined;

  override componentDidMount(): void {
    this.unwatch = onView(this.row.current!, (isInView) => {
      const hasCome = isInView && !this.isInView;
      this.isInView = isInView;
      if (hasCome) this.forceUpdate();
    });
  }

  override componentWillUnmount(): void {
    this.unwatch();
  }

  override shouldComponentUpdate(next: NodeRowProps): boolean {
    const { node, isMarked, isStraggler } = this.props;
    const isSame = node === next.node && isMarked === next.isMarked && isStraggler === next.isStraggler;
    const isNews = node.state !== next.node.state || isMarked !== next.isMarked || isStraggler !== next.isStraggler;
    return isNews || (!isSame && (this.isInView || Date.now() - this.drawnMs > kOutOfViewMs));
  }

  override render({ node, history, isMarked, isStraggler }: NodeRowProps) {
    this.drawnMs = Date.now();
    const isHere = node.state === "alive" || node.state === "idle";
    return (
      <tr ref={this.row} id={`node-${node.name}`} class={`${isHere ? "" : "gone"} ${isMarked ? "marked" : ""}`}>
        <th scope="row">
          {node.name}
          {isStraggler && (
            <span class="tag warn" title="It loads and computes longest on a step">
              ▲ slowest
            </span>
          )}
          <span class="labels">
            {(node.labels ?? []).map((label) => (
              <span key={label} class="tag">
                {label}
              </span>
            ))}
          </span>
        </th>
        <td data-name="State">
          <StateMark state={node.state} />
        </td>
        <td data-name="CPU">{isHere ? <Cpu node={node} history={history} /> : kUnknown}</td>
        <td data-name="Memory">{isHere ? <Memory node={node} /> : kUnknown}</td>
        <td data-name="Heat">{isHere ? <Heat celsius={node.temperature_c} /> : kUnknown}</td>
        <td data-name="Network">{isHere ? <Network node={node} history={history} /> : kUnknown}</td>
        <td data-name="Step">{isHere ? <Step node={node} /> : kUnknown}</td>
        <td data-name="Roles">
          <Roles node={node} />
        </td>
        <td data-name="Heartbeat" title="since the last one came">
          {formatSeconds(node.heartbeat_age_s)}
        </td>
      </tr>
    );
  }
}

function Cpu({ node, history }: { node: ClusterNode; history: NodeHistory | undefined }) {
  return (
    <div class="pair">
      {node.core_percent?.length > 0 && <CoreBars percents={node.core_percent} />}
      <span class="number" title="Mangrove's own share, of one core">
        {node.cpu_percent.toFixed(0)} %
      </span>
      <Sparkline values={history?.cpu ?? []} least={100} label="CPU of the last two minutes" />
    </div>
  );
}

function Memory({ node }: { node: ClusterNode }) {
  const share = node.memory_bytes > 0 ? node.rss_bytes / node.memory_bytes : 0;
  return (
    <div class="stack">
      <span>
        {formatBytes(node.rss_bytes)} <span class="muted">of {formatBytes(node.memory_bytes)}</span>
      </span>
      <Bar share={share} label={`Memory: ${formatShare(share, 0)}`} kind={share > 0.9 ? "bad" : ""} />
    </div>
  );
}

const kHot = 80; // °C; many boards slow down from there on

function Heat({ celsius }: { celsius: number | undefined }) {
  if (celsius === undefined) return <span class="muted">–</span>;
  return (
    <span class={celsius >= kHot ? "bad" : ""}>
      {celsius >= kHot ? "⚠ " : ""}
      {celsius.toFixed(0)} °C
    </span>
  );
}

function Network({ node, history }: { node: ClusterNode; history: NodeHistory | undefined }) {
  return (
    <div class="pair">
      <span class="stack rates">
        <span title="received">↓ {formatRate(node.received_per_s)}</span>
        <span title="sent">↑ {formatRate(node.sent_per_s)}</span>
      </span>
      <Sparkline values={history?.traffic ?? []} least={10_000} label="Traffic of the last two minutes" />
    </div>
  );
}

function Step({ node }: { node: ClusterNode }) {
  const steps = node.steps;
  if (steps === undefined || steps.count === 0) return <span class="muted">–</span>;
  const all = steps.load_s + steps.compute_s + steps.encode_s + steps.wire_s + steps.wait_s;
  return (
    <span class="stack">
      <span>{formatSeconds(all)}</span>
      <span class="muted">{formatSeconds(steps.load_s + steps.compute_s)} its own</span>
    </span>
  );
}

function Roles({ node }: { node: ClusterNode }) {
  if (node.roles.length === 0) return <span class="muted">none</span>;
  return (
    <span class="stack">
      {node.roles.map((role) => (
        <span key={`${role.job} ${role.role}`} class="stack">
          {role.role}
          <a class="id" href={jobAddress(role.job)}>
            {role.job}
          </a>
        </span>
      ))}
    </span>
  );
}
