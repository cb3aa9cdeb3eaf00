// The language's own objects, as they were before any extension ran. All extensions share them with our own
// code, so an extension that replaces one of their methods would break everybody else.

const { defineProperty, getOwnPropertyDescriptor } = Object;
const { ownKeys } = Reflect;

const GLOBALS = ["Array", "ArrayBuffer", "BigInt", "Boolean", "DataView", "Date", "Error", "Function", "JSON", "Map", "Math", "Number", "Object", "Promise", "Proxy", "RangeError", "Reflect", "RegExp", "Set", "String", "Symbol", "SyntaxError", "TypeError", "Uint8Array", "WeakMap", "WeakRef", "WeakSet"];

const asyncIterators = Object.getPrototypeOf(Object.getPrototypeOf(async function* () {}).prototype);
const iterators = Object.getPrototypeOf(Object.getPrototypeOf([][Symbol.iterator]()));
const holders = [
  Object.getPrototypeOf([][Symbol.iterator]()),
  Object.getPrototypeOf(new Map()[Symbol.iterator]()),
  Object.getPrototypeOf(new Set()[Symbol.iterator]()),
  Object.getPrototypeOf(""[Symbol.iterator]()),
  Object.getPrototypeOf(Uint8Array),
  Object.getPrototypeOf(Uint8Array.prototype),
  Object.getPrototypeOf(function* () {}).prototype,
  asyncIterators,
  iterators,
];
for (const name of GLOBALS) {
  const value = globalThis[name];
  holders.push(value);
  if (typeof value === "function" && value.prototype) holders.push(value.prototype);
}

// Four to an entry: where, what, its value or its getter.
const original = [];
function remember(holder, key) {
  const { value, get, configurable } = getOwnPropertyDescriptor(holder, key);
  if (configurable) original.push(holder, key, value, get);
}
for (const name of GLOBALS) remember(globalThis, name);
for (const holder of holders) for (const key of ownKeys(holder)) remember(holder, key);

// Puts back what was replaced; what was added stays. By index, since iteration may be what is broken.
export function restoreIntrinsics() {
  for (let index = 0; index < original.length; index += 4) {
    const holder = original[index];
    const key = original[index + 1];
    const now = getOwnPropertyDescriptor(holder, key);
    const value = original[index + 2];
    const get = original[index + 3];
    if (now !== undefined && now.value === value && now.get === get) continue;
    // What cannot be put back was made so on purpose; the rest still is.
    if (now !== undefined && !now.configurable) continue;
    defineProperty(holder, key, get ? { get, configurable: true } : { value, writable: true, configurable: true, enumerable: false });
  }
}
