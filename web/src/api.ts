import { currentToken } from "./token.ts";
import type { Job, JobEvent, Key, Member, Session } from "./types.ts";

/** Why a call failed. status 0: the server did not answer at all. */
export class ApiError extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
  ) {
    super(message);
  }
}

const kBase = "api/v1";
const kPatienceMs = 20_000; // for a call; ending a job in good order takes longer
const kStopPatienceMs = 180_000;

let refused: () => void = () => undefined;

/** listener: called when the server does not accept the token. */
export function onRefused(listener: () => void): void {
  refused = listener;
}

async function errorOf(response: Response): Promise<ApiError> {
  const body = (await response.json().catch(() => null)) as { error?: { code?: string; message?: string } } | null;
  const message = body?.error?.message ?? `The server answered with status ${response.status}.`;
  return new ApiError(response.status, body?.error?.code ?? "unknown", message);
}

/** errors: ApiError. */
export async function request(path: string, init: RequestInit = {}): Promise<Response> {
  const headers = new Headers(init.headers);
  headers.set("Authorization", `Bearer ${currentToken()}`);
  let response: Response;
  try {
    response = await fetch(`${kBase}/${path}`, { ...init, headers, cache: "no-store", credentials: "omit" });
  } catch (error) {
    if (error instanceof DOMException && error.name === "TimeoutError")
      throw new ApiError(0, "timeout", "The server did not answer in time.");
    throw new ApiError(0, "unreachable", "The server does not answer. Is the dashboard still running?");
  }
  if (response.ok) return response;
  const error = await errorOf(response);
  if (error.status === 401) refused();
  throw error;
}

async function get<T>(path: string): Promise<T> {
  const response = await request(path, { signal: AbortSignal.timeout(kPatienceMs) });
  return (await response.json()) as T;
}

async function post<T>(path: string, body: unknown, patienceMs = kPatienceMs): Promise<T> {
  const response = await request(path, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(body),
    signal: AbortSignal.timeout(patienceMs),
  });
  return (await response.json()) as T;
}

const part = encodeURIComponent;

export const getSession = () => get<Session>("session");
export const getJobs = () => get<{ jobs: Job[] }>("jobs");
export const getJob = (id: string) => get<Job>(`jobs/${part(id)}`);
export const getJobEvents = (id: string) => get<{ events: JobEvent[] }>(`jobs/${part(id)}/events`);
export const getKeys = (command: string) => get<{ keys: Key[] }>(`keys/${command}`);
export const getMembers = () => get<{ members: Member[] }>("members");

export function startJob(command: string, keys: Record<string, unknown>): Promise<{ id: string }> {
  return post("jobs", { command, keys });
}

export function stopJob(id: string): Promise<{ message: string }> {
  return post(`jobs/${part(id)}/stop`, {}, kStopPatienceMs);
}

export interface Invitation {
  role: string;
  name: string;
  ttl_s: number;
  uses: number;
}

export function invite(invitation: Invitation): Promise<{ join_string: string; expires: number }> {
  return post("invitations", invitation);
}

export function revoke(name: string): Promise<void> {
  return post(`members/${part(name)}/revoke`, {});
}

/** The trained network of a job. errors: not_found where it has none. */
export async function getModel(id: string): Promise<Blob> {
  return (await request(`jobs/${part(id)}/model`)).blob();
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
