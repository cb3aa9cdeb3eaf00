// `undici` on top of `fetch`, since its real parser needs WebAssembly. Connections belong to the program: agents
// are accepted, but their connection settings have no effect.
import { EventEmitter } from "node:events";
import { Readable } from "node:stream";
import { arrayBuffer, blob, buffer, json, text } from "node:stream/consumers";
import { FormData } from "pi:web/blob";
import { Headers, Request, Response, fetch as send } from "pi:web/fetch";
import { CloseEvent, ErrorEvent, MessageEvent, WebSocket } from "pi:web/websocket";

export { FormData } from "pi:web/blob";
export { Headers, Request, Response } from "pi:web/fetch";
export { CloseEvent, ErrorEvent, MessageEvent, WebSocket } from "pi:web/websocket";

const DISPATCHER = Symbol.for("undici.globalDispatcher.1");

class UndiciError extends Error {
  constructor(message, options) {
    super(message, options);
    this.name = new.target.name;
  }
}
const errorClass = (name, code) =>
  ({
    [name]: class extends UndiciError {
      code = code;
    },
  })[name];
const InvalidArgumentError = errorClass("InvalidArgumentError", "UND_ERR_INVALID_ARG");
const HeadersTimeoutError = errorClass("HeadersTimeoutError", "UND_ERR_HEADERS_TIMEOUT");
const RequestAbortedError = errorClass("RequestAbortedError", "UND_ERR_ABORTED");

export const errors = {
  UndiciError,
  InvalidArgumentError,
  HeadersTimeoutError,
  RequestAbortedError,
  AbortError: errorClass("AbortError", "UND_ERR_ABORT"),
  BodyTimeoutError: errorClass("BodyTimeoutError", "UND_ERR_BODY_TIMEOUT"),
  ConnectTimeoutError: errorClass("ConnectTimeoutError", "UND_ERR_CONNECT_TIMEOUT"),
  ResponseStatusCodeError: errorClass("ResponseStatusCodeError", "UND_ERR_RESPONSE_STATUS_CODE"),
  SocketError: errorClass("SocketError", "UND_ERR_SOCKET"),
};

// The dispatcher is ignored.
export function fetch(input, { dispatcher, ...init } = {}) {
  return send(input, init);
}

// A body that can be read as a stream or in full.
class Body extends Readable {
  #source;
  bodyUsed = false;
  constructor(source) {
    super();
    this.#source = source?.[Symbol.asyncIterator]();
  }
  async _read() {
    this.bodyUsed = true;
    try {
      const { done, value } = (await this.#source?.next()) ?? { done: true };
      this.push(done ? null : Buffer.from(value));
    } catch (error) {
      this.destroy(error);
    }
  }
  text() {
    return text(this);
  }
  json() {
    return json(this);
  }
  arrayBuffer() {
    return arrayBuffer(this);
  }
  async bytes() {
    return new Uint8Array(await arrayBuffer(this));
  }
  blob() {
    return blob(this);
  }
  async dump() {
    await buffer(this);
  }
}

// Headers with several values become arrays.
function plainHeaders(headers) {
  const plain = Object.create(null);
  for (const [name, value] of headers) plain[name] = name in plain ? [plain[name], value].flat() : value;
  return plain;
}

// Headers may also be a flat list of names and values.
function headersOf(headers) {
  if (!Array.isArray(headers) || Array.isArray(headers[0])) return headers ?? {};
  return headers.flatMap((name, index) => (index % 2 === 0 ? [[name, headers[index + 1]]] : []));
}

function urlOf(url, { origin, path, query }) {
  if (typeof url === "object" && url !== null && !(url instanceof URL)) url = `${url.origin ?? `${url.protocol}//${url.host ?? url.hostname}`}${url.path ?? url.pathname ?? ""}`;
  const address = new URL(path ?? String(url), origin ?? (path === undefined ? undefined : url));
  for (const [name, value] of Object.entries(query ?? {})) for (const item of [value].flat()) address.searchParams.append(name, item);
  return address;
}

// Sends a request. Redirects are not followed.
export async function request(url, options = {}, callback = undefined) {
  if (typeof options === "function") [options, callback] = [{}, options];
  if (callback) {
    request(url, options).then((response) => callback(null, response), (error) => callback(error));
    return undefined;
  }
  const { method = options.body ? "PUT" : "GET", headers, body, signal, headersTimeout, opaque } = options;
  const timeout = headersTimeout > 0 ? new AbortController() : undefined;
  const timer = timeout && setTimeout(() => timeout.abort(new HeadersTimeoutError("Headers Timeout Error")), headersTimeout);
  const signals = [signal, timeout?.signal].filter(Boolean);
  try {
    const response = await send(urlOf(url, options), {
      method,
      headers: headersOf(headers),
      body: body ?? undefined,
      redirect: "manual",
      signal: signals.length > 0 ? AbortSignal.any(signals) : undefined,
      duplex: "half",
    });
    return { statusCode: response.status, statusText: response.statusText, headers: plainHeaders(response.headers), trailers: {}, opaque: opaque ?? null, context: {}, body: new Body(response.body) };
  } catch (error) {
    throw signal?.aborted ? (signal.reason ?? new RequestAbortedError("Request aborted")) : error;
  } finally {
    clearTimeout(timer);
  }
}

export class Dispatcher extends EventEmitter {
  closed = false;
  destroyed = false;
  #origin;
  constructor(origin) {
    super();
    this.#origin = typeof origin === "string" || origin instanceof URL ? origin : undefined;
  }
  request(options, callback) {
    return request(this.#origin ?? options?.origin, { origin: this.#origin, ...options }, callback);
  }
  compose() {
    return this;
  }
  async close(callback) {
    this.closed = true;
    callback?.();
  }
  async destroy(error, callback) {
    this.closed = this.destroyed = true;
    (typeof error === "function" ? error : callback)?.();
  }
}
export class Agent extends Dispatcher {}
export class Client extends Dispatcher {}
export class Pool extends Dispatcher {}
export class BalancedPool extends Dispatcher {}
export class RoundRobinPool extends Dispatcher {}
export class RetryAgent extends Dispatcher {}
export class EnvHttpProxyAgent extends Dispatcher {}
// Proxies come from the environment or the settings.
export class ProxyAgent extends Dispatcher {}

export function setGlobalDispatcher(dispatcher) {
  if (typeof dispatcher?.request !== "function" && typeof dispatcher?.dispatch !== "function") throw new InvalidArgumentError("Argument agent must implement Agent");
  globalThis[DISPATCHER] = dispatcher;
}
export function getGlobalDispatcher() {
  return (globalThis[DISPATCHER] ??= new Agent());
}

// The globals are already installed.
export function install() {}

export default { fetch, request, errors, Dispatcher, Agent, Client, Pool, BalancedPool, RoundRobinPool, RetryAgent, EnvHttpProxyAgent, ProxyAgent, setGlobalDispatcher, getGlobalDispatcher, install, FormData, Headers, Request, Response, CloseEvent, ErrorEvent, MessageEvent, WebSocket };
