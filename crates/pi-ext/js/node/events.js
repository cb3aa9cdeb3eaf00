// EventEmitter.
const errorMonitor = Symbol("events.errorMonitor");
const captureRejectionSymbol = Symbol.for("nodejs.rejection");
const listenersOf = new WeakMap();

function checkListener(listener) {
  if (typeof listener !== "function") {
    throw Object.assign(new TypeError('The "listener" argument must be of type function'), { code: "ERR_INVALID_ARG_TYPE" });
  }
}

function tableOf(emitter) {
  let table = listenersOf.get(emitter);
  if (!table) {
    table = new Map();
    listenersOf.set(emitter, table);
  }
  return table;
}

function add(emitter, type, listener, prepend) {
  checkListener(listener);
  const table = tableOf(emitter);
  if (table.has("newListener")) emitter.emit("newListener", type, listener.listener ?? listener);
  const list = table.get(type) ?? [];
  table.set(type, prepend ? [listener, ...list] : [...list, listener]);
  return emitter;
}

function wrapOnce(emitter, type, listener) {
  checkListener(listener);
  function entry(...args) {
    emitter.removeListener(type, entry);
    return listener.apply(this, args);
  }
  entry.listener = listener;
  return entry;
}

export function EventEmitter(options) {
  EventEmitter.init?.call(this, options);
}
EventEmitter.prototype.constructor = EventEmitter;

const methods = {
  on(type, listener) {
    return add(this, type, listener, false);
  },
  addListener(type, listener) {
    return add(this, type, listener, false);
  },
  prependListener(type, listener) {
    return add(this, type, listener, true);
  },
  // Calls `on`, which streams override to start flowing.
  once(type, listener) {
    return this.on(type, wrapOnce(this, type, listener));
  },
  prependOnceListener(type, listener) {
    return this.prependListener(type, wrapOnce(this, type, listener));
  },
  removeListener(type, listener) {
    const table = tableOf(this);
    const list = table.get(type);
    if (!list) return this;
    const index = list.findLastIndex((entry) => entry === listener || entry.listener === listener);
    if (index < 0) return this;
    const remaining = list.toSpliced(index, 1);
    if (remaining.length > 0) table.set(type, remaining);
    else table.delete(type);
    if (table.has("removeListener")) this.emit("removeListener", type, listener);
    return this;
  },
  off(type, listener) {
    return this.removeListener(type, listener);
  },
  removeAllListeners(type) {
    const table = tableOf(this);
    if (type === undefined) table.clear();
    else table.delete(type);
    return this;
  },
  emit(type, ...args) {
    const table = tableOf(this);
    if (type === "error" && table.has(errorMonitor)) this.emit(errorMonitor, ...args);
    const list = table.get(type);
    if (!list) {
      if (type !== "error") return false;
      const [error] = args;
      if (error instanceof Error) throw error;
      throw Object.assign(new Error(`Unhandled error. (${String(error)})`), { code: "ERR_UNHANDLED_ERROR", context: error });
    }
    for (const listener of list) listener.apply(this, args);
    return true;
  },
  listeners(type) {
    return (tableOf(this).get(type) ?? []).map((entry) => entry.listener ?? entry);
  },
  rawListeners(type) {
    return [...(tableOf(this).get(type) ?? [])];
  },
  listenerCount(type, listener) {
    const list = tableOf(this).get(type) ?? [];
    return listener ? list.filter((entry) => entry === listener || entry.listener === listener).length : list.length;
  },
  eventNames() {
    return [...tableOf(this).keys()];
  },
  setMaxListeners() {
    return this;
  },
  getMaxListeners() {
    return EventEmitter.defaultMaxListeners;
  },
};
for (const [name, value] of Object.entries(methods)) {
  Object.defineProperty(EventEmitter.prototype, name, { value, writable: true, configurable: true, enumerable: false });
}

export function once(emitter, type, options = {}) {
  const { signal } = options;
  return new Promise((resolve, reject) => {
    if (signal?.aborted) {
      reject(signal.reason);
      return;
    }
    const isTarget = typeof emitter.addEventListener === "function" && typeof emitter.on !== "function";
    const listen = (name, handler) => (isTarget ? emitter.addEventListener(name, handler, { once: true }) : emitter.once(name, handler));
    const forget = (name, handler) => (isTarget ? emitter.removeEventListener(name, handler) : emitter.removeListener(name, handler));
    const done = (...args) => {
      forget("error", fail);
      resolve(args);
    };
    const fail = (error) => {
      forget(type, done);
      reject(error);
    };
    listen(type, done);
    if (type !== "error" && !isTarget) listen("error", fail);
    signal?.addEventListener("abort", () => {
      forget(type, done);
      forget("error", fail);
      reject(signal.reason);
    }, { once: true });
  });
}

export function on(emitter, type, options = {}) {
  const queue = [];
  const waiting = [];
  let failure;
  let finished = false;
  const push = (...args) => {
    const next = waiting.shift();
    if (next) next.resolve({ done: false, value: args });
    else queue.push(args);
  };
  const fail = (error) => {
    failure = error;
    for (const next of waiting.splice(0)) next.reject(error);
  };
  const close = () => {
    finished = true;
    emitter.removeListener(type, push);
    emitter.removeListener("error", fail);
    for (const next of waiting.splice(0)) next.resolve({ done: true, value: undefined });
    return Promise.resolve({ done: true, value: undefined });
  };
  emitter.on(type, push);
  if (type !== "error") emitter.on("error", fail);
  for (const end of options.close ?? []) emitter.on(end, close);
  options.signal?.addEventListener("abort", () => fail(options.signal.reason), { once: true });
  return {
    next() {
      if (queue.length > 0) return Promise.resolve({ done: false, value: queue.shift() });
      if (failure) return Promise.reject(failure);
      if (finished) return Promise.resolve({ done: true, value: undefined });
      const next = Promise.withResolvers();
      waiting.push(next);
      return next.promise;
    },
    return: close,
    throw: (error) => {
      fail(error);
      return close();
    },
    [Symbol.asyncIterator]() {
      return this;
    },
  };
}

export function listenerCount(emitter, type) {
  return emitter.listenerCount(type);
}

export function getEventListeners(emitter, type) {
  return emitter.listeners?.(type) ?? [];
}

export function setMaxListeners() {}

export function addAbortListener(signal, listener) {
  signal.addEventListener("abort", listener, { once: true });
  return { [Symbol.dispose ?? Symbol.for("dispose")]: () => signal.removeEventListener("abort", listener) };
}

export class EventEmitterAsyncResource extends EventEmitter {}

export const defaultMaxListeners = 10;
Object.assign(EventEmitter, { EventEmitter, once, on, listenerCount, getEventListeners, setMaxListeners, addAbortListener, errorMonitor, captureRejectionSymbol, defaultMaxListeners, captureRejections: false, EventEmitterAsyncResource });

export { errorMonitor, captureRejectionSymbol };
export default EventEmitter;
