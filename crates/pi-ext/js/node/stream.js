// stream: Duplex, Transform, PassThrough, pipeline and finished.
import { define, DEFAULT_HIGH_WATER_MARK, initialize, OBJECT_HIGH_WATER_MARK, premature, readableKey, Stream, writableKey } from "pi:stream_base";
import { initializeReadable, Readable } from "pi:stream_readable";
import { initializeWritable, Writable, writableGetters, writableMethods } from "pi:stream_writable";

export function Duplex(options = {}) {
  Stream.call(this, options);
  const settings = options ?? {};
  initialize(this, settings);
  initializeReadable(this, settings);
  initializeWritable(this, settings);
  this.allowHalfOpen = settings.allowHalfOpen !== false;
  if (settings.readable === false) {
    this[readableKey].ended = true;
    this[readableKey].endEmitted = true;
  }
  if (settings.writable === false) {
    this[writableKey].ending = true;
    this[writableKey].finished = true;
  }
}
define(Duplex, Readable, writableMethods, writableGetters);

export function Transform(options = {}) {
  Duplex.call(this, options);
}
define(Transform, Duplex, {
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
define(PassThrough, Transform, {
  _transform(chunk, encoding, callback) {
    callback(null, chunk);
  },
});

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
  return objectMode ? OBJECT_HIGH_WATER_MARK : DEFAULT_HIGH_WATER_MARK;
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
export { Readable, Stream, Writable };
export default Stream;
