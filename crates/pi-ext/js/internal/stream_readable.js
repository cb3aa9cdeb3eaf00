// Readable streams.
import { Buffer } from "node:buffer";
import { StringDecoder } from "node:string_decoder";
import { define, DEFAULT_HIGH_WATER_MARK, initialize, lifecycle, OBJECT_HIGH_WATER_MARK, premature, readableKey, Stream, writableKey } from "pi:stream_base";

export function Readable(options = {}) {
  Stream.call(this, options);
  initialize(this, options ?? {});
  initializeReadable(this, options ?? {});
}

export function initializeReadable(stream, options) {
  const objectMode = Boolean(options.objectMode || options.readableObjectMode);
  const state = {
    buffer: [],
    length: 0,
    objectMode,
    highWaterMark: options.readableHighWaterMark ?? options.highWaterMark ?? (objectMode ? OBJECT_HIGH_WATER_MARK : DEFAULT_HIGH_WATER_MARK),
    decoder: options.encoding ? new StringDecoder(options.encoding) : null,
    encoding: options.encoding ?? null,
    flowing: null,
    reading: false,
    ended: false,
    endEmitted: false,
    readableListening: false,
    scheduled: false,
    pipes: [],
  };
  Object.defineProperty(stream, readableKey, { value: state });
}

const size = (state, chunk) => (state.objectMode ? 1 : chunk.length);

function fillBuffer(stream) {
  const state = stream[readableKey];
  if (state.reading || state.ended || stream.destroyed || state.length >= Math.max(state.highWaterMark, 1)) return;
  state.reading = true;
  try {
    const result = stream._read(state.highWaterMark);
    if (typeof result?.then === "function") result.then(undefined, (error) => stream.destroy(error));
  } catch (error) {
    stream.destroy(error);
  }
}

function schedule(stream) {
  const state = stream[readableKey];
  if (state.scheduled) return;
  state.scheduled = true;
  queueMicrotask(() => {
    state.scheduled = false;
    if (state.readableListening && (state.length > 0 || state.ended)) stream.emit("readable");
    flow(stream);
    if (state.length === 0 && !state.ended && (state.flowing || state.readableListening)) fillBuffer(stream);
    endIfDone(stream);
  });
}

function flow(stream) {
  const state = stream[readableKey];
  while (state.flowing && state.length > 0 && !stream.destroyed) {
    const chunk = stream.read();
    if (chunk === null) break;
  }
}

function endIfDone(stream) {
  const state = stream[readableKey];
  if (!state.ended || state.endEmitted || state.length > 0 || stream.destroyed) return;
  if (state.flowing === null && !state.readableListening) return;
  state.endEmitted = true;
  stream.readable = false;
  queueMicrotask(() => {
    stream.emit("end");
    const writable = stream[writableKey];
    if (writable && stream.allowHalfOpen === false) stream.end();
    if (stream._lifecycle.autoDestroy && (!writable || writable.finished)) stream.destroy();
  });
}

function pushChunk(stream, chunk, encoding, front) {
  const state = stream[readableKey];
  state.reading = false;
  if (chunk === null) {
    const rest = state.decoder?.end();
    if (rest) {
      state.buffer.push(rest);
      state.length += size(state, rest);
    }
    state.ended = true;
    schedule(stream);
    return false;
  }
  if (state.ended && !front) {
    stream.destroy(Object.assign(new Error("stream.push() after EOF"), { code: "ERR_STREAM_PUSH_AFTER_EOF" }));
    return false;
  }
  let value = chunk;
  if (!state.objectMode) {
    if (typeof value === "string") {
      if (state.encoding === null || (encoding ?? "utf8") !== state.encoding) value = Buffer.from(value, encoding);
    } else if (value instanceof Uint8Array && !(value instanceof Buffer)) {
      value = Buffer.from(value.buffer, value.byteOffset, value.byteLength);
    }
    if (state.decoder && typeof value !== "string") value = state.decoder.write(value);
    if (value.length === 0) {
      schedule(stream);
      return state.length < state.highWaterMark;
    }
  }
  if (front) state.buffer.unshift(value);
  else state.buffer.push(value);
  state.length += size(state, value);
  schedule(stream);
  if (state.length < state.highWaterMark && !state.reading && (state.flowing || state.readableListening)) queueMicrotask(() => fillBuffer(stream));
  return state.length < state.highWaterMark;
}

const readableMethods = {
  _read() {
    throw Object.assign(new Error("The _read() method is not implemented"), { code: "ERR_METHOD_NOT_IMPLEMENTED" });
  },
  push(chunk, encoding) {
    return pushChunk(this, chunk === undefined ? null : chunk, encoding, false);
  },
  unshift(chunk, encoding) {
    return pushChunk(this, chunk, encoding, true);
  },
  read(count) {
    const state = this[readableKey];
    if (state.length === 0) {
      if (count !== 0) fillBuffer(this);
      if (state.length === 0) {
        endIfDone(this);
        return null;
      }
    }
    if (count === 0) return null;
    let chunk;
    if (state.objectMode) {
      chunk = state.buffer.shift();
      state.length -= 1;
    } else if (count === undefined || count >= state.length) {
      if (count !== undefined && count > state.length && !state.ended) {
        fillBuffer(this);
        return null;
      }
      const data = state.flowing ? state.buffer.shift() : state.buffer.length === 1 ? state.buffer[0] : typeof state.buffer[0] === "string" ? state.buffer.join("") : Buffer.concat(state.buffer);
      if (!state.flowing) state.buffer = [];
      state.length -= data.length;
      chunk = data;
    } else {
      const data = typeof state.buffer[0] === "string" ? state.buffer.join("") : Buffer.concat(state.buffer);
      chunk = data.slice(0, count);
      state.buffer = [data.slice(count)];
      state.length -= count;
    }
    if (state.length < state.highWaterMark && !state.ended) queueMicrotask(() => fillBuffer(this));
    this.emit("data", chunk);
    if (state.length === 0) endIfDone(this);
    return chunk;
  },
  on(type, listener) {
    Stream.prototype.on.call(this, type, listener);
    const state = this[readableKey];
    if (!state) return this;
    if (type === "data" && state.flowing !== false && !state.readableListening) this.resume();
    if (type === "readable") {
      state.readableListening = true;
      state.flowing = false;
      schedule(this);
      fillBuffer(this);
    }
    return this;
  },
  addListener(type, listener) {
    return this.on(type, listener);
  },
  removeListener(type, listener) {
    Stream.prototype.removeListener.call(this, type, listener);
    if (type === "readable" && this[readableKey] && this.listenerCount("readable") === 0) this[readableKey].readableListening = false;
    return this;
  },
  off(type, listener) {
    return this.removeListener(type, listener);
  },
  resume() {
    const state = this[readableKey];
    if (!state.flowing) {
      state.flowing = !state.readableListening;
      this.emit("resume");
      schedule(this);
      fillBuffer(this);
    }
    return this;
  },
  pause() {
    const state = this[readableKey];
    if (state.flowing !== false) {
      state.flowing = false;
      this.emit("pause");
    }
    return this;
  },
  isPaused() {
    return this[readableKey].flowing === false;
  },
  setEncoding(encoding) {
    const state = this[readableKey];
    state.decoder = new StringDecoder(encoding);
    state.encoding = encoding;
    if (state.buffer.length > 0) {
      const text = state.decoder.write(Buffer.concat(state.buffer));
      state.buffer = text ? [text] : [];
      state.length = text.length;
    }
    return this;
  },
  pipe(target, options = {}) {
    const state = this[readableKey];
    const onData = (chunk) => {
      if (target.write(chunk) === false) {
        this.pause();
        target.once("drain", () => this.resume());
      }
    };
    const onEnd = () => target.end();
    state.pipes.push({ target, onData, onEnd });
    this.on("data", onData);
    if (options.end !== false) this.once("end", onEnd);
    target.emit("pipe", this);
    return target;
  },
  unpipe(target) {
    const state = this[readableKey];
    for (const pipe of state.pipes.filter((entry) => target === undefined || entry.target === target)) {
      this.removeListener("data", pipe.onData);
      this.removeListener("end", pipe.onEnd);
      pipe.target.emit("unpipe", this);
    }
    state.pipes = state.pipes.filter((entry) => target !== undefined && entry.target !== target);
    return this;
  },
  wrap(source) {
    source.on("data", (chunk) => {
      if (!this.push(chunk)) source.pause?.();
    });
    source.on("end", () => this.push(null));
    source.on("error", (error) => this.destroy(error));
    this._read = () => source.resume?.();
    return this;
  },
  async *[Symbol.asyncIterator]() {
    const failure = Promise.withResolvers();
    failure.promise.catch(() => {});
    let finished = false;
    let wake = Promise.withResolvers();
    const notify = () => {
      wake.resolve();
      wake = Promise.withResolvers();
    };
    this.on("readable", notify);
    this.on("end", () => {
      finished = true;
      notify();
    });
    this.on("error", (error) => failure.reject(error));
    this.on("close", () => {
      if (!finished && !this.errored && !this[readableKey].endEmitted) failure.reject(premature());
      notify();
    });
    try {
      for (;;) {
        if (this.errored) throw this.errored;
        const chunk = this.destroyed ? null : this.read();
        if (chunk !== null) yield chunk;
        else if (finished || this[readableKey].endEmitted) return;
        else await Promise.race([wake.promise, failure.promise]);
      }
    } finally {
      if (!this.destroyed) this.destroy();
    }
  },
  iterator() {
    return this[Symbol.asyncIterator]();
  },
  map(transform) {
    const source = this;
    return Readable.from((async function* () {
      for await (const chunk of source) yield transform(chunk);
    })());
  },
  filter(test) {
    const source = this;
    return Readable.from((async function* () {
      for await (const chunk of source) if (await test(chunk)) yield chunk;
    })());
  },
  async forEach(visit) {
    for await (const chunk of this) await visit(chunk);
  },
  async toArray() {
    const chunks = [];
    for await (const chunk of this) chunks.push(chunk);
    return chunks;
  },
  ...lifecycle,
};

const readableGetters = {
  readable() {
    const state = this[readableKey];
    return Boolean(state) && !this.destroyed && !state.endEmitted;
  },
  readableEnded() {
    return this[readableKey].endEmitted;
  },
  readableFlowing() {
    return this[readableKey].flowing;
  },
  readableLength() {
    return this[readableKey].length;
  },
  readableHighWaterMark() {
    return this[readableKey].highWaterMark;
  },
  readableObjectMode() {
    return this[readableKey].objectMode;
  },
  readableEncoding() {
    return this[readableKey].encoding;
  },
  readableAborted() {
    return this.destroyed && !this[readableKey].endEmitted;
  },
};
define(Readable, Stream, readableMethods, readableGetters);
Object.defineProperty(Readable.prototype, "readableFlowing", {
  get: readableGetters.readableFlowing,
  set(value) {
    this[readableKey].flowing = value;
  },
  configurable: true,
});

Readable.from = function (source, options) {
  const single = typeof source === "string" || source instanceof Uint8Array;
  const iterator = single ? [source][Symbol.iterator]() : (source[Symbol.asyncIterator]?.() ?? source[Symbol.iterator]());
  return new Readable({
    objectMode: !single,
    highWaterMark: 1,
    ...options,
    async read() {
      try {
        const { done, value } = await iterator.next();
        this.push(done ? null : await value);
      } catch (error) {
        this.destroy(error);
      }
    },
    destroy(error, callback) {
      Promise.resolve(iterator.return?.()).then(() => callback(error), callback);
    },
  });
};
Readable.fromWeb = (web, options) => Readable.from(web, { objectMode: false, ...options });
Readable.toWeb = (stream) =>
  new ReadableStream({
    start(controller) {
      stream.on("data", (chunk) => {
        controller.enqueue(typeof chunk === "string" ? new TextEncoder().encode(chunk) : new Uint8Array(chunk));
        if (controller.desiredSize <= 0) stream.pause();
      });
      stream.on("end", () => controller.close());
      stream.on("error", (error) => controller.error(error));
    },
    pull: () => void stream.resume(),
    cancel: (reason) => void stream.destroy(reason),
  });
