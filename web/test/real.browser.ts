// The page in a browser, against a real cluster: MANGROVE=build/release/bin/mangrove node real.browser.mjs
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Browser, Page } from "playwright-core";
import { launch, openPage } from "./browser.ts";
import { RealCluster } from "./real_cluster.ts";

const kTrainingMs = 180_000; // on a machine that has other work to do
const kLostMs = 40_000;

const program = process.env["MANGROVE"];
if (program === undefined) throw new Error("MANGROVE: expected the path of the program");
const cluster = new RealCluster(program);
let browser: Browser;
let page: Page;
let complaints: string[];

before(
  async () => {
    await cluster.start(["ann", "ben", "cat"]);
    browser = await launch();
    ({ page, complaints } = await openPage(browser, cluster.page));
  },
  { timeout: 90_000 },
);

after(async () => {
  await browser?.close();
  await cluster.stop();
});

const row = (name: string) =>
  page.locator("table.nodes tbody tr").filter({ has: page.getByRole("rowheader", { name }) });

test("the nodes are there", async () => {
  for (const name of ["ann", "ben", "cat"]) await row(name).getByText("alive").waitFor();
  assert.match(await row("ann").innerText(), /tier=end[\s\S]*MB of/);
});

async function fillIn(data: string, limit: number, epochs: number): Promise<void> {
  await page.getByRole("link", { name: "Cluster" }).click(); // a form that is left is empty when it is opened again
  await page.getByRole("link", { name: "New job" }).click();
  await page.getByLabel("data", { exact: true }).selectOption(data);
  await page.getByLabel("limit", { exact: true }).fill(String(limit));
  await page.getByLabel("epochs", { exact: true }).fill(String(epochs));
}

test("the form shows what the server says of a key beside its field", async () => {
  await fillIn("glyphs", 2000, 1);
  await page.getByLabel("model", { exact: true }).selectOption("another …");
  await page.locator("#key-model-other").fill("lenot");
  await page.getByRole("button", { name: "Start training" }).click();
  await page.locator(".field.wrong", { hasText: "did you mean 'lenet'" }).waitFor();
});

test(
  "a training is started, watched to its end, and its network saved",
  { timeout: kTrainingMs + 60_000 },
  async () => {
    await fillIn("glyphs", 12_000, 3);
    await page.getByRole("button", { name: "Start training" }).click();
    await page.getByRole("heading", { name: "Training", exact: true }).waitFor();
    await page.locator(".curves canvas").first().waitFor();
    await page.getByRole("heading", { name: "Where the time of a step goes" }).waitFor();
    await page.locator("table.steps tbody tr").nth(2).waitFor();
    await page.getByRole("heading", { name: "Result" }).waitFor({ timeout: kTrainingMs });
    await page.locator(".head .state.done").waitFor();
    const accuracy = /accuracy on the test split\s+(\d+\.\d+) %/.exec(await page.locator("table.facts").innerText());
    assert.ok(Number(accuracy?.[1]) > 50, `accuracy ${accuracy?.[1]}`);
    const [download] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("button", { name: "Download the model" }).click(),
    ]);
    assert.match(download.suggestedFilename(), /\.onnx$/);
  },
);

test("a job is stopped", { timeout: 120_000 }, async () => {
  await fillIn("glyphs", 60_000, 50);
  await page.getByRole("button", { name: "Start training" }).click();
  await page.getByRole("heading", { name: "Training", exact: true }).waitFor();
  await page.getByRole("button", { name: "Stop" }).click();
  await page.getByRole("button", { name: "Stop the job" }).click();
  await page.locator(".head .state.stopped").waitFor({ timeout: 60_000 });
});

test("jobs are in the list", async () => {
  await page.getByRole("link", { name: "Jobs" }).first().click();
  await page.locator("table.jobs .state.done").waitFor();
  assert.equal(await page.locator("table.jobs tbody tr").count(), 2);
});

test("somebody is invited, and the invitation withdrawn", async () => {
  await page.getByRole("link", { name: "Members" }).click();
  await page.getByRole("button", { name: "Invite" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Invite" }).click();
  await page.getByText(/^MG1/).waitFor();
  await page.getByRole("img", { name: "QR code" }).waitFor();
  await page.getByRole("button", { name: "Done" }).click();
  await page.getByRole("button", { name: "Withdraw" }).first().click();
  await page.getByRole("dialog").getByRole("button", { name: "Withdraw" }).click();
  await page.getByRole("dialog").waitFor({ state: "detached" });
});

test("a node that is killed turns lost", { timeout: 60_000 }, async () => {
  await page.getByRole("link", { name: "Cluster" }).click();
  await row("cat").waitFor();
  await cluster.killNode("cat");
  await row("cat").getByText("lost").waitFor({ timeout: kLostMs });
  await page.locator(".topology g.node.lost").waitFor();
});

test("the coordinator is started again, and the page comes back", { timeout: 90_000 }, async () => {
  await cluster.killCoordinator();
  await page.getByText("The coordinator does not answer.").waitFor();
  assert.ok((await page.locator("table.nodes tbody tr").count()) >= 2, "what was seen last stays");
  await cluster.startCoordinator();
  await page.getByText("The coordinator does not answer.").waitFor({ state: "detached", timeout: 30_000 });
  await row("ann").getByText("alive").waitFor({ timeout: 30_000 });
});

test(
  "a job that runs goes on after a restart of the coordinator, and so does its page",
  { timeout: 240_000 },
  async () => {
    await fillIn("glyphs", 60_000, 50);
    await page.getByRole("button", { name: "Start training" }).click();
    await page.getByText(/epoch 1 of 50/).waitFor({ timeout: 60_000 });
    await cluster.killCoordinator();
    await page.getByText("The coordinator does not answer.").waitFor();
    await cluster.startCoordinator();
    await page.getByText("2: its coordinator was restarted").waitFor({ timeout: 60_000 });
    const progress = page.locator(".progress .facts-text");
    const before = await progress.innerText();
    await page.waitForFunction(
      (text) => document.querySelector(".progress .facts-text")?.textContent !== text,
      before,
      { timeout: 60_000 },
    );
    await page.getByRole("button", { name: "Stop" }).click();
    await page.getByRole("button", { name: "Stop the job" }).click();
    await page.locator(".head .state.stopped").waitFor({ timeout: 60_000 });
  },
);

test("the page had nothing to complain of", () => assert.deepEqual(complaints, []));
