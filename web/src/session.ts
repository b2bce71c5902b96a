import { ApiError, getSession, messageOf, onRefused } from "./api.ts";
import { backoffMs } from "./backoff.ts";
import { Store } from "./store.ts";
import { currentToken, forgetToken, keepToken } from "./token.ts";
import type { Session } from "./types.ts";

export type SessionState =
  | { kind: "asking"; problem: string | null }
  | { kind: "in"; session: Session }
  | { kind: "out"; message: string | null };

export const sessionStore = new Store<SessionState>({ kind: "asking", problem: null });

/** Asks the server who we are, until it answers. */
export async function askWho(): Promise<void> {
  for (let failures = 1; ; failures++) {
    try {
      return sessionStore.set({ kind: "in", session: await getSession() });
    } catch (error) {
      if (error instanceof ApiError && error.status === 401) return; // see refused()
      sessionStore.set({ kind: "asking", problem: messageOf(error) });
    }
    await new Promise((done) => setTimeout(done, backoffMs(failures, Math.random())));
  }
}

function refused(): void {
  const hadToken = currentToken() !== "";
  forgetToken();
  sessionStore.set({ kind: "out", message: hadToken ? "The server does not know this token." : null });
}

export function startSession(): void {
  onRefused(refused);
  void askWho();
}

export function logIn(token: string): void {
  keepToken(token);
  sessionStore.set({ kind: "asking", problem: null });
  void askWho();
}

export function logOut(): void {
  forgetToken();
  sessionStore.set({ kind: "out", message: null });
}

/** Whether this person may start and stop jobs; whether they may invite and revoke. */
export function mayAct(session: Session): boolean {
  return session.role === "client" || session.role === "admin";
}
export function mayManage(session: Session): boolean {
  return session.role === "admin";
}
