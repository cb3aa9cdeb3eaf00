// RpcClient: one method for each command of RPC mode.

import { findBinary } from "./binary.js";
import { RpcProcess } from "./rpc-process.js";

const DEFAULT_TIMEOUT_MS = 60_000;

/** Returns the program and the first arguments for a `cliPath`. */
export function launchCommand(cliPath, env) {
  if (!cliPath) return { command: findBinary(env), args: [] };
  return /\.[cm]?js$/.test(cliPath) ? { command: process.execPath, args: [cliPath] } : { command: cliPath, args: [] };
}

export class RpcClient {
  #options;
  #process = null;
  #listeners = new Set();
  #toolHandlers = new Map();
  #running = new Map();

  constructor(options = {}) {
    this.#options = options;
  }

  async start() {
    if (this.#process) throw new Error("Client already started");
    const { cliPath, cwd, env, provider, model, args = [] } = this.#options;
    const environment = { ...process.env, ...env };
    const launch = launchCommand(cliPath, environment);
    const flags = ["--mode", "rpc"];
    if (provider) flags.push("--provider", provider);
    if (model) flags.push("--model", model);
    const options = { command: launch.command, args: [...launch.args, ...flags, ...args], cwd, env: environment };
    this.#process = new RpcProcess(options, (record) => this.#handle(record));
    // The first response shows that the process has started.
    try {
      await this.#request({ type: "get_state" });
    } catch (error) {
      this.#process = null;
      throw error;
    }
  }

  async stop() {
    const process = this.#process;
    this.#process = null;
    await process?.stop();
  }

  onEvent(listener) {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  getStderr() {
    return this.#process?.stderr ?? "";
  }

  async prompt(message, images, streamingBehavior) {
    return (await this.#request({ type: "prompt", message, images, streamingBehavior })).disposition;
  }

  async steer(message, images) {
    return (await this.#request({ type: "steer", message, images })).disposition;
  }

  async followUp(message, images) {
    return (await this.#request({ type: "follow_up", message, images })).disposition;
  }

  async abort() {
    await this.#request({ type: "abort" });
  }

  clearQueue() {
    return this.#request({ type: "clear_queue" });
  }

  newSession(parentSession) {
    return this.#request({ type: "new_session", parentSession });
  }

  getState() {
    return this.#request({ type: "get_state" });
  }

  setModel(provider, modelId) {
    return this.#request({ type: "set_model", provider, modelId });
  }

  cycleModel() {
    return this.#request({ type: "cycle_model" });
  }

  async getAvailableModels() {
    return (await this.#request({ type: "get_available_models" })).models;
  }

  async setThinkingLevel(level) {
    await this.#request({ type: "set_thinking_level", level });
  }

  cycleThinkingLevel() {
    return this.#request({ type: "cycle_thinking_level" });
  }

  async getAvailableThinkingLevels() {
    return (await this.#request({ type: "get_available_thinking_levels" })).levels;
  }

  async setSteeringMode(mode) {
    await this.#request({ type: "set_steering_mode", mode });
  }

  async setFollowUpMode(mode) {
    await this.#request({ type: "set_follow_up_mode", mode });
  }

  compact(customInstructions) {
    return this.#request({ type: "compact", customInstructions });
  }

  async setAutoCompaction(enabled) {
    await this.#request({ type: "set_auto_compaction", enabled });
  }

  async setAutoRetry(enabled) {
    await this.#request({ type: "set_auto_retry", enabled });
  }

  async abortRetry() {
    await this.#request({ type: "abort_retry" });
  }

  bash(command, options = {}) {
    return this.#request({ type: "bash", command, ...options });
  }

  async abortBash() {
    await this.#request({ type: "abort_bash" });
  }

  getSessionStats() {
    return this.#request({ type: "get_session_stats" });
  }

  exportHtml(outputPath) {
    return this.#request({ type: "export_html", outputPath });
  }

  switchSession(sessionPath) {
    return this.#request({ type: "switch_session", sessionPath });
  }

  fork(entryId) {
    return this.#request({ type: "fork", entryId });
  }

  clone() {
    return this.#request({ type: "clone" });
  }

  async getForkMessages() {
    return (await this.#request({ type: "get_fork_messages" })).messages;
  }

  getEntries(since) {
    return this.#request({ type: "get_entries", since });
  }

  getTree() {
    return this.#request({ type: "get_tree" });
  }

  async getLastAssistantText() {
    return (await this.#request({ type: "get_last_assistant_text" })).text;
  }

  async setSessionName(name) {
    await this.#request({ type: "set_session_name", name });
  }

  async getMessages() {
    return (await this.#request({ type: "get_messages" })).messages;
  }

  async getCommands() {
    return (await this.#request({ type: "get_commands" })).commands;
  }

  /** Registers tools that this program implements; replaces earlier ones. */
  async registerTools(tools) {
    this.#toolHandlers = new Map(tools.map((tool) => [tool.name, tool]));
    await this.#request({ type: "register_tools", tools: tools.map(toolDeclaration) });
  }

  waitForIdle(timeout = DEFAULT_TIMEOUT_MS) {
    return this.#until(timeout).promise.then(() => {});
  }

  collectEvents(timeout = DEFAULT_TIMEOUT_MS) {
    return this.#until(timeout).promise;
  }

  async promptAndWait(message, images, timeout = DEFAULT_TIMEOUT_MS) {
    const collecting = this.#until(timeout);
    // A rejected prompt is reported below.
    collecting.promise.catch(() => {});
    let disposition;
    try {
      disposition = await this.prompt(message, images);
    } catch (error) {
      collecting.cancel();
      throw error;
    }
    if (disposition === "handled") {
      collecting.cancel();
      return collecting.events;
    }
    return collecting.promise;
  }

  /** Collects events until the session is idle. */
  #until(timeout) {
    const events = [];
    let cancel;
    const promise = new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        unsubscribe();
        reject(new Error(`Timeout waiting for agent to become idle. Stderr: ${this.getStderr()}`));
      }, timeout);
      const unsubscribe = this.onEvent((event) => {
        events.push(event);
        if (event.type !== "agent_settled") return;
        cancel();
        resolve(events);
      });
      cancel = () => {
        clearTimeout(timer);
        unsubscribe();
      };
    });
    return { promise, events, cancel };
  }

  #handle(record) {
    if (runToolLine(record, this.#process, this.#toolHandlers, this.#running)) return;
    for (const listener of [...this.#listeners]) listener(record);
  }

  async #request(command) {
    if (!this.#process) throw new Error("Client not started");
    return this.#process.request(command);
  }
}

/** Returns the declaration of a tool for `register_tools`. */
export function toolDeclaration(tool) {
  const { name, label, description = "", parameters, promptSnippet, promptGuidelines, executionMode } = tool;
  return {
    name,
    label,
    description,
    parameters: parameters ?? { type: "object", properties: {} },
    promptSnippet,
    promptGuidelines,
    executionMode,
  };
}

/** Handles a line about a call of a tool of this program; returns whether it was one. */
export function runToolLine(record, process, tools, running, context) {
  if (record.type === "tool_call_cancelled") {
    running.get(record.id)?.abort();
    return true;
  }
  if (record.type !== "tool_call_request") return false;
  const { id, toolCallId, toolName, args } = record;
  const controller = new AbortController();
  running.set(id, controller);
  const update = (partialResult) => process.write({ type: "tool_call_update", id, partialResult: output(partialResult) });
  const call = async () => {
    const tool = tools.get(toolName);
    if (!tool) throw new Error(`Unknown tool: ${toolName}`);
    const prepared = tool.prepareArguments ? tool.prepareArguments(args) : args;
    return output(await tool.execute(toolCallId, prepared, controller.signal, update, context));
  };
  call()
    .then((result) => process.write({ type: "tool_call_result", id, result }))
    .catch((error) => {
      const text = error instanceof Error ? error.message : String(error);
      process.write({ type: "tool_call_result", id, error: text });
    })
    .finally(() => running.delete(id));
  return true;
}

function output(result) {
  if (typeof result === "string") return { content: [{ type: "text", text: result }] };
  return { ...result, content: result?.content ?? [] };
}
