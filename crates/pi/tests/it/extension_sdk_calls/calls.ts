// Calls what the package exports to programs that embed pi, and records the results. The table is in `expected.json`.
import * as pi from "@earendil-works/pi-coding-agent";
import * as ai from "@earendil-works/pi-ai";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";

const sdk = pi as any;
const usage = { input: 3, output: 2, cacheRead: 0, cacheWrite: 0, totalTokens: 5, cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 } };
const user = (text: string) => ({ role: "user", content: [{ type: "text", text }], timestamp: 1 });
const assistant = (text: string) => ({ role: "assistant", content: [{ type: "text", text }], api: "openai-completions", provider: "mock", model: "alpha", usage, stopReason: "stop", timestamp: 2 });

async function createSession(cwd: string, options = {}) {
  const agentDir = sdk.getAgentDir();
  const settingsManager = sdk.SettingsManager.inMemory({ compaction: { enabled: false } });
  const modelRuntime = await sdk.ModelRuntime.create();
  const resourceLoader = new sdk.DefaultResourceLoader({ cwd, agentDir, settingsManager, noExtensions: true, noSkills: true, noPromptTemplates: true, noThemes: true, noContextFiles: true });
  await resourceLoader.reload();
  const model = modelRuntime.getModel("mock", "alpha");
  return sdk.createAgentSession({ cwd, agentDir, modelRuntime, model, settingsManager, resourceLoader, sessionManager: sdk.SessionManager.inMemory(cwd), ...options });
}

function fill(manager: any) {
  manager.appendMessage(user("question"));
  manager.appendMessage(assistant("answer"));
  return manager;
}

const cases: [string, (cwd: string, ctx: any) => unknown][] = [
  ["createAgentSession", async (cwd) => {
    const { session, extensionsResult, modelFallbackMessage } = await createSession(cwd, { thinkingLevel: "high" });
    const facts = [session.model.id, session.thinkingLevel, session.isStreaming, session.messages.length, session.getActiveToolNames(), extensionsResult.errors.length, modelFallbackMessage ?? null];
    session.dispose();
    return facts;
  }],
  ["createAgentSession with tools", async (cwd) => {
    const { session } = await createSession(cwd, { tools: ["read", "grep"] });
    return session.getActiveToolNames();
  }],
  ["createAgentSession with excludeTools", async (cwd) => {
    const { session } = await createSession(cwd, { excludeTools: ["bash", "write"] });
    return session.getActiveToolNames();
  }],
  ["createAgentSession without tools", async (cwd) => {
    const { session } = await createSession(cwd, { noTools: "all" });
    return session.getActiveToolNames();
  }],
  ["createAgentSession with a custom tool", async (cwd) => {
    const tool = sdk.defineTool({ name: "lookup", label: "Lookup", description: "d", parameters: { type: "object", properties: {} }, async execute() { return { content: [{ type: "text", text: "found" }] }; } });
    const { session } = await createSession(cwd, { customTools: [tool], tools: ["lookup"] });
    const events: string[] = [];
    session.subscribe((event: any) => void events.push(event.type));
    await session.prompt("use it");
    return [session.getActiveToolNames(), session.getLastAssistantText(), session.messages.map((it: any) => it.role), events.filter((it) => it !== "message_update")];
  }],
  ["session.setModel", async (cwd) => {
    const { session } = await createSession(cwd, { thinkingLevel: "high" });
    await session.setModel(session.modelRuntime.getModel("mock", "beta"));
    return [session.model.id, session.thinkingLevel, session.supportsThinking()];
  }],
  ["session.getSessionStats", async (cwd) => {
    const sessionManager = fill(sdk.SessionManager.inMemory(cwd));
    const { session } = await createSession(cwd, { sessionManager });
    const { userMessages, assistantMessages, toolCalls, totalMessages, tokens, cost } = session.getSessionStats();
    return { userMessages, assistantMessages, toolCalls, totalMessages, tokens, cost };
  }],
  ["session.bash", async (cwd) => {
    const { session } = await createSession(cwd);
    const { output, exitCode, cancelled, truncated } = await session.executeBash("echo out; exit 3");
    return [output, exitCode, cancelled, truncated, session.messages.map((it: any) => it.role)];
  }],
  ["SessionManager.create", (cwd) => {
    const manager = sdk.SessionManager.create(cwd, join(cwd, "sessions"));
    const file = manager.getSessionFile();
    const before = existsSync(file);
    fill(manager);
    return [before, existsSync(file), basename(file).endsWith(`_${manager.getSessionId()}.jsonl`), manager.isPersisted(), manager.getSessionDir() === join(cwd, "sessions"), manager.usesDefaultSessionDir()];
  }],
  ["SessionManager.open", (cwd) => {
    const file = fill(sdk.SessionManager.create(cwd, join(cwd, "sessions"))).getSessionFile();
    const manager = sdk.SessionManager.open(file);
    const { type, version, cwd: stored } = manager.getHeader();
    return [type, version === sdk.CURRENT_SESSION_VERSION, stored === cwd, manager.getEntryCount(), manager.getLeafEntry().message.role, manager.getBranch().length];
  }],
  ["SessionManager.open with a damaged line", (cwd) => {
    const file = fill(sdk.SessionManager.create(cwd, join(cwd, "sessions"))).getSessionFile();
    writeFileSync(file, `${readFileSync(file, "utf8")}{"type":\n`);
    return sdk.SessionManager.open(file).getEntryCount();
  }],
  ["SessionManager.inMemory", (cwd) => {
    const manager = fill(sdk.SessionManager.inMemory(cwd));
    return [manager.getSessionFile() ?? null, manager.isPersisted(), manager.getCwd() === cwd, manager.getEntries().map((it: any) => it.type)];
  }],
  ["SessionManager.continueRecent", (cwd) => {
    const first = fill(sdk.SessionManager.create(cwd, join(cwd, "recent")));
    const manager = sdk.SessionManager.continueRecent(cwd, join(cwd, "recent"));
    const empty = sdk.SessionManager.continueRecent(cwd, join(cwd, "none"));
    return [manager.getSessionId() === first.getSessionId(), manager.getEntryCount(), empty.getEntryCount()];
  }],
  ["SessionManager.forkFrom", (cwd) => {
    const source = fill(sdk.SessionManager.create(cwd, join(cwd, "sessions")));
    const manager = sdk.SessionManager.forkFrom(source.getSessionFile(), cwd, join(cwd, "forks"));
    return [manager.getSessionId() !== source.getSessionId(), manager.getHeader().parentSession === source.getSessionFile(), manager.getEntryCount()];
  }],
  ["SessionManager.list", async (cwd) => {
    const manager = fill(sdk.SessionManager.create(cwd, join(cwd, "listed")));
    manager.appendSessionInfo("named");
    const progress: number[][] = [];
    const [info, ...rest] = await sdk.SessionManager.list(cwd, join(cwd, "listed"), (loaded: number, total: number) => void progress.push([loaded, total]));
    return [info.id === manager.getSessionId(), info.name, info.messageCount, info.firstMessage, info.allMessagesText, info.created instanceof Date, rest.length, progress.at(-1)];
  }],
  ["SessionManager.findById", (cwd) => {
    const manager = fill(sdk.SessionManager.create(cwd, join(cwd, "listed")));
    const found = sdk.SessionManager.findById(cwd, manager.getSessionId(), join(cwd, "listed"));
    return [found === manager.getSessionFile(), sdk.SessionManager.findById(cwd, "no-such-id", join(cwd, "listed")) ?? null];
  }],
  ["SessionManager.listAll", async (cwd) => {
    fill(sdk.SessionManager.create(cwd, join(cwd, "all")));
    return (await sdk.SessionManager.listAll(join(cwd, "all"))).map((it: any) => [it.cwd === cwd, it.messageCount]);
  }],
  ["session tree", (cwd) => {
    const manager = fill(sdk.SessionManager.inMemory(cwd));
    const [first] = manager.getEntries();
    manager.branch(first.id);
    manager.appendMessage(assistant("other"));
    manager.appendLabelChange(first.id, "start");
    const [root] = manager.getTree();
    const summary = manager.branchWithSummary(first.id, "what happened");
    return [root.children.length, root.label, manager.getLabel(first.id), manager.getChildren(first.id).length, manager.getEntry(summary).type, manager.buildSessionContext().messages.map((it: any) => it.role)];
  }],
  ["session entries", (cwd) => {
    const manager = fill(sdk.SessionManager.inMemory(cwd));
    const [question] = manager.getEntries();
    manager.appendModelChange("mock", "beta");
    manager.appendThinkingLevelChange("low");
    manager.appendCustomEntry("note", { a: 1 });
    manager.appendCustomMessageEntry("note", "text", true);
    manager.appendUsage("search", "mock", "alpha", usage, "why");
    manager.appendContextEdit(question.id, null);
    const { messages, model, thinkingLevel } = manager.buildSessionContext();
    return [manager.getEntries().map((it: any) => it.type), messages.map((it: any) => it.role), model, thinkingLevel];
  }],
  ["compaction in a context", (cwd) => {
    const manager = fill(sdk.SessionManager.inMemory(cwd));
    const answer = manager.getEntries()[1];
    manager.appendCompaction("the summary", answer.id, 100, { readFiles: [] });
    const entries = manager.getEntries();
    return [sdk.getLatestCompactionEntry(entries).summary, manager.buildContextEntries().map((it: any) => it.type), sdk.buildSessionContext(entries).messages.map((it: any) => it.role), sdk.buildSessionProjection(entries).entries.length];
  }],
  ["session.createBranchedSession", (cwd) => {
    const manager = fill(sdk.SessionManager.create(cwd, join(cwd, "branched")));
    const before = manager.getSessionFile();
    const file = manager.createBranchedSession(manager.getEntries()[1].id);
    return [file !== before, manager.getSessionFile() === file, manager.getEntryCount(), manager.getHeader().parentSession === before];
  }],
  ["session.createBranchedSession, continued by another manager", (cwd) => {
    const manager = fill(sdk.SessionManager.create(cwd, join(cwd, "continued")));
    const file = manager.createBranchedSession(manager.getEntries()[1].id);
    const other = sdk.SessionManager.open(file);
    other.appendMessage(user("more"));
    return [other.getEntryCount(), sdk.SessionManager.open(file).getEntryCount()];
  }],
  ["parseSessionEntries", () => {
    const lines = ['{"type":"session","version":3,"id":"a","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/"}', "no JSON", '{"type":"custom","id":"b","parentId":null,"timestamp":"2026-01-01T00:00:00.000Z","customType":"x"}'];
    const entries = sdk.parseSessionEntries(lines.join("\n"));
    sdk.migrateSessionEntries(entries);
    return entries.map((it: any) => it.type);
  }],
  ["DefaultResourceLoader", async (cwd) => {
    for (const directory of ["skills/one", "prompts"]) mkdirSync(join(cwd, "extra", directory), { recursive: true });
    writeFileSync(join(cwd, "extra/skills/one/SKILL.md"), "---\nname: one\ndescription: First\n---\nText");
    writeFileSync(join(cwd, "extra/prompts/review.md"), "---\ndescription: Reviews\nargument-hint: <file>\n---\nReview $1");
    writeFileSync(join(cwd, "AGENTS.md"), "Be brief.");
    const settingsManager = sdk.SettingsManager.inMemory();
    const loader = new sdk.DefaultResourceLoader({ cwd, agentDir: join(cwd, "agent-dir"), settingsManager, noExtensions: true, noThemes: true, additionalSkillPaths: [join(cwd, "extra/skills")], additionalPromptTemplatePaths: [join(cwd, "extra/prompts")], systemPrompt: "You are short.", appendSystemPrompt: ["More."] });
    await loader.reload();
    const { skills, diagnostics } = loader.getSkills();
    return [skills.map((it: any) => [it.name, it.description, it.disableModelInvocation]), diagnostics.length, loader.getPrompts().prompts.map((it: any) => [it.name, it.description, it.argumentHint, it.content]), loader.getAgentsFiles().agentsFiles.map((it: any) => [basename(it.path), it.content]), loader.getSystemPrompt(), loader.getAppendSystemPrompt(), loader.getThemes().themes.length];
  }],
  ["DefaultResourceLoader overrides", async (cwd) => {
    const loader = new sdk.DefaultResourceLoader({ cwd, agentDir: join(cwd, "agent-dir"), settingsManager: sdk.SettingsManager.inMemory(), noExtensions: true, noSkills: true, noPromptTemplates: true, noThemes: true, noContextFiles: true, agentsFilesOverride: () => ({ agentsFiles: [{ path: "/virtual", content: "v" }] }), systemPromptOverride: () => "overridden" });
    await loader.reload();
    return [loader.getAgentsFiles().agentsFiles, loader.getSystemPrompt(), loader.getExtensions().extensions.length];
  }],
  ["AuthStorage", () => [typeof sdk.AuthStorage, typeof sdk.readStoredCredential]],
  ["readStoredCredential", (cwd) => {
    writeFileSync(join(cwd, "auth.json"), '{"mock": {"type": "api_key", "key": "k"}}');
    return [sdk.readStoredCredential("mock", join(cwd, "auth.json")) ?? null, sdk.readStoredCredential("other", join(cwd, "auth.json")) ?? null];
  }],
  ["ModelRegistry", async (_cwd, ctx) => {
    const registry = new sdk.ModelRegistry(await sdk.ModelRuntime.create());
    const model = registry.find("mock", "alpha");
    const auth = await registry.getApiKeyAndHeaders(model);
    return [model.id, model.reasoning, registry.find("mock", "nope") ?? null, registry.hasConfiguredAuth(model), auth.ok, auth.apiKey, registry.isUsingOAuth(model), registry.getProviderDisplayName("mock"), registry.getError() ?? null, ctx.modelRegistry.find("mock", "beta").id];
  }],
  ["ModelRegistry.registerProvider", async () => {
    const registry = new sdk.ModelRegistry(await sdk.ModelRuntime.create());
    registry.registerProvider("extra", { baseUrl: "http://127.0.0.1:1/v1", apiKey: "k", api: "openai-completions", models: [{ id: "m", name: "M", reasoning: false, input: ["text"], cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 }, contextWindow: 1000, maxTokens: 100 }] });
    const found = registry.find("extra", "m");
    const ids = registry.getRegisteredProviderIds();
    registry.unregisterProvider("extra");
    return [found.name, found.contextWindow, ids, registry.find("extra", "m") ?? null];
  }],
  ["ModelRuntime", async () => {
    const runtime = await sdk.ModelRuntime.create();
    const model = runtime.getModel("mock", "alpha");
    const { apiKey } = (await runtime.getAuth("mock")).auth;
    await runtime.setRuntimeApiKey("mock", "other");
    const changed = (await runtime.getAuth("mock")).auth.apiKey;
    await runtime.removeRuntimeApiKey("mock");
    const reply = await runtime.completeSimple(model, { messages: [user("hi")] });
    return [apiKey, changed, runtime.getModels("mock").map((it: any) => it.id), reply.stopReason, reply.content[0].text];
  }],
  ["createExtensionRuntime", () => {
    const runtime = sdk.createExtensionRuntime();
    let thrown = null;
    try { runtime.sendMessage({}); } catch (error: any) { thrown = error instanceof Error; }
    return [runtime.pendingProviderRegistrations, runtime.flagValues instanceof Map, thrown];
  }],
  ["discoverAndLoadExtensions", async (cwd) => {
    const file = join(cwd, "loaded.mjs");
    writeFileSync(file, 'export default (pi) => { pi.registerCommand("hello", { description: "d", handler() {} }); pi.on("agent_end", () => {}); };');
    const { extensions, errors } = await sdk.discoverAndLoadExtensions([file, join(cwd, "missing.ts")], cwd, join(cwd, "agent-dir"));
    return [extensions.map((it: any) => [basename(it.path), [...it.commands.keys()], [...it.handlers.keys()]]), errors.map((it: any) => basename(it.path))];
  }],
  ["DefaultPackageManager", async (cwd) => {
    const root = join(cwd, "package");
    mkdirSync(join(root, "extensions"), { recursive: true });
    writeFileSync(join(root, "package.json"), '{"name": "p", "version": "1.0.0", "pi": {"extensions": ["./extensions"]}}');
    writeFileSync(join(root, "extensions/a.ts"), "export default () => {};");
    const settingsManager = sdk.SettingsManager.inMemory({ packages: [root] });
    const manager = new sdk.DefaultPackageManager({ cwd, agentDir: join(cwd, "agent-dir"), settingsManager });
    const { extensions, skills } = await manager.resolve();
    const configured = manager.listConfiguredPackages();
    const added = manager.addSourceToSettings(join(cwd, "other"));
    return [extensions.map((it: any) => [basename(it.path), it.enabled, it.metadata.scope, it.metadata.origin]), skills.length, configured.map((it: any) => [it.source === root, it.scope, it.filtered, it.installedPath === root]), added, manager.addSourceToSettings(join(cwd, "other")), manager.removeSourceFromSettings(join(cwd, "other"))];
  }],
  ["createProvider", async () => {
    const model = { id: "m", name: "M", api: "openai-completions", provider: "own", baseUrl: "http://127.0.0.1:1/v1", reasoning: false, input: ["text"], cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 }, contextWindow: 1000, maxTokens: 100 };
    const provider = (ai as any).createProvider({ id: "own", name: "Own", auth: { apiKey: (ai as any).envApiKeyAuth("Own key", ["OWN_KEY"]) }, models: [model], api: { stream() {}, streamSimple() {} } });
    return [provider.id, provider.name, provider.getModels().map((it: any) => it.id), typeof provider.stream, typeof provider.streamSimple, typeof provider.auth.apiKey.resolve];
  }],
  ["SettingsManager", async (cwd) => {
    const manager = sdk.SettingsManager.create(cwd, join(cwd, "settings-dir"));
    manager.setDefaultModelAndProvider("mock", "beta");
    manager.setSteeringMode("all");
    await manager.flush();
    const stored = JSON.parse(readFileSync(join(cwd, "settings-dir/settings.json"), "utf8"));
    const again = sdk.SettingsManager.create(cwd, join(cwd, "settings-dir"));
    manager.applyOverrides({ steeringMode: "one-at-a-time" });
    return [stored, again.getDefaultModel(), again.getSteeringMode(), manager.getSteeringMode(), again.getCompactionSettings(), manager.drainErrors().length];
  }],
  ["ProjectTrustStore", (cwd) => {
    const store = new sdk.ProjectTrustStore(join(cwd, "trust-dir"));
    const before = store.get(cwd);
    store.set(cwd, true);
    return [before, store.get(cwd), new sdk.ProjectTrustStore(join(cwd, "trust-dir")).get(cwd), sdk.hasTrustRequiringProjectResources(cwd)];
  }],
  ["createEventBus", () => {
    const bus = sdk.createEventBus();
    const seen: unknown[] = [];
    const unsubscribe = bus.on("c", (data: unknown) => void seen.push(data));
    bus.emit("c", 1);
    unsubscribe();
    bus.emit("c", 2);
    return seen;
  }],
  ["createCodingTools", async (cwd) => {
    writeFileSync(join(cwd, "a.txt"), "one\ntwo\n");
    const tools = sdk.createCodingTools(cwd);
    const read = tools.find((it: any) => it.name === "read");
    const result = await read.execute("1", { path: "a.txt" });
    const edit = await sdk.createEditTool(cwd).execute("2", { path: "a.txt", edits: [{ oldText: "two", newText: "three" }] });
    return [tools.map((it: any) => it.name), sdk.createReadOnlyTools(cwd).map((it: any) => it.name), result.content, readFileSync(join(cwd, "a.txt"), "utf8"), Object.keys(edit.details).sort()];
  }],
  ["compaction functions", () => {
    const entries = [user("a".repeat(400)), assistant("b"), user("c"), assistant("d")].map((message, index) => ({ type: "message", id: `${index}`, parentId: index ? `${index - 1}` : null, timestamp: "2026-01-01T00:00:00.000Z", message }));
    return [sdk.estimateTokens(entries[0].message), sdk.findCutPoint(entries, 0, entries.length, 1), sdk.findTurnStartIndex(entries, 3, 0), sdk.getLastAssistantUsage(entries).totalTokens, sdk.shouldCompact(90, 100, { enabled: true, reserveTokens: 20, keepRecentTokens: 1 }), sdk.calculateContextTokens(usage), sdk.serializeConversation([user("hello"), assistant("world")])];
  }],
  ["createAgentSessionServices", async (cwd) => {
    const services = await sdk.createAgentSessionServices({ cwd, agentDir: sdk.getAgentDir(), resourceLoaderOptions: { noExtensions: true } });
    const { session } = await sdk.createAgentSessionFromServices({ services, sessionManager: sdk.SessionManager.inMemory(cwd), model: services.modelRuntime.getModel("mock", "beta") });
    return [services.cwd === cwd, services.diagnostics.length, session.model.id];
  }],
];

export default function (api: any) {
  api.on("session_start", async (_event: any, ctx: any) => {
    const observed: Record<string, unknown> = {};
    for (const [name, call] of cases) {
      try {
        observed[name] = (await call(ctx.cwd, ctx)) ?? null;
      } catch (error: any) {
        observed[name] = { thrown: process.env.SHOW_ERRORS ? String(error.stack ?? error) : true };
      }
    }
    writeFileSync(join(ctx.cwd, "observed.json"), JSON.stringify(observed, null, 1));
  });
}
