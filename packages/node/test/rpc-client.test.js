import assert from "node:assert/strict";
import { test } from "node:test";
import { RpcClient } from "../index.js";
import { call, startModel, text } from "./harness.js";

async function start(t, replies, options = {}) {
  const model = await startModel(...replies);
  const client = new RpcClient({ cwd: model.cwd, provider: "mock", model: "alpha", args: ["--no-session"], ...options });
  await client.start();
  t.after(async () => {
    await client.stop();
    model.close();
  });
  return { model, client };
}

test("every method of the client gets a response", async (t) => {
  const { client } = await start(t, [text("Hello"), text("Again")]);
  const events = await client.promptAndWait("Hi");
  assert.equal(events[0].type, "agent_start");
  assert.equal(events.at(-1).type, "agent_settled");
  assert.equal(await client.getLastAssistantText(), "Hello");
  assert.equal((await client.getState()).model.id, "alpha");
  assert.deepEqual((await client.getAvailableModels()).map((model) => model.id), ["alpha", "beta"]);
  assert.equal((await client.setModel("mock", "beta")).id, "beta");
  await client.setModel("mock", "alpha");
  await client.setThinkingLevel("low");
  assert.ok((await client.getAvailableThinkingLevels()).includes("low"));
  assert.ok((await client.cycleThinkingLevel()).level);
  assert.ok((await client.cycleModel()).model);
  await client.setModel("mock", "alpha");
  await client.setSteeringMode("all");
  await client.setFollowUpMode("all");
  await client.setAutoCompaction(false);
  await client.setAutoRetry(true);
  await client.abortRetry();
  assert.equal((await client.bash("echo hi")).output.trim(), "hi");
  await client.abortBash();
  assert.equal((await client.getSessionStats()).userMessages, 1);
  assert.equal((await client.getMessages()).length, 4);
  assert.ok(Array.isArray(await client.getCommands()));
  await client.setSessionName("n");
  const { entries, leafId } = await client.getEntries();
  assert.equal(entries.at(-1).id, leafId);
  assert.ok((await client.getTree()).tree.length > 0);
  const [message] = await client.getForkMessages();
  assert.equal(message.text, "Hi");
  assert.deepEqual(await client.clearQueue(), { steering: [], followUp: [] });
  assert.equal((await client.clone()).cancelled, false);
  assert.equal((await client.fork((await client.getForkMessages())[0].entryId)).text, "Hi");
  assert.equal((await client.newSession()).cancelled, false);
  const collecting = client.collectEvents();
  assert.equal(await client.prompt("More"), "started");
  assert.equal((await collecting).at(-1).type, "agent_settled");
  await client.abort();
  await assert.rejects(client.compact(), Error);
});

test("a client implements tools", async (t) => {
  const { model, client } = await start(t, [call("add", { a: 1, b: 2 }), text("3")]);
  await client.registerTools([
    {
      name: "add",
      description: "Add numbers",
      parameters: { type: "object", properties: { a: { type: "number" }, b: { type: "number" } } },
      execute: async (_id, { a, b }) => ({ content: [{ type: "text", text: String(a + b) }] }),
    },
  ]);
  await client.promptAndWait("Add");
  assert.match(JSON.stringify(model.requests[1].messages.at(-1)), /3/);
  await assert.rejects(client.registerTools([{ name: "x", parameters: 7 }]), /JSON schema/);
});

test("a process that cannot start reports why", async () => {
  const missing = new RpcClient({ cliPath: "/does/not/exist/pi" });
  await assert.rejects(missing.start(), /cannot start/);
  const model = await startModel();
  const wrong = new RpcClient({ cwd: model.cwd, args: ["--no-such-flag"] });
  await assert.rejects(wrong.start(), /exit code \d.*no-such-flag/s);
  await assert.rejects(wrong.getState(), /not started/);
  model.close();
});
