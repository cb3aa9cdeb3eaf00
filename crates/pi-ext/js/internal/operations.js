// Native operations as promises. JavaScript holds the callbacks, Rust the IDs.
import { abort, begin, call } from "pi:native";

const pending = new Map();
let lastId = 0;

function promise(id, module, operation, args, bytes) {
  return new Promise((resolve, reject) => {
    // If the operation cannot be started, `begin` throws and nothing is registered.
    begin(id, module, operation, args, bytes);
    pending.set(id, { resolve, reject });
  });
}

// Starts an operation and returns its promise.
export function start(module, operation, args, bytes) {
  return promise(++lastId, module, operation, args, bytes);
}

// Starts a cancelable operation. `abort(reason)` rejects the promise.
export function startAbortable(module, operation, args, bytes) {
  const id = ++lastId;
  return {
    promise: promise(id, module, operation, args, bytes),
    abort(reason) {
      const waiting = pending.get(id);
      if (waiting) {
        pending.delete(id);
        abort(id);
        waiting.reject(reason);
      }
    },
  };
}

// Runs an operation synchronously.
export function callSync(module, operation, args, bytes) {
  return call(module, operation, args, bytes);
}

// Returns how many operations have not completed.
export function pendingOperations() {
  return pending.size;
}

// Called by Rust when an operation completes.
export function complete(id, isDone, value) {
  const waiting = pending.get(id);
  if (!waiting) return;
  pending.delete(id);
  if (isDone) waiting.resolve(value);
  else waiting.reject(value);
}
