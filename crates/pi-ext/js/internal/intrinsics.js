// Restores builtin objects to their state before any extension ran. All extensions share them with the embedded
// JavaScript, so an extension that replaces one of their methods would break the others.

const { defineProperty, getOwnPropertyDescriptor, ownKeys } = Reflect;

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

// Flat lists of triples: holder, key, and value or getter.
const values = [];
const getters = [];
function record(holder, key) {
  const { value, get, configurable } = getOwnPropertyDescriptor(holder, key);
  if (!configurable) return;
  if (get) getters.push(holder, key, get);
  else values.push(holder, key, value);
}
for (const name of GLOBALS) record(globalThis, name);
for (const holder of holders) for (const key of ownKeys(holder)) record(holder, key);

// Properties made non-configurable on purpose stay as they are. The descriptor has no prototype, since
// `Object.prototype` may be what was modified.
function restore(holder, key, original) {
  defineProperty(holder, key, { __proto__: null, ...original, configurable: true, enumerable: false });
}

// Restores values starting at an index and returns the index where it stopped, since reading a replaced property may
// throw. Compares values instead of descriptors, which would allocate an object for each of about 1000 properties.
function restoreValues(first) {
  let index = first;
  try {
    for (; index < values.length; index += 3) {
      const value = values[index + 2];
      if (values[index][values[index + 1]] === value) continue;
      restore(values[index], values[index + 1], { value, writable: true });
    }
  } catch {
    restore(values[index], values[index + 1], { value: values[index + 2], writable: true });
    index += 3;
  }
  return index;
}

// Restores replaced properties; added properties stay. Loops by index, since iterators may have been modified.
export function restoreIntrinsics() {
  let index = 0;
  while (index < values.length) index = restoreValues(index);
  for (index = 0; index < getters.length; index += 3) {
    const get = getters[index + 2];
    if (getOwnPropertyDescriptor(getters[index], getters[index + 1])?.get === get) continue;
    restore(getters[index], getters[index + 1], { get });
  }
}
