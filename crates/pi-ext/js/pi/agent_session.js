// Agents that an extension runs in addition to the live session.
import { call, request } from "pi:host";
import { createToolContext } from "pi:pi/context";
import { describeTool } from "pi:pi/registry";
import { toolResult } from "pi:pi/tools";
import { register, unregister } from "pi:pi/callbacks";

const optional = (value) => value ?? undefined;

export class AgentSession {
  #agent;
  #listeners = new Set();
  #sessionManager;
  #resourceLoader;

  constructor(agent, { sessionManager, resourceLoader }) {
    this.#agent = agent;
    this.#sessionManager = sessionManager;
    this.#resourceLoader = resourceLoader;
  }
  #call(method, args) {
    return call(method, { ...args, agent: this.#agent });
  }
  #request(method, args) {
    return request(method, { ...args, agent: this.#agent });
  }
  #state(name) {
    return optional(this.#call("agent.state")[name]);
  }

  // Called with every event of the agent.
  dispatch(event) {
    for (const listener of [...this.#listeners]) listener(event);
  }
  subscribe(listener) {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  prompt(text, options = {}) {
    const { images, streamingBehavior, expandPromptTemplates } = options;
    return this.#request("agent.prompt", { text, images: images ?? [], streamingBehavior, expandPromptTemplates });
  }
  steer(text, images) {
    return this.prompt(text, { images, streamingBehavior: "steer" });
  }
  followUp(text, images) {
    return this.prompt(text, { images, streamingBehavior: "followUp" });
  }
  sendUserMessage(content, options = {}) {
    return this.#request("agent.sendUserMessage", { content, options });
  }
  sendCustomMessage(message, options = {}) {
    return this.#request("agent.sendMessage", { message, options });
  }
  clearQueue() {
    return this.#request("agent.clearQueue");
  }
  abort() {
    return this.#request("agent.abort");
  }
  waitForIdle() {
    return this.#request("agent.waitForIdle");
  }
  compact(customInstructions) {
    return this.#request("agent.compact", { customInstructions });
  }
  setModel(model) {
    return this.#request("agent.setModel", { provider: model.provider, id: model.id });
  }
  setThinkingLevel(level) {
    return this.#request("agent.setThinkingLevel", { level });
  }
  setSessionName(name) {
    return this.#request("agent.setSessionName", { name });
  }
  setAutoCompactionEnabled(enabled) {
    this.#call("agent.setAutoCompaction", { enabled });
  }
  executeBash(command, onChunk, options = {}) {
    return this.#request("agent.runBash", { command, excludeFromContext: options.excludeFromContext });
  }
  abortBash() {
    this.#call("agent.abortBash");
  }
  // Extensions apply only to the live session.
  async bindExtensions() {}
  dispose() {
    this.#listeners.clear();
    unregister(this.#agent);
    return this.#request("agent.dispose");
  }

  get messages() {
    return this.#call("agent.messages");
  }
  get state() {
    const { model, thinkingLevel, isStreaming } = this.#call("agent.state");
    return { systemPrompt: this.systemPrompt, model: optional(model), thinkingLevel, tools: this.getAllTools(), messages: this.messages, isStreaming };
  }
  get agent() {
    const session = this;
    return {
      get state() {
        return session.state;
      },
      subscribe: (listener) => session.subscribe(listener),
      abort: () => session.abort(),
      waitForIdle: () => session.waitForIdle(),
    };
  }
  get systemPrompt() {
    return this.#call("agent.systemPrompt");
  }
  get model() {
    return this.#state("model");
  }
  // The model of the last response, if the selected one is virtual.
  get routedModel() {
    return this.#state("routedModel");
  }
  get thinkingLevel() {
    return this.#state("thinkingLevel");
  }
  get isStreaming() {
    return this.#state("isStreaming");
  }
  get isIdle() {
    return this.#state("isIdle");
  }
  get isCompacting() {
    return this.#state("isCompacting");
  }
  get isRetrying() {
    return false;
  }
  get isBashRunning() {
    return this.#state("isBashRunning");
  }
  get sessionFile() {
    return this.#state("sessionFile");
  }
  get sessionId() {
    return this.#state("sessionId");
  }
  get sessionName() {
    return this.#state("sessionName");
  }
  get pendingMessageCount() {
    return this.#state("pendingMessageCount");
  }
  get scopedModels() {
    return this.#state("scopedModels");
  }
  get sessionManager() {
    return this.#sessionManager;
  }
  get resourceLoader() {
    return this.#resourceLoader;
  }
  getAvailableThinkingLevels() {
    return this.#state("availableThinkingLevels");
  }
  supportsThinking() {
    return this.#state("supportsThinking");
  }
  getActiveToolNames() {
    return this.#state("activeTools");
  }
  // The tools that other tools may call.
  getCallableToolNames() {
    return this.#state("callableTools");
  }
  getAllTools() {
    return this.#call("agent.tools");
  }
  setActiveToolsByName(names) {
    this.#call("agent.setActiveTools", { names: [...names] });
  }
  getSessionStats() {
    return this.#call("agent.stats");
  }
  getContextUsage() {
    return optional(this.#call("agent.contextUsage"));
  }
  getLastAssistantText() {
    return optional(this.#call("agent.lastAssistantText"));
  }
}

// Converts the resources of a loader to agent options.
async function resourcesOf(loader) {
  if (!loader) return {};
  const skills = loader.getSkills?.().skills ?? [];
  const prompts = loader.getPrompts?.().prompts ?? [];
  const files = loader.getAgentsFiles?.().agentsFiles ?? [];
  const append = loader.getAppendSystemPrompt?.() ?? [];
  const contexts = files.map(({ path, content }) => `# ${path}\n\n${content}`);
  return {
    noSkills: true,
    skills: skills.map((skill) => skill.filePath).filter(Boolean),
    noPromptTemplates: true,
    promptTemplates: prompts.map((prompt) => prompt.filePath).filter(Boolean),
    noContextFiles: true,
    systemPrompt: loader.getSystemPrompt?.(),
    appendSystemPrompt: [...append, ...contexts],
  };
}

export async function createAgentSession(options = {}) {
  const { cwd, agentDir, model, thinkingLevel, tools, noTools, excludeTools = [], customTools = [], sessionManager, resourceLoader } = options;
  let session;
  const execute = async ({ name, callId, arguments: args }, signal, signalId) => {
    const tool = customTools.find((candidate) => candidate.name === name);
    const onUpdate = (partial) => void call("job.toolUpdate", { signalId, partial });
    return toolResult(await tool.execute(callId, args, signal, onUpdate, createToolContext(callId, signalId)));
  };
  const number = register({ event: (event) => session?.dispatch(event), tool: execute });
  const opened = sessionManager?.openOptions;
  try {
    const started = await request("agent.create", {
      number,
      cwd: cwd ?? sessionManager?.getCwd?.(),
      agentDir,
      model: model && { provider: model.provider, id: model.id },
      thinkingLevel,
      // Older extensions pass tool objects instead of names.
      tools: tools?.map((tool) => (typeof tool === "string" ? tool : tool.name)),
      noTools,
      excludeTools,
      customTools: customTools.map(describeTool),
      isInMemory: opened?.kind === "memory",
      sessionFile: opened && opened.kind !== "memory" && opened.kind !== "create" ? opened.file : undefined,
      sessionDir: opened?.sessionDir,
      resources: await resourcesOf(resourceLoader),
    });
    session = new AgentSession(number, { sessionManager, resourceLoader });
    return { session, extensionsResult: { extensions: [], errors: [] }, modelFallbackMessage: optional(started.modelFallbackMessage) };
  } catch (error) {
    unregister(number);
    throw error;
  }
}
