// Runs an agent with extensions in its session, as sub-agent packages do, and writes what it observed to the working
// directory.
import { createAgentSession, DefaultResourceLoader, getAgentDir, ModelRuntime, resolveCliModel, SessionManager, SettingsManager } from "@earendil-works/pi-coding-agent";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const seen: string[] = [];
const observed: Record<string, unknown> = {};

// The extension of the child: a tool, a policy, and a system prompt.
function childExtension(pi: any) {
  pi.registerFlag("depth", { type: "string", default: "1" });
  pi.registerTool({
    name: "lookup",
    label: "Lookup",
    description: "Looks something up.",
    parameters: { type: "object", properties: { word: { type: "string" } }, required: ["word"] },
    async execute(_id: string, { word }: { word: string }, _signal: any, _onUpdate: any, ctx: any) {
      pi.appendEntry("lookups", { word });
      observed.tool = [ctx.mode, ctx.hasUI, ctx.model?.id, pi.getFlag("depth"), await ctx.ui.confirm("Sure?", "")];
      return { content: [{ type: "text", text: `${word}: found` }] };
    },
  });
  pi.on("session_start", (event: any, ctx: any) => void seen.push(`session_start ${event.reason} ${ctx.sessionManager.getEntries().length}`));
  pi.on("before_agent_start", (event: any) => {
    seen.push(`before_agent_start ${event.prompt}`);
    return { systemPrompt: "You are the child." };
  });
  pi.on("tool_call", (event: any) => {
    seen.push(`tool_call ${event.toolName}`);
    return event.input.word === "secret" ? { block: true, reason: "not allowed" } : undefined;
  });
  pi.on("tool_result", (event: any) => void seen.push(`tool_result ${event.isError}`));
  pi.on("agent_end", () => {
    seen.push("agent_end");
    if (observed.isFailing) throw new Error("failing handler");
  });
  pi.on("session_shutdown", (event: any) => void seen.push(`session_shutdown ${event.reason}`));
}

async function runChild(cwd: string) {
  const settingsManager = SettingsManager.create(cwd, getAgentDir());
  const loader = new DefaultResourceLoader({
    cwd,
    agentDir: getAgentDir(),
    settingsManager,
    noExtensions: true,
    noSkills: true,
    noPromptTemplates: true,
    noThemes: true,
    noContextFiles: true,
    extensionFactories: [() => {}, { name: "child", factory: childExtension } as any],
    extensionsOverride: (loaded: any) => ({ ...loaded, extensions: [...loaded.extensions].reverse() }),
  });
  await loader.reload();
  const { extensions, errors, runtime } = loader.getExtensions() as any;
  observed.loaded = [extensions.map(({ path }: any) => path), errors.length, runtime.pendingProviderRegistrations.length];
  const modelRuntime = await ModelRuntime.create();
  const resolved = resolveCliModel({ cliModel: "mock/alpha", modelRuntime });
  observed.model = [resolved.model?.id, resolved.error];
  observed.unknown = typeof resolveCliModel({ cliModel: "no-such-model", modelRuntime }).error;
  // The file does not exist yet.
  const file = join(cwd, "child.jsonl");
  const sessionManager = SessionManager.open(file, undefined, cwd);
  observed.newFile = [sessionManager.getSessionFile() === file, existsSync(file)];
  const { session, extensionsResult } = await createAgentSession({ cwd, agentDir: getAgentDir(), modelRuntime, model: resolved.model, tools: ["lookup"], resourceLoader: loader, sessionManager, settingsManager } as any);
  const failures: string[] = [];
  await session.bindExtensions({ mode: "print", onError: (error: any) => void failures.push(`${error.extensionPath} ${error.event} ${error.error}`) } as any);
  observed.extensions = extensionsResult.extensions.length;
  observed.tools = session.getActiveToolNames();
  const events: string[] = [];
  session.subscribe((event: any) => void events.push(event.type));
  observed.isFailing = true;
  await session.prompt("look it up");
  observed.text = session.getLastAssistantText();
  observed.events = [events.includes("tool_execution_end"), events.at(-1)];
  observed.failures = failures;
  observed.isFailing = false;
  observed.queued = (session as any).agent.hasQueuedMessages();
  // Without a run, a steering message waits for the next one.
  observed.steered = [await session.steer("one more"), session.pendingMessageCount, session.isStreaming, (await session.clearQueue()).steering];
  observed.live = sessionManager.getEntries().some((entry: any) => entry.customType === "lookups");
  observed.branch = sessionManager.buildSessionContext().messages.filter(({ role }: any) => role !== "system").map(({ role }: any) => role);
  sessionManager.appendCustomEntry("after", {});
  observed.appended = sessionManager.getEntries().at(-1)?.type;
  const runner = session.extensionRunner;
  observed.handlers = [runner.hasHandlers("session_shutdown"), runner.hasHandlers("context")];
  await runner.emit({ type: "session_shutdown", reason: "quit" } as any);
  session.dispose();
  observed.stored = readFileSync(file, "utf8").trim().split("\n").map((line) => JSON.parse(line)).filter(({ type }) => type.startsWith("custom")).map(({ customType }) => customType);
  observed.seen = seen;
}

export default function (pi: any) {
  pi.on("session_start", async (_event: any, ctx: any) => {
    try {
      await runChild(ctx.cwd);
    } catch (error: any) {
      observed.error = error.stack ?? String(error);
    }
    writeFileSync(join(ctx.cwd, "observed.json"), JSON.stringify(observed));
  });
}
