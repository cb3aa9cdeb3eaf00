// worker_threads: each worker is a separate engine, on its own thread.
import { callSync, start, startAbortable } from "pi:operations";
import { deserialize, serialize } from "pi:message";
import { missing } from "pi:missing";
import { EventEmitter } from "node:events";
import { resolve as resolvePath } from "node:path";
import { fileURLToPath } from "node:url";

const own = callSync("worker", "own", {});

export const isMainThread = own === undefined;
export const threadId = own?.thread ?? 0;
export const workerData = own ? deserialize(own.data) : null;
export const resourceLimits = {};
export const SHARE_ENV = Symbol.for("nodejs.worker_threads.SHARE_ENV");

// The port of a worker. It receives while it has listeners for messages.
class ParentPort extends EventEmitter {
  #isReferenced = true;
  #isClosed = false;
  #receiving = undefined;
  #waiting = [];

  constructor() {
    super();
    super.on("newListener", (type) => {
      if (type === "message") queueMicrotask(() => void this.#receive());
    });
    super.on("removeListener", () => this.#check());
  }

  get #isActive() {
    return !this.#isClosed && this.#isReferenced && this.listenerCount("message") > 0;
  }

  postMessage(message) {
    if (!this.#isClosed) callSync("worker", "post", { message: serialize(message) });
  }

  close() {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#check();
    this.emit("close");
  }

  ref() {
    this.#isReferenced = true;
    void this.#receive();
    return this;
  }

  unref() {
    this.#isReferenced = false;
    this.#check();
    return this;
  }

  start() {}

  // Returns when no listener waits for messages.
  idle() {
    return this.#isActive ? new Promise((resolve) => this.#waiting.push(resolve)) : Promise.resolve();
  }

  #check() {
    if (this.#isActive) return;
    this.#receiving?.abort(undefined);
    for (const resolve of this.#waiting.splice(0)) resolve();
  }

  async #receive() {
    if (this.#receiving) return;
    while (this.#isActive) {
      this.#receiving = startAbortable("worker", "receive");
      // Rejected when the listener is removed.
      const message = await this.#receiving.promise.catch(() => undefined);
      if (message !== undefined) setImmediate(() => this.emit("message", deserialize(message)));
    }
    this.#receiving = undefined;
  }
}

export const parentPort = isMainThread ? null : new ParentPort();

function fileOf(script) {
  if (script instanceof URL || String(script).startsWith("file:")) return fileURLToPath(script);
  if (/^\.{0,2}[\\/]/.test(script) || /^[A-Za-z]:[\\/]/.test(script)) return resolvePath(String(script));
  throw Object.assign(new TypeError(`The worker script or module filename must be an absolute path or a relative path starting with './' or '../'. Received "${script}"`), {
    code: "ERR_WORKER_PATH",
  });
}

export class Worker extends EventEmitter {
  #id;
  #exited;
  threadId;
  resourceLimits = {};
  stdin = null;
  stdout = null;
  stderr = null;

  constructor(script, options = {}) {
    super();
    const isSource = Boolean(options.eval);
    const environment = typeof options.env === "object" && options.env !== null ? options.env : process.env;
    const { id, thread } = callSync("worker", "start", {
      script: isSource ? String(script) : fileOf(script),
      isSource,
      data: serialize(options.workerData),
      environment: Object.entries(environment).map(([name, value]) => [name, String(value)]),
    });
    this.#id = id;
    this.threadId = thread;
    this.#exited = this.#read();
  }

  // Each event has its own turn, so that a listener that throws does not end the others.
  async #read() {
    while (true) {
      const [kind, content] = await start("worker", "next", { id: this.#id });
      if (kind === "exit") {
        this.threadId = -1;
        setImmediate(() => this.emit("exit", content));
        return content;
      }
      if (kind === "online") setImmediate(() => this.emit("online"));
      else if (kind === "message") setImmediate(() => this.emit("message", deserialize(content)));
      else setImmediate(() => this.emit("error", errorOf(content)));
    }
  }

  postMessage(message) {
    callSync("worker", "send", { id: this.#id, message: serialize(message) });
  }

  terminate() {
    callSync("worker", "terminate", { id: this.#id });
    return this.#exited;
  }

  ref() {
    return this;
  }

  unref() {
    return this;
  }

  async [Symbol.asyncDispose]() {
    await this.terminate();
  }
}

function errorOf({ name, message, stack, code }) {
  const types = { EvalError, RangeError, ReferenceError, SyntaxError, TypeError, URIError };
  const error = new (types[name] ?? Error)(message);
  if (stack) Object.defineProperty(error, "stack", { value: stack, writable: true, configurable: true, enumerable: false });
  return code ? Object.assign(error, { code }) : error;
}

export const MessageChannel = missing("node:worker_threads", "MessageChannel");
export const MessagePort = missing("node:worker_threads", "MessagePort");
export const BroadcastChannel = missing("node:worker_threads", "BroadcastChannel");
export function markAsUntransferable() {}
export function setEnvironmentData() {}
export function getEnvironmentData() {
  return undefined;
}
export default { isMainThread, parentPort, workerData, threadId, resourceLimits, SHARE_ENV, Worker, MessageChannel, MessagePort, BroadcastChannel, markAsUntransferable, setEnvironmentData, getEnvironmentData };
