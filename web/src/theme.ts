// Dark, light, or as the system is.
import { Store } from "./store.ts";

export type Theme = "auto" | "light" | "dark";

const kKey = "mangrove-theme";

export const themeStore = new Store<Theme>("auto");

function apply(theme: Theme): void {
  if (theme === "auto") delete document.documentElement.dataset["theme"];
  else document.documentElement.dataset["theme"] = theme;
  themeStore.set(theme);
}

export function startTheme(): void {
  const kept = localStorage.getItem(kKey);
  apply(kept === "light" || kept === "dark" ? kept : "auto");
}

export function chooseTheme(theme: Theme): void {
  localStorage.setItem(kKey, theme);
  apply(theme);
}

/** Calls `listener` when the colours change, for what is painted by hand. Returns a function that ends it. */
export function onColoursChange(listener: () => void): () => void {
  const dark = matchMedia("(prefers-color-scheme: dark)");
  dark.addEventListener("change", listener);
  const unsubscribe = themeStore.subscribe(listener);
  return () => {
    dark.removeEventListener("change", listener);
    unsubscribe();
  };
}
