import { useEffect } from "preact/hooks";
import { followCluster } from "./cluster_feed.ts";
import { ClusterView } from "./cluster_view.tsx";
import { CompareView } from "./compare_view.tsx";
import { ConnectionBanner } from "./connection_banner.tsx";
import { Header } from "./header.tsx";
import { JobView } from "./job_view.tsx";
import { JobsView } from "./jobs_view.tsx";
import { LoginView } from "./login_view.tsx";
import { MembersView } from "./members_view.tsx";
import { NewJobView } from "./new_job_view.tsx";
import { type Route, routeStore } from "./route.ts";
import { mayAct, mayManage, sessionStore } from "./session.ts";
import { useStore } from "./store.ts";
import type { Session } from "./types.ts";

export function App() {
  const state = useStore(sessionStore);
  if (state.kind === "out") return <LoginView message={state.message} />;
  if (state.kind === "asking") return <Waiting problem={state.problem} />;
  return <Page session={state.session} />;
}

function Waiting({ problem }: { problem: string | null }) {
  return (
    <main class="lonely">
      <h1>Mangrove</h1>
      <p role="status">{problem === null ? "Asking the server …" : `${problem} Trying again.`}</p>
    </main>
  );
}

function Page({ session }: { session: Session }) {
  const route = useStore(routeStore);
  useEffect(followCluster, []);
  useEffect(() => {
    document.title = `${titleOf(route)} – Mangrove`;
  }, [route]);
  return (
    <>
      <a class="skip" href="#content" onClick={skip}>
        Skip to the content
      </a>
      <Header session={session} route={route} />
      <ConnectionBanner />
      <main id="content" tabIndex={-1}>
        <View route={route} session={session} />
      </main>
    </>
  );
}

function titleOf(route: Route): string {
  const names = { cluster: "Cluster", jobs: "Jobs", compare: "Compare", new: "New job", members: "Members" };
  return route.view === "job" ? route.id : names[route.view];
}

/** Moves the focus; the fragment of the address is for the views. */
function skip(event: Event): void {
  event.preventDefault();
  document.getElementById("content")?.focus();
}

function View({ route, session }: { route: Route; session: Session }) {
  switch (route.view) {
    case "cluster":
      return <ClusterView />;
    case "jobs":
      return <JobsView mayAct={mayAct(session)} />;
    case "job":
      return <JobView key={route.id} id={route.id} mayAct={mayAct(session)} />;
    case "compare":
      return <CompareView key={route.ids.join()} ids={route.ids} />;
    case "new":
      return mayAct(session) ? <NewJobView /> : <NotAllowed what="start jobs" who="client or admin" />;
    case "members":
      return mayManage(session) ? (
        <MembersView coordinator={session.coordinator} />
      ) : (
        <NotAllowed what="see the members" who="admin" />
      );
  }
}

function NotAllowed({ what, who }: { what: string; who: string }) {
  return (
    <p class="empty">
      Your role may not {what}. Ask for a token with the role {who}.
    </p>
  );
}
