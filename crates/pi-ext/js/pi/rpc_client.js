// Another pi as a program of its own, spoken to over its line protocol.
import { spawn } from "node:child_process";
import { StringDecoder } from "node:string_decoder";
import { programFile } from "pi:host";

// How long a command may take to be answered, and a program to end once it is asked to.
const PATIENCE = 30000;
const FAREWELL = 1000;
// What is kept of its standard error.
const LONGEST_NOISE = 1024 * 1024;

export class RpcClient {
  #options;
  #process;
  #listeners = new Set();
  #pending = new Map();
  #last = 0;
  #noise = "";
  #ended;

  constructor(options = {}) {
    this.#options = options;
  }

  async start() {
    if (this.#process) throw new Error("the client has been started already");
    const { cliPath, cwd, env, provider, model, args = [] } = this.#options;
    const words = ["--mode", "rpc", ...(provider ? ["--provider", provider] : []), ...(model ? ["--model", model] : []), ...args];
    // A program of Node needs Node; ours is one by itself.
    const isScript = /\.[cm]?[jt]s$/.test(cliPath ?? "");
    const [command, given] = isScript ? ["node", [cliPath, ...words]] : [cliPath ?? programFile(), words];
    const child = spawn(command, given, { cwd, env: { ...process.env, ...env }, stdio: ["pipe", "pipe", "pipe"] });
    this.#process = child;
    this.#ended = undefined;
    child.stderr.on("data", (data) => (this.#noise = (this.#noise + data.toString()).slice(-LONGEST_NOISE)));
    child.stdin.on("error", () => {});
    this.#read(child.stdout);
    child.once("error", (error) => this.#end(error));
    child.once("exit", (code, signal) => this.#end(new Error(`pi has ended (${signal ?? `code ${code}`})${this.#noise ? `: ${this.#noise.trim()}` : ""}`)));
    // It answers as soon as it can be used.
    await this.getState();
  }

  async stop() {
    const child = this.#process;
    if (!child) return;
    const gone = new Promise((resolve) => child.once("exit", resolve));
    this.#end(new Error("the client was stopped"));
    child.kill("SIGTERM");
    const timer = setTimeout(() => child.kill("SIGKILL"), FAREWELL);
    await gone;
    clearTimeout(timer);
  }

  #end(error) {
    this.#ended ??= error;
    for (const { reject } of this.#pending.values()) reject(this.#ended);
    this.#pending.clear();
    this.#process = undefined;
  }

  #read(stream) {
    const decoder = new StringDecoder("utf8");
    let held = "";
    stream.on("data", (data) => {
      const lines = (held + decoder.write(data)).split("\n");
      held = lines.pop();
      for (const line of lines) this.#take(line);
    });
  }

  #take(line) {
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

  async #ask(type, values = {}) {
    if (!this.#process) throw this.#ended ?? new Error("the client has not been started");
    const id = `req_${++this.#last}`;
    const answer = new Promise((resolve, reject) => this.#pending.set(id, { resolve, reject }));
    const timer = setTimeout(() => {
      this.#pending.get(id)?.reject(new Error(`no answer to ${type} within ${PATIENCE / 1000} s`));
      this.#pending.delete(id);
    }, PATIENCE);
    this.#process.stdin.write(`${JSON.stringify({ ...values, id, type })}\n`);
    try {
      const { success, error, data } = await answer;
      if (!success) throw new Error(error);
      return data;
    } finally {
      clearTimeout(timer);
    }
  }
  async #tell(type, values) {
    await this.#ask(type, values);
  }

  onEvent(listener) {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }
  getStderr() {
    return this.#noise;
  }

  // Waits for the end of a run; `seen` hears of every event until then.
  #untilSettled(timeout, seen = undefined) {
    return new Promise((resolve, reject) => {
      let timer;
      const leave = (finish, value) => {
        clearTimeout(timer);
        forget();
        finish(value);
      };
      const forget = this.onEvent((event) => {
        seen?.(event);
        if (event.type === "agent_settled") leave(resolve);
      });
      timer = setTimeout(() => leave(reject, new Error(`the agent has not settled within ${timeout / 1000} s. ${this.#noise}`.trim())), timeout);
      this.#process?.once("exit", () => leave(reject, this.#ended ?? new Error("pi has ended")));
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

  prompt(message, images) {
    return this.#tell("prompt", { message, images });
  }
  steer(message, images) {
    return this.#tell("steer", { message, images });
  }
  followUp(message, images) {
    return this.#tell("follow_up", { message, images });
  }
  abort() {
    return this.#tell("abort");
  }
  clearQueue() {
    return this.#ask("clear_queue");
  }
  newSession(parentSession) {
    return this.#ask("new_session", { parentSession });
  }
  getState() {
    return this.#ask("get_state");
  }
  setModel(provider, modelId) {
    return this.#ask("set_model", { provider, modelId });
  }
  cycleModel() {
    return this.#ask("cycle_model");
  }
  async getAvailableModels() {
    return (await this.#ask("get_available_models")).models;
  }
  setThinkingLevel(level) {
    return this.#tell("set_thinking_level", { level });
  }
  cycleThinkingLevel() {
    return this.#ask("cycle_thinking_level");
  }
  async getAvailableThinkingLevels() {
    return (await this.#ask("get_available_thinking_levels")).levels;
  }
  setSteeringMode(mode) {
    return this.#tell("set_steering_mode", { mode });
  }
  setFollowUpMode(mode) {
    return this.#tell("set_follow_up_mode", { mode });
  }
  compact(customInstructions) {
    return this.#ask("compact", { customInstructions });
  }
  setAutoCompaction(enabled) {
    return this.#tell("set_auto_compaction", { enabled });
  }
  setAutoRetry(enabled) {
    return this.#tell("set_auto_retry", { enabled });
  }
  abortRetry() {
    return this.#tell("abort_retry");
  }
  bash(command) {
    return this.#ask("bash", { command });
  }
  abortBash() {
    return this.#tell("abort_bash");
  }
  getSessionStats() {
    return this.#ask("get_session_stats");
  }
  exportHtml(outputPath) {
    return this.#ask("export_html", { outputPath });
  }
  switchSession(sessionPath) {
    return this.#ask("switch_session", { sessionPath });
  }
  fork(entryId) {
    return this.#ask("fork", { entryId });
  }
  clone() {
    return this.#ask("clone");
  }
  async getForkMessages() {
    return (await this.#ask("get_fork_messages")).messages;
  }
  getEntries(since) {
    return this.#ask("get_entries", { since });
  }
  getTree() {
    return this.#ask("get_tree");
  }
  async getLastAssistantText() {
    return (await this.#ask("get_last_assistant_text")).text ?? null;
  }
  setSessionName(name) {
    return this.#tell("set_session_name", { name });
  }
  async getMessages() {
    return (await this.#ask("get_messages")).messages;
  }
  async getCommands() {
    return (await this.#ask("get_commands")).commands;
  }
}
