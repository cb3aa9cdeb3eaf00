// fetch, with streaming responses and abort.
import { requireModule } from "pi:native";
import { start, startAbortable } from "pi:operations";
import { bytesOf } from "pi:web/encoding";
import { Blob, FormData, blobBytes, concat, encodeForm } from "pi:web/blob";

// An HTTP token.
export const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;

export class Headers {
  #map = new Map();

  constructor(init) {
    if (init === undefined || init === null) return;
    if (typeof init[Symbol.iterator] === "function") {
      for (const [name, value] of init) this.append(name, value);
    } else {
      for (const name of Object.keys(init)) this.append(name, init[name]);
    }
  }

  static #name(name) {
    const text = String(name);
    if (!TOKEN.test(text)) throw new TypeError(`Header name must be a valid HTTP token ["${text}"]`);
    return text.toLowerCase();
  }
  static #value(value) {
    const text = String(value).replace(/^[\t\n\r ]+|[\t\n\r ]+$/g, "");
    if (/[\0\r\n]/.test(text)) throw new TypeError("Header value contains characters that are not allowed");
    return text;
  }

  append(name, value) {
    const key = Headers.#name(name);
    const list = this.#map.get(key);
    if (list) list.push(Headers.#value(value));
    else this.#map.set(key, [Headers.#value(value)]);
  }
  set(name, value) {
    this.#map.set(Headers.#name(name), [Headers.#value(value)]);
  }
  get(name) {
    return this.#map.get(Headers.#name(name))?.join(", ") ?? null;
  }
  getSetCookie() {
    return [...(this.#map.get("set-cookie") ?? [])];
  }
  has(name) {
    return this.#map.has(Headers.#name(name));
  }
  delete(name) {
    this.#map.delete(Headers.#name(name));
  }
  forEach(callback, self) {
    for (const [name, value] of this) callback.call(self, value, name, this);
  }
  *entries() {
    for (const name of [...this.#map.keys()].sort()) {
      if (name === "set-cookie") for (const value of this.#map.get(name)) yield [name, value];
      else yield [name, this.#map.get(name).join(", ")];
    }
  }
  *keys() {
    for (const [name] of this.entries()) yield name;
  }
  *values() {
    for (const [, value] of this.entries()) yield value;
  }
  [Symbol.iterator]() {
    return this.entries();
  }
  get [Symbol.toStringTag]() {
    return "Headers";
  }
}

// Converts a body to bytes or a stream, with its content type.
function extract(body) {
  if (body === undefined || body === null) return { bytes: null, stream: null, type: null };
  if (typeof body === "string") return { bytes: new TextEncoder().encode(body), type: "text/plain;charset=UTF-8" };
  if (body instanceof URLSearchParams) return { bytes: new TextEncoder().encode(body.toString()), type: "application/x-www-form-urlencoded;charset=UTF-8" };
  if (body instanceof FormData) return encodeForm(body);
  if (body instanceof Blob) return { bytes: blobBytes(body), type: body.type || null };
  if (ArrayBuffer.isView(body) || body instanceof ArrayBuffer) return { bytes: Uint8Array.from(bytesOf(body)), type: null };
  if (body instanceof ReadableStream) return { bytes: null, stream: body, type: null };
  if (typeof body[Symbol.asyncIterator] === "function") return { bytes: null, stream: ReadableStream.from(body), type: null };
  return { bytes: new TextEncoder().encode(String(body)), type: "text/plain;charset=UTF-8" };
}

function toBytes(chunk) {
  return typeof chunk === "string" ? new TextEncoder().encode(chunk) : bytesOf(chunk);
}

class Body {
  #bytes;
  #stream;
  #used = false;

  _setBody({ bytes = null, stream = null }) {
    this.#bytes = bytes;
    this.#stream = stream;
  }

  get body() {
    if (this.#stream === null && this.#bytes !== null) {
      const bytes = this.#bytes;
      this.#stream = new ReadableStream({
        pull(controller) {
          if (bytes.length > 0) controller.enqueue(bytes);
          controller.close();
        },
      });
      this.#bytes = null;
    }
    return this.#stream;
  }

  get bodyUsed() {
    return this.#used || Boolean(this.#stream?.locked);
  }

  async bytes() {
    if (this.bodyUsed) throw new TypeError("Body is unusable: Body has already been read");
    this.#used = true;
    if (this.#bytes !== null) return this.#bytes;
    if (this.#stream === null) return new Uint8Array();
    const chunks = [];
    for await (const chunk of this.#stream) chunks.push(toBytes(chunk));
    return concat(chunks);
  }

  async arrayBuffer() {
    const bytes = await this.bytes();
    return bytes.byteLength === bytes.buffer.byteLength ? bytes.buffer : bytes.slice().buffer;
  }
  async text() {
    return new TextDecoder().decode(await this.bytes());
  }
  async json() {
    return JSON.parse(await this.text());
  }
  async blob() {
    return new Blob([await this.bytes()], { type: this.headers.get("content-type") ?? "" });
  }
  async formData() {
    const type = this.headers.get("content-type") ?? "";
    const form = new FormData();
    if (type.startsWith("application/x-www-form-urlencoded")) {
      for (const [name, value] of new URLSearchParams(await this.text())) form.append(name, value);
      return form;
    }
    throw new TypeError("formData() supports only application/x-www-form-urlencoded");
  }

  _copyBody() {
    if (this.bodyUsed) throw new TypeError("Body has already been read");
    if (this.#stream === null) return { bytes: this.#bytes };
    const [own, copy] = this.#stream.tee();
    this.#stream = own;
    return { stream: copy };
  }
}

export class Request extends Body {
  constructor(input, init = {}) {
    super();
    const source = input instanceof Request ? input : undefined;
    this.url = source ? source.url : new URL(String(input?.href ?? input)).href;
    this.method = String(init.method ?? source?.method ?? "GET").toUpperCase();
    this.headers = new Headers(init.headers ?? source?.headers);
    this.redirect = init.redirect ?? source?.redirect ?? "follow";
    this.signal = init.signal ?? source?.signal ?? new AbortController().signal;
    this.credentials = init.credentials ?? source?.credentials ?? "same-origin";
    this.mode = init.mode ?? "cors";
    this.cache = init.cache ?? "default";
    this.referrer = "about:client";
    this.integrity = "";
    this.keepalive = false;
    this.duplex = "half";
    const body = init.body !== undefined ? extract(init.body) : source ? source._copyBody() : {};
    if ((this.method === "GET" || this.method === "HEAD") && init.body !== undefined && init.body !== null) {
      throw new TypeError("Request with GET/HEAD method cannot have body.");
    }
    if (body.type && !this.headers.has("content-type")) this.headers.set("content-type", body.type);
    this._setBody(body);
  }

  clone() {
    return new Request(this);
  }
}

export class Response extends Body {
  #status;
  #redirected = false;
  #url = "";
  #type = "default";

  constructor(body = null, init = {}) {
    super();
    this.#status = init.status ?? 200;
    if (this.#status < 200 || this.#status > 599) throw new RangeError("init[\"status\"] must be in the range of 200 to 599");
    this.statusText = String(init.statusText ?? "");
    this.headers = new Headers(init.headers);
    const content = extract(body);
    if (content.type && !this.headers.has("content-type")) this.headers.set("content-type", content.type);
    this._setBody(content);
  }

  static _received({ status, statusText, headers, url }, stream, redirected) {
    const response = new Response(null, { status: Math.max(status, 200), statusText, headers });
    response.#status = status;
    response.#url = url;
    response.#redirected = redirected;
    response.#type = "basic";
    response._setBody({ stream });
    return response;
  }

  static json(data, init = {}) {
    const headers = new Headers(init.headers);
    if (!headers.has("content-type")) headers.set("content-type", "application/json");
    return new Response(JSON.stringify(data), { ...init, headers });
  }
  static error() {
    const response = new Response();
    response.#status = 0;
    response.#type = "error";
    return response;
  }
  static redirect(url, status = 302) {
    return new Response(null, { status, headers: { location: String(url) } });
  }

  get status() {
    return this.#status;
  }
  get ok() {
    return this.#status >= 200 && this.#status < 300;
  }
  get url() {
    return this.#url;
  }
  get redirected() {
    return this.#redirected;
  }
  get type() {
    return this.#type;
  }
  clone() {
    const copy = new Response(null, { status: Math.max(this.#status, 200), statusText: this.statusText, headers: this.headers });
    copy.#status = this.#status;
    copy.#url = this.#url;
    copy.#redirected = this.#redirected;
    copy.#type = this.#type;
    copy._setBody(this._copyBody());
    return copy;
  }
}

// Reads the body of a response chunk by chunk, on demand.
function bodyStream(id, signal) {
  let reading;
  let stop;
  return new ReadableStream(
    {
      start(controller) {
        stop = () => {
          reading?.abort(signal.reason);
          start("http", "cancel", { id });
          controller.error(signal.reason);
        };
        signal?.addEventListener("abort", stop, { once: true });
      },
      async pull(controller) {
        reading = startAbortable("http", "read", { id });
        const chunk = await reading.promise;
        if (chunk !== undefined) {
          controller.enqueue(chunk);
          return;
        }
        signal?.removeEventListener("abort", stop);
        controller.close();
      },
      async cancel() {
        signal?.removeEventListener("abort", stop);
        reading?.abort(new TypeError("cancelled"));
        await start("http", "cancel", { id });
      },
    },
    { highWaterMark: 0 },
  );
}

async function fetchData(request) {
  const { pathname } = new URL(request.url);
  const comma = pathname.indexOf(",");
  const head = pathname.slice(0, comma);
  const data = decodeURIComponent(pathname.slice(comma + 1));
  const isBase64 = /;\s*base64$/i.test(head);
  const type = head.replace(/;\s*base64$/i, "") || "text/plain;charset=US-ASCII";
  const bytes = isBase64 ? Uint8Array.from(atob(data), (character) => character.charCodeAt(0)) : data;
  return new Response(bytes, { headers: { "content-type": type } });
}

export async function fetch(input, init) {
  const request = new Request(input, init);
  const { signal } = request;
  signal.throwIfAborted();
  if (request.url.startsWith("data:")) return fetchData(request);
  if (!/^https?:/.test(request.url)) throw new TypeError("fetch failed", { cause: new Error(`unknown scheme: ${request.url}`) });
  const hasBody = request.method !== "GET" && request.method !== "HEAD";
  const bytes = hasBody ? await request.bytes() : undefined;
  if (!request.headers.has("accept")) request.headers.set("accept", "*/*");
  const args = { url: request.url, method: request.method, headers: [...request.headers], redirect: request.redirect };
  const operation = startAbortable("http", "fetch", args, bytes === undefined || bytes.constructor === Uint8Array ? bytes : new Uint8Array(bytes));
  const stop = () => operation.abort(signal.reason);
  signal.addEventListener("abort", stop, { once: true });
  let response;
  try {
    response = await operation.promise;
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    throw new TypeError("fetch failed", { cause: await requireModule("pi:network_errors").fetchError(error, request.url) });
  } finally {
    signal.removeEventListener("abort", stop);
  }
  const isEmpty = request.method === "HEAD" || [204, 205, 304].includes(response.status);
  if (isEmpty) start("http", "cancel", { id: response.body });
  const url = new URL(response.url);
  return Response._received(response, isEmpty ? null : bodyStream(response.body, signal), url.href !== request.url.replace(/#.*$/, ""));
}
