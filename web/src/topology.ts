// Where everything lies in the picture of the cluster: the coordinator above, the nodes in rows below it, and lines
// that turn at right angles, so that no line runs through a node. Pure; lengths in pixels.
import { labelOf } from "./cluster_state.ts";
import { compareNames } from "./format.ts";
import type { ClusterNode } from "./types.ts";

export interface Box {
  x: number;
  y: number;
  width: number;
  height: number;
}

export interface PlacedNode {
  node: ClusterNode;
  box: Box;
  busY: number; // of the line that its own line comes from
}

export interface PlacedGroup {
  name: string; // "": the nodes have no label
  titleY: number;
  nodes: PlacedNode[];
  buses: { y: number; x2: number }[];
}

export interface Picture {
  width: number;
  height: number;
  isCompact: boolean; // too many nodes to write names
  coordinator: Box;
  trunkX: number;
  groups: PlacedGroup[];
}

const kMostCards = 40;
const kTrunkX = 18;
const kLeft = 40;
const kCoordinator = { width: 250, height: 48 };
const kTitleHeight = 24;
const kCard = { width: 148, widest: 240, height: 66, gap: 14, drop: 24 };
const kCell = { width: 26, widest: 26, height: 26, gap: 8, drop: 12 };
const kTierOrder = ["cloud", "edge", "end"];

function groupName(node: ClusterNode): string {
  return labelOf(node, "tier") || labelOf(node, "zone");
}

function compareGroups(one: string, other: string): number {
  if (one === "" || other === "") return one === other ? 0 : one === "" ? 1 : -1; // those without a label last
  const place = (name: string) => (kTierOrder.indexOf(name) + kTierOrder.length + 1) % (kTierOrder.length + 1);
  const isTier = kTierOrder.includes(one) && kTierOrder.includes(other);
  return isTier ? place(one) - place(other) : compareNames(one, other);
}

/** The nodes by their label `tier`, or else `zone`, in an order that never jumps. */
export function groupNodes(nodes: ClusterNode[]): [string, ClusterNode[]][] {
  const groups = new Map<string, ClusterNode[]>();
  for (const node of [...nodes].sort((one, other) => compareNames(one.name, other.name))) {
    const name = groupName(node);
    groups.set(name, [...(groups.get(name) ?? []), node]);
  }
  return [...groups].sort(([one], [other]) => compareGroups(one, other));
}

/** width: of the room that there is. */
export function layOut(nodes: ClusterNode[], width: number): Picture {
  const isCompact = nodes.length > kMostCards;
  const size = isCompact ? kCell : kCard;
  const room = Math.max(size.width, width - kLeft);
  const columns = Math.max(1, Math.floor((room + size.gap) / (size.width + size.gap)));
  const cardWidth = Math.min(size.widest, (room - (columns - 1) * size.gap) / columns);
  let y = kCoordinator.height;
  const groups = groupNodes(nodes).map(([name, members]): PlacedGroup => {
    const group: PlacedGroup = { name, titleY: y + kTitleHeight - 6, nodes: [], buses: [] };
    y += name === "" ? 8 : kTitleHeight;
    members.forEach((node, index) => {
      const column = index % columns;
      if (column === 0 && index > 0) y += size.drop + size.height;
      const box = {
        x: kLeft + column * (cardWidth + size.gap),
        y: y + size.drop,
        width: cardWidth,
        height: size.height,
      };
      if (column === 0) group.buses.push({ y: y + size.drop / 2, x2: 0 });
      const bus = group.buses.at(-1)!;
      bus.x2 = box.x + cardWidth / 2;
      group.nodes.push({ node, box, busY: bus.y });
    });
    y += size.drop + size.height;
    return group;
  });
  const coordinator = { x: 0, y: 0, width: Math.min(kCoordinator.width, width), height: kCoordinator.height };
  return { width, height: y + 2, isCompact, coordinator, trunkX: kTrunkX, groups };
}

/** The width of a line that so many bytes a second run over: from 1 to 7 pixels, by powers of ten above 1 kB/s. */
export function lineWidth(bytesPerSecond: number): number {
  if (!(bytesPerSecond > 1000)) return 1;
  return Math.min(7, 1 + 1.2 * Math.log10(bytesPerSecond / 1000));
}

/** A text that fits so many pixels, at about so many a character. */
export function shorten(text: string, width: number, characterWidth = 7.4): string {
  const most = Math.max(3, Math.floor(width / characterWidth));
  return text.length <= most ? text : `${text.slice(0, most - 1)}…`;
}
