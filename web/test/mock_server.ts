// A server of the dashboard's interface that needs no cluster: for tests, for pictures, and to work on the page.
//
//   node mock_server.mjs [--nodes N] [--port N] [--token SECRET]
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { readFile } from "node:fs/promises";
import type { AddressInfo } from "node:net";
import { extname, join } from "node:path";
import { parseArgs } from "node:util";
import { kEvents, kKeys, members, nodesAt } from "./mock_data.ts";
import { kBoardNames, makeJob, type MockJob, progressAt, shareDone, toldAtEnd, toldBetween, utc } from "./mock_jobs.ts";
import type { Cluster, ClusterNode, Job, Member } from "../src/types.ts";

const kTypes: Record<string, string> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
};
const kPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'";

export interface MockOptions {
  dist: string; // folder of the page
  nodes: number;
  role: "viewer" | "client" | "admin";
  token: string;
  port: number;
  jobSeconds: number; // that a job takes which is started by the form
}

class HttpError extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
  ) {
    super(message);
  }
}

export class MockServer {
  readonly jobs: MockJob[] = [];
  readonly states = new Map<string, string>(); // of nodes that are not alive
  readonly asked: string[] = []; // calls, such as "POST jobs"
  isCoordinatorSilent = false;
  members: Member[] = members(Math.floor(Date.now() / 1000));
  private readonly server: Server;
  private readonly beganMs = Date.now();
  private jobCount = 0;

  constructor(readonly options: MockOptions) {
    this.server = createServer((request, response) => {
      this.answer(request, response).catch((error: unknown) => this.fail(response, error));
    });
  }

  /** Listens, on any port that is free unless one was wanted. Returns the address of the page, with the token. */
  async start(port = this.options.port): Promise<string> {
    await new Promise<void>((done) => this.server.listen(port, "127.0.0.1", done));
    return `http://127.0.0.1:${this.port()}/#token=${this.options.token}`;
  }

  port(): number {
    return (this.server.address() as AddressInfo).port;
  }

  /** Ends all connections, as a server that is killed does. */
  async stop(): Promise<void> {
    const closed = new Promise((done) => this.server.close(done));
    this.server.closeAllConnections();
    await closed;
  }

  add(job: MockJob): MockJob {
    this.jobs.unshift(job);
    return job;
  }

  nodes(): ClusterNode[] {
    const running = this.jobs.find((one) => one.job.state === "running")?.job.id ?? null;
    const second = Math.floor((Date.now() - this.beganMs) / 1000);
    return nodesAt(this.options.nodes, second, running).map((node) => {
      const state = this.states.get(node.name);
      if (state === undefined) return node;
      const isGone = state === "lost" || state === "left";
      return {
        ...node,
        state,
        ...(isGone ? { roles: [], sent_per_s: 0, received_per_s: 0, heartbeat_age_s: 12.3 } : {}),
      };
    });
  }

  private cluster(): Cluster {
    const current = this.jobs.filter((one) => one.job.state === "running" || one.job.state === "waiting");
    return {
      coordinator: "192.168.1.10:7070",
      nodes: this.nodes(),
      straggler: current.some((one) => one.job.state === "running") && this.options.nodes <= 6 ? "reed" : null,
      refused: { bad_join_string: 3 },
      jobs: current.map((one) => ({
        id: one.job.id,
        kind: "train",
        strategy: "parameter_server",
        state: one.job.state,
        priority: one.job.priority,
        share: 1,
        progress: one.job.state === "running" ? progressAt(one, shareDone(one, Date.now())) : null,
      })),
    };
  }

  private advance(): void {
    for (const one of this.jobs) {
      if (one.job.state !== "running") continue;
      one.job.epoch = Math.floor(shareDone(one, Date.now()) * one.epochs);
      if (shareDone(one, Date.now()) >= 1) this.end(one, "done");
    }
  }

  private end(one: MockJob, state: string): void {
    one.job = { ...one.job, state, ended: utc(Date.now()) };
  }

  private async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    this.advance();
    const path = new URL(request.url ?? "/", "http://mock").pathname;
    if (!path.startsWith("/api/")) return this.sendFile(path, response);
    if (request.headers.authorization !== `Bearer ${this.options.token}`)
      throw new HttpError(401, "permission_denied", "this token is not known");
    const call = path.slice("/api/v1/".length);
    this.asked.push(`${request.method} ${call}`);
    if (call === "cluster/stream") return this.streamCluster(response);
    const stream = /^jobs\/([^/]+)\/stream$/.exec(call);
    if (stream !== null) return this.streamJob(this.find(stream[1]!), response);
    const model = /^jobs\/([^/]+)\/model$/.exec(call);
    if (model !== null) return this.sendModel(this.find(model[1]!), response);
    const body = request.method === "POST" ? JSON.parse(await text(request)) : null;
    const [status, answer] = this.perform(`${request.method} ${call}`, body);
    response.writeHead(status, { "Content-Type": "application/json" }).end(JSON.stringify(answer));
  }

  private perform(call: string, body: Record<string, never> | null): [number, unknown] {
    const { role } = this.options;
    if (call === "GET session") return [200, { version: "0.9.0", coordinator: "192.168.1.10:7070", role }];
    if (call === "GET cluster") return [200, this.cluster()];
    if (call === "GET jobs") return [200, { jobs: this.jobs.map((one) => one.job) }];
    if (call === "POST jobs") return [201, this.startJob(body ?? {})];
    if (call === "GET keys/train") return [200, { command: "train", keys: kKeys }];
    if (call === "GET members") return [200, { members: this.members }];
    if (call === "POST invitations")
      return [
        201,
        { join_string: `MG1${"4f2c9a".repeat(8)}:192.168.1.10:7070:i9.k3yw0rds`, expires: Date.now() / 1000 + 3600 },
      ];
    const [, verb, kind, id, rest] = /^(\w+) (\w+)\/([^/]+)(?:\/(\w+))?$/.exec(call) ?? [];
    if (verb === "GET" && kind === "jobs") return [200, this.describe(this.find(id!), rest)];
    if (verb === "POST" && kind === "jobs" && rest === "stop") return [200, this.stopJob(this.find(id!))];
    if (verb === "POST" && kind === "members" && rest === "revoke") return [200, this.revoke(decodeURIComponent(id!))];
    throw new HttpError(404, "not_found", "there is no such path");
  }

  private find(id: string): MockJob {
    const found = this.jobs.find((one) => one.job.id === decodeURIComponent(id));
    if (found === undefined) throw new HttpError(404, "not_found", `the coordinator knows no job '${id}'`);
    return found;
  }

  private describe(one: MockJob, rest: string | undefined): Job | object {
    if (rest === "events") return { job: one.job.id, events: kEvents };
    if (one.job.state !== "running") return one.job;
    const roles = kBoardNames.map((name, i) => ({ name, rank: i + 1 }));
    return { ...one.job, share: 1, roles, progress: progressAt(one, shareDone(one, Date.now())) };
  }

  private startJob(body: { keys?: Record<string, unknown> }): { id: string } {
    if (this.options.role === "viewer")
      throw new HttpError(403, "permission_denied", "a viewer may not do this; a client may");
    const keys = body.keys ?? {};
    if (keys["model"] === "lenot")
      throw new HttpError(400, "invalid_argument", "no model is called 'lenot'; did you mean 'lenet'?");
    this.jobCount += 1;
    const more = { data: String(keys["data"] ?? "mnist"), epochs: Number(keys["epochs"] ?? 1) };
    const one = makeJob(`job-7721-${this.jobCount + 20}`, "running", Date.now(), this.options.jobSeconds, more);
    return { id: this.add(one).job.id };
  }

  private stopJob(one: MockJob): object {
    this.end(one, "stopped");
    return { job: one.job.id, message: "stopped" };
  }

  private revoke(name: string): object {
    this.members = this.members.map((member) =>
      member.name === name || (member.invitation !== "" && member.invitation === name)
        ? { ...member, state: "revoked" }
        : member,
    );
    return {};
  }

  private streamCluster(response: ServerResponse): void {
    const send = () => {
      this.advance();
      if (this.isCoordinatorSilent)
        sendEvent(response, "problem", { message: "192.168.1.10:7070 refuses the connection" });
      else sendEvent(response, "cluster", this.cluster());
    };
    beginStream(response, send, 1000);
  }

  private streamJob(one: MockJob, response: ServerResponse): void {
    let before = 0;
    const send = () => {
      this.advance();
      const share = shareDone(one, Date.now());
      const told = toldBetween(one, before, share);
      for (const [event, data] of told) sendEvent(response, event, data);
      before = Math.max(share, 1e-9);
      if (one.job.state === "running" || one.job.state === "waiting") return;
      for (const [event, data] of toldAtEnd(one)) sendEvent(response, event, data);
      response.end();
    };
    beginStream(response, send, 200);
  }

  private sendModel(one: MockJob, response: ServerResponse): void {
    if (one.job.state !== "done")
      throw new HttpError(404, "not_found", `the coordinator has no model of job ${one.job.id}`);
    response.writeHead(200, { "Content-Type": "application/octet-stream" }).end(Buffer.from("an ONNX file"));
  }

  private async sendFile(path: string, response: ServerResponse): Promise<void> {
    const name = path === "/" ? "index.html" : path.slice(1);
    if (!/^[\w.]+$/.test(name) || kTypes[extname(name)] === undefined)
      throw new HttpError(404, "not_found", "the page has no such file");
    const bytes = await readFile(join(this.options.dist, name));
    response.writeHead(200, { "Content-Type": kTypes[extname(name)], "Content-Security-Policy": kPolicy }).end(bytes);
  }

  private fail(response: ServerResponse, error: unknown): void {
    const known = error instanceof HttpError ? error : new HttpError(500, "internal", String(error));
    response.writeHead(known.status, { "Content-Type": "application/json" });
    response.end(JSON.stringify({ error: { code: known.code, message: known.message } }));
  }
}

async function text(request: IncomingMessage): Promise<string> {
  let all = "";
  for await (const piece of request) all += piece;
  return all;
}

function beginStream(response: ServerResponse, send: () => void, everyMs: number): void {
  response.writeHead(200, { "Content-Type": "text/event-stream", "Cache-Control": "no-store" });
  const timer = setInterval(send, everyMs);
  response.on("close", () => clearInterval(timer));
  send();
}

function sendEvent(response: ServerResponse, event: string, data: unknown): void {
  response.write(`event: ${event}\ndata: ${JSON.stringify(data)}\n\n`);
}

/** Jobs of all states. */
export function addSomeJobs(server: MockServer): void {
  const now = Date.now();
  const hours = (count: number) => now - count * 3_600_000;
  server.add(makeJob("job-7721-1", "done", hours(30), 71, { epochs: 5, bias: 0.6, model: "mlp" }));
  server.add(makeJob("job-7721-2", "failed", hours(26), 4));
  server.jobs[0]!.job.message = "all nodes are lost";
  server.add(makeJob("job-7721-3", "done", hours(5), 71, { epochs: 5, bias: -0.4 }));
  server.add(makeJob("job-7721-4", "stopped", hours(2), 40, { epochs: 2 }));
  server.add(makeJob("job-7721-5", "running", now - 100_000, 240, { epochs: 10 }));
  server.add(makeJob("job-7721-6", "waiting", now, 60, { data: "cifar10" }));
}

/** For a person at the command line. */
async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      nodes: { type: "string", default: "6" },
      port: { type: "string", default: "7080" },
      token: { type: "string", default: "mock" },
      dist: { type: "string", default: "dist" },
    },
  });
  const server = new MockServer({
    dist: values.dist,
    nodes: Number(values.nodes),
    role: "admin",
    token: values.token,
    port: Number(values.port),
    jobSeconds: 60,
  });
  addSomeJobs(server);
  console.log(await server.start());
}

if (process.argv[1]?.endsWith("mock_server.mjs")) await main();
