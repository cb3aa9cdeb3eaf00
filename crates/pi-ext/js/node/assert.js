// assert.
import { inspect } from "pi:inspect";
import { deepEqual as sameContent } from "node:util";

export class AssertionError extends Error {
  constructor({ message, actual, expected, operator } = {}) {
    super(message ?? `${inspect(actual)} ${operator} ${inspect(expected)}`);
    this.name = "AssertionError";
    this.code = "ERR_ASSERTION";
    this.generatedMessage = message === undefined;
    Object.assign(this, { actual, expected, operator });
  }
}

function check(condition, message, actual, expected, operator) {
  if (condition) return;
  if (message instanceof Error) throw message;
  throw new AssertionError({ message, actual, expected, operator });
}

export function ok(value, message) {
  check(value, message ?? (arguments.length === 0 ? "No value argument passed to `assert.ok()`" : `The expression evaluated to a falsy value: ${inspect(value)}`), value, true, "==");
}
export function equal(actual, expected, message) {
  check(actual == expected || (Number.isNaN(actual) && Number.isNaN(expected)), message, actual, expected, "==");
}
export function notEqual(actual, expected, message) {
  check(actual != expected, message, actual, expected, "!=");
}
export function strictEqual(actual, expected, message) {
  check(Object.is(actual, expected), message ?? `Expected values to be strictly equal:\n\n${inspect(actual)} !== ${inspect(expected)}\n`, actual, expected, "strictEqual");
}
export function notStrictEqual(actual, expected, message) {
  check(!Object.is(actual, expected), message, actual, expected, "notStrictEqual");
}
export function deepEqual(actual, expected, message) {
  check(sameContent(actual, expected, false), message, actual, expected, "deepEqual");
}
export function notDeepEqual(actual, expected, message) {
  check(!sameContent(actual, expected, false), message, actual, expected, "notDeepEqual");
}
export function deepStrictEqual(actual, expected, message) {
  check(sameContent(actual, expected, true), message ?? `Expected values to be strictly deep-equal:\n${inspect(actual)}\n\nshould equal\n\n${inspect(expected)}`, actual, expected, "deepStrictEqual");
}
export function notDeepStrictEqual(actual, expected, message) {
  check(!sameContent(actual, expected, true), message, actual, expected, "notDeepStrictEqual");
}
export function match(text, pattern, message) {
  check(typeof text === "string" && pattern.test(text), message, text, pattern, "match");
}
export function doesNotMatch(text, pattern, message) {
  check(typeof text !== "string" || !pattern.test(text), message, text, pattern, "doesNotMatch");
}
export function fail(message = "Failed") {
  check(false, message, undefined, undefined, "fail");
}
export function ifError(value) {
  if (value !== null && value !== undefined) throw value;
}

function isExpected(error, expected, message) {
  if (expected === undefined || typeof expected === "string") return;
  if (expected instanceof RegExp) check(expected.test(String(error)), message, error, expected, "throws");
  else if (typeof expected === "function") {
    if (expected.prototype !== undefined && error instanceof expected) return;
    if (Error.isPrototypeOf(expected) || expected === Error) throw error;
    check(expected.call({}, error) === true, message, error, expected, "throws");
  } else {
    for (const key of Object.keys(expected)) {
      const expectedValue = expected[key];
      check(expectedValue instanceof RegExp && typeof error[key] === "string" ? expectedValue.test(error[key]) : sameContent(error[key], expectedValue, true), message, error, expected, "throws");
    }
  }
}

export function throws(run, expected, message) {
  let error;
  try {
    run();
  } catch (thrown) {
    error = thrown;
    isExpected(error, expected, message);
    return;
  }
  check(false, typeof expected === "string" ? expected : (message ?? "Missing expected exception."), error, expected, "throws");
}
export function doesNotThrow(run) {
  run();
}
export async function rejects(promise, expected, message) {
  try {
    await (typeof promise === "function" ? promise() : promise);
  } catch (error) {
    isExpected(error, expected, message);
    return;
  }
  check(false, typeof expected === "string" ? expected : (message ?? "Missing expected rejection."), undefined, expected, "rejects");
}
export async function doesNotReject(promise) {
  await (typeof promise === "function" ? promise() : promise);
}

export function assert(value, message) {
  ok(value, message);
}
export const strict = Object.assign((value, message) => ok(value, message), { AssertionError, ok, equal: strictEqual, notEqual: notStrictEqual, strictEqual, notStrictEqual, deepEqual: deepStrictEqual, notDeepEqual: notDeepStrictEqual, deepStrictEqual, notDeepStrictEqual, match, doesNotMatch, fail, ifError, throws, doesNotThrow, rejects, doesNotReject });
strict.strict = strict;
Object.assign(assert, { AssertionError, ok, equal, notEqual, strictEqual, notStrictEqual, deepEqual, notDeepEqual, deepStrictEqual, notDeepStrictEqual, match, doesNotMatch, fail, ifError, throws, doesNotThrow, rejects, doesNotReject, strict });
export default assert;
