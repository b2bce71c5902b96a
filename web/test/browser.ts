// A Chromium for tests and pictures.
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Browser, type BrowserContextOptions, chromium, type Page } from "playwright-core";

const kPatienceMs = 15_000;

export function launch(): Promise<Browser> {
  return chromium.launch({
    executablePath: process.env["CHROMIUM"] ?? "/usr/bin/chromium",
    args: ["--no-sandbox", "--disable-gpu", `--crash-dumps-dir=${mkdtempSync(join(tmpdir(), "mangrove-web-"))}`],
  });
}

/** A page, and what it complains of: errors of scripts, and breaches of the policy. */
export async function openPage(browser: Browser, address: string, options: BrowserContextOptions = {}):
    Promise<{ page: Page; complaints: string[] }> {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...options });
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
