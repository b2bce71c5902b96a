const kHiddenPatienceMs = 60_000;

/**
 * Holds something open while somebody may look at the page: it is closed a minute after the page was hidden, and opened
 * again when it is shown. A browser allows a server only six connections, for all its tabs together.
 * Returns a function that ends it.
 */
export function whileVisible(open: () => () => void): () => void {
  let close: (() => void) | null = open();
  let timer: ReturnType<typeof setTimeout> | undefined;
  const closeNow = () => {
    close?.();
    close = null;
  };
  const changed = () => {
    clearTimeout(timer);
    if (document.visibilityState === "hidden") timer = setTimeout(closeNow, kHiddenPatienceMs);
    else close ??= open();
  };
  document.addEventListener("visibilitychange", changed);
  return () => {
    document.removeEventListener("visibilitychange", changed);
    clearTimeout(timer);
    closeNow();
  };
}
