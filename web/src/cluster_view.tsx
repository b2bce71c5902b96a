import { useCallback, useState } from "preact/hooks";
import { clusterStore, connectionStore } from "./cluster_feed.ts";
import { type Summary, summarise } from "./cluster_state.ts";
import { formatCount, formatRate, formatShare, plural, words } from "./format.ts";
import { NodeTable } from "./node_table.tsx";
import { useStore } from "./store.ts";
import { TopologyView } from "./topology_view.tsx";
import type { Cluster } from "./types.ts";

export function ClusterView() {
  const state = useStore(clusterStore);
  const connection = useStore(connectionStore);
  const [marked, setMarked] = useState<string | null>(null);
  const choose = useCallback((name: string) => {
    setMarked(name);
    const row = document.getElementById(`node-${name}`);
    row?.scrollIntoView({ block: "center" });
  }, []);
  if (state.cluster === null) return <p class="empty">Waiting for the coordinator …</p>;
  const isOld = connection.kind !== "open" || state.problem !== null;
  const { cluster, history } = state;
  return (
    <div class={isOld ? "old" : ""}>
      <h1 class="unseen">Cluster</h1>
      <Figures summary={summarise(cluster)} />
      {cluster.nodes.length === 0 ? (
        <NoNodes />
      ) : (
        <>
          <TopologyView cluster={cluster} choose={choose} />
          <NodeTable cluster={cluster} history={history} marked={marked} />
        </>
      )}
      <Refused cluster={cluster} />
    </div>
  );
}

function Figures({ summary }: { summary: Summary }) {
  const { hottest } = summary;
  const lost = summary.lost > 0 ? `${summary.lost} lost` : "none lost";
  return (
    <dl class="figures">
      <Figure name="Nodes" value={`${summary.here} of ${summary.nodes}`} note={lost} isBad={summary.lost > 0} />
      <Figure
        name="Jobs"
        value={`${summary.running} running`}
        note={summary.waiting > 0 ? `${summary.waiting} waiting` : "none waiting"}
      />
      <Figure name="Cores busy" value={formatShare(summary.coreLoad, 0)} note="mean of all nodes" />
      <Figure name="Traffic" value={formatRate(summary.sentPerSecond)} note="sent by all nodes" />
      {hottest !== null && (
        <Figure
          name="Hottest"
          value={`${hottest.temperature_c!.toFixed(0)} °C`}
          note={hottest.name}
          isBad={hottest.temperature_c! >= 80}
        />
      )}
    </dl>
  );
}

function Figure(props: { name: string; value: string; note: string; isBad?: boolean }) {
  return (
    <div>
      <dt>{props.name}</dt>
      <dd>
        <span class="value">{props.value}</span>
        <span class={props.isBad ? "note bad" : "note"}>{props.isBad ? `⚠ ${props.note}` : props.note}</span>
      </dd>
    </div>
  );
}

function NoNodes() {
  return (
    <p class="empty">
      No node has joined yet. Invite boards under <a href="#/members">Members</a>, or run{" "}
      <code>mangrove node --coordinator HOST:PORT</code> on one.
    </p>
  );
}

/** What the coordinator has refused since it began; a sign of a mistake, or of somebody who tries. */
function Refused({ cluster }: { cluster: Cluster }) {
  const refused = Object.entries(cluster.refused ?? {}).filter(([, count]) => count > 0);
  if (refused.length === 0) return null;
  return (
    <details class="refused">
      <summary>
        The coordinator has refused something{" "}
        {plural(
          refused.reduce((sum, [, count]) => sum + count, 0),
          "time",
        )}{" "}
        since it began
      </summary>
      <ul>
        {refused.map(([reason, count]) => (
          <li key={reason}>
            {words(reason)}: {formatCount(count)}
          </li>
        ))}
      </ul>
    </details>
  );
}
