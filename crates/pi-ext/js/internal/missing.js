// Stubs for missing features. They can be imported and throw a descriptive error when used.
function unavailable(name) {
  return Object.assign(new Error(`${name} is not available to extensions`), {
    code: "ERR_NOT_AVAILABLE",
    name: "NotAvailableError",
  });
}

const HARMLESS = new Set(["then", "toJSON", "default", "__esModule", "prototype", "name", "length"]);

// Returns a stub that can be imported, compared and passed around, but not used.
export function missing(module, member) {
  const name = member === undefined ? module : `${module}.${member}`;
  const fail = () => {
    throw unavailable(name);
  };
  return new Proxy(function () {}, {
    apply: fail,
    construct: fail,
    get(target, key) {
      if (key === Symbol.toPrimitive || key === Symbol.toStringTag || key === "toString") {
        return key === Symbol.toStringTag ? name : () => `[${name}: not available]`;
      }
      if (typeof key === "symbol" || HARMLESS.has(key)) return target[key];
      // For `x.z` after `import x from "node:y"`, the error names the member.
      if (member === undefined) return missing(module, key);
      throw unavailable(`${name}.${key}`);
    },
    has: () => true,
  });
}

export const WebAssembly = missing("WebAssembly");
export const Worker = missing("Worker");
export const MessageChannel = missing("MessageChannel");
export const BroadcastChannel = missing("BroadcastChannel");
