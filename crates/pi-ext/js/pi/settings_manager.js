// Settings for extensions. Changes apply only to this object and are not saved.
import { call } from "pi:host";
import { DEFAULT_COMPACTION_SETTINGS } from "pi:pi/summaries";

const DEFAULTS = {
  compaction: DEFAULT_COMPACTION_SETTINGS,
  retry: { enabled: true, maxRetries: 3, baseDelayMs: 2000 },
  branchSummary: { reserveTokens: 16384, skipPrompt: false },
  steeringMode: "one-at-a-time",
  followUpMode: "one-at-a-time",
  doubleEscapeAction: "tree",
};
const isObject = (value) => value !== null && typeof value === "object" && !Array.isArray(value);

function merge(base, overrides) {
  const result = { ...base };
  for (const [name, value] of Object.entries(overrides ?? {})) {
    result[name] = isObject(value) && isObject(base?.[name]) ? merge(base[name], value) : value;
  }
  return result;
}

// Method names that differ from the key in the settings file.
const KEY_ALIASES = { compactionSettings: "compaction", retrySettings: "retry", branchSummarySettings: "branchSummary" };
const keyOf = (name) => {
  const key = name[0].toLowerCase() + name.slice(1);
  return KEY_ALIASES[key] ?? key;
};

export class SettingsManager {
  #read;
  #settings = {};
  #overrides = {};

  constructor(read) {
    this.#read = read;
    this.#settings = read();
    // Provides a getter and a setter method for every setting.
    return new Proxy(this, {
      get(target, name) {
        const own = Reflect.get(target, name, target);
        if (own !== undefined || typeof name !== "string") return typeof own === "function" ? own.bind(target) : own;
        if (/^get[A-Z]/.test(name)) return () => target.value(keyOf(name.slice(3)));
        if (/^set[A-Z]/.test(name)) return (value) => target.applyOverrides({ [keyOf(name.slice(3))]: value });
        return undefined;
      },
    });
  }
  static create(cwd, agentDir) {
    return new SettingsManager(() => call("utility.loadSettings", { cwd, agentDir }));
  }
  static inMemory(settings = {}) {
    return new SettingsManager(() => settings);
  }
  static fromStorage() {
    return SettingsManager.inMemory();
  }
  value(key) {
    return merge(merge(DEFAULTS, this.#settings), this.#overrides)[key];
  }
  getSettings() {
    return structuredClone(merge(this.#settings, this.#overrides));
  }
  getGlobalSettings() {
    return structuredClone(this.#settings);
  }
  getProjectSettings() {
    return {};
  }
  getCompactionEnabled() {
    return this.value("compaction").enabled;
  }
  getRetryEnabled() {
    return this.value("retry").enabled;
  }
  applyOverrides(overrides) {
    this.#overrides = merge(this.#overrides, overrides);
  }
  async reload() {
    this.#settings = this.#read();
  }
  async flush() {}
  drainErrors() {
    return [];
  }
}
