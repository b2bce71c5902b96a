// Takes the pictures of the documentation: node pictures.mjs FOLDER
import { execFileSync } from "node:child_process";
import { mkdir, stat } from "node:fs/promises";
import { join } from "node:path";
import type { Browser, Page } from "playwright-core";
import { launch, openPage } from "./browser.ts";
import { addSomeJobs, MockServer } from "./mock_server.ts";

const kMostBytes = 100_000;

interface Shot {
  name: string;
  hash: string;
  scheme: "light" | "dark";
  width?: number;
  height?: number;
  prepare?: (page: Page) => Promise<void>;
}

const kShots: Shot[] = [
  { name: "dashboard-cluster", hash: "#/", scheme: "light", prepare: seconds(12) },
  { name: "dashboard-cluster-dark", hash: "#/", scheme: "dark", prepare: seconds(12) },
  { name: "dashboard-job", hash: "#/jobs/job-7721-5", scheme: "light", height: 1000, prepare: seconds(8) },
  { name: "dashboard-job-dark", hash: "#/jobs/job-7721-5", scheme: "dark", height: 1000, prepare: seconds(8) },
  { name: "dashboard-jobs", hash: "#/jobs", scheme: "light", height: 520 },
  { name: "dashboard-compare", hash: "#/compare/job-7721-1,job-7721-3", scheme: "light" },
  { name: "dashboard-new-job", hash: "#/new", scheme: "light", height: 760 },
  { name: "dashboard-invitation", hash: "#/members", scheme: "dark", height: 860, prepare: invite },
  { name: "dashboard-phone", hash: "#/", scheme: "dark", width: 360, height: 760, prepare: seconds(5) },
];

/** Curves and small charts grow by the second. */
function seconds(count: number): (page: Page) => Promise<void> {
  return (page) => page.waitForTimeout(count * 1000);
}

async function invite(page: Page): Promise<void> {
  await page.getByRole("button", { name: "Invite" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Invite" }).click();
  await page.getByRole("img", { name: "QR" }).waitFor();
}

async function take(browser: Browser, address: string, shot: Shot, folder: string): Promise<void> {
  const { page } = await openPage(browser, `${address.split("#")[0]}${shot.hash}&token=mock`, {
    viewport: { width: shot.width ?? 1200, height: shot.height ?? 900 },
    colorScheme: shot.scheme,
    deviceScaleFactor: shot.width === undefined ? 1 : 2,
  });
  await page.locator("main#content").waitFor();
  await page.waitForTimeout(1500);
  await shot.prepare?.(page);
  const path = join(folder, `${shot.name}.png`);
  await page.screenshot({ path });
  execFileSync("pngquant", ["--force", "--strip", "--skip-if-larger", "--ext", ".png", "160", path]);
  const { size } = await stat(path);
  if (size > kMostBytes) throw new Error(`${path}: ${size} bytes, expected at most ${kMostBytes}`);
  console.log(`${path}: ${size} bytes`);
  await page.context().close();
}

const folder = process.argv[2] ?? "pictures";
await mkdir(folder, { recursive: true });
const server = new MockServer({
  dist: process.env["DIST"] ?? "dist",
  nodes: Number(process.env["NODES"] ?? 6),
  role: "admin",
  token: "mock",
  port: 0,
  jobSeconds: 60,
});
addSomeJobs(server);
const address = await server.start();
const browser = await launch();
for (const shot of kShots)
  if (shot.name.includes(process.env["ONLY"] ?? "")) await take(browser, address, shot, folder);
await browser.close();
await server.stop();
