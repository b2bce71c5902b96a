import { useEffect, useState } from "preact/hooks";
import { clusterStore, connectionStore, retryNow } from "./cluster_feed.ts";
import { formatAgo } from "./format.ts";
import { useStore } from "./store.ts";

/** A moment that goes on, for texts such as "12 s ago". */
function useNow(everyMs: number): number {
  const [now, setNow] = useState(Date.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), everyMs);
    return () => clearInterval(timer);
  }, [everyMs]);
  return now;
}

/** Says when the server or its coordinator does not answer; there is nothing to see while they do. */
export function ConnectionBanner() {
  const connection = useStore(connectionStore);
  const { problem, seenAtMs } = useStore(clusterStore);
  const isServerSilent = connection.kind === "waiting" || (connection.kind === "connecting" && seenAtMs > 0);
  return (
    <div role="status" class="banner-place">
      {connection.kind === "ended" && <p class="banner">{connection.message}</p>}
      {isServerSilent ? (
        <ServerSilent until={connection.kind === "waiting" ? connection.until : 0} seenAtMs={seenAtMs} />
      ) : (
        problem !== null && connection.kind === "open" && <CoordinatorSilent problem={problem} seenAtMs={seenAtMs} />
      )}
    </div>
  );
}

function LastSeen({ seenAtMs, now }: { seenAtMs: number; now: number }) {
  if (seenAtMs === 0) return null;
  return <span aria-hidden="true"> What you see is from {formatAgo((now - seenAtMs) / 1000)}.</span>;
}

function ServerSilent({ until, seenAtMs }: { until: number; seenAtMs: number }) {
  const now = useNow(500);
  const left = Math.ceil((until - now) / 1000);
  return (
    <p class="banner" data-kind="server">
      <strong>The server does not answer.</strong>
      <LastSeen seenAtMs={seenAtMs} now={now} />
      <span aria-hidden="true">{left > 0 ? ` Trying again in ${left} s.` : " Trying again now."}</span>
      <button type="button" onClick={retryNow}>
        Try now
      </button>
    </p>
  );
}

function CoordinatorSilent({ problem, seenAtMs }: { problem: string; seenAtMs: number }) {
  const now = useNow(1000);
  return (
    <p class="banner" data-kind="coordinator">
      <strong>The coordinator does not answer.</strong> {problem}
      <LastSeen seenAtMs={seenAtMs} now={now} />
    </p>
  );
}
