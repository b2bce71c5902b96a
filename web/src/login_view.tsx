import { useState } from "preact/hooks";
import { logIn } from "./session.ts";

export function LoginView({ message }: { message: string | null }) {
  const [token, setToken] = useState("");
  const submit = (event: Event) => {
    event.preventDefault();
    if (token.trim() !== "") logIn(token.trim());
  };
  return (
    <main class="lonely">
      <form class="panel login" onSubmit={submit}>
        <h1>
          <img src="favicon.svg" alt="" width="32" height="32" /> Mangrove
        </h1>
        {message !== null && (
          <p class="problem" role="alert">
            {message}
          </p>
        )}
        <label for="token">Token</label>
        <input
          id="token"
          type="password"
          autocomplete="off"
          value={token}
          autofocus
          onInput={(event) => setToken(event.currentTarget.value)}
        />
        <p class="hint">
          <code>mangrove dashboard</code> prints an address when it starts. Open that address, or enter here what
          follows <code>#token=</code> in it.
        </p>
        <button type="submit" class="main">
          Log in
        </button>
      </form>
    </main>
  );
}
