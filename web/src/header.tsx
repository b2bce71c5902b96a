import type { Route } from "./route.ts";
import { logOut, mayAct, mayManage } from "./session.ts";
import { useStore } from "./store.ts";
import { chooseTheme, type Theme, themeStore } from "./theme.ts";
import { currentToken } from "./token.ts";
import type { Session } from "./types.ts";

const kRoles = { viewer: "may look", client: "may start and stop jobs", admin: "may do everything" };

export function Header({ session, route }: { session: Session; route: Route }) {
  const isJobs = route.view === "jobs" || route.view === "job" || route.view === "compare";
  return (
    <header class="bar">
      <a class="brand" href="#/">
        <img src="favicon.svg" alt="" width="26" height="26" />
        <span>Mangrove</span>
      </a>
      <nav aria-label="Pages">
        <Tab href="#/" name="Cluster" isHere={route.view === "cluster"} />
        <Tab href="#/jobs" name="Jobs" isHere={isJobs} />
        {mayAct(session) && <Tab href="#/new" name="New job" isHere={route.view === "new"} />}
        {mayManage(session) && <Tab href="#/members" name="Members" isHere={route.view === "members"} />}
      </nav>
      <div class="who">
        <span title={`mangrove ${session.version}; your role ${kRoles[session.role] ?? ""}`}>
          <span class="address">{session.coordinator}</span> <span class="tag">{session.role}</span>
        </span>
        <ThemeSwitch />
        {currentToken() !== "" && (
          <button type="button" class="quiet" onClick={logOut}>
            Log out
          </button>
        )}
      </div>
    </header>
  );
}

function Tab({ href, name, isHere }: { href: string; name: string; isHere: boolean }) {
  return (
    <a href={href} aria-current={isHere ? "page" : undefined}>
      {name}
    </a>
  );
}

function ThemeSwitch() {
  const theme = useStore(themeStore);
  return (
    <select aria-label="Colours" value={theme} onChange={(event) => chooseTheme(event.currentTarget.value as Theme)}>
      <option value="auto">Auto</option>
      <option value="light">Light</option>
      <option value="dark">Dark</option>
    </select>
  );
}
