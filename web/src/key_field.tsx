import { useState } from "preact/hooks";
import { words } from "./format.ts";
import { defaultText, rangeText } from "./key_checks.ts";
import type { Key } from "./types.ts";

interface KeyFieldProps {
  about: Key;
  value: string;
  problem: string;
  isTried: boolean; // show what is wrong even before the field was left
  change: (name: string, value: string) => void;
}

/** The field of a key, with what it means beside it and what is wrong below it. */
export function KeyField({ about, value, problem, isTried, change }: KeyFieldProps) {
  const [isLeft, setLeft] = useState(false);
  const id = `key-${about.name}`;
  const isShown = problem !== "" && (isLeft || isTried);
  const described = `${id}-help${isShown ? ` ${id}-problem` : ""}`;
  return (
    <div class={isShown ? "field wrong" : "field"} onFocusOut={() => setLeft(true)}>
      <label for={id}>{words(about.name)}</label>
      <Control
        about={about}
        value={value}
        id={id}
        described={described}
        isWrong={isShown}
        set={(text) => change(about.name, text)}
      />
      <p class="hint" id={`${id}-help`}>
        {about.help}
        {rangeHint(about)}
      </p>
      {isShown && (
        <p class="problem" id={`${id}-problem`} role="alert">
          {problem}
        </p>
      )}
    </div>
  );
}

function rangeHint(about: Key): string {
  const range = rangeText(about);
  return range === "" ? "" : ` (${range})`;
}

interface ControlProps {
  about: Key;
  value: string;
  id: string;
  described: string;
  isWrong: boolean;
  set: (text: string) => void;
}

function Control(props: ControlProps) {
  const { about } = props;
  if (about.type === "flag") return <Flag {...props} />;
  if ((about.choices ?? []).length > 0) return <Choice {...props} />;
  return <TextInput {...props} />;
}

function TextInput({ about, value, id, described, isWrong, set }: ControlProps) {
  const isNumber = about.type === "whole" || about.type === "number";
  return (
    <input
      id={id}
      type="text"
      inputMode={isNumber ? "decimal" : undefined}
      value={value}
      spellcheck={false}
      placeholder={defaultText(about)}
      aria-describedby={described}
      aria-invalid={isWrong}
      autocomplete="off"
      onInput={(event) => set(event.currentTarget.value)}
    />
  );
}

function Flag({ value, id, described, set }: ControlProps) {
  return (
    <input
      id={id}
      type="checkbox"
      checked={value === "true"}
      aria-describedby={described}
      onChange={(event) => set(event.currentTarget.checked ? "true" : "")}
    />
  );
}

const kOther = "\u0000other"; // no value has this name

/** A list to choose from. A key of any text names examples only, so another one can be written. */
function Choice(props: ControlProps) {
  const { about, value, id, described, isWrong, set } = props;
  const choices = about.choices ?? [];
  const isOpen = about.type !== "choice";
  const [isOther, setOther] = useState(isOpen && value !== "" && !choices.includes(value));
  const choose = (chosen: string) => {
    setOther(chosen === kOther);
    set(chosen === kOther ? "" : chosen);
  };
  return (
    <>
      <select
        id={id}
        value={isOther ? kOther : value}
        aria-describedby={described}
        aria-invalid={isWrong}
        onChange={(event) => choose(event.currentTarget.value)}
      >
        <option value="">{defaultText(about) === "" ? "(default)" : `${defaultText(about)} (default)`}</option>
        {choices
          .filter((choice) => choice !== defaultText(about))
          .map((choice) => (
            <option key={choice}>{choice}</option>
          ))}
        {isOpen && <option value={kOther}>another …</option>}
      </select>
      {isOther && <TextInput {...props} id={`${id}-other`} />}
    </>
  );
}
