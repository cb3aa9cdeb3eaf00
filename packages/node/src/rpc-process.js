// A pi process in RPC mode: one JSON object per line in both directions.

import { spawn } from "node:child_process";
import { StringDecoder } from "node:string_decoder";

const STDERR_TAIL = 64 * 1024;
/** How long a process may take to exit after its stdin was closed. */
const SHUTDOWN_GRACE_MS = 5000;

export class RpcProcess {
  #child;
  #pending = new Map();
  #lastId = 0;
  #stderr = "";
  #exitError;
  #background;
  #holds = 0;
  #closed;

  /**
   * @param {{command: string, args: string[], cwd?: string, env?: Record<string, string>, background?: boolean}} options
   *   `background`: the process does not keep Node running while nothing is in progress.
   * @param {(record: any) => void} onRecord receives every line that is not a response to a request of this object
   */
  constructor(options, onRecord, onExit = () => {}) {
    this.#background = options.background ?? false;
    this.#child = spawn(options.command, options.args, {
      cwd: options.cwd,
      env: options.env ?? process.env,
      stdio: ["pipe", "pipe", "pipe"],
      windowsHide: true,
    });
    const decoder = new StringDecoder("utf8");
    let rest = "";
    this.#child.stdout.on("data", (chunk) => {
      const lines = (rest + decoder.write(chunk)).split("\n");
      rest = lines.pop();
      for (const line of lines) this.#receive(line, onRecord);
    });
    this.#child.stderr.on("data", (chunk) => {
      this.#stderr = (this.#stderr + chunk.toString("utf8")).slice(-STDERR_TAIL);
    });
    // Writing to a process that has exited is reported by its exit.
    this.#child.stdin.on("error", () => {});
    this.#closed = new Promise((resolve) => {
      const end = (error) => {
        if (this.#exitError) return;
        this.#exitError = error;
        for (const { reject } of this.#pending.values()) reject(error);
        this.#pending.clear();
        resolve();
        onExit(error);
      };
      this.#child.on("error", (error) => end(new Error(`cannot start ${options.command}: ${error.message}`)));
      this.#child.on("close", (code, signal) => {
        const reason = signal ? `signal ${signal}` : `exit code ${code}`;
        const stderr = this.#stderr.trim();
        end(new Error(`pi ended with ${reason}${stderr ? `: ${stderr}` : ""}`));
      });
    });
    this.#updateRef();
  }

  get stderr() {
    return this.#stderr;
  }

  get exitError() {
    return this.#exitError;
  }

  /** Keeps Node running until the returned function is called. */
  hold() {
    this.#holds += 1;
    this.#updateRef();
    let released = false;
    return () => {
      if (released) return;
      released = true;
      this.#holds -= 1;
      this.#updateRef();
    };
  }

  #updateRef() {
    if (!this.#background) return;
    const method = this.#holds > 0 || this.#pending.size > 0 ? "ref" : "unref";
    for (const it of [this.#child, this.#child.stdin, this.#child.stdout, this.#child.stderr]) it?.[method]?.();
  }

  #receive(line, onRecord) {
    if (line.trim() === "") return;
    let record;
    try {
      record = JSON.parse(line);
    } catch {
      return;
    }
    if (record.type === "response" && this.#pending.has(record.id)) {
      const { resolve, reject, onResponse } = this.#pending.get(record.id);
      this.#pending.delete(record.id);
      // Called before later lines of the same chunk are handled.
      if (record.success) {
        onResponse?.(record.data);
        resolve(record.data);
      } else {
        reject(new Error(record.error));
      }
      this.#updateRef();
      return;
    }
    onRecord(record);
  }

  /** Writes a line that gets no response. */
  write(record) {
    if (!this.#exitError) this.#child.stdin.write(`${JSON.stringify(record)}\n`);
  }

  /** Sends a command and returns the `data` of its response. `onResponse` runs before the next line is handled. */
  request(command, onResponse) {
    if (this.#exitError) return Promise.reject(this.#exitError);
    this.#lastId += 1;
    const id = command.id ?? `req_${this.#lastId}`;
    return new Promise((resolve, reject) => {
      this.#pending.set(id, { resolve, reject, onResponse });
      this.#updateRef();
      this.write({ ...command, id });
    });
  }

  /** Closes stdin and waits for the process to exit; kills it if that takes too long. */
  async stop() {
    if (this.#exitError) return;
    const release = this.hold();
    this.#child.stdin.end();
    const timer = setTimeout(() => this.#child.kill("SIGKILL"), SHUTDOWN_GRACE_MS);
    await this.#closed;
    clearTimeout(timer);
    release();
  }

  kill() {
    this.#child.kill();
  }
}
