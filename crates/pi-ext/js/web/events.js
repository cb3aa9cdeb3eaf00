// Events, EventTarget and AbortSignal.
export class DOMException extends Error {
  #name;

  constructor(message = "", name = "Error") {
    super(message);
    this.#name = typeof name === "object" ? (name?.name ?? "Error") : name;
    if (typeof name === "object" && name?.cause !== undefined) this.cause = name.cause;
  }
  get name() {
    return this.#name;
  }
  get code() {
    return { NotFoundError: 8, NotSupportedError: 9, InvalidStateError: 11, SyntaxError: 12, AbortError: 20, QuotaExceededError: 22, TimeoutError: 23, DataCloneError: 25 }[this.#name] ?? 0;
  }
}

const internals = Symbol("event");

export class Event {
  constructor(type, options = {}) {
    this[internals] = { stopped: false, prevented: false, target: null, current: null };
    Object.defineProperty(this, internals, { enumerable: false });
    this.type = String(type);
    this.bubbles = Boolean(options.bubbles);
    this.cancelable = Boolean(options.cancelable);
    this.composed = Boolean(options.composed);
    this.timeStamp = Date.now();
    this.isTrusted = false;
  }

  get target() {
    return this[internals].target;
  }
  get srcElement() {
    return this[internals].target;
  }
  get currentTarget() {
    return this[internals].current;
  }
  get eventPhase() {
    return this[internals].current ? 2 : 0;
  }
  get defaultPrevented() {
    return this[internals].prevented;
  }
  composedPath() {
    return this[internals].target ? [this[internals].target] : [];
  }
  preventDefault() {
    if (this.cancelable) this[internals].prevented = true;
  }
  stopPropagation() {}
  stopImmediatePropagation() {
    this[internals].stopped = true;
  }
}

export class CustomEvent extends Event {
  constructor(type, options = {}) {
    super(type, options);
    this.detail = options.detail ?? null;
  }
}

export class EventTarget {
  #listeners = new Map();

  addEventListener(type, listener, options) {
    if (listener === null || listener === undefined) return;
    const settings = typeof options === "object" && options !== null ? options : { capture: Boolean(options) };
    if (settings.signal?.aborted) return;
    const list = this.#listeners.get(type) ?? [];
    if (list.some((entry) => entry.listener === listener && entry.capture === Boolean(settings.capture))) return;
    const entry = { listener, capture: Boolean(settings.capture), once: Boolean(settings.once), removed: false };
    this.#listeners.set(type, [...list, entry]);
    settings.signal?.addEventListener("abort", () => this.removeEventListener(type, listener, settings), { once: true });
  }

  removeEventListener(type, listener, options) {
    const capture = typeof options === "object" && options !== null ? Boolean(options.capture) : Boolean(options);
    const list = this.#listeners.get(type);
    if (!list) return;
    const remaining = list.filter((entry) => {
      const isMatch = entry.listener === listener && entry.capture === capture;
      if (isMatch) entry.removed = true;
      return !isMatch;
    });
    if (remaining.length > 0) this.#listeners.set(type, remaining);
    else this.#listeners.delete(type);
  }

  dispatchEvent(event) {
    const state = event[internals];
    state.target = this;
    state.current = this;
    for (const entry of this.#listeners.get(event.type) ?? []) {
      if (entry.removed) continue;
      if (entry.once) this.removeEventListener(event.type, entry.listener, entry);
      try {
        if (typeof entry.listener === "function") entry.listener.call(this, event);
        else entry.listener.handleEvent(event);
      } catch (error) {
        // Report the error as an unhandled rejection, so that the other listeners still run.
        Promise.reject(error);
      }
      if (state.stopped) break;
    }
    state.current = null;
    return !event.defaultPrevented;
  }
}

// Adds an `on<type>` property that acts as a listener.
export function eventProperty(prototype, type) {
  const handlers = new WeakMap();
  Object.defineProperty(prototype, `on${type}`, {
    get() {
      return handlers.get(this)?.handler ?? null;
    },
    set(value) {
      const handler = typeof value === "function" ? value : null;
      const known = handlers.get(this);
      if (known) known.handler = handler;
      else {
        const entry = { handler };
        handlers.set(this, entry);
        this.addEventListener(type, (event) => entry.handler?.call(this, event));
      }
    },
    configurable: true,
  });
}

const allowed = Symbol("allowed");

export class AbortSignal extends EventTarget {
  #aborted = false;
  #reason = undefined;
  #followers = new Set();

  constructor(key) {
    if (key !== allowed) throw new TypeError("Illegal constructor");
    super();
  }

  get aborted() {
    return this.#aborted;
  }

  get reason() {
    return this.#reason;
  }

  throwIfAborted() {
    if (this.#aborted) throw this.#reason;
  }

  [internals](reason) {
    if (this.#aborted) return;
    this.#aborted = true;
    this.#reason = reason === undefined ? new DOMException("This operation was aborted", "AbortError") : reason;
    for (const follower of this.#followers) follower[internals](this.#reason);
    this.#followers.clear();
    this.dispatchEvent(new Event("abort"));
  }

  static abort(reason) {
    const signal = new AbortSignal(allowed);
    signal[internals](reason);
    return signal;
  }

  static timeout(milliseconds) {
    const signal = new AbortSignal(allowed);
    setTimeout(() => signal[internals](new DOMException("The operation was aborted due to timeout", "TimeoutError")), milliseconds);
    return signal;
  }

  static any(signals) {
    const all = [...signals];
    const signal = new AbortSignal(allowed);
    const done = all.find((source) => source.aborted);
    if (done) signal[internals](done.reason);
    else for (const source of all) source.#followers.add(signal);
    return signal;
  }
}
eventProperty(AbortSignal.prototype, "abort");

export class AbortController {
  #signal = new AbortSignal(allowed);

  get signal() {
    return this.#signal;
  }

  abort(reason) {
    this.#signal[internals](reason);
  }
}

for (const type of [Event, EventTarget, CustomEvent, AbortSignal, AbortController]) {
  Object.defineProperty(type.prototype, Symbol.toStringTag, { value: type.name, configurable: true });
}
