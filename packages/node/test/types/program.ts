// A program for the types of the TypeScript pi, as bots and front ends use them. The test compiles it with those types and
// with those of this package; it is never run.
import {
  AgentSession,
  type AgentSessionEvent,
  type CreateAgentSessionOptions,
  createAgentSession,
  createReadOnlyTools,
  DefaultResourceLoader,
  defineTool,
  getAgentDir,
  ModelRegistry,
  parseSessionEntries,
  RpcClient,
  type SessionEntry,
  SessionManager,
  type SessionStats,
  SettingsManager,
  type ToolDefinition,
  VERSION,
} from "@earendil-works/pi-coding-agent";

async function runTurn(cwd: string): Promise<string> {
  const settingsManager = SettingsManager.create(cwd, getAgentDir());
  const resourceLoader = new DefaultResourceLoader({ cwd, agentDir: getAgentDir(), settingsManager });
  await resourceLoader.reload();
  const options: CreateAgentSessionOptions = {
    cwd,
    thinkingLevel: "high",
    tools: ["read", "bash"],
    resourceLoader,
    settingsManager,
    sessionManager: SessionManager.create(cwd),
  };
  const { session, modelFallbackMessage } = await createAgentSession(options);
  if (modelFallbackMessage) console.error(modelFallbackMessage.toUpperCase());
  let text = "";
  const unsubscribe: () => void = session.subscribe((event: AgentSessionEvent) => {
    switch (event.type) {
      case "message_update":
        if (event.assistantMessageEvent.type === "text_delta") text += event.assistantMessageEvent.delta;
        break;
      case "tool_execution_start":
        console.error(event.toolName, event.toolCallId);
        break;
      case "agent_end":
        console.error(event.messages.length);
        break;
    }
  });
  await session.prompt("Hello");
  await session.steer("Shorter");
  await session.followUp("And then?");
  await session.abort();
  const stats: SessionStats = session.getSessionStats();
  console.error(stats.tokens.total, stats.cost, session.sessionId, session.sessionFile, session.isStreaming);
  const compacted = await session.compact("Keep the names");
  console.error(compacted.summary.length, compacted.tokensBefore);
  unsubscribe();
  session.dispose();
  return text;
}

function describe(session: AgentSession): string {
  // @ts-expect-error Unknown names are errors.
  session.noSuchMethod();
  const model = session.model;
  return `${VERSION} ${model?.provider ?? "none"}/${model?.id ?? "none"} ${session.thinkingLevel}`;
}

function readFile(path: string): string[] {
  const manager = SessionManager.open(path);
  const entries: SessionEntry[] = manager.getEntries();
  const lines = entries.map((entry) => `${entry.id} ${entry.parentId ?? "-"} ${entry.type}`);
  const context = manager.buildSessionContext();
  lines.push(String(context.messages.length), manager.getSessionId(), manager.getCwd());
  return lines;
}

async function listSessions(cwd: string): Promise<string[]> {
  const sessions = await SessionManager.list(cwd);
  return sessions.map((session) => `${session.id} ${session.path} ${session.firstMessage} ${session.modified.toISOString()}`);
}

async function useRpc(cliPath: string): Promise<void> {
  const client = new RpcClient({ cliPath, cwd: "/tmp", args: ["--no-session"], env: { A: "b" } });
  await client.start();
  const stop = client.onEvent((event) => console.error(event.type));
  await client.prompt("Hello");
  await client.waitForIdle();
  const state = await client.getState();
  console.error(state.isStreaming, state.sessionId, state.messageCount, state.thinkingLevel);
  const text: string | null = await client.getLastAssistantText();
  const models = await client.getAvailableModels();
  const first = models[0];
  if (first) await client.setModel(first.provider, first.id);
  console.error(text, await client.getMessages());
  stop();
  await client.stop();
}

const tools: string[] = createReadOnlyTools("/tmp").map((tool) => tool.name);
const names: string[] = parseSessionEntries("").map((entry) => entry.type);
const keep = (tool: ToolDefinition): string => `${tool.name}: ${tool.description}`;

console.log(runTurn, describe, readFile, listSessions, useRpc, tools, names, keep, defineTool, ModelRegistry);
