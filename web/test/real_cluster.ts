// A cluster of real processes on this machine: a coordinator, nodes and a dashboard.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

const kPatienceMs = 30_000;

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  server.close();
  await once(server, "close");
  if (address === null || typeof address === "string") throw new Error("no port is free");
  return address.port;
}

/** Waits until a process prints what matches; rejects if it ends before, or takes too long. */
function printed(process: ChildProcess, wanted: RegExp, name: string): Promise<RegExpExecArray> {
  return new Promise((resolve, reject) => {
    let text = "";
    const timer = setTimeout(() => reject(new Error(`${name} did not print ${wanted}: ${text}`)), kPatienceMs);
    const take = (piece: Buffer) => {
      text += piece;
      const found = wanted.exec(text);
      if (found === null) return;
      clearTimeout(timer);
      resolve(found);
    };
    process.stdout!.on("data", take);
    process.stderr!.on("data", take);
    process.on("exit", (status) => {
      clearTimeout(timer);
      reject(new Error(`${name} ended with status ${status}: ${text}`));
    });
  });
}

export class RealCluster {
  readonly nodes = new Map<string, ChildProcess>();
  page = ""; // its address, with the token
  private readonly folder = mkdtempSync(join(tmpdir(), "mangrove-web-"));
  private readonly started: ChildProcess[] = [];
  private coordinator: ChildProcess | null = null;
  private address = "";

  constructor(private readonly program: string) {}

  async start(names: string[]): Promise<void> {
    this.address = `127.0.0.1:${await freePort()}`;
    await this.startCoordinator();
    for (const name of names) this.startNode(name);
    const dashboard = this.run(["dashboard", "--coordinator", this.address, "--listen", "127.0.0.1:0"]);
    this.page = (await printed(dashboard, /https?:\/\/\S+#token=\S+/, "the dashboard"))[0];
  }

  async startCoordinator(): Promise<void> {
    this.coordinator = this.run([
      "coordinator",
      "--listen",
      this.address,
      "--state",
      join(this.folder, "state"),
      "--no-announce",
    ]);
    await printed(this.coordinator, /ready/, "the coordinator");
  }

  async killCoordinator(): Promise<void> {
    await kill(this.coordinator!);
  }

  startNode(name: string): void {
    this.nodes.set(
      name,
      this.run(["node", "--coordinator", this.address, "--name", name, "--threads", "1", "--labels", "tier=end"]),
    );
  }

  async killNode(name: string): Promise<void> {
    await kill(this.nodes.get(name)!);
  }

  async stop(): Promise<void> {
    await Promise.all(this.started.map(kill));
    rmSync(this.folder, { recursive: true, force: true });
  }

  private run(command: string[]): ChildProcess {
    const env = { ...process.env, HOME: this.folder, XDG_CONFIG_HOME: join(this.folder, "config") };
    const started = spawn(this.program, command, { env, stdio: ["ignore", "pipe", "pipe"] });
    started.stdout!.resume();
    started.stderr!.resume();
    this.started.push(started);
    return started;
  }
}

async function kill(one: ChildProcess): Promise<void> {
  if (one.exitCode !== null || one.signalCode !== null) return;
  const ended = once(one, "exit");
  one.kill("SIGKILL");
  await ended;
}
