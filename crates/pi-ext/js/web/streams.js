// Web streams with the default reader and writer.
const CLOSED = { done: true, value: undefined };

function size(strategy) {
  return typeof strategy?.size === "function" ? strategy.size : () => 1;
}

export class CountQueuingStrategy {
  constructor({ highWaterMark }) {
    this.highWaterMark = highWaterMark;
  }
  size() {
    return 1;
  }
}

export class ByteLengthQueuingStrategy {
  constructor({ highWaterMark }) {
    this.highWaterMark = highWaterMark;
  }
  size(chunk) {
    return chunk.byteLength;
  }
}

const stateOf = Symbol("state");

export class ReadableStreamDefaultController {
  constructor(state) {
    Object.defineProperty(this, stateOf, { value: state });
  }

  get desiredSize() {
    const state = this[stateOf];
    return state.status === "errored" ? null : state.status === "closed" ? 0 : state.highWaterMark - state.queued;
  }

  get byobRequest() {
    return null;
  }

  enqueue(chunk) {
    const state = this[stateOf];
    if (state.status !== "readable" || state.closing) throw new TypeError("Invalid state: Controller is already closed");
    const waiting = state.waiting.shift();
    if (waiting) {
      waiting.resolve({ done: false, value: chunk });
    } else {
      const weight = state.size(chunk);
      state.queue.push({ chunk, weight });
      state.queued += weight;
    }
    state.pull();
  }

  close() {
    const state = this[stateOf];
    if (state.status !== "readable" || state.closing) throw new TypeError("Invalid state: Controller is already closed");
    state.closing = true;
    if (state.queue.length === 0) state.finish();
  }

  error(reason) {
    this[stateOf].fail(reason);
  }
}

class ReadableState {
  status = "readable";
  reason = undefined;
  queue = [];
  queued = 0;
  waiting = [];
  closing = false;
  pulling = false;
  pullAgain = false;
  started = false;
  reader = undefined;

  constructor(source, strategy, controllerSize) {
    this.source = source;
    this.size = controllerSize;
    this.highWaterMark = strategy?.highWaterMark ?? (source.type === "bytes" ? 0 : 1);
    this.controller = new ReadableStreamDefaultController(this);
    this.closed = Promise.withResolvers();
    this.closed.promise.catch(() => {});
    const started = source.start?.(this.controller);
    Promise.resolve(started).then(
      () => {
        this.started = true;
        this.pull();
      },
      (error) => this.fail(error),
    );
  }

  pull() {
    const wants = this.waiting.length > 0 || this.queued < this.highWaterMark;
    if (!this.started || this.status !== "readable" || this.closing || !this.source.pull || !wants) return;
    if (this.pulling) {
      this.pullAgain = true;
      return;
    }
    this.pulling = true;
    Promise.try(() => this.source.pull(this.controller)).then(
      () => {
        this.pulling = false;
        if (this.pullAgain) {
          this.pullAgain = false;
          this.pull();
        }
      },
      (error) => this.fail(error),
    );
  }

  read() {
    if (this.queue.length > 0) {
      const { chunk, weight } = this.queue.shift();
      this.queued -= weight;
      if (this.closing && this.queue.length === 0) this.finish();
      else this.pull();
      return Promise.resolve({ done: false, value: chunk });
    }
    if (this.status === "closed") return Promise.resolve(CLOSED);
    if (this.status === "errored") return Promise.reject(this.reason);
    const waiting = Promise.withResolvers();
    this.waiting.push(waiting);
    this.pull();
    return waiting.promise;
  }

  finish() {
    if (this.status !== "readable") return;
    this.status = "closed";
    for (const waiting of this.waiting.splice(0)) waiting.resolve(CLOSED);
    this.closed.resolve();
  }

  fail(reason) {
    if (this.status !== "readable") return;
    this.status = "errored";
    this.reason = reason;
    this.queue = [];
    for (const waiting of this.waiting.splice(0)) waiting.reject(reason);
    this.closed.reject(reason);
  }

  async cancel(reason) {
    if (this.status === "errored") throw this.reason;
    if (this.status === "closed") return;
    this.queue = [];
    this.finish();
    await this.source.cancel?.(reason);
  }
}

export class ReadableStreamDefaultReader {
  constructor(stream) {
    if (stream.locked) throw new TypeError("Invalid state: ReadableStream is locked");
    Object.defineProperty(this, stateOf, { value: stream[stateOf], writable: true });
    stream[stateOf].reader = this;
  }

  get closed() {
    return this[stateOf]?.closed.promise ?? Promise.reject(new TypeError("the reader was released"));
  }

  read() {
    const state = this[stateOf];
    return state ? state.read() : Promise.reject(new TypeError("Invalid state: the reader was released"));
  }

  cancel(reason) {
    return this[stateOf]?.cancel(reason) ?? Promise.reject(new TypeError("the reader was released"));
  }

  releaseLock() {
    const state = this[stateOf];
    if (!state) return;
    state.reader = undefined;
    for (const waiting of state.waiting.splice(0)) waiting.reject(new TypeError("the reader was released"));
    this[stateOf] = undefined;
  }
}

export class ReadableStream {
  constructor(source = {}, strategy = {}) {
    Object.defineProperty(this, stateOf, { value: new ReadableState(source ?? {}, strategy, size(strategy)) });
  }

  static from(iterable) {
    const iterator = iterable[Symbol.asyncIterator]?.() ?? iterable[Symbol.iterator]();
    return new ReadableStream(
      {
        async pull(controller) {
          const { done, value } = await iterator.next();
          if (done) controller.close();
          else controller.enqueue(await value);
        },
        cancel: (reason) => iterator.return?.(reason),
      },
      { highWaterMark: 0 },
    );
  }

  get locked() {
    return this[stateOf].reader !== undefined;
  }

  getReader() {
    return new ReadableStreamDefaultReader(this);
  }

  cancel(reason) {
    if (this.locked) return Promise.reject(new TypeError("Invalid state: ReadableStream is locked"));
    return this[stateOf].cancel(reason);
  }

  tee() {
    const reader = this.getReader();
    const branches = [];
    let cancelled = 0;
    const pull = async () => {
      const { done, value } = await reader.read();
      for (const branch of branches) {
        if (branch.cancelled) continue;
        if (done) branch.controller.close();
        else branch.controller.enqueue(value);
      }
    };
    const make = () => {
      const branch = { cancelled: false, controller: undefined };
      branches.push(branch);
      return new ReadableStream(
        {
          start: (controller) => void (branch.controller = controller),
          pull,
          cancel(reason) {
            branch.cancelled = true;
            cancelled += 1;
            return cancelled === 2 ? reader.cancel(reason) : undefined;
          },
        },
        { highWaterMark: 0 },
      );
    };
    const result = [make(), make()];
    reader.closed.catch((error) => branches.forEach((branch) => branch.controller.error(error)));
    return result;
  }

  async pipeTo(target, options = {}) {
    const reader = this.getReader();
    const writer = target.getWriter();
    const { signal } = options;
    const stop = signal && Promise.withResolvers();
    if (stop) {
      stop.promise.catch(() => {});
      if (signal.aborted) stop.reject(signal.reason);
      else signal.addEventListener("abort", () => stop.reject(signal.reason), { once: true });
    }
    try {
      for (;;) {
        const { done, value } = await (stop ? Promise.race([reader.read(), stop.promise]) : reader.read());
        if (done) break;
        await writer.write(value);
      }
      if (!options.preventClose) await writer.close();
    } catch (error) {
      if (!options.preventAbort) await writer.abort(error).catch(() => {});
      if (!options.preventCancel) await reader.cancel(error).catch(() => {});
      throw error;
    } finally {
      reader.releaseLock();
      writer.releaseLock();
    }
  }

  pipeThrough(transform, options) {
    this.pipeTo(transform.writable, options).catch(() => {});
    return transform.readable;
  }

  async *values(options = {}) {
    const reader = this.getReader();
    let finished = false;
    try {
      for (;;) {
        const { done, value } = await reader.read();
        if (done) {
          finished = true;
          return;
        }
        yield value;
      }
    } finally {
      if (!finished && !options.preventCancel) await reader.cancel().catch(() => {});
      reader.releaseLock();
    }
  }

  [Symbol.asyncIterator](options) {
    return this.values(options);
  }

  get [Symbol.toStringTag]() {
    return "ReadableStream";
  }
}

class WritableState {
  status = "writable";
  reason = undefined;
  tail = Promise.resolve();
  pending = 0;
  writer = undefined;

  constructor(sink, strategy) {
    this.sink = sink;
    this.size = size(strategy);
    this.highWaterMark = strategy?.highWaterMark ?? 1;
    this.closed = Promise.withResolvers();
    this.closed.promise.catch(() => {});
    this.ready = Promise.resolve();
    this.abortController = new AbortController();
    this.controller = { error: (reason) => this.fail(reason), signal: this.abortController.signal };
    this.tail = Promise.try(() => sink.start?.(this.controller)).catch((error) => this.fail(error));
  }

  enqueue(work) {
    const result = this.tail.then(() => {
      if (this.status === "errored") throw this.reason;
      return work();
    });
    this.tail = result.catch((error) => this.fail(error));
    this.ready = this.tail;
    return result;
  }

  write(chunk) {
    if (this.status === "errored") return Promise.reject(this.reason);
    if (this.status !== "writable") return Promise.reject(new TypeError("Invalid state: WritableStream is closed"));
    const weight = this.size(chunk);
    this.pending += weight;
    return this.enqueue(() => this.sink.write?.(chunk, this.controller)).finally(() => void (this.pending -= weight));
  }

  close() {
    if (this.status === "errored") return Promise.reject(this.reason);
    if (this.status !== "writable") return Promise.reject(new TypeError("Invalid state: WritableStream is closed"));
    this.status = "closing";
    return this.enqueue(async () => {
      await this.sink.close?.();
      this.status = "closed";
      this.closed.resolve();
    });
  }

  async abort(reason) {
    if (this.status === "closed" || this.status === "errored") return;
    this.abortController.abort(reason);
    this.fail(reason);
    await this.sink.abort?.(reason);
  }

  fail(reason) {
    if (this.status === "errored" || this.status === "closed") return;
    this.status = "errored";
    this.reason = reason;
    this.closed.reject(reason);
  }
}

export class WritableStreamDefaultWriter {
  constructor(stream) {
    if (stream.locked) throw new TypeError("Invalid state: WritableStream is locked");
    Object.defineProperty(this, stateOf, { value: stream[stateOf], writable: true });
    stream[stateOf].writer = this;
  }
  get closed() {
    return this[stateOf].closed.promise;
  }
  get ready() {
    return this[stateOf].ready;
  }
  get desiredSize() {
    const state = this[stateOf];
    return state.status === "errored" ? null : state.status === "writable" ? state.highWaterMark - state.pending : 0;
  }
  write(chunk) {
    return this[stateOf].write(chunk);
  }
  close() {
    return this[stateOf].close();
  }
  abort(reason) {
    return this[stateOf].abort(reason);
  }
  releaseLock() {
    if (this[stateOf]) this[stateOf].writer = undefined;
  }
}

export class WritableStream {
  constructor(sink = {}, strategy = {}) {
    Object.defineProperty(this, stateOf, { value: new WritableState(sink ?? {}, strategy) });
  }
  get locked() {
    return this[stateOf].writer !== undefined;
  }
  getWriter() {
    return new WritableStreamDefaultWriter(this);
  }
  close() {
    return this[stateOf].close();
  }
  abort(reason) {
    return this[stateOf].abort(reason);
  }
}

export class TransformStream {
  constructor(transformer = {}, writableStrategy = {}, readableStrategy = { highWaterMark: 0 }) {
    let readableController;
    let wake = Promise.withResolvers();
    this.readable = new ReadableStream(
      {
        start: (controller) => void (readableController = controller),
        pull() {
          wake.resolve();
          wake = Promise.withResolvers();
        },
        cancel: (reason) => transformer.cancel?.(reason),
      },
      readableStrategy,
    );
    const controller = {
      enqueue: (chunk) => readableController.enqueue(chunk),
      error: (reason) => readableController.error(reason),
      terminate: () => readableController.close(),
      get desiredSize() {
        return readableController.desiredSize;
      },
    };
    this.writable = new WritableStream(
      {
        start: () => transformer.start?.(controller),
        async write(chunk) {
          // Backpressure: wait until the reader has room.
          if (readableController.desiredSize !== null && readableController.desiredSize < 0) await wake.promise;
          if (transformer.transform) await transformer.transform(chunk, controller);
          else controller.enqueue(chunk);
        },
        async close() {
          await transformer.flush?.(controller);
          try {
            readableController.close();
          } catch {
            // The transformer has already closed the stream.
          }
        },
        abort: (reason) => readableController.error(reason),
      },
      writableStrategy,
    );
  }
}

export class TextDecoderStream extends TransformStream {
  constructor(label, options) {
    const decoder = new TextDecoder(label, options);
    super({
      transform(chunk, controller) {
        const text = decoder.decode(chunk, { stream: true });
        if (text) controller.enqueue(text);
      },
      flush(controller) {
        const text = decoder.decode();
        if (text) controller.enqueue(text);
      },
    });
    this.encoding = decoder.encoding;
  }
}

export class TextEncoderStream extends TransformStream {
  constructor() {
    const encoder = new TextEncoder();
    super({ transform: (chunk, controller) => controller.enqueue(encoder.encode(chunk)) });
    this.encoding = "utf-8";
  }
}
