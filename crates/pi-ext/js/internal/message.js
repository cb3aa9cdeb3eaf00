// Encodes what `structuredClone` copies as text, for messages between threads.
//
// Primitive values are themselves or `[tag, text]`; objects are references to a table, so that cycles and shared objects
// keep their identity.
import { DOMException } from "pi:web/events";

const ERRORS = { Error, EvalError, RangeError, ReferenceError, SyntaxError, TypeError, URIError };

function uncloneable(value) {
  return new DOMException(`${typeof value === "function" ? "A function" : Object.prototype.toString.call(value)} could not be cloned.`, "DataCloneError");
}

function primitive(value) {
  switch (typeof value) {
    case "undefined":
      return ["u"];
    case "bigint":
      return ["i", String(value)];
    case "number":
      return Number.isFinite(value) && !Object.is(value, -0) ? value : ["n", Object.is(value, -0) ? "-0" : String(value)];
    case "string":
    case "boolean":
      return value;
    default:
      throw uncloneable(value);
  }
}

function row(value, encode) {
  const entries = (keys) => keys.map((key) => [key, encode(value[key])]);
  if (Array.isArray(value)) return ["array", value.length, entries(Object.keys(value))];
  if (value instanceof Date) return ["date", encode(value.getTime())];
  if (value instanceof RegExp) return ["regexp", value.source, value.flags];
  if (value instanceof Map) return ["map", [...value].map(([key, entry]) => [encode(key), encode(entry)])];
  if (value instanceof Set) return ["set", [...value].map(encode)];
  if (value instanceof ArrayBuffer) return ["buffer", Buffer.from(value).toString("base64")];
  if (ArrayBuffer.isView(value)) {
    const type = value instanceof DataView ? "DataView" : value[Symbol.toStringTag];
    return ["view", type, encode(value.buffer), value.byteOffset, value.length ?? value.byteLength];
  }
  if (value instanceof Error) {
    const cause = "cause" in value ? [encode(value.cause)] : [];
    return ["error", value.name, String(value.message), String(value.stack), ...cause];
  }
  if (value instanceof Boolean || value instanceof Number || value instanceof String) return ["boxed", encode(value.valueOf())];
  const isOpaque = [Promise, WeakMap, WeakSet, WeakRef].some((type) => value instanceof type);
  if (isOpaque || value instanceof SharedArrayBuffer) throw uncloneable(value);
  return ["object", entries(Object.keys(value))];
}

export function serialize(message) {
  const table = [];
  const known = new Map();
  const encode = (value) => {
    if (value === null) return null;
    if (typeof value !== "object") return primitive(value);
    if (!known.has(value)) {
      const index = table.push(null) - 1;
      known.set(value, index);
      table[index] = row(value, encode);
    }
    return ["r", known.get(value)];
  };
  return JSON.stringify([encode(message), table]);
}

export function deserialize(text) {
  const [message, table] = JSON.parse(text);
  const objects = new Map();
  const decode = (value) => {
    if (!Array.isArray(value)) return value;
    const [tag, content] = value;
    if (tag === "u") return undefined;
    if (tag === "i") return BigInt(content);
    if (tag === "n") return Number(content);
    return objects.has(content) ? objects.get(content) : build(content);
  };
  const build = (index) => {
    const [kind, ...parts] = table[index];
    const register = (object) => {
      objects.set(index, object);
      return object;
    };
    const fill = (object, entries) => {
      for (const [key, value] of entries) Object.defineProperty(object, key, { value: decode(value), writable: true, configurable: true, enumerable: true });
      return object;
    };
    switch (kind) {
      case "array":
        return fill(register(new Array(parts[0])), parts[1]);
      case "date":
        return register(new Date(decode(parts[0])));
      case "regexp":
        return register(new RegExp(parts[0], parts[1]));
      case "map": {
        const map = register(new Map());
        for (const [key, value] of parts[0]) map.set(decode(key), decode(value));
        return map;
      }
      case "set": {
        const set = register(new Set());
        for (const value of parts[0]) set.add(decode(value));
        return set;
      }
      case "buffer": {
        const bytes = Buffer.from(parts[0], "base64");
        return register(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength));
      }
      case "view":
        return register(new globalThis[parts[0]](decode(parts[1]), parts[2], parts[3]));
      case "error": {
        const [name, message, stack, ...cause] = parts;
        const error = register(Object.create((ERRORS[name] ?? Error).prototype));
        const set = (key, value) => Object.defineProperty(error, key, { value, writable: true, configurable: true, enumerable: false });
        set("message", message);
        set("stack", stack);
        if (cause.length > 0) set("cause", decode(cause[0]));
        return error;
      }
      case "boxed":
        return register(Object(decode(parts[0])));
      default:
        return fill(register({}), parts[0]);
    }
  };
  return decode(message);
}
