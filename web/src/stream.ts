import { ApiError, messageOf, request } from "./api.ts";
import { backoffMs } from "./backoff.ts";
import { EventParser, type ServerEvent } from "./sse.ts";

const kSilenceMs = 20_000; // the server gives a sign of life every five seconds

export type StreamState =
  | { kind: "connecting" }
  | { kind: "open" }
  | { kind: "waiting"; until: number; message: string } // milliseconds since 1970
  | { kind: "ended"; message: string };

export interface StreamListener {
  event(event: ServerEvent): void;
  state(state: StreamState): void;
  /** Called before the first event of each connection: the server tells everything again. */
  begin(): void;
}

/** A stream of the server that connects again when it breaks, ever later, until it is closed. */
export class Stream {
  private failures = 0;
  private isOpen = false;
  private isClosed = false;
  private abort = new AbortController();
  private wake: () => void = () => undefined;

  constructor(
    private readonly path: string,
    private readonly listener: StreamListener,
  ) {
    void this.run();
  }

  close(): void {
    this.isClosed = true;
    this.abort.abort();
    this.wake();
  }

  /** Ends the wait before the next attempt. */
  retryNow(): void {
    this.wake();
  }

  /** The connection is of no use any more; connects again after a while. */
  reconnect(): void {
    this.abort.abort(new Error("The server has lost the coordinator."));
  }

  private tell(state: StreamState): void {
    if (!this.isClosed) this.listener.state(state);
  }

  private async run(): Promise<void> {
    while (!this.isClosed) {
      this.tell({ kind: "connecting" });
      let message = "The connection was closed.";
      try {
        await this.readOnce();
      } catch (error) {
        if (error instanceof ApiError && [401, 403, 404].includes(error.status))
          return this.tell({ kind: "ended", message: error.message });
        message = messageOf(error);
      }
      if (this.isClosed) return;
      await this.pause(message);
    }
  }

  private async pause(message: string): Promise<void> {
    this.isOpen = false;
    this.failures += 1;
    const waitMs = backoffMs(this.failures, Math.random());
    this.tell({ kind: "waiting", until: Date.now() + waitMs, message });
    await new Promise<void>((done) => {
      const timer = setTimeout(done, waitMs);
      this.wake = () => {
        clearTimeout(timer);
        done();
      };
    });
  }

  private async readOnce(): Promise<void> {
    this.abort = new AbortController();
    let timer = this.watch();
    try {
      const response = await request(this.path, { signal: this.abort.signal });
      if (response.body === null) throw new ApiError(0, "no_body", "The server sent no stream.");
      this.listener.begin();
      const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
      const parser = new EventParser();
      for (;;) {
        const { value, done } = await reader.read();
        if (done || this.isClosed) return;
        clearTimeout(timer);
        timer = this.watch();
        this.take(parser.push(value));
      }
    } finally {
      clearTimeout(timer);
    }
  }

  private take(events: ServerEvent[]): void {
    if (this.isClosed) return;
    if (!this.isOpen) this.tell({ kind: "open" });
    this.isOpen = true;
    this.failures = 0;
    for (const event of events) if (!this.isClosed) this.listener.event(event);
  }

  private watch(): ReturnType<typeof setTimeout> {
    return setTimeout(() => this.abort.abort(new Error("The server has fallen silent.")), kSilenceMs);
  }
}
