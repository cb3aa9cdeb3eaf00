// Writable streams.
import { Buffer } from "node:buffer";
import { define, DEFAULT_HIGH_WATER_MARK, initialize, lifecycle, OBJECT_HIGH_WATER_MARK, readableKey, Stream, writableKey } from "pi:stream_base";

function destroyed(name) {
  return Object.assign(new Error(`Cannot call ${name} after a stream was destroyed`), { code: "ERR_STREAM_DESTROYED" });
}

export function Writable(options = {}) {
  Stream.call(this, options);
  initialize(this, options ?? {});
  initializeWritable(this, options ?? {});
}
Object.defineProperty(Writable, Symbol.hasInstance, {
  value(object) {
    return Function.prototype[Symbol.hasInstance].call(this, object) || (this === Writable && Boolean(object?.[writableKey]));
  },
});

export function initializeWritable(stream, options) {
  const objectMode = Boolean(options.objectMode || options.writableObjectMode);
  const state = {
    queue: [],
    length: 0,
    objectMode,
    highWaterMark: options.writableHighWaterMark ?? options.highWaterMark ?? (objectMode ? OBJECT_HIGH_WATER_MARK : DEFAULT_HIGH_WATER_MARK),
    decodeStrings: options.decodeStrings !== false,
    defaultEncoding: options.defaultEncoding ?? "utf8",
    writing: false,
    corked: 0,
    needDrain: false,
    ending: false,
    finishing: false,
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

export const writableMethods = {
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

export const writableGetters = {
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
define(Writable, Stream, writableMethods, writableGetters);
