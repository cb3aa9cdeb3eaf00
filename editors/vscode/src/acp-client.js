"use strict";

// A small client of the Agent Client Protocol: one `pi acp` process and one session per window.

const { spawn } = require("node:child_process");

class AcpClient {
  #settings;
  #log;
  #child;
  #session;
  #pending = new Map();
  #lastId = 0;
  #handlers = {};

  constructor(settings, log) {
    this.#settings = settings;
    this.#log = log;
  }

  /** Sends a question about a piece of a file; returns the stop reason. */
  async ask(question, { uri, text, line, write, permit }) {
    this.#handlers = { write, permit };
    await this.#start();
    const prompt = [{ type: "text", text: question }];
    if (text) prompt.push({ type: "resource", resource: { uri: `${uri}#L${line}`, mimeType: "text/plain", text } });
    const { stopReason } = await this.#request("session/prompt", { sessionId: this.#session, prompt });
    return stopReason;
  }

  cancel() {
    if (this.#session) this.#send({ method: "session/cancel", params: { sessionId: this.#session } });
  }

  async #start() {
    if (this.#child) return;
    const { path, args, cwd } = this.#settings();
    const child = spawn(path, ["acp", ...args], { cwd, stdio: ["pipe", "pipe", "pipe"] });
    this.#child = child;
    const end = (reason) => {
      if (this.#child !== child) return;
      this.#child = undefined;
      this.#session = undefined;
      for (const { reject } of this.#pending.values()) reject(new Error(reason));
      this.#pending.clear();
    };
    child.on("error", (error) => end(`cannot start ${path}: ${error.message}. Set pi.path to the path of the binary.`));
    child.on("exit", (code) => end(`pi acp ended with exit code ${code}`));
    child.stdin.on("error", () => {});
    child.stderr.on("data", (data) => this.#log(String(data).trimEnd()));
    let rest = "";
    child.stdout.setEncoding("utf8");
    child.stdout.on("data", (data) => {
      const lines = (rest + data).split("\n");
      rest = lines.pop();
      for (const line of lines) if (line.trim()) this.#receive(JSON.parse(line));
    });
    const clientInfo = { name: "pi-vscode", version: "1.5.0" };
    await this.#request("initialize", { protocolVersion: 1, clientCapabilities: {}, clientInfo });
    const { sessionId } = await this.#request("session/new", { cwd: cwd ?? process.cwd(), mcpServers: [] });
    this.#session = sessionId;
  }

  #send(message) {
    this.#child?.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
  }

  #request(method, params) {
    this.#lastId += 1;
    const id = this.#lastId;
    return new Promise((resolve, reject) => {
      this.#pending.set(id, { resolve, reject });
      this.#send({ id, method, params });
    });
  }

  #receive(message) {
    if (message.method) {
      void this.#handle(message);
      return;
    }
    const waiting = this.#pending.get(message.id);
    this.#pending.delete(message.id);
    if (message.error) waiting?.reject(new Error(message.error.message));
    else waiting?.resolve(message.result);
  }

  async #handle({ id, method, params }) {
    if (method === "session/update") {
      const { update } = params;
      if (update.sessionUpdate === "agent_message_chunk" && update.content.type === "text") this.#handlers.write?.(update.content.text);
      if (update.sessionUpdate === "tool_call") this.#handlers.write?.(`\n[${update.title}]\n`);
      return;
    }
    if (id === undefined) return;
    if (method !== "session/request_permission") {
      this.#send({ id, error: { code: -32601, message: `unknown method ${method}` } });
      return;
    }
    const chosen = await this.#handlers.permit?.(params.toolCall?.title ?? "Allow this tool call?", params.options);
    const outcome = chosen ? { outcome: "selected", optionId: chosen } : { outcome: "cancelled" };
    this.#send({ id, result: { outcome } });
  }

  dispose() {
    // Closing stdin ends the sessions and their children.
    this.#child?.stdin.end();
    this.#child = undefined;
  }
}

module.exports = { AcpClient };
