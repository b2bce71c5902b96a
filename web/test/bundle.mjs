// Compiles the tests and the mock server into node_modules/.tests, where Node finds the packages that they use.
import { build } from "esbuild";
import { readdir, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const outdir = join(here, "../node_modules/.tests");

await rm(outdir, { recursive: true, force: true });
await build({
  entryPoints: (await readdir(here)).filter((name) => name.endsWith(".ts")).map((name) => join(here, name)),
  outdir,
  outExtension: { ".js": ".mjs" },
  bundle: true,
  format: "esm",
  platform: "node",
  target: "node20",
  packages: "external",
  jsx: "automatic",
  jsxImportSource: "preact",
  logLevel: "warning",
});
