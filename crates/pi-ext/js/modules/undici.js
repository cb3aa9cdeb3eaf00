// `undici`: its own parser is WebAssembly, so what extensions use of it stands on our `fetch`. Connections are the
// program's; an agent is accepted wherever one can be given, and its settings for connections have no effect.
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
const named = (name, code) =>
  ({
    [name]: class extends UndiciError {
      code = code;
    },
  })[name];
const InvalidArgumentError = named("InvalidArgumentError", "UND_ERR_INVALID_ARG");
const HeadersTimeoutError = named("HeadersTimeoutError", "UND_ERR_HEADERS_TIMEOUT");
const RequestAbortedError = named("RequestAbortedError", "UND_ERR_ABORTED");

export const errors = {
  UndiciError,
  InvalidArgumentError,
  HeadersTimeoutError,
  RequestAbortedError,
  AbortError: named("AbortError", "UND_ERR_ABORT"),
  BodyTimeoutError: named("BodyTimeoutError", "UND_ERR_BODY_TIMEOUT"),
  ConnectTimeoutError: named("ConnectTimeoutError", "UND_ERR_CONNECT_TIMEOUT"),
  ResponseStatusCodeError: named("ResponseStatusCodeError", "UND_ERR_RESPONSE_STATUS_CODE"),
  SocketError: named("SocketError", "UND_ERR_SOCKET"),
};

// Without the dispatcher, which means nothing here.
export function fetch(input, { dispatcher, ...init } = {}) {
  return send(input, init);
}

// A body that can be read as a stream or taken as a whole.
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

// Names with several values have a list of them.
function plainHeaders(headers) {
  const plain = Object.create(null);
  for (const [name, value] of headers) plain[name] = name in plain ? [plain[name], value].flat() : value;
  return plain;
}

// Pairs may also stand one after the other.
function headersOf(given) {
  if (!Array.isArray(given) || Array.isArray(given[0])) return given ?? {};
  return given.flatMap((name, index) => (index % 2 === 0 ? [[name, given[index + 1]]] : []));
}

function addressOf(url, { origin, path, query }) {
  if (typeof url === "object" && url !== null && !(url instanceof URL)) url = `${url.origin ?? `${url.protocol}//${url.host ?? url.hostname}`}${url.path ?? url.pathname ?? ""}`;
  const address = new URL(path ?? String(url), origin ?? (path === undefined ? undefined : url));
  for (const [name, value] of Object.entries(query ?? {})) for (const one of [value].flat()) address.searchParams.append(name, one);
  return address;
}

// Sends a request and returns its answer as Node's programs like it; redirects are not followed.
export async function request(url, options = {}, callback = undefined) {
  if (typeof options === "function") [options, callback] = [{}, options];
  if (callback) {
    request(url, options).then((answer) => callback(null, answer), (error) => callback(error));
    return undefined;
  }
  const { method = options.body ? "PUT" : "GET", headers, body, signal, headersTimeout, opaque } = options;
  const late = headersTimeout > 0 ? new AbortController() : undefined;
  const timer = late && setTimeout(() => late.abort(new HeadersTimeoutError("Headers Timeout Error")), headersTimeout);
  const signals = [signal, late?.signal].filter(Boolean);
  try {
    const response = await send(addressOf(url, options), {
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
// The proxy of a request is the environment's, or that of the settings.
export class ProxyAgent extends Dispatcher {}

export function setGlobalDispatcher(dispatcher) {
  if (typeof dispatcher?.request !== "function" && typeof dispatcher?.dispatch !== "function") throw new InvalidArgumentError("Argument agent must implement Agent");
  globalThis[DISPATCHER] = dispatcher;
}
export function getGlobalDispatcher() {
  return (globalThis[DISPATCHER] ??= new Agent());
}

// Everything is in its place already.
export function install() {}

export default { fetch, request, errors, Dispatcher, Agent, Client, Pool, BalancedPool, RoundRobinPool, RetryAgent, EnvHttpProxyAgent, ProxyAgent, setGlobalDispatcher, getGlobalDispatcher, install, FormData, Headers, Request, Response, CloseEvent, ErrorEvent, MessageEvent, WebSocket };
