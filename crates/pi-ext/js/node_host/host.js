// The module `pi:host` on Node: calls to the program.
const { call: callProgram, enterHandler, executable, request: startRequest } = globalThis[Symbol.for("pi.connection")];

// First ID allocated on Node, so that IDs do not collide with those of the embedded engine.
export const FIRST_ID = 2 ** 40;

// Returns the path of the pi executable.
export function programFile() {
  return executable;
}

// Reports the extension whose handlers of an event are called next.
export { enterHandler };

// The time of code on Node is not measured.
export function charge() {}
export function charged() {}

// Calls a synchronous host method.
export function call(method, args) {
  return callProgram("host", method, args);
}

// Calls an asynchronous host method.
export function request(method, args) {
  return startRequest(method, args).promise;
}
