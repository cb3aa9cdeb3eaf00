// The user's keys: which key means which action of the program.
import { call } from "pi:host";
import { matchesKey } from "pi:pi/keys";

class UserKeys {
  #bindings;
  get #keys() {
    return (this.#bindings ??= call("ui.keybindings") ?? {});
  }
  // Makes the next question ask the program again.
  forget() {
    this.#bindings = undefined;
  }
  matches(data, action) {
    return this.getKeys(action).some((key) => matchesKey(data, key));
  }
  getKeys(action) {
    return [...(this.#keys[action] ?? [])];
  }
  getDefinition(action) {
    const keys = this.getKeys(action);
    return { defaultKeys: keys.length === 1 ? keys[0] : keys };
  }
  getConflicts() {
    return [];
  }
  setUserBindings(bindings) {
    const given = Object.entries(bindings).map(([action, keys]) => [action, [keys].flat()]);
    this.#bindings = { ...this.#keys, ...Object.fromEntries(given) };
  }
  getUserBindings() {
    return {};
  }
  getResolvedBindings() {
    return structuredClone(this.#keys);
  }
  getEffectiveConfig() {
    return this.getResolvedBindings();
  }
}

export const userKeys = new UserKeys();

// Called by the program when the user's keys are others.
export function keysChanged() {
  userKeys.forget();
}
