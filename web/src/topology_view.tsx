import { memo } from "./memo.ts";
import { coreLoad } from "./cluster_state.ts";
import { formatRate, formatSeconds, formatShare, plural } from "./format.ts";
import { useWidth } from "./size.ts";
import { StateShape } from "./state_mark.tsx";
import { layOut, lineWidth, type Picture, type PlacedGroup, type PlacedNode, shorten } from "./topology.ts";
import type { Cluster, ClusterNode } from "./types.ts";

interface TopologyProps {
  cluster: Cluster;
  choose: (name: string) => void;
}

/** The coordinator, the nodes and the lines between them. The table below says the same in words. */
export function TopologyView({ cluster, choose }: TopologyProps) {
  const [place, width] = useWidth<HTMLElement>();
  const picture = width > 0 ? layOut(cluster.nodes, width) : null;
  const label = `Picture of the coordinator and ${plural(cluster.nodes.length, "node")}; the table below says the same`;
  return (
    <figure class="panel topology">
      <div
        ref={(element) => {
          place.current = element;
        }}
      >
        {picture !== null && (
          <svg width={picture.width} height={picture.height} role="img" aria-label={label}>
            <Trunk picture={picture} nodes={cluster.nodes} />
            {picture.groups.map((group) => (
              <Group key={group.name} group={group} picture={picture} straggler={cluster.straggler} choose={choose} />
            ))}
            <Coordinator picture={picture} cluster={cluster} />
          </svg>
        )}
      </div>
      <figcaption>
        <Legend /> Lines grow with what a node receives (left) and sends (right), whoever its peer is.
      </figcaption>
    </figure>
  );
}

function Legend() {
  return (
    <>
      {["alive", "idle", "lost", "left"].map((state) => (
        <span key={state} class={`state ${state}`}>
          <svg viewBox="0 0 16 16" width="12" height="12" aria-hidden="true">
            <StateShape state={state} x={0} y={0} />
          </svg>
          {state}
        </span>
      ))}
    </>
  );
}

function Coordinator({ picture, cluster }: { picture: Picture; cluster: Cluster }) {
  const { coordinator: box } = picture;
  return (
    <g class="hub">
      <rect x={box.x + 0.5} y={box.y + 0.5} width={box.width - 1} height={box.height - 1} rx={8} />
      <text x={box.x + 14} y={box.y + 20} class="name">
        coordinator
      </text>
      <text x={box.x + 14} y={box.y + 37} class="small">
        {shorten(cluster.coordinator, box.width - 28, 6.6)}
      </text>
    </g>
  );
}

function total(nodes: ClusterNode[]): number {
  return nodes.reduce((sum, node) => sum + node.sent_per_s + node.received_per_s, 0);
}

function Trunk({ picture, nodes }: { picture: Picture; nodes: ClusterNode[] }) {
  const end = picture.groups.at(-1)?.buses.at(-1)?.y;
  if (end === undefined) return null;
  return (
    <path
      class="link main"
      stroke-width={lineWidth(total(nodes))}
      d={`M${picture.trunkX} ${picture.coordinator.height}V${end}`}
    />
  );
}

function Group(props: {
  group: PlacedGroup;
  picture: Picture;
  straggler: string | null;
  choose: (name: string) => void;
}) {
  const { group, picture } = props;
  return (
    <g>
      {group.name !== "" && (
        <text class="group" x={picture.trunkX + 22} y={group.titleY}>
          {shorten(group.name, picture.width / 2)} ({group.nodes.length})
        </text>
      )}
      {group.buses.map((bus) => {
        const onIt = group.nodes.filter((one) => one.busY === bus.y).map((one) => one.node);
        return (
          <path
            key={bus.y}
            class="link main"
            stroke-width={lineWidth(total(onIt))}
            d={`M${picture.trunkX} ${bus.y}H${bus.x2}`}
          />
        );
      })}
      {group.nodes.map((placed) => (
        <NodeBox
          key={placed.node.name}
          placed={placed}
          isCompact={picture.isCompact}
          isStraggler={placed.node.name === props.straggler}
          choose={props.choose}
        />
      ))}
    </g>
  );
}

interface NodeBoxProps {
  placed: PlacedNode;
  isCompact: boolean;
  isStraggler: boolean;
  choose: (name: string) => void;
}

function same(one: NodeBoxProps, other: NodeBoxProps): boolean {
  const a = one.placed,
    b = other.placed;
  return (
    a.node === b.node &&
    one.isStraggler === other.isStraggler &&
    one.isCompact === other.isCompact &&
    a.box.x === b.box.x &&
    a.box.y === b.box.y &&
    a.box.width === b.box.width &&
    a.busY === b.busY
  );
}

const NodeBox = memo(function NodeBox({ placed, isCompact, isStraggler, choose }: NodeBoxProps) {
  const { node, box } = placed;
  const classes = `node ${node.state}${isStraggler ? " straggler" : ""}`;
  return (
    <g class={classes} onClick={() => choose(node.name)}>
      <title>{describe(node, isStraggler)}</title>
      <Drop placed={placed} />
      <rect
        class="card"
        x={box.x + 0.5}
        y={box.y + 0.5}
        width={box.width - 1}
        height={box.height - 1}
        rx={isCompact ? 5 : 8}
      />
      {isCompact ? (
        <StateShape state={node.state} x={box.x + 5} y={box.y + 5} />
      ) : (
        <CardText node={node} x={box.x} y={box.y} width={box.width} isStraggler={isStraggler} />
      )}
    </g>
  );
}, same);

/** Two lines from the bus to a node: what it receives, and what it sends. */
function Drop({ placed: { node, box, busY } }: { placed: PlacedNode }) {
  const middle = box.x + box.width / 2;
  const down = lineWidth(node.received_per_s);
  const up = lineWidth(node.sent_per_s);
  return (
    <>
      <path class="link down" stroke-width={down} d={`M${middle - 1 - down / 2} ${busY}V${box.y}`} />
      <path class="link up" stroke-width={up} d={`M${middle + 1 + up / 2} ${busY}V${box.y}`} />
    </>
  );
}

function CardText(props: { node: ClusterNode; x: number; y: number; width: number; isStraggler: boolean }) {
  const { node, x, y, width, isStraggler } = props;
  const isHere = node.state === "alive" || node.state === "idle";
  const load = coreLoad(node) ?? 0;
  const second = isHere
    ? `↓ ${formatRate(node.received_per_s)}  ↑ ${formatRate(node.sent_per_s)}`
    : `${node.state}${node.state === "lost" ? `, heard ${formatSeconds(Math.round(node.heartbeat_age_s))} ago` : ""}`;
  const nameRoom = width - 40 - (isStraggler ? 58 : 0);
  return (
    <>
      <StateShape state={node.state} x={x + 10} y={y + 9} />
      <text class="name" x={x + 30} y={y + 22}>
        {shorten(node.name, nameRoom)}
      </text>
      {isStraggler && (
        <text class="slow" x={x + width - 10} y={y + 22} text-anchor="end">
          ▲ slowest
        </text>
      )}
      <text class="small" x={x + 12} y={y + 41}>
        {shorten(second, width - 16, 5.9)}
      </text>
      <rect class="rail" x={x + 12} y={y + 51} width={width - 24} height={5} rx={2.5} />
      {isHere && (
        <rect class="fill" x={x + 12} y={y + 51} width={Math.max(2, (width - 24) * load)} height={5} rx={2.5} />
      )}
    </>
  );
}

function describe(node: ClusterNode, isStraggler: boolean): string {
  const load = coreLoad(node);
  return [
    `${node.name}: ${node.state}${isStraggler ? ", the slowest" : ""}`,
    load === null ? "" : `cores ${formatShare(load, 0)} busy`,
    `receives ${formatRate(node.received_per_s)}, sends ${formatRate(node.sent_per_s)}`,
    node.roles.map((role) => `${role.role} of ${role.job}`).join(", "),
  ]
    .filter((line) => line !== "")
    .join("\n");
}
