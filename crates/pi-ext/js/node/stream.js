// Streams: Readable, Writable, and what is built of both.
import { Buffer } from "node:buffer";
import { EventEmitter } from "node:events";
import { StringDecoder } from "node:string_decoder";

const readableKey = Symbol("readable");
const writableKey = Symbol("writable");
const DEFAULT_MARK = 65536;
const OBJECT_MARK = 16;

function destroyed(name) {
  return Object.assign(new Error(`Cannot call ${name} after a stream was destroyed`), { code: "ERR_STREAM_DESTROYED" });
}

function premature() {
  return Object.assign(new Error("Premature close"), { code: "ERR_STREAM_PREMATURE_CLOSE" });
}

export function Stream(options) {
  EventEmitter.call(this, options);
}
Object.setPrototypeOf(Stream.prototype, EventEmitter.prototype);
Object.setPrototypeOf(Stream, EventEmitter);
Stream.prototype.pipe = function (target) {
  this.on("data", (chunk) => target.write(chunk));
  this.on("end", () => target.end());
  return target;
};

// What both halves share: being destroyed once, closing once.
function initialize(stream, options) {
  stream.destroyed = false;
  stream.closed = false;
  stream.errored = null;
  const { autoDestroy = true, emitClose = true, signal } = options;
  Object.defineProperty(stream, "_lifecycle", { value: { autoDestroy, emitClose }, enumerable: false, writable: true });
  for (const name of ["construct", "destroy", "read", "write", "writev", "final", "transform", "flush"]) {
    if (typeof options[name] === "function") stream[`_${name}`] = options[name];
  }
  if (signal) {
    const stop = () => stream.destroy(Object.assign(new Error("The operation was aborted"), { name: "AbortError", code: "ABORT_ERR", cause: signal.reason }));
    if (signal.aborted) queueMicrotask(stop);
    else signal.addEventListener("abort", stop, { once: true });
  }
}

const lifecycle = {
  destroy(error, callback) {
    if (this.destroyed) {
      callback?.();
      return this;
    }
    this.destroyed = true;
    if (error) this.errored = error;
    const finish = (failure) => {
      const reason = failure ?? error;
      queueMicrotask(() => {
        if (reason) {
          this.errored = reason;
          this.emit("error", reason);
        }
        this.closed = true;
        if (this._lifecycle.emitClose) this.emit("close");
        callback?.(reason);
      });
    };
    try {
      this._destroy(error ?? null, finish);
    } catch (failure) {
      finish(failure);
    }
    return this;
  },
  _destroy(error, callback) {
    callback(error);
  },
};

export function Readable(options = {}) {
  Stream.call(this, options);
  initialize(this, options ?? {});
  initializeReadable(this, options ?? {});
}
Object.setPrototypeOf(Readable.prototype, Stream.prototype);
Object.setPrototypeOf(Readable, Stream);

function initializeReadable(stream, options) {
  const objectMode = Boolean(options.objectMode || options.readableObjectMode);
  const state = {
    buffer: [],
    length: 0,
    objectMode,
    highWaterMark: options.readableHighWaterMark ?? options.highWaterMark ?? (objectMode ? OBJECT_MARK : DEFAULT_MARK),
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
      const whole = state.flowing ? state.buffer.shift() : state.buffer.length === 1 ? state.buffer[0] : typeof state.buffer[0] === "string" ? state.buffer.join("") : Buffer.concat(state.buffer);
      if (!state.flowing) state.buffer = [];
      state.length -= whole.length;
      chunk = whole;
    } else {
      const whole = typeof state.buffer[0] === "string" ? state.buffer.join("") : Buffer.concat(state.buffer);
      chunk = whole.slice(0, count);
      state.buffer = [whole.slice(count)];
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
    const stir = () => {
      wake.resolve();
      wake = Promise.withResolvers();
    };
    this.on("readable", stir);
    this.on("end", () => {
      finished = true;
      stir();
    });
    this.on("error", (error) => failure.reject(error));
    this.on("close", () => {
      if (!finished && !this.errored && !this[readableKey].endEmitted) failure.reject(premature());
      stir();
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

function addMethods(type, methods, getters = {}) {
  for (const key of Reflect.ownKeys(methods)) Object.defineProperty(type.prototype, key, { value: methods[key], writable: true, configurable: true, enumerable: false });
  for (const [key, get] of Object.entries(getters)) {
    Object.defineProperty(type.prototype, key, { get, set(value) { Object.defineProperty(this, key, { value, writable: true, configurable: true }); }, configurable: true });
  }
}

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
addMethods(Readable, readableMethods, readableGetters);

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

export function Writable(options = {}) {
  Stream.call(this, options);
  initialize(this, options ?? {});
  initializeWritable(this, options ?? {});
}
Object.setPrototypeOf(Writable.prototype, Stream.prototype);
Object.setPrototypeOf(Writable, Stream);
Object.defineProperty(Writable, Symbol.hasInstance, {
  value(object) {
    return Function.prototype[Symbol.hasInstance].call(this, object) || (this === Writable && Boolean(object?.[writableKey]));
  },
});

function initializeWritable(stream, options) {
  const objectMode = Boolean(options.objectMode || options.writableObjectMode);
  const state = {
    queue: [],
    length: 0,
    objectMode,
    highWaterMark: options.writableHighWaterMark ?? options.highWaterMark ?? (objectMode ? OBJECT_MARK : DEFAULT_MARK),
    decodeStrings: options.decodeStrings !== false,
    defaultEncoding: options.defaultEncoding ?? "utf8",
    writing: false,
    corked: 0,
    needDrain: false,
    ending: false,
    finished: false,
    endCallbacks: [],
  };
  Object.defineProperty(stream, writableKey, { value: state });
}

function writeNext(stream) {
  const state = stream[writableKey];
  if (state.writing || state.corked > 0 || stream.destroyed) return;
  const entry = state.queue.shift();
  if (!entry) {
    finishIfDone(stream);
    return;
  }
  state.writing = true;
  let isSync = true;
  const done = (error) => {
    state.writing = false;
    state.length -= entry.size;
    const settle = () => {
      entry.callback?.(error ?? null);
      if (error) {
        stream.destroy(error);
        return;
      }
      if (state.needDrain && state.length === 0 && !state.ending) {
        state.needDrain = false;
        stream.emit("drain");
      }
      writeNext(stream);
    };
    if (isSync) queueMicrotask(settle);
    else settle();
  };
  try {
    stream._write(entry.chunk, entry.encoding, done);
  } catch (error) {
    done(error);
  }
  isSync = false;
}

function finishIfDone(stream) {
  const state = stream[writableKey];
  if (!state.ending || state.finished || state.writing || state.queue.length > 0 || state.finishing || stream.destroyed) return;
  state.finishing = true;
  const done = (error) => {
    if (error) {
      stream.destroy(error);
      return;
    }
    queueMicrotask(() => {
      if (state.finished) return;
      state.finished = true;
      for (const callback of state.endCallbacks.splice(0)) callback();
      stream.emit("finish");
      const readable = stream[readableKey];
      if (stream._lifecycle.autoDestroy && (!readable || readable.endEmitted)) stream.destroy();
    });
  };
  try {
    if (stream._final) stream._final(done);
    else done();
  } catch (error) {
    done(error);
  }
}

const writableMethods = {
  _write(chunk, encoding, callback) {
    if (this._writev) this._writev([{ chunk, encoding }], callback);
    else callback(Object.assign(new Error("The _write() method is not implemented"), { code: "ERR_METHOD_NOT_IMPLEMENTED" }));
  },
  write(chunk, encoding, callback) {
    const state = this[writableKey];
    const done = typeof encoding === "function" ? encoding : callback;
    let format = typeof encoding === "string" ? encoding : state.defaultEncoding;
    if (chunk === null) throw Object.assign(new TypeError("May not write null values to stream"), { code: "ERR_STREAM_NULL_VALUES" });
    if (state.ending || this.destroyed) {
      const error = state.ending ? Object.assign(new Error("write after end"), { code: "ERR_STREAM_WRITE_AFTER_END" }) : destroyed("write");
      queueMicrotask(() => done?.(error));
      if (state.ending) this.destroy(error);
      return false;
    }
    let value = chunk;
    if (!state.objectMode) {
      if (typeof value === "string" && state.decodeStrings) {
        value = Buffer.from(value, format);
        format = "buffer";
      } else if (value instanceof Uint8Array && !(value instanceof Buffer)) {
        value = Buffer.from(value.buffer, value.byteOffset, value.byteLength);
        format = "buffer";
      } else if (typeof value !== "string" && !(value instanceof Uint8Array)) {
        throw Object.assign(new TypeError('The "chunk" argument must be of type string or an instance of Buffer, TypedArray, or DataView'), { code: "ERR_INVALID_ARG_TYPE" });
      }
    }
    const weight = state.objectMode ? 1 : value.length;
    state.queue.push({ chunk: value, encoding: format, callback: done, size: weight });
    state.length += weight;
    const hasRoom = state.length < state.highWaterMark;
    if (!hasRoom) state.needDrain = true;
    writeNext(this);
    return hasRoom;
  },
  end(chunk, encoding, callback) {
    const state = this[writableKey];
    const done = [chunk, encoding, callback].find((value) => typeof value === "function");
    if (chunk !== undefined && chunk !== null && typeof chunk !== "function") this.write(chunk, typeof encoding === "string" ? encoding : undefined);
    if (done) {
      if (state.finished) queueMicrotask(() => done());
      else state.endCallbacks.push(done);
    }
    state.corked = 0;
    if (!state.ending) {
      state.ending = true;
      if (!state.writing) writeNext(this);
    }
    return this;
  },
  cork() {
    this[writableKey].corked += 1;
  },
  uncork() {
    const state = this[writableKey];
    state.corked = Math.max(0, state.corked - 1);
    writeNext(this);
  },
  setDefaultEncoding(encoding) {
    this[writableKey].defaultEncoding = encoding;
    return this;
  },
  ...lifecycle,
};
const writableGetters = {
  writable() {
    const state = this[writableKey];
    return Boolean(state) && !this.destroyed && !state.ending;
  },
  writableEnded() {
    return this[writableKey].ending;
  },
  writableFinished() {
    return this[writableKey].finished;
  },
  writableLength() {
    return this[writableKey].length;
  },
  writableHighWaterMark() {
    return this[writableKey].highWaterMark;
  },
  writableNeedDrain() {
    return this[writableKey].needDrain;
  },
  writableObjectMode() {
    return this[writableKey].objectMode;
  },
  writableCorked() {
    return this[writableKey].corked;
  },
};
addMethods(Writable, writableMethods, writableGetters);

export function Duplex(options = {}) {
  Stream.call(this, options);
  const given = options ?? {};
  initialize(this, given);
  initializeReadable(this, given);
  initializeWritable(this, given);
  this.allowHalfOpen = given.allowHalfOpen !== false;
  if (given.readable === false) {
    this[readableKey].ended = true;
    this[readableKey].endEmitted = true;
  }
  if (given.writable === false) {
    this[writableKey].ending = true;
    this[writableKey].finished = true;
  }
}
Object.setPrototypeOf(Duplex.prototype, Readable.prototype);
Object.setPrototypeOf(Duplex, Readable);
addMethods(Duplex, writableMethods, writableGetters);

export function Transform(options = {}) {
  Duplex.call(this, options);
}
Object.setPrototypeOf(Transform.prototype, Duplex.prototype);
Object.setPrototypeOf(Transform, Duplex);
addMethods(Transform, {
  _transform() {
    throw Object.assign(new Error("The _transform() method is not implemented"), { code: "ERR_METHOD_NOT_IMPLEMENTED" });
  },
  _write(chunk, encoding, callback) {
    this._transform(chunk, encoding, (error, value) => {
      if (error) {
        callback(error);
        return;
      }
      if (value !== undefined && value !== null) this.push(value);
      const state = this[readableKey];
      if (state.length < state.highWaterMark) callback();
      else this._resumeWrite = callback;
    });
  },
  _read() {
    const resume = this._resumeWrite;
    this[readableKey].reading = false;
    if (resume) {
      this._resumeWrite = undefined;
      resume();
    }
  },
  _final(callback) {
    if (!this._flush) {
      this.push(null);
      callback();
      return;
    }
    this._flush((error, value) => {
      if (error) {
        callback(error);
        return;
      }
      if (value !== undefined && value !== null) this.push(value);
      this.push(null);
      callback();
    });
  },
});

export function PassThrough(options) {
  Transform.call(this, options);
}
Object.setPrototypeOf(PassThrough.prototype, Transform.prototype);
Object.setPrototypeOf(PassThrough, Transform);
addMethods(PassThrough, {
  _transform(chunk, encoding, callback) {
    callback(null, chunk);
  },
});
for (const type of [Stream, Readable, Writable, Duplex, Transform, PassThrough]) {
  Object.defineProperty(type.prototype, "constructor", { value: type, writable: true, configurable: true });
}

export function finished(stream, options, callback) {
  const done = typeof options === "function" ? options : callback;
  const settings = typeof options === "object" && options !== null ? options : {};
  const readable = settings.readable ?? Boolean(stream[readableKey] ?? stream.readable);
  const writable = settings.writable ?? Boolean(stream[writableKey] ?? stream.writable);
  let waitsForEnd = readable && !(stream.readableEnded ?? false);
  let waitsForFinish = writable && !(stream.writableFinished ?? false);
  let isDone = false;
  const finish = (error) => {
    if (isDone) return;
    isDone = true;
    stop();
    done(error);
  };
  const check = () => {
    if (!waitsForEnd && !waitsForFinish) finish();
  };
  const handlers = {
    end() {
      waitsForEnd = false;
      check();
    },
    finish() {
      waitsForFinish = false;
      check();
    },
    error: finish,
    close() {
      if (waitsForEnd || waitsForFinish) finish(stream.errored ?? premature());
      else finish();
    },
  };
  const stop = () => {
    for (const [name, handler] of Object.entries(handlers)) stream.removeListener(name, handler);
  };
  for (const [name, handler] of Object.entries(handlers)) stream.on(name, handler);
  settings.signal?.addEventListener("abort", () => finish(settings.signal.reason), { once: true });
  if (stream.errored) queueMicrotask(() => finish(stream.errored));
  else if (stream.closed || (!waitsForEnd && !waitsForFinish)) queueMicrotask(() => (stream.closed ? handlers.close() : check()));
  return stop;
}

export function pipeline(...args) {
  const done = typeof args.at(-1) === "function" && args.length > 1 && !isGenerator(args.at(-1)) ? args.pop() : () => {};
  const list = args.flat();
  const streams = [];
  for (const [index, item] of list.entries()) {
    if (typeof item === "function") {
      const source = streams.at(-1);
      streams.push(Readable.from(item(source ?? undefined)));
    } else if (index === 0 && !item[readableKey] && typeof item.pipe !== "function") {
      streams.push(Readable.from(item));
    } else {
      streams.push(item);
    }
  }
  let isDone = false;
  let open = streams.length;
  const finish = (error) => {
    if (isDone) return;
    isDone = true;
    if (error) for (const stream of streams) stream.destroy?.();
    done(error);
  };
  for (const [index, stream] of streams.entries()) {
    const isLast = index === streams.length - 1;
    finished(stream, { readable: isLast ? false : undefined, writable: index > 0 && Boolean(stream[writableKey]) }, (error) => {
      if (error && !(isDone || (error.code === "ERR_STREAM_PREMATURE_CLOSE" && open === 0))) finish(error);
      else if (--open === 0 || isLast) finish();
    });
    if (index > 0 && typeof list[index] !== "function") streams[index - 1].pipe(stream);
  }
  return streams.at(-1);
}

function isGenerator(value) {
  const tag = Object.prototype.toString.call(value);
  return tag === "[object AsyncGeneratorFunction]" || tag === "[object GeneratorFunction]";
}

export function addAbortSignal(signal, stream) {
  signal.addEventListener("abort", () => stream.destroy(signal.reason), { once: true });
  return stream;
}

export function isReadable(stream) {
  return Boolean(stream?.readable);
}

export function isErrored(stream) {
  return Boolean(stream?.errored);
}

export function getDefaultHighWaterMark(objectMode) {
  return objectMode ? OBJECT_MARK : DEFAULT_MARK;
}

export function setDefaultHighWaterMark() {}

export const promises = {
  pipeline: (...args) => {
    const options = typeof args.at(-1) === "object" && args.at(-1) !== null && !args.at(-1)[writableKey] && !args.at(-1)[readableKey] && typeof args.at(-1).pipe !== "function" && !args.at(-1)[Symbol.asyncIterator] && !args.at(-1)[Symbol.iterator] && typeof args.at(-1).write !== "function" ? args.pop() : {};
    return new Promise((resolve, reject) => {
      const last = pipeline(...args, (error) => (error ? reject(error) : resolve()));
      options.signal?.addEventListener("abort", () => last.destroy(options.signal.reason), { once: true });
    });
  },
  finished: (stream, options) => new Promise((resolve, reject) => finished(stream, options ?? {}, (error) => (error ? reject(error) : resolve()))),
};

Object.assign(Stream, { Stream, Readable, Writable, Duplex, Transform, PassThrough, finished, pipeline, addAbortSignal, isReadable, isErrored, promises, getDefaultHighWaterMark, setDefaultHighWaterMark });
export default Stream;
