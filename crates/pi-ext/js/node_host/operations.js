// The module `pi:operations` on Node.
const { request } = globalThis[Symbol.for("pi.connection")];

// Starts a cancelable operation. `abort(reason)` rejects the promise.
export function startAbortable(_module, operation, args) {
  return request(operation, args);
}
