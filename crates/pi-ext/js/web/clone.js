// structuredClone.
import { DOMException } from "pi:web/events";

const PLAIN = new Set(["boolean", "number", "string", "undefined", "bigint"]);

function throwUncloneable(value) {
  const description = typeof value === "function" ? (value.toString().split("\n")[0].slice(0, 60)) : String(Object.prototype.toString.call(value));
  throw new DOMException(`${description} could not be cloned.`, "DataCloneError");
}

function copy(value, seen) {
  if (value === null || PLAIN.has(typeof value)) return value;
  if (typeof value !== "object") throwUncloneable(value);
  if (seen.has(value)) return seen.get(value);
  const register = (result) => {
    seen.set(value, result);
    return result;
  };
  if (Array.isArray(value)) {
    const result = register(new Array(value.length));
    for (const key of Object.keys(value)) result[key] = copy(value[key], seen);
    return result;
  }
  if (value instanceof Date) return register(new Date(value.getTime()));
  if (value instanceof RegExp) return register(new RegExp(value.source, value.flags));
  if (value instanceof Map) {
    const result = register(new Map());
    for (const [key, entry] of value) result.set(copy(key, seen), copy(entry, seen));
    return result;
  }
  if (value instanceof Set) {
    const result = register(new Set());
    for (const entry of value) result.add(copy(entry, seen));
    return result;
  }
  if (value instanceof ArrayBuffer) return register(value.slice(0));
  if (ArrayBuffer.isView(value)) {
    const buffer = copy(value.buffer, seen);
    if (value instanceof DataView) return register(new DataView(buffer, value.byteOffset, value.byteLength));
    const type = globalThis[value[Symbol.toStringTag]] ?? Uint8Array;
    return register(new type(buffer, value.byteOffset, value.length));
  }
  if (value instanceof Error) {
    const types = { Error, EvalError, RangeError, ReferenceError, SyntaxError, TypeError, URIError };
    const result = register(Object.create((types[value.name] ?? Error).prototype));
    for (const name of ["message", "stack"]) {
      Object.defineProperty(result, name, { value: value[name], writable: true, configurable: true, enumerable: false });
    }
    if ("cause" in value) Object.defineProperty(result, "cause", { value: copy(value.cause, seen), writable: true, configurable: true, enumerable: false });
    return result;
  }
  if (value instanceof Boolean || value instanceof Number || value instanceof String) return register(Object(value.valueOf()));
  if (value instanceof Promise || value instanceof WeakMap || value instanceof WeakSet || value instanceof WeakRef) throwUncloneable(value);
  const result = register({});
  for (const key of Object.keys(value)) result[key] = copy(value[key], seen);
  return result;
}

export function structuredClone(value, options) {
  const result = copy(value, new Map());
  for (const buffer of options?.transfer ?? []) buffer?.transfer?.();
  return result;
}
