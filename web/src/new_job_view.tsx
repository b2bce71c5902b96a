import { useEffect, useState } from "preact/hooks";
import { getKeys, messageOf, startJob } from "./api.ts";
import { defaultText, groupKeys, isOfStrategy, keyNamedBy, problemOf, splitKeys, valueOf } from "./key_checks.ts";
import { KeyField } from "./key_field.tsx";
import { jobAddress } from "./route.ts";
import type { Key } from "./types.ts";

const kCommand = "train";

type Values = Readonly<Record<string, string>>;

export function NewJobView() {
  const [keys, setKeys] = useState<Key[] | null>(null);
  const [problem, setProblem] = useState<string | null>(null);
  useEffect(() => {
    getKeys(kCommand).then(
      (answer) => setKeys(answer.keys),
      (error: unknown) => setProblem(messageOf(error)),
    );
  }, []);
  return (
    <section class="panel form">
      <h1>New training</h1>
      <p class="hint">A field that you leave empty has the value that is written in grey in it.</p>
      {problem !== null && (
        <p class="problem" role="alert">
          {problem}
        </p>
      )}
      {keys !== null && <JobForm keys={keys} />}
    </section>
  );
}

/** What is wrong with the values, by key. */
function problemsOf(keys: Key[], values: Values): Record<string, string> {
  const problems = keys.map((key): [string, string] => [key.name, problemOf(key, values[key.name] ?? "")]);
  return Object.fromEntries(problems.filter(([, problem]) => problem !== ""));
}

/** What is sent: only what differs from empty, so that the defaults stay the server's. */
function wishOf(keys: Key[], values: Values): Record<string, unknown> {
  const filled = keys.filter((key) => (values[key.name] ?? "").trim() !== "");
  return Object.fromEntries(filled.map((key) => [key.name, valueOf(key, values[key.name]!)]));
}

function focusOn(name: string): void {
  const field = document.getElementById(`key-${name}`);
  field?.closest("details")?.setAttribute("open", "");
  field?.focus();
}

function JobForm({ keys }: { keys: Key[] }) {
  const [values, setValues] = useState<Values>({});
  const [refused, setRefused] = useState<{ name: string | null; message: string } | null>(null);
  const [isBusy, setBusy] = useState(false);
  const [isTried, setTried] = useState(false);
  const strategyKey = keys.find((key) => key.name === "strategy");
  const strategy = values["strategy"] || (strategyKey === undefined ? "" : defaultText(strategyKey));
  const shown = keys.filter((key) => isOfStrategy(key, strategy));
  const [common, others] = splitKeys(shown);
  const problems = problemsOf(shown, values);
  const change = (name: string, value: string) => {
    setValues((before) => ({ ...before, [name]: value }));
    setRefused((before) => (before?.name === name ? null : before));
  };
  const submit = async (event: Event) => {
    event.preventDefault();
    setTried(true);
    const wrong = Object.keys(problems)[0];
    if (wrong !== undefined) return focusOn(wrong);
    setBusy(true);
    setRefused(null);
    const wish = wishOf(shown, values);
    try {
      location.hash = jobAddress((await startJob(kCommand, wish)).id);
    } catch (error) {
      const message = messageOf(error);
      const name = keyNamedBy(
        message,
        shown.map((key) => key.name),
        wish,
      );
      setRefused({ name, message });
      if (name !== null) focusOn(name);
    }
    setBusy(false);
  };
  const problem = (name: string) => (refused?.name === name ? refused.message : (problems[name] ?? ""));
  return (
    <form onSubmit={submit} noValidate>
      <Fields keys={common} values={values} change={change} problem={problem} isTried={isTried} />
      <Others keys={others} values={values} change={change} problem={problem} isTried={isTried} />
      {refused !== null && refused.name === null && (
        <p class="problem" role="alert">
          {refused.message}
        </p>
      )}
      <div class="buttons">
        <button type="submit" class="main" disabled={isBusy}>
          {isBusy ? "Starting …" : "Start training"}
        </button>
      </div>
    </form>
  );
}

interface FieldsProps {
  keys: Key[];
  values: Values;
  change: (name: string, value: string) => void;
  problem: (name: string) => string;
  isTried: boolean;
}

function Fields({ keys, values, change, problem, isTried }: FieldsProps) {
  return (
    <div class="fields">
      {keys.map((key) => (
        <KeyField
          key={key.name}
          about={key}
          value={values[key.name] ?? ""}
          problem={problem(key.name)}
          isTried={isTried}
          change={change}
        />
      ))}
    </div>
  );
}

/** All other keys by their groups, and a field that finds one. */
function Others(props: FieldsProps) {
  const [wanted, setWanted] = useState("");
  const text = wanted.trim().toLowerCase().replaceAll(" ", "_");
  const found = props.keys.filter(
    (key) => key.name.includes(text) || key.help.toLowerCase().includes(wanted.trim().toLowerCase()),
  );
  return (
    <details class="others">
      <summary>More settings ({props.keys.length})</summary>
      <input
        type="search"
        placeholder="Find a setting"
        aria-label="Find a setting"
        value={wanted}
        onInput={(event) => setWanted(event.currentTarget.value)}
      />
      {groupKeys(found).map(([group, keys]) => (
        <fieldset key={group}>
          <legend>{group}</legend>
          <Fields {...props} keys={keys} />
        </fieldset>
      ))}
      {found.length === 0 && <p class="empty">No setting is called so.</p>}
    </details>
  );
}
