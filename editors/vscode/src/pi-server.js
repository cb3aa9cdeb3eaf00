"use strict";

// `pi serve` on its private socket: the one that runs, or a new one.

const { spawn } = require("node:child_process");
const http = require("node:http");
const os = require("node:os");
const path = require("node:path");

const START_TIMEOUT_MS = 15_000;
const START_POLL_MS = 50;

function agentDir(env = process.env) {
  return env.PI_CODING_AGENT_DIR || path.join(os.homedir(), ".pi", "agent");
}

class PiServer {
  #settings;
  #log;
  #child;
  #starting;

  /**
   * @param {() => {path: string, args: string[], cwd?: string}} settings
   * @param {(line: string) => void} log
   */
  constructor(settings, log) {
    this.#settings = settings;
    this.#log = log;
  }

  get socket() {
    return path.join(agentDir(), "serve.sock");
  }

  /** Makes sure that a server runs. */
  async start() {
    if (await this.#responds()) return;
    this.#starting ??= this.#spawn().finally(() => {
      this.#starting = undefined;
    });
    await this.#starting;
  }

  async #spawn() {
    const { path: binary, args, cwd } = this.#settings();
    const child = spawn(binary, ["serve", ...args], { cwd, stdio: ["ignore", "pipe", "pipe"] });
    this.#child = child;
    let failure;
    let stderr = "";
    child.on("error", (error) => {
      failure = `cannot start ${binary}: ${error.message}. Set pi.path to the path of the binary.`;
    });
    child.on("exit", (code) => {
      failure ??= `pi serve ended with exit code ${code}: ${stderr.trim()}`;
      if (this.#child === child) this.#child = undefined;
    });
    for (const stream of [child.stdout, child.stderr]) {
      stream.on("data", (data) => {
        if (stream === child.stderr) stderr = (stderr + data).slice(-4096);
        this.#log(String(data).trimEnd());
      });
    }
    for (const deadline = Date.now() + START_TIMEOUT_MS; Date.now() < deadline; ) {
      if (failure) throw new Error(failure);
      if (await this.#responds()) return;
      await new Promise((resolve) => setTimeout(resolve, START_POLL_MS));
    }
    throw new Error("pi serve did not start in time");
  }

  async #responds() {
    try {
      return (await this.request("GET", "/v1/sessions")).status < 500;
    } catch {
      return false;
    }
  }

  /** Returns the sessions that are open in the server. */
  async liveSessions() {
    await this.start();
    const { status, body } = await this.request("GET", "/v1/sessions");
    if (status !== 200) throw new Error(`pi serve responded with status ${status}`);
    const { sessions } = JSON.parse(body);
    return sessions.filter((session) => session.live);
  }

  request(method, route, content) {
    const headers = { host: "localhost", "x-pi": "1", "content-type": "application/json" };
    return new Promise((resolve, reject) => {
      const request = http.request({ socketPath: this.socket, method, path: route, headers }, (response) => {
        let body = "";
        response.setEncoding("utf8");
        response.on("data", (data) => {
          body += data;
        });
        response.on("end", () => resolve({ status: response.statusCode, body }));
      });
      request.on("error", reject);
      request.end(content && JSON.stringify(content));
    });
  }

  /** Ends the server, if this extension has started it. */
  dispose() {
    this.#child?.kill("SIGTERM");
    this.#child = undefined;
  }
}

module.exports = { PiServer, agentDir };
