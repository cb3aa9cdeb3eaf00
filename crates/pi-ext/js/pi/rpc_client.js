// Client for a pi subprocess in RPC mode.
import { spawn } from "node:child_process";
import { StringDecoder } from "node:string_decoder";
import { programFile } from "pi:host";

// Milliseconds until a command times out, and between SIGTERM and SIGKILL.
const RESPONSE_TIMEOUT = 30000;
const KILL_DELAY = 1000;
// Number of characters of stderr to keep.
const MAX_STDERR = 1024 * 1024;

export class RpcClient {
  #options;
  #process;
  #listeners = new Set();
  #pending = new Map();
  #lastId = 0;
  #stderr = "";
  #exitError;

  constructor(options = {}) {
    this.#options = options;
  }

  async start() {
    if (this.#process) throw new Error("the client is already started");
    const { cliPath, cwd, env, provider, model, args = [] } = this.#options;
    const cliArgs = ["--mode", "rpc", ...(provider ? ["--provider", provider] : []), ...(model ? ["--model", model] : []), ...args];
    // Scripts run on Node; pi itself is an executable.
    const isScript = /\.[cm]?[jt]s$/.test(cliPath ?? "");
    const [command, commandArgs] = isScript ? ["node", [cliPath, ...cliArgs]] : [cliPath ?? programFile(), cliArgs];
    const child = spawn(command, commandArgs, { cwd, env: { ...process.env, ...env }, stdio: ["pipe", "pipe", "pipe"] });
    this.#process = child;
    this.#exitError = undefined;
    child.stderr.on("data", (data) => (this.#stderr = (this.#stderr + data.toString()).slice(-MAX_STDERR)));
    child.stdin.on("error", () => {});
    this.#read(child.stdout);
    child.once("error", (error) => this.#close(error));
    child.once("exit", (code, signal) => this.#close(new Error(`pi exited (${signal ?? `code ${code}`})${this.#stderr ? `: ${this.#stderr.trim()}` : ""}`)));
    // The first response means that pi is ready.
    await this.getState();
  }

  async stop() {
    const child = this.#process;
    if (!child) return;
    const exited = new Promise((resolve) => child.once("exit", resolve));
    this.#close(new Error("the client was stopped"));
    child.kill("SIGTERM");
    const timer = setTimeout(() => child.kill("SIGKILL"), KILL_DELAY);
    await exited;
    clearTimeout(timer);
  }

  #close(error) {
    this.#exitError ??= error;
    for (const { reject } of this.#pending.values()) reject(this.#exitError);
    this.#pending.clear();
    this.#process = undefined;
  }

  #read(stream) {
    const decoder = new StringDecoder("utf8");
    let buffered = "";
    stream.on("data", (data) => {
      const lines = (buffered + decoder.write(data)).split("\n");
      buffered = lines.pop();
      for (const line of lines) this.#handleLine(line);
    });
  }

  #handleLine(line) {
    let message;
    try {
      message = JSON.parse(line);
    } catch {
      return;
    }
    const waiting = message?.type === "response" ? this.#pending.get(message.id) : undefined;
    if (!waiting) {
      for (const listener of [...this.#listeners]) listener(message);
      return;
    }
    this.#pending.delete(message.id);
    waiting.resolve(message);
  }

  async #request(type, values = {}) {
    if (!this.#process) throw this.#exitError ?? new Error("the client is not started");
    const id = `req_${++this.#lastId}`;
    const response = new Promise((resolve, reject) => this.#pending.set(id, { resolve, reject }));
    const timer = setTimeout(() => {
      this.#pending.get(id)?.reject(new Error(`no response to ${type} within ${RESPONSE_TIMEOUT / 1000} s`));
      this.#pending.delete(id);
    }, RESPONSE_TIMEOUT);
    this.#process.stdin.write(`${JSON.stringify({ ...values, id, type })}\n`);
    try {
      const { success, error, data } = await response;
      if (!success) throw new Error(error);
      return data;
    } finally {
      clearTimeout(timer);
    }
  }
  async #command(type, values) {
    await this.#request(type, values);
  }

  onEvent(listener) {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }
  getStderr() {
    return this.#stderr;
  }

  // Waits until the agent settles. `onEvent` receives all events until then.
  #untilSettled(timeout, onEvent = undefined) {
    return new Promise((resolve, reject) => {
      let timer;
      const settle = (finish, value) => {
        clearTimeout(timer);
        unsubscribe();
        finish(value);
      };
      const unsubscribe = this.onEvent((event) => {
        onEvent?.(event);
        if (event.type === "agent_settled") settle(resolve);
      });
      timer = setTimeout(() => settle(reject, new Error(`the agent did not settle within ${timeout / 1000} s. ${this.#stderr}`.trim())), timeout);
      this.#process?.once("exit", () => settle(reject, this.#exitError ?? new Error("pi exited")));
    });
  }
  waitForIdle(timeout = 60000) {
    return this.#untilSettled(timeout);
  }
  async collectEvents(timeout = 60000) {
    const events = [];
    await this.#untilSettled(timeout, (event) => events.push(event));
    return events;
  }
  async promptAndWait(message, images, timeout = 60000) {
    const events = this.collectEvents(timeout);
    try {
      await this.prompt(message, images);
    } catch (error) {
      events.catch(() => {});
      throw error;
    }
    return events;
  }

  // Messages resolve to what became of them: "started", "queued" or "handled". A handled one starts no run.
  async #message(type, values) {
    return (await this.#request(type, values)).disposition;
  }
  prompt(message, images, streamingBehavior) {
    return this.#message("prompt", { message, images, streamingBehavior });
  }
  steer(message, images) {
    return this.#message("steer", { message, images });
  }
  followUp(message, images) {
    return this.#message("follow_up", { message, images });
  }
  abort() {
    return this.#command("abort");
  }
  clearQueue() {
    return this.#request("clear_queue");
  }
  newSession(parentSession) {
    return this.#request("new_session", { parentSession });
  }
  getState() {
    return this.#request("get_state");
  }
  setModel(provider, modelId) {
    return this.#request("set_model", { provider, modelId });
  }
  cycleModel() {
    return this.#request("cycle_model");
  }
  async getAvailableModels() {
    return (await this.#request("get_available_models")).models;
  }
  setThinkingLevel(level) {
    return this.#command("set_thinking_level", { level });
  }
  cycleThinkingLevel() {
    return this.#request("cycle_thinking_level");
  }
  async getAvailableThinkingLevels() {
    return (await this.#request("get_available_thinking_levels")).levels;
  }
  setSteeringMode(mode) {
    return this.#command("set_steering_mode", { mode });
  }
  setFollowUpMode(mode) {
    return this.#command("set_follow_up_mode", { mode });
  }
  compact(customInstructions) {
    return this.#request("compact", { customInstructions });
  }
  setAutoCompaction(enabled) {
    return this.#command("set_auto_compaction", { enabled });
  }
  setAutoRetry(enabled) {
    return this.#command("set_auto_retry", { enabled });
  }
  abortRetry() {
    return this.#command("abort_retry");
  }
  bash(command) {
    return this.#request("bash", { command });
  }
  abortBash() {
    return this.#command("abort_bash");
  }
  getSessionStats() {
    return this.#request("get_session_stats");
  }
  exportHtml(outputPath) {
    return this.#request("export_html", { outputPath });
  }
  switchSession(sessionPath) {
    return this.#request("switch_session", { sessionPath });
  }
  fork(entryId) {
    return this.#request("fork", { entryId });
  }
  clone() {
    return this.#request("clone");
  }
  async getForkMessages() {
    return (await this.#request("get_fork_messages")).messages;
  }
  getEntries(since) {
    return this.#request("get_entries", { since });
  }
  getTree() {
    return this.#request("get_tree");
  }
  async getLastAssistantText() {
    return (await this.#request("get_last_assistant_text")).text ?? null;
  }
  setSessionName(name) {
    return this.#command("set_session_name", { name });
  }
  async getMessages() {
    return (await this.#request("get_messages")).messages;
  }
  async getCommands() {
    return (await this.#request("get_commands")).commands;
  }
}
