// util.
import { formatWithOptions, inspect } from "pi:inspect";
import { TextDecoder, TextEncoder } from "pi:web/encoding";

const kCustom = Symbol.for("nodejs.util.promisify.custom");

export function format(...values) {
  return formatWithOptions({}, ...values);
}

export function promisify(original) {
  if (typeof original !== "function") {
    throw Object.assign(new TypeError('The "original" argument must be of type function'), { code: "ERR_INVALID_ARG_TYPE" });
  }
  if (original[kCustom]) return original[kCustom];
  const promised = function (...args) {
    return new Promise((resolve, reject) => {
      original.call(this, ...args, (error, value) => (error ? reject(error) : resolve(value)));
    });
  };
  return Object.defineProperties(promised, Object.getOwnPropertyDescriptors(original));
}
promisify.custom = kCustom;

export function callbackify(original) {
  return function (...args) {
    const callback = args.pop();
    original.apply(this, args).then(
      (value) => queueMicrotask(() => callback(null, value)),
      (error) => queueMicrotask(() => callback(error ?? new Error("rejected with a falsy value"))),
    );
  };
}

export function inherits(constructor, parent) {
  Object.defineProperty(constructor, "super_", { value: parent, writable: true, configurable: true });
  Object.setPrototypeOf(constructor.prototype, parent.prototype);
}

export function deprecate(callback) {
  return callback;
}

export function debuglog(section) {
  const names = String(globalThis.process.env.NODE_DEBUG ?? "").toLowerCase().split(",");
  const enabled = names.includes(String(section).toLowerCase());
  const log = (...values) => {
    if (enabled) console.debug(`${String(section).toUpperCase()} ${format(...values)}`);
  };
  log.enabled = enabled;
  return log;
}

const tagOf = (value) => Object.prototype.toString.call(value).slice(8, -1);

function sameKeys(a, b, strict, seen) {
  const keys = Object.keys(a);
  if (keys.length !== Object.keys(b).length) return false;
  return keys.every((key) => Object.hasOwn(b, key) && deepEqual(a[key], b[key], strict, seen));
}

// Compares two values by their content.
export function deepEqual(a, b, strict, seen = new Map()) {
  if (Object.is(a, b)) return true;
  if (!strict && (a === null || typeof a !== "object") && (b === null || typeof b !== "object")) return a == b;
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return false;
  if (strict && Object.getPrototypeOf(a) !== Object.getPrototypeOf(b)) return false;
  if (tagOf(a) !== tagOf(b)) return false;
  if (seen.get(a) === b) return true;
  seen.set(a, b);
  if (a instanceof Date) return a.getTime() === b.getTime();
  if (a instanceof RegExp) return String(a) === String(b) && a.lastIndex === b.lastIndex;
  if (a instanceof Error) return a.message === b.message && a.name === b.name && sameKeys(a, b, strict, seen);
  if (ArrayBuffer.isView(a)) {
    if (a.byteLength !== b.byteLength) return false;
    const x = new Uint8Array(a.buffer, a.byteOffset, a.byteLength);
    const y = new Uint8Array(b.buffer, b.byteOffset, b.byteLength);
    return x.every((byte, index) => byte === y[index]);
  }
  if (a instanceof Map) {
    if (a.size !== b.size) return false;
    return [...a].every(([key, value]) => (b.has(key) ? deepEqual(value, b.get(key), strict, seen) : [...b].some(([other, entry]) => deepEqual(key, other, strict, seen) && deepEqual(value, entry, strict, seen))));
  }
  if (a instanceof Set) {
    return a.size === b.size && [...a].every((value) => b.has(value) || [...b].some((other) => deepEqual(value, other, strict, seen)));
  }
  if (a instanceof Boolean || a instanceof Number || a instanceof String) {
    if (!Object.is(a.valueOf(), b.valueOf())) return false;
  }
  if (Array.isArray(a) && a.length !== b.length) return false;
  return sameKeys(a, b, strict, seen);
}

export function isDeepStrictEqual(a, b) {
  return deepEqual(a, b, true);
}

const ANSI = /[\u001b\u009b][[\]()#;?]*(?:(?:(?:[a-zA-Z\d]*(?:;[-a-zA-Z\d/#&.:=?%@~_]*)*)?\u0007)|(?:(?:\d{1,4}(?:;\d{0,4})*)?[\dA-PR-TZcf-nq-uy=><~]))/g;

export function stripVTControlCharacters(text) {
  return String(text).replace(ANSI, "");
}

const STYLES = {
  reset: [0, 0], bold: [1, 22], dim: [2, 22], italic: [3, 23], underline: [4, 24], inverse: [7, 27], hidden: [8, 28], strikethrough: [9, 29],
  black: [30, 39], red: [31, 39], green: [32, 39], yellow: [33, 39], blue: [34, 39], magenta: [35, 39], cyan: [36, 39], white: [37, 39], gray: [90, 39], grey: [90, 39],
  redBright: [91, 39], greenBright: [92, 39], yellowBright: [93, 39], blueBright: [94, 39], magentaBright: [95, 39], cyanBright: [96, 39], whiteBright: [97, 39],
  bgBlack: [40, 49], bgRed: [41, 49], bgGreen: [42, 49], bgYellow: [43, 49], bgBlue: [44, 49], bgMagenta: [45, 49], bgCyan: [46, 49], bgWhite: [47, 49],
};

export function styleText(styles, text) {
  return [styles].flat().reduceRight((inner, style) => {
    const codes = STYLES[style];
    if (!codes) throw Object.assign(new TypeError(`unknown style ${style}`), { code: "ERR_INVALID_ARG_VALUE" });
    return `\u001b[${codes[0]}m${inner}\u001b[${codes[1]}m`;
  }, String(text));
}

export function parseArgs(config = {}) {
  const { args = globalThis.process.argv.slice(2), options = {}, strict = true, allowPositionals = !strict } = config;
  const values = Object.create(null);
  const positionals = [];
  const byShort = new Map(Object.entries(options).filter(([, option]) => option.short).map(([name, option]) => [option.short, name]));
  const store = (name, value) => {
    if (options[name]?.multiple) (values[name] ??= []).push(value);
    else values[name] = value;
  };
  for (let index = 0; index < args.length; index++) {
    const arg = args[index];
    if (arg === "--") {
      positionals.push(...args.slice(index + 1));
      break;
    }
    const long = /^--([^=]+)(?:=(.*))?$/s.exec(arg);
    const name = long ? long[1] : /^-[^-]/.test(arg) ? byShort.get(arg[1]) : undefined;
    if (long || name) {
      const negated = config.allowNegative && long && name.startsWith("no-") ? name.slice(3) : undefined;
      const option = options[negated ?? name];
      if (!option && strict) throw Object.assign(new TypeError(`Unknown option '${arg}'`), { code: "ERR_PARSE_ARGS_UNKNOWN_OPTION" });
      if (option?.type === "string") store(name, long?.[2] ?? (arg.length > 2 && !long ? arg.slice(2) : args[++index]));
      else store(negated ?? name, negated === undefined);
    } else {
      if (!allowPositionals && strict) throw Object.assign(new TypeError(`Unexpected argument '${arg}'`), { code: "ERR_PARSE_ARGS_UNEXPECTED_POSITIONAL" });
      positionals.push(arg);
    }
  }
  for (const [name, option] of Object.entries(options)) if (option.default !== undefined && !(name in values)) values[name] = option.default;
  return { values, positionals };
}

export function toUSVString(text) {
  return String(text).toWellFormed();
}

export function getSystemErrorName(number) {
  return { 1: "EPERM", 2: "ENOENT", 13: "EACCES", 17: "EEXIST", 20: "ENOTDIR", 21: "EISDIR", 22: "EINVAL", 28: "ENOSPC", 39: "ENOTEMPTY" }[Math.abs(number)] ?? `Unknown system error ${number}`;
}

export function aborted(signal) {
  return signal.aborted ? Promise.resolve() : new Promise((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
}

const typed = (name) => (value) => ArrayBuffer.isView(value) && value[Symbol.toStringTag] === name;
export const types = {
  isPromise: (value) => value instanceof Promise,
  isRegExp: (value) => value instanceof RegExp,
  isDate: (value) => value instanceof Date,
  isMap: (value) => value instanceof Map,
  isSet: (value) => value instanceof Set,
  isWeakMap: (value) => value instanceof WeakMap,
  isWeakSet: (value) => value instanceof WeakSet,
  isNativeError: (value) => value instanceof Error,
  isTypedArray: (value) => ArrayBuffer.isView(value) && !(value instanceof DataView),
  isUint8Array: typed("Uint8Array"),
  isUint16Array: typed("Uint16Array"),
  isUint32Array: typed("Uint32Array"),
  isInt8Array: typed("Int8Array"),
  isInt16Array: typed("Int16Array"),
  isInt32Array: typed("Int32Array"),
  isFloat32Array: typed("Float32Array"),
  isFloat64Array: typed("Float64Array"),
  isArrayBuffer: (value) => value instanceof ArrayBuffer,
  isAnyArrayBuffer: (value) => value instanceof ArrayBuffer || (typeof SharedArrayBuffer !== "undefined" && value instanceof SharedArrayBuffer),
  isSharedArrayBuffer: (value) => typeof SharedArrayBuffer !== "undefined" && value instanceof SharedArrayBuffer,
  isArrayBufferView: ArrayBuffer.isView,
  isDataView: (value) => value instanceof DataView,
  isAsyncFunction: (value) => tagOf(value) === "AsyncFunction",
  isGeneratorFunction: (value) => tagOf(value) === "GeneratorFunction" || tagOf(value) === "AsyncGeneratorFunction",
  isGeneratorObject: (value) => tagOf(value) === "Generator",
  isProxy: () => false,
  isBoxedPrimitive: (value) => value instanceof Boolean || value instanceof Number || value instanceof String,
  isSymbolObject: (value) => tagOf(value) === "Symbol" && typeof value === "object",
  isNumberObject: (value) => value instanceof Number,
  isStringObject: (value) => value instanceof String,
  isBooleanObject: (value) => value instanceof Boolean,
  isModuleNamespaceObject: (value) => tagOf(value) === "Module",
  isExternal: () => false,
};

export const isArray = Array.isArray;
export const debug = debuglog;

export { formatWithOptions, inspect, TextDecoder, TextEncoder };
export default { format, formatWithOptions, inspect, promisify, callbackify, inherits, deprecate, debuglog, debug, isDeepStrictEqual, stripVTControlCharacters, styleText, parseArgs, toUSVString, getSystemErrorName, aborted, types, isArray, TextDecoder, TextEncoder };
