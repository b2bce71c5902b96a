// Where the page is: the fragment of the address, such as "#/jobs/job-1f3a-2".
import { Store } from "./store.ts";

export type Route =
  | { view: "cluster" }
  | { view: "jobs" }
  | { view: "job"; id: string }
  | { view: "compare"; ids: string[] }
  | { view: "new" }
  | { view: "members" };

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** The first page for everything that is no address of the others. */
export function parseRoute(hash: string): Route {
  const [first, second] = hash.replace(/^#?\/?/, "").split("/");
  if (first === "jobs" && second) return { view: "job", id: decode(second) };
  if (first === "jobs" || first === "new" || first === "members") return { view: first };
  if (first === "compare") return { view: "compare", ids: (second ?? "").split(",").filter(Boolean).map(decode) };
  return { view: "cluster" };
}

export const jobAddress = (id: string) => `#/jobs/${encodeURIComponent(id)}`;
export const compareAddress = (ids: string[]) => `#/compare/${ids.map(encodeURIComponent).join(",")}`;

export const routeStore = new Store<Route>({ view: "cluster" });

export function followAddress(): void {
  const read = () => routeStore.set(parseRoute(location.hash));
  addEventListener("hashchange", read);
  read();
}
