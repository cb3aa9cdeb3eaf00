// AgentSession: a session in a pi process, with the state that programs read kept in this one.

import { writeFileSync } from "node:fs";
import { GrowingMessage } from "./growing-message.js";
import { runToolLine, toolDeclaration } from "./rpc-client.js";
import { RpcProcess } from "./rpc-process.js";
import { messageText } from "./session-entries.js";
import { calculateContextTokens } from "./text.js";
import { UnsupportedError } from "./unsupported-error.js";

const NO_MODEL = "unknown";

/** Calls a listener; its failure does not affect others. */
function notify(listener, event) {
  try {
    const result = listener(event);
    result?.catch?.((error) => console.error("Event listener failed:", error));
  } catch (error) {
    console.error("Event listener failed:", error);
  }
}

export class AgentSession {
  #process;
  #listeners = new Set();
  #state = {};
  #messages = [];
  #growing = new GrowingMessage();
  #levels = [];
  #tools = [];
  #commands = [];
  #stats = {};
  #queue = { steering: [], followUp: [] };
  #waiters = [];
  #idle = [];
  #release = null;
  #stale = false;
  #customTools;
  #runningTools = new Map();
  #bindings = {};
  #bashOutput = new Map();
  #retryAttempt = 0;
  #scopedModels;
  #cleanup;
  #isDisposed = false;

  /** Use `createAgentSession`. */
  constructor(parts) {
    const { launch, sessionManager, settingsManager, modelRegistry, resourceLoader, customTools = [], scopedModels = [] } = parts;
    this.sessionManager = sessionManager;
    this.settingsManager = settingsManager;
    this.modelRegistry = modelRegistry;
    this.modelRuntime = modelRegistry;
    this.resourceLoader = resourceLoader;
    this.#scopedModels = scopedModels;
    this.#cleanup = parts.cleanup ?? (() => {});
    this.#customTools = new Map(customTools.map((tool) => [tool.name, tool]));
    this.#process = new RpcProcess(
      { ...launch, background: true },
      (record) => this.#receive(record),
      (error) => this.#handleExit(error),
    );
    this.agent = createAgentView(this);
    this.extensionRunner = createRunnerView(this);
  }

  /** Registers the tools of the program and reads the state of the session. */
  async _start() {
    await this.#registerTools();
    const [models] = await Promise.all([this.#request({ type: "get_available_models" }), this.#refreshAll()]);
    this.modelRegistry?._setModels?.(models.models);
    this.sessionManager._attach(this);
  }

  async #registerTools() {
    if (this.#customTools.size === 0) return;
    await this.#request({ type: "register_tools", tools: [...this.#customTools.values()].map(toolDeclaration) });
  }

  async #refreshAll() {
    const [, , entries, tools, commands] = await Promise.all([
      this.#refreshState(),
      this.#refreshMessages(),
      this.#request({ type: "get_entries" }),
      this.#request({ type: "get_tools" }),
      this.#request({ type: "get_commands" }),
    ]);
    this.#tools = tools.tools;
    this.#commands = commands.commands;
    this.resourceLoader?._setCommands?.(this.#commands);
    this.sessionManager._synchronize({
      header: { id: this.#state.sessionId },
      file: this.#state.sessionFile,
      ...entries,
    });
  }

  async #refreshState() {
    const [state, stats, levels] = await Promise.all([
      this.#request({ type: "get_state" }),
      this.#request({ type: "get_session_stats" }),
      this.#request({ type: "get_available_thinking_levels" }),
    ]);
    this.#state = state;
    this.#stats = stats;
    this.#levels = levels.levels;
  }

  async #refreshMessages() {
    this.#messages = (await this.#request({ type: "get_messages" })).messages;
  }

  async #refreshEntries() {
    const { entries, leafId } = await this.#request({ type: "get_entries", since: this.sessionManager.getEntries().at(-1)?.id });
    for (const entry of entries) this.sessionManager._append(entry);
    this.sessionManager._setLeaf(leafId);
  }

  #request(command, onResponse) {
    if (this.#isDisposed) return Promise.reject(new Error("The session is disposed"));
    return this.#process.request(command, onResponse);
  }

  /** Sends a command whose outcome the caller does not wait for; failures are reported as a warning. */
  #send(command) {
    const sent = this.#request(command);
    sent.catch((error) => process.emitWarning(`${command.type}: ${error.message}`, "PiWarning"));
    return sent;
  }

  // Events

  #receive(record) {
    if (runToolLine(record, this.#process, this.#customTools, this.#runningTools, createToolContext(this))) return;
    switch (record.type) {
      case "extension_ui_request":
        void this.#answerDialog(record);
        return;
      case "extension_error":
        this.#bindings.onError?.(record);
        return;
      case "response":
        return;
    }
    this.#track(record);
    for (const listener of [...this.#listeners]) notify(listener, record);
    if (record.type === "agent_settled") void this.#settle();
  }

  /** Updates the state before listeners see the event. */
  #track(event) {
    switch (event.type) {
      case "agent_start":
        this.#state.isStreaming = true;
        this.#release ??= this.#process.hold();
        break;
      case "message_start":
        this.#growing.start(event.message);
        break;
      case "message_update": {
        const partial = this.#growing.update(event.assistantMessageEvent);
        event.message = partial;
        event.assistantMessageEvent.partial = partial;
        break;
      }
      case "message_end":
        this.#growing.start({});
        this.#messages.push(event.message);
        this.#count(event.message);
        break;
      case "entry_appended":
        this.sessionManager._append(event.entry);
        break;
      case "queue_update":
        this.#queue = { steering: event.steering, followUp: event.followUp };
        break;
      case "session_info_changed":
        this.#state.sessionName = event.name;
        break;
      case "thinking_level_changed":
        this.#state.thinkingLevel = event.level;
        break;
      case "auto_retry_start":
        this.#retryAttempt = event.attempt;
        this.#stale = true;
        break;
      case "auto_retry_end":
        this.#retryAttempt = 0;
        break;
      case "compaction_start":
        this.#state.isCompacting = true;
        break;
      case "compaction_end":
        this.#state.isCompacting = false;
        this.#stale = true;
        break;
      case "bash_execution_update":
        this.#bashOutput.get(event.id)?.(event.delta);
        break;
    }
  }

  /** Adds a message to the statistics; those of the agent replace them at the end of the run. */
  #count(message) {
    const stats = this.#stats;
    const field = { user: "userMessages", assistant: "assistantMessages", toolResult: "toolResults" }[message.role];
    if (!field || !stats.tokens) return;
    stats[field] += 1;
    stats.totalMessages += 1;
    const { usage } = message;
    if (message.role !== "assistant" || !usage) return;
    stats.toolCalls += message.content.filter((block) => block.type === "toolCall").length;
    for (const name of ["input", "output", "cacheRead", "cacheWrite"]) stats.tokens[name] += usage[name] ?? 0;
    const tokens = calculateContextTokens(usage);
    stats.tokens.total += tokens;
    stats.cost += usage.cost?.total ?? 0;
    const { contextWindow } = stats.contextUsage ?? {};
    if (contextWindow && tokens > 0) stats.contextUsage = { tokens, contextWindow, percent: (tokens / contextWindow) * 100 };
  }

  async #settle() {
    this.#state.isStreaming = false;
    try {
      const refreshing = [this.#refreshState(), this.#refreshEntries()];
      if (this.#stale) refreshing.push(this.#refreshMessages());
      this.#stale = false;
      await Promise.all(refreshing);
    } catch {
      // The process has ended; its exit is reported.
    }
    // Another run may have started in the meantime.
    if (this.#state.isStreaming) return;
    this.#release?.();
    this.#release = null;
    for (const resolve of this.#waiters.splice(0)) resolve();
    for (const resolve of this.#idle.splice(0)) resolve();
  }

  #handleExit(error) {
    this.#state.isStreaming = false;
    this.sessionManager._detach();
    for (const waiter of [...this.#waiters.splice(0), ...this.#idle.splice(0)]) waiter(this.#isDisposed ? undefined : error);
    this.#cleanup();
  }

  subscribe(listener) {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  // Prompts

  async prompt(text, options = {}) {
    const { images, streamingBehavior, preflightResult } = options;
    let settled;
    const started = ({ disposition }) => {
      preflightResult?.(disposition);
      if (disposition === "started") settled = this.#untilSettled();
    };
    await this.#request({ type: "prompt", message: text, images, streamingBehavior }, started);
    await settled;
  }

  #untilSettled() {
    this.#state.isStreaming = true;
    this.#release ??= this.#process.hold();
    return new Promise((resolve, reject) => this.#waiters.push((error) => (error ? reject(error) : resolve())));
  }

  async steer(text, images) {
    return (await this.#request({ type: "steer", message: text, images })).disposition;
  }

  async followUp(text, images) {
    return (await this.#request({ type: "follow_up", message: text, images })).disposition;
  }

  async sendUserMessage(content, options = {}) {
    const blocks = typeof content === "string" ? [{ type: "text", text: content }] : content;
    const images = blocks.filter((block) => block.type === "image");
    await this.prompt(messageText({ content: blocks }), { images, streamingBehavior: options.deliverAs });
  }

  sendCustomMessage() {
    throw new UnsupportedError("sendCustomMessage", "Use sendUserMessage, or send it from an extension file.");
  }

  async abort() {
    await this.#request({ type: "abort" });
    await this.waitForIdle();
  }

  async waitForIdle() {
    if (!this.#state.isStreaming) return;
    await new Promise((resolve, reject) => this.#idle.push((error) => (error ? reject(error) : resolve())));
  }

  clearQueue() {
    const queue = { steering: [...this.#queue.steering], followUp: [...this.#queue.followUp] };
    this.#queue = { steering: [], followUp: [] };
    void this.#send({ type: "clear_queue" });
    return queue;
  }

  // State

  get state() {
    const { model, thinkingLevel, isStreaming } = this;
    return {
      model,
      thinkingLevel,
      isStreaming,
      systemPrompt: this.systemPrompt,
      tools: this.getAllTools(),
      messages: this.#messages,
      streamMessage: this.#growing.message,
      streamingMessage: this.#growing.message,
      pendingToolCalls: new Set(),
      error: undefined,
    };
  }

  get messages() {
    return this.#messages;
  }

  get model() {
    const { model } = this.#state;
    return model?.id === NO_MODEL ? undefined : model;
  }

  get thinkingLevel() {
    return this.#state.thinkingLevel;
  }

  get isStreaming() {
    return this.#state.isStreaming ?? false;
  }

  get isIdle() {
    return !this.isStreaming && !this.isCompacting;
  }

  get isCompacting() {
    return this.#state.isCompacting ?? false;
  }

  get isRetrying() {
    return this.#retryAttempt > 0;
  }

  get retryAttempt() {
    return this.#retryAttempt;
  }

  get isBashRunning() {
    return this.#bashOutput.size > 0;
  }

  get sessionFile() {
    return this.#state.sessionFile;
  }

  get sessionId() {
    return this.#state.sessionId;
  }

  get sessionName() {
    return this.#state.sessionName;
  }

  get steeringMode() {
    return this.#state.steeringMode;
  }

  get followUpMode() {
    return this.#state.followUpMode;
  }

  get autoCompactionEnabled() {
    return this.#state.autoCompactionEnabled;
  }

  get pendingMessageCount() {
    return this.#queue.steering.length + this.#queue.followUp.length;
  }

  getSteeringMessages() {
    return this.#queue.steering;
  }

  getFollowUpMessages() {
    return this.#queue.followUp;
  }

  get scopedModels() {
    return this.#scopedModels;
  }

  /** The text of the system message, once the first prompt was sent. */
  get systemPrompt() {
    const message = this.#messages.findLast((it) => it.role === "system");
    return message ? messageText(message) : "";
  }

  get promptTemplates() {
    const templates = this.#commands.filter((command) => command.source === "prompt");
    return templates.map(({ name, description, sourceInfo }) => ({ name, description, sourceInfo, filePath: sourceInfo?.path }));
  }

  /** Returns the commands of extensions, templates and skills. */
  getCommands() {
    return this.#commands;
  }

  getSessionStats() {
    return this.#stats;
  }

  getContextUsage() {
    return this.#stats.contextUsage;
  }

  getLastAssistantText() {
    const message = this.#messages.findLast((it) => it.role === "assistant" && messageText(it));
    return message ? messageText(message).trim() : undefined;
  }

  getUserMessagesForForking() {
    const entries = this.sessionManager.getEntries().filter((entry) => entry.message?.role === "user");
    return entries.map((entry) => ({ entryId: entry.id, text: messageText(entry.message) })).filter((it) => it.text);
  }

  // Models

  async setModel(model) {
    this.#state.model = await this.#request({ type: "set_model", provider: model.provider, modelId: model.id });
    await this.#refreshState();
  }

  async cycleModel(direction = "forward") {
    if (direction !== "forward") throw new UnsupportedError('cycleModel("backward")', "Use setModel.");
    const result = await this.#request({ type: "cycle_model" });
    await this.#refreshState();
    return result ?? undefined;
  }

  setThinkingLevel(level) {
    this.#state.thinkingLevel = this.#levels.includes(level) ? level : this.#state.thinkingLevel;
    return this.#send({ type: "set_thinking_level", level }).then(() => this.#refreshState());
  }

  cycleThinkingLevel() {
    if (!this.supportsThinking()) return undefined;
    const at = this.#levels.indexOf(this.#state.thinkingLevel);
    const level = this.#levels[(at + 1) % this.#levels.length];
    void this.setThinkingLevel(level);
    return level;
  }

  getAvailableThinkingLevels() {
    return [...this.#levels];
  }

  supportsThinking() {
    return this.model?.reasoning ?? false;
  }

  setScopedModels() {
    throw new UnsupportedError("setScopedModels", "Pass scopedModels to createAgentSession.");
  }

  // Settings of the session

  setSteeringMode(mode) {
    this.#state.steeringMode = mode;
    return this.#send({ type: "set_steering_mode", mode });
  }

  setFollowUpMode(mode) {
    this.#state.followUpMode = mode;
    return this.#send({ type: "set_follow_up_mode", mode });
  }

  setAutoCompactionEnabled(enabled) {
    this.#state.autoCompactionEnabled = enabled;
    return this.#send({ type: "set_auto_compaction", enabled });
  }

  get autoRetryEnabled() {
    return this.settingsManager?.getRetryEnabled() ?? true;
  }

  setAutoRetryEnabled(enabled) {
    return this.#send({ type: "set_auto_retry", enabled });
  }

  abortRetry() {
    return this.#send({ type: "abort_retry" });
  }

  setSessionName(name) {
    this.#state.sessionName = name;
    return this.#send({ type: "set_session_name", name });
  }

  _setLabel(entryId, label) {
    return this.#send({ type: "set_label", entryId, label });
  }

  // Tools

  getAllTools() {
    return this.#tools.map(({ active: _active, ...tool }) => ({ ...this.#customTools.get(tool.name), ...tool }));
  }

  getActiveToolNames() {
    return this.#tools.filter((tool) => tool.active).map((tool) => tool.name);
  }

  getToolDefinition(name) {
    return this.#customTools.get(name) ?? this.#tools.find((tool) => tool.name === name);
  }

  setActiveToolsByName(names) {
    this.#tools = this.#tools.map((tool) => ({ ...tool, active: names.includes(tool.name) }));
    return this.#send({ type: "set_active_tools", tools: names });
  }

  // History

  async compact(customInstructions) {
    const result = await this.#request({ type: "compact", customInstructions });
    await Promise.all([this.#refreshState(), this.#refreshMessages(), this.#refreshEntries()]);
    return result;
  }

  abortCompaction() {
    return this.#send({ type: "abort" });
  }

  abortBranchSummary() {
    return this.#send({ type: "abort" });
  }

  async navigateTree(entryId, options = {}) {
    const { summarize, customInstructions, label } = options;
    const result = await this.#request({ type: "navigate_tree", entryId, summarize, customInstructions });
    if (label && !result.cancelled) await this.#request({ type: "set_label", entryId, label });
    await Promise.all([this.#refreshState(), this.#refreshMessages(), this.#refreshEntries()]);
    return { cancelled: result.cancelled, editorText: result.text ?? undefined };
  }

  /** Replaces the session; listeners stay subscribed. */
  async #replace(command) {
    const result = await this.#request(command);
    if (!result.cancelled) {
      await this.#registerTools();
      await this.#refreshAll();
    }
    return result;
  }

  async newSession(options = {}) {
    return this.#replace({ type: "new_session", parentSession: options.parentSession });
  }

  async switchSession(sessionPath) {
    return this.#replace({ type: "switch_session", sessionPath });
  }

  async fork(entryId) {
    const { text, cancelled } = await this.#replace({ type: "fork", entryId });
    return { cancelled, selectedText: text };
  }

  async clone() {
    return this.#replace({ type: "clone" });
  }

  async reload() {
    throw new UnsupportedError("reload", "Dispose the session and create it again with SessionManager.open.");
  }

  async exportToHtml(outputPath) {
    return (await this.#request({ type: "export_html", outputPath })).path;
  }

  exportToJsonl(outputPath = `${this.sessionId}.jsonl`) {
    let parentId = null;
    const records = [{ ...this.sessionManager.getHeader(), timestamp: new Date().toISOString() }];
    for (const entry of this.sessionManager.getBranch()) {
      records.push({ ...entry, parentId });
      parentId = entry.id;
    }
    writeFileSync(outputPath, records.map((record) => `${JSON.stringify(record)}\n`).join(""));
    return outputPath;
  }

  // Shell commands

  async executeBash(command, onChunk, options = {}) {
    if (options.operations) throw new UnsupportedError("executeBash with operations", "Run the command in this program.");
    const id = `bash_${this.#bashOutput.size + 1}_${Date.now()}`;
    this.#bashOutput.set(id, (delta) => onChunk?.(delta));
    try {
      return await this.#request({ type: "bash", id, command, excludeFromContext: options.excludeFromContext });
    } finally {
      this.#bashOutput.delete(id);
      await Promise.all([this.#refreshMessages(), this.#refreshEntries()]).catch(() => {});
    }
  }

  abortBash() {
    return this.#send({ type: "abort_bash" });
  }

  // Extensions

  /** Shows dialogs and notices of extensions with `uiContext`, and reports their errors to `onError`. */
  async bindExtensions(bindings = {}) {
    this.#bindings = { ...this.#bindings, ...bindings };
  }

  hasExtensionHandlers() {
    return false;
  }

  async #answerDialog(request) {
    const { id, method } = request;
    const answer = (fields) => this.#process.write({ type: "extension_ui_response", id, ...fields });
    const ui = this.#bindings.uiContext;
    try {
      switch (method) {
        case "select":
          answer(asValue(await ui?.select?.(request.title, request.options, { timeout: request.timeout })));
          break;
        case "input":
          answer(asValue(await ui?.input?.(request.title, request.placeholder, { timeout: request.timeout })));
          break;
        case "editor":
          answer(asValue(await ui?.editor?.(request.title, request.prefill)));
          break;
        case "confirm":
          if (ui?.confirm) answer({ confirmed: await ui.confirm(request.title, request.message, { timeout: request.timeout }) });
          else answer({ cancelled: true });
          break;
        case "notify":
          ui?.notify?.(request.message, request.notifyType);
          break;
        case "setStatus":
          ui?.setStatus?.(request.statusKey, request.statusText);
          break;
        case "setWidget":
          ui?.setWidget?.(request.widgetKey, request.widgetLines, { placement: request.widgetPlacement });
          break;
        case "setTitle":
          ui?.setTitle?.(request.title);
          break;
        case "set_editor_text":
          ui?.setEditorText?.(request.text);
          break;
      }
    } catch (error) {
      answer({ cancelled: true });
      this.#bindings.onError?.({ extensionPath: "<ui>", event: method, error: error.message });
    }
  }

  /** Ends the process. The session file keeps everything that was published. */
  dispose() {
    if (this.#isDisposed) return;
    this.#isDisposed = true;
    this.#listeners.clear();
    for (const controller of this.#runningTools.values()) controller.abort();
    this._stopped = this.#process.stop();
  }

  async [Symbol.asyncDispose]() {
    this.dispose();
    await this._stopped;
  }
}

function asValue(value) {
  return value === undefined || value === null ? { cancelled: true } : { value };
}

/** What `session.agent` offers to programs. */
function createAgentView(session) {
  return {
    get state() {
      return session.state;
    },
    get sessionId() {
      return session.sessionId;
    },
    subscribe: (listener) => session.subscribe(listener),
    abort: () => session.abort(),
    waitForIdle: () => session.waitForIdle(),
    steer: (message) => session.steer(messageText(message)),
    followUp: (message) => session.followUp(messageText(message)),
    prompt: (message, images) => session.prompt(typeof message === "string" ? message : messageText(message), { images }),
    hasQueuedMessages: () => session.pendingMessageCount > 0,
    clearAllQueues: () => session.clearQueue(),
  };
}

/** What `session.extensionRunner` offers: the extensions run in the other process. */
function createRunnerView(session) {
  const commands = () => session.getCommands().filter((command) => command.source === "extension");
  return {
    getRegisteredCommands: () => commands().map((command) => ({ ...command, invocationName: command.name })),
    getCommand: (name) => commands().find((command) => command.name === name),
    getExtensionPaths: () => [...new Set(commands().map((command) => command.sourceInfo?.path).filter(Boolean))],
    hasHandlers: () => false,
    emit: async () => undefined,
    onError: () => () => {},
  };
}

/** The context that tools of the program receive. */
function createToolContext(session) {
  return {
    cwd: session.sessionManager.getCwd(),
    sessionManager: session.sessionManager,
    modelRegistry: session.modelRegistry,
    hasUI: false,
    get model() {
      return session.model;
    },
    isIdle: () => session.isIdle,
    hasPendingMessages: () => session.pendingMessageCount > 0,
    abort: () => void session.abort(),
    getContextUsage: () => session.getContextUsage(),
  };
}
