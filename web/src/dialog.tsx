import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { messageOf } from "./api.ts";

/** A window above the page, which Escape closes. The focus goes back to where it was. */
export function Dialog({ title, close, children }: { title: string; close: () => void; children: ComponentChildren }) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const before = document.activeElement;
    dialog.current?.showModal();
    return () => {
      if (before instanceof HTMLElement) before.focus();
    };
  }, []);
  return (
    <dialog ref={dialog} aria-labelledby="dialog-title" onClose={close}>
      <h2 id="dialog-title">{title}</h2>
      {children}
    </dialog>
  );
}

interface ConfirmProps {
  title: string;
  question: string;
  action: string; // what the button says
  perform: () => Promise<void>;
  close: () => void;
}

/** Asks before something is done that cannot be undone. */
export function Confirm({ title, question, action, perform, close }: ConfirmProps) {
  const [isBusy, setBusy] = useState(false);
  const [problem, setProblem] = useState<string | null>(null);
  const confirm = async () => {
    setBusy(true);
    setProblem(null);
    try {
      await perform();
      close();
    } catch (error) {
      setProblem(messageOf(error));
      setBusy(false);
    }
  };
  return (
    <Dialog title={title} close={close}>
      <p>{question}</p>
      {problem !== null && (
        <p class="problem" role="alert">
          {problem}
        </p>
      )}
      <div class="buttons">
        <button type="button" onClick={close} autofocus>
          Cancel
        </button>
        <button type="button" class="danger" disabled={isBusy} onClick={confirm}>
          {isBusy ? "One moment …" : action}
        </button>
      </div>
    </Dialog>
  );
}
