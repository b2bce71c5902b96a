/** An event of a stream of server-sent events. */
export interface ServerEvent {
  event: string;
  data: string;
}

/**
 * Reads server-sent events from pieces of text that end anywhere, even between the two characters of a line's end.
 * Source: the HTML standard, "Server-sent events"; of its fields `id` and `retry` are not needed here.
 */
export class EventParser {
  private rest = "";
  private event = "";
  private data: string[] = [];

  /** The events that the next piece of the stream completes. */
  push(piece: string): ServerEvent[] {
    this.rest += piece;
    const events: ServerEvent[] = [];
    for (let line = this.takeLine(); line !== null; line = this.takeLine()) {
      const event = this.takeField(line);
      if (event !== null) events.push(event);
    }
    return events;
  }

  private takeLine(): string | null {
    const end = this.rest.search(/[\r\n]/);
    if (end < 0) return null;
    const isReturn = this.rest[end] === "\r";
    if (isReturn && end + 1 === this.rest.length) return null; // a newline may follow in the next piece
    const line = this.rest.slice(0, end);
    this.rest = this.rest.slice(end + (isReturn && this.rest[end + 1] === "\n" ? 2 : 1));
    return line;
  }

  private takeField(line: string): ServerEvent | null {
    if (line === "") return this.dispatch();
    if (line.startsWith(":")) return null; // a comment: a sign of life
    const colon = line.indexOf(":");
    const name = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
    if (name === "event") this.event = value;
    if (name === "data") this.data.push(value);
    return null;
  }

  private dispatch(): ServerEvent | null {
    const event = { event: this.event || "message", data: this.data.join("\n") };
    const isEmpty = this.data.length === 0;
    this.event = "";
    this.data = [];
    return isEmpty ? null : event;
  }
}
