// What our modules ask of the program and may give up again, when they run on Node.
const { request } = globalThis[Symbol.for("pi.connection")];

// Starts an operation that can be given up: `abort(reason)` rejects the promise.
export function startAbortable(_module, operation, args) {
  return request(operation, args);
}
