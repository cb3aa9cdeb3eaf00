// Shared code of streams: base class and lifecycle.
import { EventEmitter } from "node:events";

export const readableKey = Symbol("readable");
export const writableKey = Symbol("writable");
export const DEFAULT_HIGH_WATER_MARK = 65536;
export const OBJECT_HIGH_WATER_MARK = 16;

export function premature() {
  return Object.assign(new Error("Premature close"), { code: "ERR_STREAM_PREMATURE_CLOSE" });
}

export function Stream(options) {
  EventEmitter.call(this, options);
}

// Initializes the parts that readable and writable streams share.
export function initialize(stream, options) {
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

export const lifecycle = {
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

// Sets up inheritance and adds non-enumerable methods and getters to a class.
export function define(type, parent, methods, getters = {}) {
  Object.setPrototypeOf(type.prototype, parent.prototype);
  Object.setPrototypeOf(type, parent);
  const put = (key, value) => Object.defineProperty(type.prototype, key, { value, writable: true, configurable: true, enumerable: false });
  put("constructor", type);
  for (const key of Reflect.ownKeys(methods)) put(key, methods[key]);
  for (const [key, get] of Object.entries(getters)) {
    Object.defineProperty(type.prototype, key, { get, set(value) { Object.defineProperty(this, key, { value, writable: true, configurable: true }); }, configurable: true });
  }
}

define(Stream, EventEmitter, {
  pipe(target) {
    this.on("data", (chunk) => target.write(chunk));
    this.on("end", () => target.end());
    return target;
  },
});
