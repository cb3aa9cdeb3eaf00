// WebSocket.
import { start } from "pi:operations";
import { bytesOf } from "pi:web/encoding";
import { DOMException, Event, EventTarget, eventProperty } from "pi:web/events";
import { Blob } from "pi:web/blob";
import { Headers, TOKEN } from "pi:web/fetch";

export class MessageEvent extends Event {
  constructor(type, options = {}) {
    super(type, options);
    this.data = options.data ?? null;
    this.origin = options.origin ?? "";
    this.lastEventId = options.lastEventId ?? "";
  }
}

export class CloseEvent extends Event {
  constructor(type, options = {}) {
    super(type, options);
    this.code = options.code ?? 0;
    this.reason = options.reason ?? "";
    this.wasClean = Boolean(options.wasClean);
  }
}

export class ErrorEvent extends Event {
  constructor(type, options = {}) {
    super(type, options);
    this.error = options.error ?? null;
    this.message = options.message ?? "";
  }
}

const STATES = { CONNECTING: 0, OPEN: 1, CLOSING: 2, CLOSED: 3 };

export class WebSocket extends EventTarget {
  #id = undefined;
  #state = STATES.CONNECTING;
  #last = Promise.resolve();
  binaryType = "blob";
  bufferedAmount = 0;
  extensions = "";
  protocol = "";

  constructor(address, options = []) {
    super();
    const url = URL.parse(String(address));
    if (!url) throw new DOMException(`Invalid URL: ${address}`, "SyntaxError");
    if (url.protocol === "http:") url.protocol = "ws:";
    if (url.protocol === "https:") url.protocol = "wss:";
    if (url.protocol !== "ws:" && url.protocol !== "wss:") throw new DOMException(`Invalid URL protocol: ${url.protocol}`, "SyntaxError");
    url.hash = "";
    this.url = url.href;
    const settings = typeof options === "object" && !Array.isArray(options) ? options : { protocols: options };
    const protocols = [settings.protocols ?? []].flat().map(String);
    if (protocols.some((name) => !TOKEN.test(name)) || new Set(protocols).size !== protocols.length) throw new DOMException("Invalid subprotocols", "SyntaxError");
    this.#open(protocols, [...new Headers(settings.headers ?? {})]);
  }

  get readyState() {
    return this.#state;
  }

  async #open(protocols, headers) {
    try {
      const socket = await start("websocket", "connect", { url: this.url, protocols, headers });
      this.#id = socket.id;
      if (this.#state !== STATES.CONNECTING) {
        await start("websocket", "drop", { id: socket.id });
        return this.#closed(1006, "", false);
      }
      this.protocol = socket.protocol;
      this.#state = STATES.OPEN;
      this.dispatchEvent(new Event("open"));
      await this.#read();
    } catch (error) {
      this.#failed(error);
    }
  }

  async #read() {
    while (this.#state !== STATES.CLOSED) {
      const message = await start("websocket", "read", { id: this.#id });
      if (message === undefined) continue;
      if (message instanceof Uint8Array) {
        const bytes = message.buffer;
        this.#receive(this.binaryType === "arraybuffer" ? bytes : new Blob([bytes]));
      } else if (message.text !== undefined) {
        this.#receive(message.text);
      } else {
        this.#closed(message.code, message.reason, message.code !== 1006);
      }
    }
  }

  #receive(data) {
    // Ignore messages that arrive after close().
    if (this.#state === STATES.OPEN) this.dispatchEvent(new MessageEvent("message", { data, origin: new URL(this.url).origin }));
  }

  #failed(error) {
    if (this.#state === STATES.CLOSED) return;
    this.dispatchEvent(new ErrorEvent("error", { error, message: String(error?.message ?? error) }));
    this.#closed(1006, "", false);
  }

  #closed(code, reason, wasClean) {
    if (this.#state === STATES.CLOSED) return;
    this.#state = STATES.CLOSED;
    this.dispatchEvent(new CloseEvent("close", { code, reason, wasClean }));
  }

  send(data) {
    if (this.#state === STATES.CONNECTING) throw new DOMException("Sent before connected.", "InvalidStateError");
    if (this.#state !== STATES.OPEN) return;
    // Queued, to preserve the order of text and binary data.
    this.#last = this.#last
      .then(async () => {
        if (typeof data === "string") return start("websocket", "send", { id: this.#id, text: data.toWellFormed() });
        const bytes = data instanceof Blob ? new Uint8Array(await data.arrayBuffer()) : Uint8Array.from(bytesOf(data));
        return start("websocket", "send", { id: this.#id }, bytes);
      })
      .catch((error) => this.#failed(error));
  }

  close(code, reason = "") {
    if (code !== undefined && code !== 1000 && !(code >= 3000 && code <= 4999)) throw new DOMException("invalid code", "InvalidAccessError");
    if (new TextEncoder().encode(reason).length > 123) throw new DOMException("the reason is too long", "SyntaxError");
    if (this.#state >= STATES.CLOSING) return;
    this.#state = STATES.CLOSING;
    if (this.#id !== undefined) this.#last = this.#last.then(() => start("websocket", "close", { id: this.#id, code, reason }));
  }
}
for (const [name, value] of Object.entries(STATES)) {
  Object.defineProperty(WebSocket, name, { value, enumerable: true });
  Object.defineProperty(WebSocket.prototype, name, { value, enumerable: true });
}
for (const type of ["open", "message", "error", "close"]) eventProperty(WebSocket.prototype, type);
