// Agents that an extension runs in addition to the live session.
import { call, request } from "pi:host";
import { createContext, createCommandContext, createToolContext } from "pi:pi/context";
import { emit } from "pi:pi/dispatch";
import { describeProvider, describeRegistrations, describeTool, Extension } from "pi:pi/registry";
import { createAgentScope, removeAgentScope } from "pi:pi/scope";
import { toolResult } from "pi:pi/tools";
import { register, unregister } from "pi:pi/callbacks";
import { ModelRuntime } from "pi:pi/model_runtime";
import { DefaultResourceLoader } from "pi:pi/resource_loader";
import { SessionManager } from "pi:pi/session_manager";
import { SettingsManager } from "pi:pi/settings_manager";

const optional = (value) => value ?? undefined;

// IDs of events that JavaScript emits; those of the program are positive.
let lastEmitted = 0;

// The extensions of an agent's session.
export class AgentExtensionRunner {
  #scope;
  #errorListeners = new Set();

  constructor(scope) {
    this.#scope = scope;
  }
  get #extensions() {
    return this.#scope.extensions;
  }
  hasHandlers(type) {
    return this.#extensions.some((extension) => extension.handlers.get(type)?.length > 0);
  }
  emit(event) {
    return emit({ ...event }, undefined, --lastEmitted, {}, this.#scope.agent);
  }
  onError(listener) {
    this.#errorListeners.add(listener);
    return () => void this.#errorListeners.delete(listener);
  }
  emitError(error) {
    for (const listener of [...this.#errorListeners]) listener(error);
  }
  hasUI() {
    return this.#scope.bindings.uiContext !== undefined;
  }
  getUIContext() {
    return this.createContext().ui;
  }
  setUIContext(uiContext, mode = "print") {
    Object.assign(this.#scope.bindings, { uiContext, mode });
  }
  getExtensionPaths() {
    return this.#extensions.map(({ path }) => path);
  }
  getAllRegisteredTools() {
    return this.#extensions.flatMap(({ path, tools }) => [...tools.values()].map((definition) => ({ definition, extensionPath: path })));
  }
  getToolDefinition(name) {
    return this.#extensions.find(({ tools }) => tools.has(name))?.tools.get(name);
  }
  getFlags() {
    return new Map(this.#extensions.flatMap(({ flags }) => [...flags]));
  }
  setFlagValue(name, value) {
    for (const { flags } of this.#extensions) if (flags.has(name)) flags.get(name).value = value;
  }
  getFlagValues() {
    return new Map([...this.getFlags()].map(([name, { value }]) => [name, value]));
  }
  getRegisteredCommands() {
    return this.#extensions.flatMap(({ commands, path }) => [...commands].map(([name, command]) => ({ ...command, name, invocationName: name, extensionPath: path })));
  }
  getCommand(name) {
    return this.getRegisteredCommands().find((command) => command.name === name);
  }
  getCommandDiagnostics() {
    return [];
  }
  getShortcuts() {
    return new Map(this.#extensions.flatMap(({ shortcuts }) => [...shortcuts]));
  }
  getMessageRenderer(type) {
    return this.#extensions.find(({ messageRenderers }) => messageRenderers.has(type))?.messageRenderers.get(type);
  }
  getEntryRenderer(type) {
    return this.#extensions.find(({ entryRenderers }) => entryRenderers.has(type))?.entryRenderers.get(type);
  }
  getActiveTools() {
    return this.#scope.call("tools.active");
  }
  getModelRegistry() {
    return this.createContext().modelRegistry;
  }
  createContext() {
    return createContext(undefined, this.#scope);
  }
  createCommandContext() {
    return createCommandContext(this.#scope);
  }
  invalidate() {}
  shutdown() {
    this.#scope.bindings.shutdownHandler?.();
  }
}

export class AgentSession {
  #agent;
  #listeners = new Set();
  #options;
  #scope;
  #runner;
  // What remains readable after the session was disposed.
  #last;

  constructor(agent, scope, options) {
    this.#agent = agent;
    this.#scope = scope;
    this.#options = options;
    this.#runner = new AgentExtensionRunner(scope);
  }
  #call(method, args) {
    return call(method, { ...args, agent: this.#agent });
  }
  #request(method, args) {
    return request(method, { ...args, agent: this.#agent });
  }
  #state(name) {
    return optional((this.#last?.state ?? this.#call("agent.state"))[name]);
  }

  // Called with every event of the agent.
  dispatch(event) {
    for (const listener of [...this.#listeners]) listener(event);
  }
  subscribe(listener) {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  async prompt(text, options = {}) {
    const { images, streamingBehavior, expandPromptTemplates, preflightResult } = options;
    try {
      await this.#request("agent.prompt", { text, images: images ?? [], streamingBehavior, expandPromptTemplates });
      preflightResult?.("started");
    } catch (error) {
      preflightResult?.("handled");
      throw error;
    }
  }
  async #enqueue(text, images, delivery) {
    return (await this.#request("agent.enqueue", { text, images: images ?? [], delivery })).disposition;
  }
  steer(text, images) {
    return this.#enqueue(text, images, "steer");
  }
  followUp(text, images) {
    return this.#enqueue(text, images, "followUp");
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
  async abort() {
    if (!this.#last) await this.#request("agent.abort");
  }
  async waitForIdle() {
    if (!this.#last) await this.#request("agent.waitForIdle");
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
  async bindExtensions(bindings = {}) {
    Object.assign(this.#scope.bindings, bindings);
    if (bindings.onError) this.#runner.onError(bindings.onError);
    await this.#request("agent.bind");
  }
  get extensionRunner() {
    return this.#runner;
  }
  hasExtensionHandlers(type) {
    return this.#runner.hasHandlers(type);
  }
  dispose() {
    if (this.#last) return this.#last.disposed;
    const { messages, systemPrompt } = this;
    const usage = this.getContextUsage();
    const stats = this.getSessionStats();
    this.#last = { messages, stats, systemPrompt, usage, state: { ...this.#call("agent.state"), isIdle: true, isStreaming: false } };
    this.#last.text = this.#call("agent.lastAssistantText");
    this.#listeners.clear();
    removeAgentScope(this.#agent);
    this.#options.sessionManager.release?.();
    this.#last.disposed = this.#request("agent.dispose").finally(() => unregister(this.#agent));
    return this.#last.disposed;
  }

  get messages() {
    return this.#last?.messages ?? this.#call("agent.messages");
  }
  get state() {
    const { model, thinkingLevel, isStreaming } = this.#last?.state ?? this.#call("agent.state");
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
      hasQueuedMessages: () => session.pendingMessageCount > 0,
      steer: (message) => session.sendUserMessage(message.content, { deliverAs: "steer" }),
      followUp: (message) => session.sendUserMessage(message.content, { deliverAs: "followUp" }),
    };
  }
  get systemPrompt() {
    return this.#last?.systemPrompt ?? this.#call("agent.systemPrompt");
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
    return this.#options.sessionManager;
  }
  get resourceLoader() {
    return this.#options.resourceLoader;
  }
  get settingsManager() {
    return this.#options.settingsManager;
  }
  get modelRuntime() {
    return this.#options.modelRuntime;
  }
  get modelRegistry() {
    return this.#runner.getModelRegistry();
  }
  get promptTemplates() {
    return this.#options.resourceLoader.getPrompts?.().prompts ?? [];
  }
  get retryAttempt() {
    return 0;
  }
  // Moves to another entry of the tree.
  navigateTree(targetId, options = {}) {
    return this.#scope.request("session.navigate", { targetId, ...options });
  }
  getUserMessagesForForking() {
    const isUser = (entry) => entry.type === "message" && entry.message.role === "user";
    const textOf = ({ content }) => (typeof content === "string" ? content : content.map(({ text }) => text ?? "").join(""));
    return this.#scope.call("session.entries").filter(isUser).map(({ id, message }) => ({ entryId: id, text: textOf(message) }));
  }
  getToolDefinition(name) {
    return this.#options.customTools.find((tool) => tool.name === name) ?? this.#runner.getToolDefinition(name) ?? this.getAllTools().find((tool) => tool.name === name);
  }
  refreshContext() {}
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
    return this.#last ? [] : this.#call("agent.tools");
  }
  setActiveToolsByName(names) {
    this.#call("agent.setActiveTools", { names: [...names] });
  }
  getSessionStats() {
    return this.#last?.stats ?? this.#call("agent.stats");
  }
  getContextUsage() {
    return this.#last ? this.#last.usage : optional(this.#call("agent.contextUsage"));
  }
  getLastAssistantText() {
    return optional(this.#last ? this.#last.text : this.#call("agent.lastAssistantText"));
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

// Moves extensions from their loader to an agent.
function adoptExtensions(scope, loaded) {
  scope.extensions.push(...loaded.filter((extension) => extension instanceof Extension));
  for (const extension of scope.extensions) {
    extension.scope = scope;
    extension.key = `${extension.path}#${scope.agent}`;
  }
  const described = scope.extensions.map((extension) => ({ key: extension.key, path: extension.path, registrations: describeRegistrations(extension) }));
  for (const extension of scope.extensions) extension.isBound = true;
  return described;
}

// Registers providers that no other session has registered.
function registerProviders({ key, providers, scope: { call } }) {
  const known = new Set(call("models.providers"));
  for (const { name, config } of providers.filter((provider) => !known.has(provider.name))) call("registration.provider", { extension: key, provider: describeProvider(name, config) });
}

async function createLoader({ cwd, agentDir, settingsManager }) {
  const loader = new DefaultResourceLoader({ cwd, agentDir, settingsManager });
  await loader.reload();
  return loader;
}

export async function createAgentSession(options = {}) {
  const { agentDir, model, thinkingLevel, tools, noTools, excludeTools = [], customTools = [] } = options;
  const cwd = options.cwd ?? options.sessionManager?.getCwd?.() ?? process.cwd();
  const sessionManager = options.sessionManager ?? SessionManager.create(cwd);
  const settingsManager = options.settingsManager ?? SettingsManager.create(cwd, agentDir);
  const resourceLoader = options.resourceLoader ?? (await createLoader({ cwd, agentDir, settingsManager }));
  const extensionsResult = resourceLoader.getExtensions?.() ?? { extensions: [], errors: [] };
  let session;
  const execute = async ({ name, callId, arguments: args }, signal, signalId) => {
    const tool = customTools.find((candidate) => candidate.name === name);
    const onUpdate = (partial) => void call("job.toolUpdate", { signalId, partial });
    return toolResult(await tool.execute(callId, args, signal, onUpdate, createToolContext(callId, signalId, scope)));
  };
  const failure = (error) => session?.extensionRunner.emitError(error);
  const number = register({ event: (event) => session?.dispatch(event), tool: execute, failure });
  const scope = createAgentScope(number);
  scope.sessionManager = sessionManager;
  const opened = sessionManager.openOptions;
  try {
    const started = await request("agent.create", {
      number,
      cwd,
      agentDir,
      model: model && { provider: model.provider, id: model.id },
      thinkingLevel,
      // Older extensions pass tool objects instead of names.
      tools: tools?.map((tool) => (typeof tool === "string" ? tool : tool.name)),
      noTools,
      excludeTools,
      customTools: customTools.map(describeTool),
      session: opened?.session,
      sessionDir: opened?.sessionDir,
      extensions: adoptExtensions(scope, extensionsResult.extensions ?? []),
      resources: await resourcesOf(resourceLoader),
    });
    for (const extension of scope.extensions) registerProviders(extension);
    const modelRuntime = options.modelRuntime ?? (await ModelRuntime.create());
    session = new AgentSession(number, scope, { customTools, modelRuntime, resourceLoader, sessionManager, settingsManager });
    return { session, extensionsResult, modelFallbackMessage: optional(started.modelFallbackMessage) };
  } catch (error) {
    unregister(number);
    removeAgentScope(number);
    throw error;
  }
}
