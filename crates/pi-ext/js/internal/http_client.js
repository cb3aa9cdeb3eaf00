// The client of `http` and `https`, on top of the same native requests as `fetch`.
import { requireModule } from "pi:native";
import { start, startAbortable } from "pi:operations";
import { Buffer } from "node:buffer";
import { EventEmitter } from "node:events";
import { Readable } from "node:stream";
import { OutgoingMessage } from "pi:http_outgoing";

export class Agent extends EventEmitter {
  constructor(options = {}) {
    super();
    this.options = options;
    this.maxSockets = options.maxSockets ?? Infinity;
    this.keepAlive = options.keepAlive ?? false;
  }
  destroy() {}
}

export class IncomingMessage extends Readable {
  httpVersion = "1.1";
  httpVersionMajor = 1;
  httpVersionMinor = 1;
  complete = false;
  aborted = false;
  rawHeaders = [];
  headers = {};
  trailers = {};

  setHeaders(pairs) {
    for (const [name, value] of pairs) {
      const key = name.toLowerCase();
      this.rawHeaders.push(name, value);
      if (key === "set-cookie") (this.headers[key] ??= []).push(value);
      else this.headers[key] = key in this.headers ? `${this.headers[key]}, ${value}` : value;
    }
  }
  get headersDistinct() {
    return Object.fromEntries(Object.entries(this.headers).map(([name, value]) => [name, [value].flat()]));
  }
  setTimeout() {
    return this;
  }
}

function toIncomingMessage(response) {
  const id = response.body;
  const message = new IncomingMessage({
    async read() {
      const bytes = await start("http", "read", { id });
      if (bytes === undefined) {
        this.complete = true;
        this.push(null);
      } else {
        this.push(Buffer.from(bytes.buffer));
      }
    },
    destroy(error, done) {
      start("http", "cancel", { id }).then(() => done(error), () => done(error));
    },
  });
  message.statusCode = response.status;
  message.statusMessage = response.statusText;
  message.url = "";
  message.setHeaders(response.headers);
  return message;
}

// Parses `(url, options, callback)` in all its forms.
function readArguments(scheme, args) {
  const listener = typeof args.at(-1) === "function" ? args.pop() : undefined;
  const [first, second] = args;
  const isAddress = typeof first === "string" || first instanceof URL;
  const options = { ...(isAddress ? second : first) };
  if (isAddress) return { url: new URL(first), options, listener };
  const protocol = options.protocol ?? `${scheme}:`;
  const host = options.hostname ?? (options.host ?? "localhost").replace(/:\d+$/, "");
  const port = options.port ?? /:(\d+)$/.exec(options.host ?? "")?.[1];
  const shown = host.includes(":") && !host.startsWith("[") ? `[${host}]` : host;
  return { url: new URL(options.path ?? "/", `${protocol}//${shown}${port ? `:${port}` : ""}`), options, listener };
}

export class ClientRequest extends OutgoingMessage {
  #chunks = [];
  #operation = undefined;
  #timer = undefined;

  constructor(scheme, args) {
    // A request is finished when its response is, not when it is written.
    super({ autoDestroy: false });
    const { url, options, listener } = readArguments(scheme, args);
    this.address = url;
    this.method = (options.method ?? "GET").toUpperCase();
    this.path = `${url.pathname}${url.search}`;
    this.host = url.hostname;
    this.protocol = url.protocol;
    this.aborted = false;
    this.reusedSocket = false;
    this.socket = new EventEmitter();
    for (const [name, value] of Object.entries(options.headers ?? {})) if (value !== undefined) this.setHeader(name, value);
    if (options.auth) this.setHeader("authorization", `Basic ${Buffer.from(options.auth).toString("base64")}`);
    if (listener) this.once("response", listener);
    if (options.timeout) this.setTimeout(options.timeout);
    options.signal?.addEventListener("abort", () => this.destroy(options.signal.reason), { once: true });
  }

  flushHeaders() {}
  setNoDelay() {}
  setSocketKeepAlive() {}
  setTimeout(milliseconds, listener) {
    clearTimeout(this.#timer);
    if (listener) this.once("timeout", listener);
    if (milliseconds > 0) this.#timer = setTimeout(() => this.emit("timeout"), milliseconds);
    return this;
  }
  abort() {
    this.aborted = true;
    this.destroy();
  }

  _write(chunk, encoding, done) {
    this.#chunks.push(chunk);
    done();
  }

  _final(done) {
    const headers = this._headerPairs().filter(([name]) => !/^(content-length|transfer-encoding|connection|host)$/i.test(name));
    const body = this.#chunks.length > 0 ? Buffer.concat(this.#chunks) : undefined;
    const bytes = body && new Uint8Array(body.buffer, body.byteOffset, body.byteLength);
    this.#operation = startAbortable("http", "fetch", { url: this.address.href, method: this.method, headers, redirect: "manual" }, bytes);
    this.#operation.promise.then(
      (response) => {
        clearTimeout(this.#timer);
        const message = toIncomingMessage(response);
        message.req = this;
        this.res = message;
        if (!this.emit("response", message)) message.resume();
      },
      async (error) => {
        clearTimeout(this.#timer);
        if (this.destroyed) return;
        const failure = await requireModule("pi:network_errors").fetchError(error, this.address.href);
        if (!this.destroyed) this.destroy(failure);
      },
    );
    done();
  }

  _destroy(error, done) {
    clearTimeout(this.#timer);
    this.#operation?.abort(error ?? new Error("aborted"));
    done(error ?? (this.res ? null : Object.assign(new Error("socket hang up"), { code: "ECONNRESET" })));
  }
}

// Returns the `request` and `get` functions of a scheme.
export function makeRequest(scheme) {
  const request = (...args) => new ClientRequest(scheme, args);
  const get = (...args) => {
    const started = request(...args);
    started.end();
    return started;
  };
  return { request, get };
}

export const STATUS_CODES = { 100: "Continue", 101: "Switching Protocols", 200: "OK", 201: "Created", 202: "Accepted", 204: "No Content", 206: "Partial Content", 301: "Moved Permanently", 302: "Found", 303: "See Other", 304: "Not Modified", 307: "Temporary Redirect", 308: "Permanent Redirect", 400: "Bad Request", 401: "Unauthorized", 402: "Payment Required", 403: "Forbidden", 404: "Not Found", 405: "Method Not Allowed", 406: "Not Acceptable", 408: "Request Timeout", 409: "Conflict", 410: "Gone", 411: "Length Required", 413: "Payload Too Large", 415: "Unsupported Media Type", 418: "I'm a Teapot", 422: "Unprocessable Entity", 426: "Upgrade Required", 429: "Too Many Requests", 431: "Request Header Fields Too Large", 500: "Internal Server Error", 501: "Not Implemented", 502: "Bad Gateway", 503: "Service Unavailable", 504: "Gateway Timeout" };
export const METHODS = ["CONNECT", "DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT", "TRACE"];
