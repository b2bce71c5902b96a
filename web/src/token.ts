// The token of this tab. It comes in the fragment of the address, which a browser never sends.

const kKey = "mangrove-token";

export interface AddressParts {
  token: string | null;
  hash: string; // without the token
}

/** Splits "#token=SECRET" and "#/jobs&token=SECRET". */
export function splitFragment(hash: string): AddressParts {
  const parts = hash.replace(/^#/, "").split("&");
  const found = parts.find((part) => part.startsWith("token="));
  if (found === undefined) return { token: null, hash };
  const rest = parts.filter((part) => part !== found).join("&");
  return { token: decodeToken(found.slice("token=".length)), hash: rest === "" ? "" : `#${rest}` };
}

function decodeToken(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text; // not encoded: it has a lone percent sign
  }
}

/** Takes the token out of the address, so that it stays in no history and in no screenshot. */
export function takeTokenFromAddress(): void {
  const { token, hash } = splitFragment(location.hash);
  if (token === null) return;
  sessionStorage.setItem(kKey, token);
  history.replaceState(null, "", location.pathname + location.search + hash);
}

export function currentToken(): string {
  return sessionStorage.getItem(kKey) ?? "";
}

export function keepToken(token: string): void {
  sessionStorage.setItem(kKey, token);
}

export function forgetToken(): void {
  sessionStorage.removeItem(kKey);
}
