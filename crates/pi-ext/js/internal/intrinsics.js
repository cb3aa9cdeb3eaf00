// The language's own objects, as they were before any extension ran. All extensions share them with our own
// code, so an extension that replaces one of their methods would break everybody else.

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

// Three to an entry: where, what, and its value or its getter.
const values = [];
const getters = [];
function remember(holder, key) {
  const { value, get, configurable } = getOwnPropertyDescriptor(holder, key);
  if (!configurable) return;
  if (get) getters.push(holder, key, get);
  else values.push(holder, key, value);
}
for (const name of GLOBALS) remember(globalThis, name);
for (const holder of holders) for (const key of ownKeys(holder)) remember(holder, key);

// What cannot be put back was made so on purpose; the rest still is. The description inherits nothing, since what
// it would inherit from may be what is broken.
function putBack(holder, key, original) {
  defineProperty(holder, key, { __proto__: null, ...original, configurable: true, enumerable: false });
}

// Puts back the values from an entry on, and tells where it had to stop: reading one that was replaced may throw.
// Looking at a value makes nothing, looking at its description makes an object; there are about a thousand of them.
function putBackValues(first) {
  let index = first;
  try {
    for (; index < values.length; index += 3) {
      const value = values[index + 2];
      if (values[index][values[index + 1]] === value) continue;
      putBack(values[index], values[index + 1], { value, writable: true });
    }
  } catch {
    putBack(values[index], values[index + 1], { value: values[index + 2], writable: true });
    index += 3;
  }
  return index;
}

// Puts back what was replaced; what was added stays. By index, since iteration may be what is broken.
export function restoreIntrinsics() {
  let index = 0;
  while (index < values.length) index = putBackValues(index);
  for (index = 0; index < getters.length; index += 3) {
    const get = getters[index + 2];
    if (getOwnPropertyDescriptor(getters[index], getters[index + 1])?.get === get) continue;
    putBack(getters[index], getters[index + 1], { get });
  }
}
