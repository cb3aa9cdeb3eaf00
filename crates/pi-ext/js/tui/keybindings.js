// Keybindings.
import { query } from "pi:terminal";
import { matchesKey } from "pi:tui/keys";

const listOf = (keys) => (keys === undefined ? [] : [...new Set(Array.isArray(keys) ? keys : [keys])]);

export class KeybindingsManager {
  #definitions;
  #user;
  #keys = new Map();
  #conflicts = [];

  constructor(definitions, userBindings = {}) {
    this.#definitions = definitions;
    this.setUserBindings(userBindings);
  }
  matches(data, keybinding) {
    return this.#of(keybinding).some((key) => matchesKey(data, key));
  }
  getKeys(keybinding) {
    return [...this.#of(keybinding)];
  }
  getDefinition(keybinding) {
    return this.#definitions[keybinding];
  }
  getConflicts() {
    return this.#conflicts.map((conflict) => ({ ...conflict, keybindings: [...conflict.keybindings] }));
  }
  setUserBindings(userBindings) {
    this.#user = userBindings;
    this.#keys.clear();
    const claims = new Map();
    for (const [id, definition] of Object.entries(this.#definitions)) {
      const own = Object.hasOwn(userBindings, id) ? userBindings[id] : undefined;
      this.#keys.set(id, listOf(own === undefined ? definition.defaultKeys : own));
      for (const key of listOf(own)) claims.set(key, [...(claims.get(key) ?? []), id]);
    }
    this.#conflicts = [...claims].filter(([, ids]) => ids.length > 1).map(([key, keybindings]) => ({ key, keybindings }));
  }
  getUserBindings() {
    return { ...this.#user };
  }
  // A single key is returned as a string, several as an array.
  getResolvedBindings() {
    const resolved = {};
    for (const [id, keys] of this.#keys) resolved[id] = keys.length === 1 ? keys[0] : [...keys];
    return resolved;
  }
  #of(keybinding) {
    return this.#keys.get(keybinding) ?? [];
  }
}

let bindings;
function known() {
  return (bindings ??= query("key.bindings"));
}

const single = (keys) => (keys.length === 1 ? keys[0] : keys);
function definitionsOf(list) {
  return Object.fromEntries(list.map(({ id, description, defaultKeys }) => [id, { defaultKeys: single(defaultKeys), description }]));
}

// The keybindings of the TUI library, loaded on first use.
export const TUI_KEYBINDINGS = new Proxy(
  {},
  {
    get: (target, id) => table(target)[id],
    has: (target, id) => id in table(target),
    ownKeys: (target) => Reflect.ownKeys(table(target)),
    getOwnPropertyDescriptor: (target, id) => Object.getOwnPropertyDescriptor(table(target), id),
  },
);
function table(target) {
  if (Reflect.ownKeys(target).length === 0) {
    Object.assign(target, definitionsOf(known().filter(({ id }) => id.startsWith("tui."))));
  }
  return target;
}

let current;

// Returns the active keybindings of all actions, including user changes.
export function getKeybindings() {
  if (!current) {
    const changed = known().filter(({ keys, defaultKeys }) => keys.join() !== defaultKeys.join());
    current = new KeybindingsManager(definitionsOf(known()), Object.fromEntries(changed.map(({ id, keys }) => [id, keys])));
  }
  return current;
}
export function setKeybindings(keybindings) {
  current = keybindings;
}
