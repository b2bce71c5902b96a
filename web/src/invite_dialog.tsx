import { useMemo, useState } from "preact/hooks";
import { invite, type Invitation, messageOf } from "./api.ts";
import { Dialog } from "./dialog.tsx";
import { formatMoment } from "./format.ts";
import { qrCode } from "./qr.ts";

const kTimes: [number, string][] = [
  [600, "10 minutes"],
  [3600, "1 hour"],
  [24 * 3600, "1 day"],
  [7 * 24 * 3600, "7 days"],
];
const kRoles: [string, string][] = [
  ["node", "node: a board that works"],
  ["viewer", "viewer: looks"],
  ["client", "client: starts jobs"],
  ["admin", "admin: does everything"],
];

export function InviteDialog({ coordinator, close }: { coordinator: string; close: () => void }) {
  const [made, setMade] = useState<{ role: string; join_string: string; expires: number } | null>(null);
  return (
    <Dialog title={made === null ? "Invite" : "Invitation"} close={close}>
      {made === null ? (
        <InviteForm close={close} done={setMade} />
      ) : (
        <JoinString
          role={made.role}
          text={made.join_string}
          expires={made.expires}
          coordinator={coordinator}
          close={close}
        />
      )}
    </Dialog>
  );
}

interface InviteFormProps {
  close: () => void;
  done: (made: { role: string; join_string: string; expires: number }) => void;
}

function InviteForm({ close, done }: InviteFormProps) {
  const [wish, setWish] = useState<Invitation>({ role: "node", name: "", ttl_s: 3600, uses: 1 });
  const [problem, setProblem] = useState<string | null>(null);
  const set = (change: Partial<Invitation>) => setWish((before) => ({ ...before, ...change }));
  const submit = async (event: Event) => {
    event.preventDefault();
    try {
      done({ role: wish.role, ...(await invite(wish)) });
    } catch (error) {
      setProblem(messageOf(error));
    }
  };
  return (
    <form class="plain" onSubmit={submit}>
      <label for="invite-role">Role</label>
      <select id="invite-role" value={wish.role} onChange={(event) => set({ role: event.currentTarget.value })}>
        {kRoles.map(([role, text]) => (
          <option key={role} value={role}>
            {text}
          </option>
        ))}
      </select>
      <label for="invite-name">Name (empty: whoever joins says it)</label>
      <input
        id="invite-name"
        type="text"
        value={wish.name}
        autocomplete="off"
        onInput={(event) => set({ name: event.currentTarget.value.trim() })}
      />
      <label for="invite-time">Can be used for</label>
      <select
        id="invite-time"
        value={wish.ttl_s}
        onChange={(event) => set({ ttl_s: Number(event.currentTarget.value) })}
      >
        {kTimes.map(([seconds, text]) => (
          <option key={seconds} value={seconds}>
            {text}
          </option>
        ))}
      </select>
      <label for="invite-uses">By so many members</label>
      <input
        id="invite-uses"
        type="number"
        min={1}
        max={10000}
        required
        value={wish.uses}
        onInput={(event) => set({ uses: Math.trunc(Number(event.currentTarget.value)) })}
      />
      {problem !== null && (
        <p class="problem" role="alert">
          {problem}
        </p>
      )}
      <div class="buttons">
        <button type="button" onClick={close}>
          Cancel
        </button>
        <button type="submit" class="main">
          Invite
        </button>
      </div>
    </form>
  );
}

/** What the new member types. Standard input keeps the secret out of the list of processes. */
export function joinCommand(role: string, text: string): string {
  return `echo '${text}' | mangrove ${role === "node" ? "node --join" : "join"} -`;
}

interface JoinStringProps {
  role: string;
  text: string;
  expires: number;
  coordinator: string;
  close: () => void;
}

function JoinString({ role, text, expires, coordinator, close }: JoinStringProps) {
  const command = joinCommand(role, text);
  return (
    <>
      <p>
        Whoever has this join string can join {coordinator} until {formatMoment(new Date(expires * 1000), new Date())}.
        It is shown only now.
      </p>
      <Copyable label="Join string" text={text} />
      <Copyable label={role === "node" ? "On the board" : "On the new member's machine"} text={command} />
      <QrPicture text={text} />
      <div class="buttons">
        <button type="button" class="main" onClick={close}>
          Done
        </button>
      </div>
    </>
  );
}

function Copyable({ label, text }: { label: string; text: string }) {
  const [said, setSaid] = useState("Copy");
  const copy = () =>
    navigator.clipboard.writeText(text).then(
      () => setSaid("Copied"),
      () => setSaid("Select it and copy it by hand"),
    );
  return (
    <div class="copyable">
      <span class="label">{label}</span>
      <code tabIndex={0}>{text}</code>
      {navigator.clipboard !== undefined && (
        <button type="button" onClick={copy} aria-live="polite">
          {said}
        </button>
      )}
    </div>
  );
}

function QrPicture({ text }: { text: string }) {
  const code = useMemo(() => qrCode(text), [text]);
  return (
    <svg
      class="qr"
      viewBox={`0 0 ${code.size} ${code.size}`}
      role="img"
      aria-label="The join string as a QR code"
      shape-rendering="crispEdges"
    >
      <rect width={code.size} height={code.size} fill="#fff" />
      <path d={code.path} fill="#000" />
    </svg>
  );
}
