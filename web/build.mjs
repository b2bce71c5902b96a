// Builds the page: node build.mjs [FOLDER]   (dist/ unless another folder is named)
//
// The whole page must stay below `kMostBytes` when it is compressed, so that it opens quickly over the link of a board.
import { build } from "esbuild";
import { copyFile, mkdir, readFile, readdir, rm } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";

const kMostBytes = 100_000;
const kHolders = `Parts of this file are
  Preact, Copyright (c) 2015-present Jason Miller
  uPlot, Copyright (c) 2022 Leon Sorokin
  qrcode-generator, Copyright (c) 2009 Kazuhiko Arase
each under this licence:
`;
const here = dirname(fileURLToPath(import.meta.url));
const folder = resolve(process.argv[2] ?? join(here, "dist"));

async function compressedSize() {
  let bytes = 0;
  for (const name of await readdir(folder)) bytes += gzipSync(await readFile(join(folder, name)), { level: 9 }).length;
  return bytes;
}

/** What those ask for whose libraries are in the page: their names, and the text of the licence. */
async function notice() {
  const licence = await readFile(join(here, "node_modules/preact/LICENSE"), "utf8");
  return `/*! ${kHolders}${licence.slice(licence.indexOf("Permission"))}*/`;
}

await rm(folder, { recursive: true, force: true });
await mkdir(folder, { recursive: true });
await build({
  absWorkingDir: here,
  entryPoints: { app: "src/main.tsx" },
  outdir: folder,
  bundle: true,
  minify: true,
  format: "esm",
  target: ["chrome123", "firefox120", "safari17.5"],
  jsx: "automatic",
  jsxImportSource: "preact",
  legalComments: "none",
  banner: { js: await notice() },
  logLevel: "warning",
});
for (const name of ["index.html", "favicon.svg"]) await copyFile(join(here, "src", name), join(folder, name));

const bytes = await compressedSize();
if (bytes > kMostBytes) {
  console.error(`build.mjs: the page takes ${bytes} bytes with gzip, expected at most ${kMostBytes}`);
  process.exit(1);
}
console.log(`${folder}: ${bytes} bytes with gzip`);
