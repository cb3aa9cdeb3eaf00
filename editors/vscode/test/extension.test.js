"use strict";

const assert = require("node:assert/strict");
const { existsSync, readFileSync } = require("node:fs");
const http = require("node:http");
const path = require("node:path");
const { test } = require("node:test");
const { PiServer } = require("../src/pi-server.js");
const { activate } = require("./fake-vscode.js");
const manifest = require("../package.json");

const binary = process.env.PI_BINARY ?? "pi";

async function start(t, replies, options = {}) {
  const { startModel } = await import("../../../packages/node/test/harness.js");
  const model = await startModel(...replies);
  const configuration = { path: binary, args: ["--model", "mock/alpha"] };
  const fake = activate({ configuration, cwd: model.cwd, ...options });
  t.after(async () => {
    fake.dispose();
    await new Promise((resolve) => setTimeout(resolve, 100));
    model.close();
  });
  return { fake, model };
}

function get(url, headers = {}) {
  const { hostname, port, host, pathname } = new URL(url);
  return new Promise((resolve, reject) => {
    const options = { host: "127.0.0.1", port, path: pathname, headers: { host, ...headers } };
    const request = http.get(options, (response) => {
      let body = "";
      response.setEncoding("utf8");
      response.on("data", (data) => (body += data));
      response.on("end", () => resolve({ status: response.statusCode, headers: response.headers, body, hostname }));
    });
    request.on("error", reject);
  });
}

test("every command of the manifest is registered", () => {
  const fake = activate({});
  const declared = manifest.contributes.commands.map((it) => it.command);
  assert.deepEqual(Object.keys(fake.commands).sort(), declared.sort());
  assert.ok(existsSync(path.join(__dirname, "..", manifest.main)));
  fake.dispose();
});

test("the panel shows the page of a server that the extension starts", async (t) => {
  const { fake } = await start(t, []);
  await fake.commands["pi.open"]();
  assert.deepEqual(fake.messages, []);
  const [panel] = fake.panels;
  const [, source] = /<iframe src="([^"]+)"/.exec(panel.webview.html);
  const page = await get(source);
  assert.equal(page.status, 200);
  assert.match(page.body, /<html/);
  const policy = page.headers["content-security-policy"];
  assert.match(policy, /frame-ancestors vscode-webview:/);
  assert.match(policy, /script-src 'self'/);
  const sessions = await get(new URL("/v1/sessions", source).href);
  assert.equal(sessions.status, 200);
  assert.deepEqual(JSON.parse(sessions.body).sessions, []);
  await fake.commands["pi.open"]();
  assert.equal(fake.panels.length, 1);
  assert.equal(panel.revealed, 1);
});

test("the proxy refuses pages that do not know its name", async (t) => {
  const { fake } = await start(t, []);
  await fake.commands["pi.open"]();
  const [, source] = /<iframe src="([^"]+)"/.exec(fake.panels[0].webview.html);
  const { port } = new URL(source);
  for (const host of [`127.0.0.1:${port}`, `localhost:${port}`, `pi-0.localhost:${port}`]) {
    assert.equal((await get(source, { host })).status, 403, host);
  }
  assert.equal((await get(source, { origin: "https://example.com" })).status, 403);
});

test("a running session can be chosen", async (t) => {
  const { fake, model } = await start(t, []);
  await fake.commands["pi.attach"]();
  assert.match(fake.messages[0], /No session is running/);
  const server = new PiServer(() => ({ path: binary, args: [] }), () => {});
  const { status, body } = await server.request("POST", "/v1/sessions", { cwd: model.cwd, name: "Fix the tests" });
  assert.equal(status, 201, body);
  await fake.commands["pi.attach"]();
  const [chosen] = fake.asked[0].items;
  assert.equal(chosen.label, "Fix the tests");
  assert.equal(chosen.description, model.cwd);
  assert.match(fake.panels[0].webview.html, new RegExp(`#s=${chosen.id}`));
});

test("a question about the selection is answered over ACP", async (t) => {
  const { text } = await import("../../../packages/node/test/harness.js");
  const { fake, model } = await start(t, [text("It adds ", "numbers")], { answers: ["What is this?"] });
  fake.module.window.activeTextEditor = {
    document: { uri: { toString: () => "file:///x/add.js" }, getText: () => "const add = (a, b) => a + b;" },
    selection: { start: { line: 4 } },
  };
  await fake.commands["pi.ask"]();
  assert.deepEqual(fake.messages, []);
  assert.match(fake.output, /> What is this\?\n.*It adds numbers/s);
  const sent = JSON.stringify(model.requests[0].messages);
  assert.match(sent, /What is this\?/);
  assert.match(sent, /const add/);
});

test("a binary that is missing is reported with the setting to change", async (t) => {
  const { fake } = await start(t, [], { configuration: { path: "/does/not/exist/pi" } });
  await fake.commands["pi.open"]();
  assert.match(fake.messages[0], /Set pi\.path/);
  assert.equal(readFileSync(path.join(__dirname, "../package.json"), "utf8").includes('"pi.path"'), true);
});
