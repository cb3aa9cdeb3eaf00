// async_hooks. The store follows synchronous code and the promise returned by the callback.
export class AsyncResource {
  constructor(type) {
    this.type = type;
  }
  runInAsyncScope(callback, self, ...args) {
    return callback.apply(self, args);
  }
  static bind(callback) {
    return callback;
  }
  bind(callback) {
    return callback;
  }
  emitDestroy() {
    return this;
  }
  asyncId() {
    return 0;
  }
  triggerAsyncId() {
    return 0;
  }
}

export class AsyncLocalStorage {
  #store = undefined;

  static bind(callback) {
    return callback;
  }
  static snapshot() {
    return (callback, ...args) => callback(...args);
  }
  getStore() {
    return this.#store;
  }
  // If the callback returns a promise, the store stays set until the promise settles.
  run(store, callback, ...args) {
    const before = this.#store;
    this.#store = store;
    let result;
    try {
      result = callback(...args);
    } catch (error) {
      this.#store = before;
      throw error;
    }
    if (typeof result?.then !== "function") {
      this.#store = before;
      return result;
    }
    const restore = () => {
      if (this.#store === store) this.#store = before;
    };
    result.then(restore, restore);
    return result;
  }
  exit(callback, ...args) {
    return this.run(undefined, callback, ...args);
  }
  enterWith(store) {
    this.#store = store;
  }
  disable() {
    this.#store = undefined;
  }
}

export function createHook() {
  return { enable() { return this; }, disable() { return this; } };
}
export function executionAsyncId() {
  return 0;
}
export function triggerAsyncId() {
  return 0;
}
export function executionAsyncResource() {
  return {};
}
export default { AsyncResource, AsyncLocalStorage, createHook, executionAsyncId, triggerAsyncId, executionAsyncResource };
