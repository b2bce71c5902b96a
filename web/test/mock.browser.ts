// The page in a browser, against the mock server: what a person sees and does.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { after, before, test } from "node:test";
import type { Browser, BrowserContextOptions, Page } from "playwright-core";
import { launch, openPage } from "./browser.ts";
import { addSomeJobs, type MockOptions, MockServer } from "./mock_server.ts";
import { makeJob } from "./mock_jobs.ts";

const kAxe = readFileSync(createRequire(import.meta.url).resolve("axe-core"), "utf8");
const kDefaults: MockOptions = {
  dist: process.env["DIST"] ?? "dist",
  nodes: 6,
  role: "admin",
  token: "secret",
  port: 0,
  jobSeconds: 4,
};

let browser: Browser;
before(async () => {
  browser = await launch();
});
after(() => browser.close());

interface Visit {
  server: MockServer;
  page: Page;
}

/** Visits a mock server. A page that complains, or breaks its policy, fails the test. */
async function visit(
  options: Partial<MockOptions>,
  context: BrowserContextOptions,
  act: (visit: Visit) => Promise<void>,
) {
  const server = new MockServer({ ...kDefaults, ...options });
  addSomeJobs(server);
  const { page, complaints } = await openPage(browser, await server.start(), context);
  try {
    await page.locator("main#content").waitFor();
    await act({ server, page });
    assert.deepEqual(complaints, []);
  } finally {
    await page.context().close();
    await server.stop();
  }
}

const onPage = (
  name: string,
  act: (visit: Visit) => Promise<void>,
  options: Partial<MockOptions> = {},
  context: BrowserContextOptions = {},
) => test(name, () => visit(options, context, act));

const row = (page: Page, name: string) =>
  page.locator("table.nodes tbody tr").filter({ has: page.getByRole("rowheader", { name }) });

test("a token is asked for, refused, accepted, and kept out of the address", async () => {
  const server = new MockServer(kDefaults);
  const address = await server.start();
  const { page } = await openPage(browser, address.split("#")[0]!);
  await page.getByLabel("Token").fill("wrong");
  await page.getByRole("button", { name: "Log in" }).click();
  await page.getByText("does not know this token").waitFor();
  await page.getByLabel("Token").fill("secret");
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "Nodes" }).waitFor();
  await page.goto(address);
  await page.getByRole("heading", { name: "Nodes" }).waitFor();
  assert.ok(!page.url().includes("secret"));
  await page.reload();
  await page.getByRole("heading", { name: "Nodes" }).waitFor();
  await page.getByRole("button", { name: "Log out" }).click();
  await page.getByLabel("Token").waitFor();
  await page.context().close();
  await server.stop();
});

onPage("the cluster shows its nodes, the straggler and a node that is lost", async ({ server, page }) => {
  assert.equal(await page.locator("table.nodes tbody tr").count(), 6);
  assert.match(await row(page, "reed").innerText(), /slowest/);
  assert.match(await row(page, "fern").innerText(), /alive[\s\S]*MB\/s[\s\S]*worker 1/);
  assert.equal(await page.locator(".topology g.node").count(), 6);
  server.states.set("moss", "lost");
  await row(page, "moss").getByText("lost").waitFor();
  assert.doesNotMatch(await row(page, "moss").innerText(), /%|MB/);
  await page.locator(".topology g.node.lost").waitFor();
  await page.getByText("1 lost").waitFor();
});

onPage("a second later the same elements show new values", async ({ page }) => {
  const heartbeat = row(page, "fern").locator("td").last();
  const text = await heartbeat.innerText();
  await page.evaluate(() =>
    document.querySelectorAll("table.nodes tr, .topology g, .topology rect").forEach((element) => {
      (element as unknown as { isSame: boolean }).isSame = true;
    }),
  );
  await page.waitForFunction(
    ([before]) => document.querySelector("table.nodes tbody tr:nth-child(2) td:last-child")!.textContent !== before,
    [text],
  );
  const isSame = await page.evaluate(() =>
    [...document.querySelectorAll("table.nodes tr, .topology g, .topology rect")].every(
      (element) => (element as unknown as { isSame?: boolean }).isSame === true,
    ),
  );
  assert.ok(isSame, "rows or shapes were made anew");
});

onPage(
  "rows are sorted and found",
  async ({ page }) => {
    const names = () =>
      page.locator("table.nodes tbody th").evaluateAll((cells) => cells.map((cell) => cell.firstChild!.textContent));
    await page.getByRole("button", { name: "Node" }).click();
    assert.deepEqual((await names())[0], "pi-200");
    await page.getByRole("searchbox").fill("orchard");
    await page.locator("table.nodes tbody tr").nth(40).waitFor({ state: "detached" });
    assert.equal((await names()).length, 40);
    await page.getByRole("searchbox").fill("nobody");
    await page.getByText("No node has").waitFor();
  },
  { nodes: 200 },
);

onPage(
  "two hundred nodes leave the browser time",
  async ({ page }) => {
    const session = await page.context().newCDPSession(page);
    await session.send("Performance.enable", { timeDomain: "threadTicks" }); // not what other programs take
    const busySeconds = async () => {
      const { metrics } = await session.send("Performance.getMetrics");
      return metrics.find((metric) => metric.name === "TaskDuration")!.value;
    };
    await page.waitForTimeout(2000);
    const [busy, began] = [await busySeconds(), performance.now()];
    await page.waitForTimeout(8000);
    const share = ((await busySeconds()) - busy) / ((performance.now() - began) / 1000);
    console.log(`200 nodes: the page's thread takes ${(share * 100).toFixed(1)} % of a core`);
    assert.ok(share < 0.3, `${share} of a core`);
  },
  { nodes: 200 },
);

onPage("a form starts a training, which is watched to its end", async ({ server, page }) => {
  await page.getByRole("link", { name: "New job" }).first().click();
  await page.getByLabel("epochs").fill("0");
  await page.getByRole("button", { name: "Start training" }).click();
  await page.getByText("Expected 1 or more.").waitFor();
  assert.ok(!server.asked.includes("POST jobs"), "a wrong value is not sent");
  await page.getByLabel("epochs").fill("2");
  await page.getByLabel("model").selectOption("another …");
  await page.locator("#key-model-other").fill("lenot");
  await page.getByRole("button", { name: "Start training" }).click();
  await page.locator(".field.wrong", { hasText: "did you mean 'lenet'" }).waitFor();
  await page.locator("#key-model-other").fill("lenet");
  await page.getByRole("button", { name: "Start training" }).click();
  await page.getByText("left", { exact: false }).first().waitFor();
  await page.locator(".curves canvas").first().waitFor();
  await page.getByRole("heading", { name: "Where the time of a step goes" }).waitFor();
  await page.getByRole("heading", { name: "Result" }).waitFor();
  await page.locator(".state.done").waitFor();
  assert.match(await page.locator("table.facts").innerText(), /accuracy on the test split\s+\d\d\.\d\d %/);
  await page.locator("li.warning", { hasText: "sedge is lost" }).waitFor();
  const [download] = await Promise.all([
    page.waitForEvent("download"),
    page.getByRole("button", { name: "Download the model" }).click(),
  ]);
  assert.match(download.suggestedFilename(), /^job-.*\.onnx$/);
  assert.equal(readFileSync(await download.path(), "utf8"), "an ONNX file");
});

onPage("settings of other strategies are hidden, and a search finds one", async ({ page }) => {
  await page.getByRole("link", { name: "New job" }).first().click();
  await page.getByText("More settings").click();
  await page.getByLabel("Find a setting").fill("secure");
  await page.getByText("No setting is called so").waitFor();
  await page.getByLabel("strategy").selectOption("federated");
  await page.getByLabel("secure aggregation").check();
});

onPage("a job stops after a question, which Escape takes back", async ({ server, page }) => {
  await page.getByRole("link", { name: "Jobs" }).click();
  await page.locator("tr", { hasText: "job-7721-5" }).getByRole("link").click();
  await page.getByRole("button", { name: "Stop" }).click();
  await page.getByRole("dialog").waitFor();
  await page.keyboard.press("Escape");
  await page.getByRole("dialog").waitFor({ state: "detached" });
  assert.equal(await page.evaluate(() => document.activeElement?.textContent), "Stop");
  assert.ok(!server.asked.some((call) => call.endsWith("/stop")));
  await page.keyboard.press("Enter");
  await page.getByRole("button", { name: "Stop the job" }).click();
  await page.locator(".state.stopped").waitFor();
  await page.getByRole("button", { name: "Download the model" }).click();
  await page.getByText("has left no network").waitFor();
});

onPage("jobs are compared", async ({ page }) => {
  await page.getByRole("link", { name: "Jobs" }).click();
  await page.getByLabel("Compare job-7721-1").check();
  await page.getByLabel("Compare job-7721-3").check();
  await page.getByRole("link", { name: "Compare 2 jobs" }).click();
  await page.locator(".curves canvas").nth(1).waitFor();
  const cells = page.locator("table.compare tr", { hasText: "accuracy on the test split" }).locator("td");
  assert.match(await cells.nth(1).innerText(), /97\.90 %\s*best/);
});

onPage(
  "a board is invited, and a member revoked",
  async ({ server, page }) => {
    await page.getByRole("link", { name: "Members" }).click();
    await page.getByRole("button", { name: "Invite" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Invite" }).click();
    await page.getByRole("img", { name: "QR code" }).waitFor();
    await page.getByText("mangrove node --join -").waitFor();
    await page.getByRole("button", { name: "Copy" }).first().click();
    await page.getByRole("button", { name: "Copied" }).waitFor();
    assert.match(await page.evaluate(() => navigator.clipboard.readText()), /^MG1/);
    await page.getByRole("button", { name: "Done" }).click();
    await page.getByRole("button", { name: "Revoke moss" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Revoke" }).click();
    await page.locator("tr", { hasText: "moss" }).locator(".state.revoked").waitFor();
    assert.ok(server.asked.includes("POST members/moss/revoke"));
  },
  {},
  { permissions: ["clipboard-read", "clipboard-write"] },
);

onPage(
  "a viewer is offered nothing that they may not do",
  async ({ page }) => {
    for (const name of ["New job", "Members"]) assert.equal(await page.getByRole("link", { name }).count(), 0);
    await page.goto(`${page.url().split("#")[0]}#/jobs/job-7721-5`);
    await page.locator(".progress").waitFor();
    assert.equal(await page.getByRole("button", { name: "Stop" }).count(), 0);
    await page.goto(`${page.url().split("#")[0]}#/members`);
    await page.getByText("Your role may not").waitFor();
  },
  { role: "viewer" },
);

onPage(
  "when the server is gone the page says so, keeps what it saw, and comes back by itself",
  async ({ server, page }) => {
    const port = server.port();
    await server.stop();
    await page.getByText("The server does not answer.").waitFor();
    assert.equal(await page.locator("table.nodes tbody tr").count(), 6);
    await server.start(port);
    await page.getByText("The server does not answer.").waitFor({ state: "detached" });
    server.isCoordinatorSilent = true;
    await page.getByText("The coordinator does not answer.").waitFor();
    assert.equal(await page.locator("table.nodes tbody tr").count(), 6);
    server.isCoordinatorSilent = false;
    await page.getByText("The coordinator does not answer.").waitFor({ state: "detached" });
  },
);

onPage("a server that knows the token no more leads to the log in", async ({ server, page }) => {
  const port = server.port();
  await server.stop();
  server.options.token = "another";
  await server.start(port);
  await page.getByText("does not know this token").waitFor();
});

onPage("names of strangers are texts", async ({ server, page }) => {
  const title = "<img src=x onerror=document.title='taken'><script>document.title='taken'</script>";
  const one = server.add(makeJob("job-<b>", "failed", Date.now(), 5));
  one.job = { ...one.job, title, message: title, nodes: title };
  await page.getByRole("link", { name: "Jobs" }).click();
  await page.getByText(title).first().click();
  await page.getByRole("heading", { name: title }).waitFor();
  assert.equal(await page.title(), "job-<b> – Mangrove");
  assert.equal(await page.locator("main img, main script, main b").count(), 0);
});

const kViews = [
  "#/",
  "#/jobs",
  "#/jobs/job-7721-3",
  "#/jobs/job-7721-5",
  "#/compare/job-7721-1,job-7721-3",
  "#/new",
  "#/members",
];

async function goTo(page: Page, hash: string): Promise<void> {
  await page.evaluate((there) => {
    location.hash = there;
  }, hash);
  await page.waitForTimeout(700); // streams and curves; nothing says when the last of them is drawn
}

onPage(
  "all views fit a phone",
  async ({ page }) => {
    for (const hash of kViews) {
      await goTo(page, hash);
      const { scrollWidth, clientWidth } = await page.evaluate(() => {
        const { scrollWidth, clientWidth } = document.documentElement;
        return { scrollWidth, clientWidth };
      });
      const wide = await page.evaluate(() =>
        [...document.querySelectorAll("main *")]
          .filter(
            (element) =>
              element.getBoundingClientRect().right > innerWidth + 1 && element.closest(".wide-table") === null,
          )
          .map((element) => element.outerHTML.slice(0, 90)),
      );
      assert.ok(
        scrollWidth <= clientWidth,
        `${hash} is ${scrollWidth} pixels wide, expected ${clientWidth}: ${wide[0]}`,
      );
    }
  },
  {},
  { viewport: { width: 360, height: 740 } },
);

for (const colorScheme of ["light", "dark"] as const)
  onPage(
    `axe finds nothing in any view, ${colorScheme}`,
    async ({ page }) => {
      await page.evaluate(kAxe);
      for (const hash of kViews) {
        await goTo(page, hash);
        const found = await page.evaluate(async () => {
          const { axe } = globalThis as unknown as {
            axe: { run(options: object): Promise<{ violations: { id: string; nodes: { html: string }[] }[] }> };
          };
          const { violations } = await axe.run({ runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"] });
          return violations.map((one) => `${one.id}: ${one.nodes[0]?.html}`);
        });
        assert.deepEqual(found, [], hash);
      }
    },
    {},
    { colorScheme },
  );

onPage("everything can be reached with the keyboard, and the focus can be seen", async ({ page }) => {
  const reached: string[] = [];
  await page.keyboard.press("Tab");
  await page.getByText("Skip to the content").waitFor();
  for (let i = 0; i < 12; i++) {
    await page.keyboard.press("Tab");
    reached.push(
      await page.evaluate(() => {
        const element = document.activeElement!;
        const { outlineStyle } = getComputedStyle(element);
        const name = element.textContent || element.getAttribute("aria-label") || "";
        return outlineStyle === "none" ? `${name} without an outline` : name;
      }),
    );
  }
  for (const name of ["Cluster", "Jobs", "New job", "Members", "Log out"])
    assert.ok(reached.includes(name), `${name} in ${reached}`);
});

onPage("dark and light can be chosen, and are kept", async ({ page }) => {
  const ground = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const light = await ground();
  await page.getByLabel("Colours").selectOption("dark");
  assert.notEqual(await ground(), light);
  await page.reload();
  await page.getByRole("heading", { name: "Nodes" }).waitFor();
  assert.notEqual(await ground(), light);
});
