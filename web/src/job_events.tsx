import { useState } from "preact/hooks";
import { formatSeconds, words } from "./format.ts";
import type { JobEvent } from "./types.ts";

/** What an event says: its sentence, or its name where all is as it should be. */
export function sentenceOf(event: JobEvent): string {
  if (event.sentence) return event.sentence;
  const rest = [event.node, event.message ?? event.reason].filter(Boolean).join(": ");
  return rest === "" ? words(event.event) : `${words(event.event)}: ${rest}`;
}

export function JobEvents({ events }: { events: readonly JobEvent[] }) {
  const [isAll, setAll] = useState(false);
  const told = events.filter((event) => event.sentence);
  const shown = isAll ? events : told;
  return (
    <section class="panel">
      <div class="title">
        <h2>What happened</h2>
        {events.length > told.length && (
          <label class="inline">
            <input type="checkbox" checked={isAll} onChange={() => setAll(!isAll)} /> Show routine events too
          </label>
        )}
      </div>
      {shown.length === 0 ? (
        <p class="empty">Nothing that is worth a line.</p>
      ) : (
        <ol class="events">
          {shown.map((event, index) => (
            <EventLine key={index} event={event} />
          ))}
        </ol>
      )}
    </section>
  );
}

function EventLine({ event }: { event: JobEvent }) {
  return (
    <li class={event.warning ? "warning" : ""}>
      <span class="when">{event.time_s === undefined ? "" : formatSeconds(event.time_s)}</span>
      <span>
        {event.warning && <strong class="tag warn">⚠ warning</strong>} {sentenceOf(event)}
      </span>
    </li>
  );
}
