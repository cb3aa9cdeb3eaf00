// Timers. JavaScript holds the callbacks, Rust the clock.
import { startTimer, stopTimer } from "pi:native";

// The longest delay of Node.
const MAX_DELAY = 2 ** 31 - 1;
const callbacks = new Map();
let lastId = 0;

// Returns how many timers will fire.
export function pendingTimers() {
  return callbacks.size;
}

// Returns the delay that Node uses: a longer one than it can count fires at once, with a warning.
function effectiveDelay(delay) {
  const milliseconds = Number(delay) || 0;
  if (milliseconds <= MAX_DELAY) return milliseconds;
  const message = `${milliseconds} does not fit into a 32-bit signed integer.\nTimeout duration was set to 1.`;
  globalThis.process?.emitWarning(message, "TimeoutOverflowWarning");
  return 1;
}

class Timeout {
  #id;
  #repeats;
  #delay;

  constructor(callback, delay, args, repeats) {
    if (typeof callback !== "function") {
      throw Object.assign(new TypeError('The "callback" argument must be of type function'), {
        code: "ERR_INVALID_ARG_TYPE",
      });
    }
    this.#id = ++lastId;
    this.#repeats = repeats;
    this.#delay = effectiveDelay(delay);
    callbacks.set(this.#id, { callback, args, repeats });
    startTimer(this.#id, this.#delay, repeats);
  }

  ref() {
    return this;
  }

  unref() {
    return this;
  }

  hasRef() {
    return true;
  }

  refresh() {
    const entry = callbacks.get(this.#id);
    if (entry) {
      stopTimer(this.#id);
      startTimer(this.#id, this.#delay, this.#repeats);
    }
    return this;
  }

  close() {
    callbacks.delete(this.#id);
    stopTimer(this.#id);
    return this;
  }

  [Symbol.toPrimitive]() {
    return this.#id;
  }

  [Symbol.dispose ?? Symbol.for("dispose")]() {
    this.close();
  }
}

export function setTimeout(callback, delay, ...args) {
  return new Timeout(callback, delay, args, false);
}

export function setInterval(callback, delay, ...args) {
  return new Timeout(callback, delay, args, true);
}

export function setImmediate(callback, ...args) {
  return new Timeout(callback, 0, args, false);
}

export function clearTimer(timer) {
  if (timer instanceof Timeout) timer.close();
  else if (typeof timer === "number" || typeof timer === "string") {
    const id = Number(timer);
    if (callbacks.delete(id)) stopTimer(id);
  }
}

// Called by Rust when a timer fires.
export function fire(id) {
  const entry = callbacks.get(id);
  if (!entry) return;
  if (!entry.repeats) callbacks.delete(id);
  entry.callback(...entry.args);
}
