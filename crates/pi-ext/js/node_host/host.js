// The program, as our modules ask it when they run on Node.
const { call: ask, program, request: begin } = globalThis[Symbol.for("pi.connection")];

// Numbers that JavaScript makes up begin here, apart from those of the extensions that do not run on Node.
export const FIRST_NUMBER = 2 ** 40;

// Returns the file of the program itself.
export function programFile() {
  return program;
}

// Asks the host for something it knows at once.
export function call(method, args) {
  return ask("host", method, args);
}

// Asks the host for something that takes time.
export function request(method, args) {
  return begin(method, args).promise;
}
