import assert from "node:assert/strict";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import {
  AuthStorage,
  createAgentSession,
  createAgentSessionFromServices,
  createAgentSessionRuntime,
  createAgentSessionServices,
  createReadToolDefinition,
  DefaultResourceLoader,
  defineTool,
  getAgentDir,
  ModelRegistry,
  readOnlyTools,
  SessionManager,
  SettingsManager,
  UnsupportedError,
} from "../index.js";
import { call, stalled, startModel, text } from "./harness.js";

async function start(t, replies, options = {}) {
  const model = await startModel(...replies);
  const { session } = await createAgentSession({
    cwd: model.cwd,
    model: model.model,
    sessionManager: SessionManager.inMemory(model.cwd),
    ...(typeof options === "function" ? options(model) : options),
  });
  t.after(async () => {
    session.dispose();
    await session._stopped;
    model.close();
  });
  return { model, session };
}

test("a prompt resolves when the run has ended, and listeners see the message grow", async (t) => {
  const { session } = await start(t, [text("Hel", "lo")]);
  const [partials, totals, same] = [[], [], []];
  const types = [];
  session.subscribe((event) => {
    types.push(event.type);
    if (event.type === "agent_end") totals.push(session.getSessionStats().tokens.total);
    if (event.type === "message_update" && event.assistantMessageEvent.type === "text_delta") {
      partials.push(event.message.content[0].text);
      same.push(event.assistantMessageEvent.partial === event.message);
    }
  });
  assert.equal(session.isStreaming, false);
  await session.prompt("Hi");
  assert.deepEqual(partials, ["Hel", "Hello"]);
  assert.deepEqual(same, [true, true]);
  assert.deepEqual(totals, [110]);
  assert.equal(types.at(-1), "agent_settled");
  assert.equal(session.getLastAssistantText(), "Hello");
  assert.deepEqual(session.messages.map((it) => it.role), ["system", "user", "assistant"]);
  assert.equal(session.isStreaming, false);
  assert.equal(session.model.id, "alpha");
  assert.equal(session.state.messages.length, 3);
  assert.equal(session.getSessionStats().assistantMessages, 1);
  assert.equal(session.getContextUsage().contextWindow, 200_000);
  assert.equal(session.sessionFile, undefined);
  assert.equal(session.sessionManager.buildContext().messages.length, 3);
});

test("tools of the program run in the program", async (t) => {
  const seen = [];
  const weather = defineTool({
    name: "weather",
    label: "Weather",
    description: "Weather of a city",
    promptSnippet: "weather: weather of a city",
    parameters: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
    async execute(id, args, signal, onUpdate, context) {
      seen.push({ id, args, aborted: signal.aborted, cwd: context.cwd });
      onUpdate({ content: [{ type: "text", text: "looking" }], details: { step: 1 } });
      return { content: [{ type: "text", text: "sunny" }], details: { degrees: 20 } };
    },
  });
  const { model, session } = await start(t, [call("weather", { city: "Rome" }), text("It is sunny")], { customTools: [weather] });
  const events = [];
  session.subscribe((event) => events.push(event));
  assert.ok(session.getActiveToolNames().includes("weather"));
  await session.prompt("Weather?");
  assert.deepEqual(seen, [{ id: "call_1", args: { city: "Rome" }, aborted: false, cwd: model.cwd }]);
  const declared = model.requests[0].tools.map((tool) => tool.function.name);
  assert.ok(declared.includes("weather"), declared.join());
  const result = model.requests[1].messages.at(-1);
  assert.equal(result.role, "tool");
  assert.match(JSON.stringify(result.content), /sunny/);
  const update = events.find((event) => event.type === "tool_execution_update");
  assert.deepEqual(update.partialResult.details, { step: 1 });
  const end = events.find((event) => event.type === "tool_execution_end");
  assert.deepEqual(end.result.details, { degrees: 20 });
  assert.equal(end.isError, false);
});

test("a tool that throws gives the model its error, and abort reaches a running tool", async (t) => {
  let aborted;
  const tools = [
    { name: "fail", description: "d", parameters: { type: "object" }, execute: async () => Promise.reject(new Error("no disk")) },
    {
      name: "wait",
      description: "d",
      parameters: { type: "object" },
      execute: (_id, _args, signal) => {
        const canceled = new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(new Error("stop"))));
        aborted = canceled.catch(() => "aborted");
        return canceled;
      },
    },
  ];
  const { model, session } = await start(t, [call("fail", {}), text("ok"), call("wait", {}), text("never")], { customTools: tools });
  await session.prompt("one");
  assert.match(JSON.stringify(model.requests[1].messages.at(-1)), /no disk/);
  const running = session.prompt("two");
  await new Promise((resolve) => {
    const unsubscribe = session.subscribe((event) => {
      if (event.type !== "tool_execution_start") return;
      unsubscribe();
      resolve();
    });
  });
  while (!aborted) await new Promise((resolve) => setTimeout(resolve, 5));
  await session.abort();
  assert.equal(await aborted, "aborted");
  await running;
  assert.equal(session.isStreaming, false);
});

test("a definition with operations replaces the built-in tool", async (t) => {
  const operations = { access: async () => {}, readFile: async (path) => Buffer.from(`virtual ${path}`) };
  const { model, session } = await start(t, [call("read", { path: "a.txt" }), text("done")], ({ cwd }) => ({
    tools: ["read"],
    customTools: [createReadToolDefinition(cwd, { operations })],
  }));
  await session.prompt("read");
  assert.match(JSON.stringify(model.requests[1].messages.at(-1)), /virtual .*a\.txt/);
  assert.deepEqual(model.requests[0].tools.map((tool) => tool.function.name), ["read"]);
});

test("steering during a run, aborting, and a prompt that is rejected", async (t) => {
  const { session } = await start(t, [stalled("thinking"), text("after")]);
  const running = session.prompt("long");
  await new Promise((resolve) => session.subscribe((event) => event.type === "message_update" && resolve()));
  assert.equal(session.isStreaming, true);
  await assert.rejects(session.prompt("second"), /busy/);
  assert.equal(await session.followUp("later"), "queued");
  while (session.getFollowUpMessages().length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
  assert.deepEqual(session.clearQueue(), { steering: [], followUp: ["later"] });
  await session.abort();
  await running;
  assert.equal(session.messages.at(-1).stopReason, "aborted");
});

test("model and thinking level", async (t) => {
  const { session } = await start(t, [], { thinkingLevel: "low" });
  assert.equal(session.thinkingLevel, "low");
  assert.ok(session.getAvailableThinkingLevels().includes("high"));
  await session.setThinkingLevel("high");
  assert.equal(session.thinkingLevel, "high");
  const beta = session.modelRegistry.find("mock", "beta");
  await session.setModel(beta);
  assert.equal(session.model.id, "beta");
  assert.deepEqual(session.getAvailableThinkingLevels(), ["off"]);
  await assert.rejects(session.setModel({ provider: "mock", id: "none" }), /none/);
});

test("a session is stored, listed, opened and continued", async (t) => {
  const { model, session } = await start(t, [text("one"), text("two"), text("three")], ({ cwd }) => ({
    sessionManager: SessionManager.create(cwd),
  }));
  const id = session.sessionManager.getSessionId();
  assert.equal(session.sessionId, id);
  await session.prompt("first");
  session.setSessionName("Named");
  await session.prompt("second");
  const file = session.sessionFile;
  assert.ok(existsSync(file));
  assert.equal(session.sessionManager.getSessionFile(), file);
  const own = session.sessionManager.getEntries();
  session.dispose();
  await session._stopped;

  const opened = SessionManager.open(file);
  assert.equal(opened.getSessionId(), id);
  assert.equal(opened.getSessionName(), "Named");
  assert.deepEqual(opened.getEntries(), own);
  assert.equal(opened.getHeader().cwd, model.cwd);
  assert.deepEqual(opened.getBranch().map((entry) => entry.id), opened.getEntries().map((entry) => entry.id));
  const [root] = opened.getTree();
  assert.equal(root.entry.parentId, null);
  const [listed] = await SessionManager.list(model.cwd);
  assert.equal(listed.id, id);
  assert.equal(listed.firstMessage, "first");
  assert.equal(listed.name, "Named");
  assert.equal((await SessionManager.listAll()).length, 1);
  assert.equal(SessionManager.findById(model.cwd, id), file);

  const next = SessionManager.continueRecent(model.cwd);
  const { session: again } = await createAgentSession({ cwd: model.cwd, sessionManager: next });
  t.after(() => again.dispose());
  assert.equal(again.sessionId, id);
  assert.equal(again.model.id, "alpha");
  assert.equal(again.messages.filter((it) => it.role === "user").length, 2);
  await again.prompt("third");
  assert.equal(model.requests.at(-1).messages.filter((it) => it.role === "user").length, 3);
});

test("fork, navigate, new session and switch", async (t) => {
  const { session } = await start(t, [text("one"), text("two")], ({ cwd }) => ({ sessionManager: SessionManager.create(cwd) }));
  await session.prompt("first");
  await session.prompt("second");
  const first = session.sessionFile;
  const [, second] = session.getUserMessagesForForking();
  assert.equal(second.text, "second");
  const moved = await session.navigateTree(second.entryId);
  assert.equal(moved.editorText, "second");
  assert.equal(session.messages.filter((it) => it.role === "user").length, 1);
  const forked = await session.fork(second.entryId);
  assert.deepEqual(forked, { cancelled: false, selectedText: "second" });
  assert.notEqual(session.sessionFile, first);
  await session.newSession();
  assert.equal(session.messages.length, 0);
  await session.switchSession(first);
  assert.equal(session.sessionFile, first);
  session.sessionManager.appendLabelChange(second.entryId, "here");
});

test("prepared entries, settings and API keys reach the agent", async (t) => {
  const { model, session } = await start(t, [text("ok")], ({ cwd }) => {
    const manager = SessionManager.inMemory(cwd);
    manager.appendMessage({ role: "user", content: "earlier question", timestamp: Date.now() });
    const authStorage = AuthStorage.inMemory();
    authStorage.setRuntimeApiKey("anthropic", "sk-test");
    return {
      sessionManager: manager,
      authStorage,
      settingsManager: SettingsManager.inMemory({ compaction: { enabled: false } }),
    };
  });
  assert.equal(session.autoCompactionEnabled, false);
  assert.ok(session.modelRegistry.getAvailable().some((it) => it.provider === "anthropic"));
  await session.prompt("now");
  assert.match(JSON.stringify(model.requests[0].messages), /earlier question/);
  assert.ok(!existsSync(join(model.agentDir, "settings.json")) || !readFileSync(join(model.agentDir, "settings.json"), "utf8").includes("compaction"));
});

test("a resource loader becomes flags", async (t) => {
  const { model, session } = await start(t, [text("ok")], ({ cwd, agentDir }) => {
    writeFileSync(join(cwd, "AGENTS.md"), "Project rule 7.");
    writeFileSync(join(cwd, "hello.md"), "---\ndescription: Say hello\n---\nHello $1");
    const resourceLoader = new DefaultResourceLoader({
      cwd,
      agentDir,
      systemPromptOverride: () => "You are a pirate.",
      appendSystemPromptOverride: () => ["Rhyme."],
      additionalPromptTemplatePaths: [join(cwd, "hello.md")],
      noContextFiles: true,
    });
    return { resourceLoader };
  });
  assert.deepEqual(session.promptTemplates.map((it) => it.name), ["hello"]);
  assert.equal(session.resourceLoader.getPrompts().prompts[0].content, "Hello $1");
  await session.prompt("/hello there");
  const sent = JSON.stringify(model.requests[0].messages);
  assert.match(sent, /You are a pirate\./);
  assert.match(sent, /Rhyme\./);
  assert.match(sent, /Hello there/);
  assert.doesNotMatch(sent, /Project rule 7/);
});

test("functions of a resource loader change what the agent finds", async (t) => {
  const { model, session } = await start(t, [text("ok")], ({ cwd, agentDir }) => {
    writeFileSync(join(cwd, "AGENTS.md"), "Project rule 7.");
    const resourceLoader = new DefaultResourceLoader({
      cwd,
      agentDir,
      skillsOverride: ({ skills }) => ({ skills: [...skills, { name: "virtual", description: "A skill: of the program" }], diagnostics: [] }),
      promptsOverride: () => ({ prompts: [{ name: "deploy", description: "Deploy", content: "Deploy to $1" }], diagnostics: [] }),
      agentsFilesOverride: ({ agentsFiles }) => ({ agentsFiles: [...agentsFiles, { path: "/virtual/AGENTS.md", content: "Rule of the program." }] }),
    });
    return { resourceLoader };
  });
  assert.ok(session.getCommands().some((it) => it.name === "skill:virtual"));
  await session.prompt("/deploy production");
  const sent = JSON.stringify(model.requests[0].messages);
  for (const expected of [/A skill: of the program/, /Deploy to production/, /Project rule 7\./, /Rule of the program\./]) assert.match(sent, expected);
});

test("what cannot run in another process says what to do", async (t) => {
  const factory = () => {};
  assert.throws(() => new DefaultResourceLoader({ extensionFactories: [factory] }), /additionalExtensionPaths/);
  await assert.rejects(createAgentSession({ extensions: [factory] }), UnsupportedError);
  const { session } = await start(t, []);
  assert.throws(() => session.sessionManager.appendCustomEntry("x", {}), /extension file/);
  assert.throws(() => session.sendCustomMessage({}), /sendUserMessage/);
});

test("dialogs of extensions reach the program", async (t) => {
  const { session } = await start(t, [], ({ cwd }) => {
    const file = join(cwd, "ask.mjs");
    writeFileSync(
      file,
      `export default (pi) => pi.registerCommand("ask", { description: "Ask", handler: async (args, ctx) => {
         const ok = await ctx.ui.confirm("Sure?", "Really");
         const name = await ctx.ui.input("Name");
         ctx.ui.notify("answer " + ok + " " + name, "info");
       } });`,
    );
    return { resourceLoader: new DefaultResourceLoader({ cwd, additionalExtensionPaths: [file] }) };
  });
  assert.ok(session.extensionRunner.getRegisteredCommands().some((it) => it.invocationName === "ask"));
  const notices = [];
  await session.bindExtensions({
    uiContext: { confirm: async () => true, input: async () => "Ada", notify: (message) => notices.push(message) },
  });
  await session.prompt("/ask");
  while (notices.length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
  assert.deepEqual(notices, ["answer true Ada"]);
});

test("shell commands, compaction settings and exports", async (t) => {
  const { model, session } = await start(t, [text("ok")]);
  let output = "";
  const result = await session.executeBash("echo out", (delta) => {
    output += delta;
  });
  assert.equal(result.exitCode, 0);
  assert.match(output, /out/);
  assert.equal(session.messages.at(-1).role, "bashExecution");
  await session.prompt("go");
  const html = await session.exportToHtml(join(model.cwd, "out.html"));
  assert.ok(existsSync(html));
  const jsonl = session.exportToJsonl(join(model.cwd, "out.jsonl"));
  assert.equal(SessionManager.open(jsonl).getEntryCount(), session.sessionManager.getBranch().length);
});

test("the runtime functions replace sessions", async (t) => {
  const model = await startModel(text("one"), text("two"));
  const create = async ({ cwd, agentDir, sessionManager }) => {
    const services = await createAgentSessionServices({ cwd, agentDir });
    const created = await createAgentSessionFromServices({ services, sessionManager, model: model.model, tools: readOnlyTools });
    return { ...created, services, diagnostics: [] };
  };
  const options = { cwd: model.cwd, agentDir: getAgentDir(), sessionManager: SessionManager.create(model.cwd) };
  const runtime = await createAgentSessionRuntime(create, options);
  t.after(async () => {
    await runtime.dispose();
    model.close();
  });
  await runtime.session.prompt("first");
  const { sessionFile } = runtime.session;
  const [message] = runtime.session.getUserMessagesForForking();
  assert.deepEqual(await runtime.fork(message.entryId), { cancelled: false, selectedText: "first" });
  assert.notEqual(runtime.session.sessionFile, sessionFile);
  await runtime.switchSession(sessionFile);
  assert.equal(runtime.session.sessionFile, sessionFile);
  await runtime.newSession();
  assert.equal(runtime.session.messages.length, 0);
});

test("the model registry lists models without a session", async (t) => {
  const model = await startModel();
  t.after(() => model.close());
  const registry = ModelRegistry.create(AuthStorage.create());
  assert.equal(registry.find("mock", "beta").contextWindow, 200_000);
  assert.equal(registry.find("mock", "none"), undefined);
});
