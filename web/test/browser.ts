// A Chromium for tests and pictures.
import { mkdtempSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Browser, type BrowserContext, type BrowserContextOptions, chromium, type Page } from "playwright-core";

const kPatienceMs = 15_000;

export function launch(): Promise<Browser> {
  return chromium.launch({
    executablePath: process.env["CHROMIUM"] ?? "/usr/bin/chromium",
    args: ["--no-sandbox", "--disable-gpu", `--crash-dumps-dir=${mkdtempSync(join(tmpdir(), "mangrove-web-"))}`],
  });
}

/** Takes the files of pages from a folder, with the headers of the server, so that a program need not be built anew. */
async function takeFilesFrom(folder: string, context: BrowserContext): Promise<void> {
  await context.route(/\/(app\.\w+)?(#.*)?$/, async (route) => {
    const response = await route.fetch();
    const name = new URL(route.request().url()).pathname.slice(1) || "index.html";
    await route.fulfill({ response, body: await readFile(join(folder, name)) });
  });
}

/** A page, and what it complains of: errors of scripts, and breaches of the policy. */
export async function openPage(
  browser: Browser,
  address: string,
  options: BrowserContextOptions = {},
): Promise<{ page: Page; complaints: string[] }> {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...options });
  if (process.env["PAGE"] !== undefined) await takeFilesFrom(process.env["PAGE"], context);
  const page = await context.newPage();
  page.setDefaultTimeout(kPatienceMs);
  const complaints: string[] = [];
  page.on("pageerror", (error) => complaints.push(error.message));
  page.on("console", (message) => {
    const isOfNetwork = message.text().startsWith("Failed to load resource");
    if (message.type() === "error" && !isOfNetwork) complaints.push(message.text());
  });
  await page.goto(address);
  return { page, complaints };
}
