// Settings as extensions read them. What is set here holds for the object and goes into no file.
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

function merged(base, over) {
  const result = { ...base };
  for (const [name, value] of Object.entries(over ?? {})) {
    result[name] = isObject(value) && isObject(base?.[name]) ? merged(base[name], value) : value;
  }
  return result;
}

// Names that say `Settings` of a group, or are spelled otherwise in the file.
const SPELLINGS = { compactionSettings: "compaction", retrySettings: "retry", branchSummarySettings: "branchSummary" };
const memberOf = (name) => {
  const member = name[0].toLowerCase() + name.slice(1);
  return SPELLINGS[member] ?? member;
};

export class SettingsManager {
  #read;
  #settings = {};
  #overrides = {};

  constructor(read) {
    this.#read = read;
    this.#settings = read();
    // Every setting has its own pair of methods, by the name of the setting.
    return new Proxy(this, {
      get(target, name) {
        const own = Reflect.get(target, name, target);
        if (own !== undefined || typeof name !== "string") return typeof own === "function" ? own.bind(target) : own;
        if (/^get[A-Z]/.test(name)) return () => target.value(memberOf(name.slice(3)));
        if (/^set[A-Z]/.test(name)) return (value) => target.applyOverrides({ [memberOf(name.slice(3))]: value });
        return undefined;
      },
    });
  }
  static create(cwd, agentDir) {
    return new SettingsManager(() => call("convert.settings", { cwd, agentDir }));
  }
  static inMemory(settings = {}) {
    return new SettingsManager(() => settings);
  }
  static fromStorage() {
    return SettingsManager.inMemory();
  }
  value(member) {
    return merged(merged(DEFAULTS, this.#settings), this.#overrides)[member];
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
    this.#overrides = merged(this.#overrides, overrides);
  }
  async reload() {
    this.#settings = this.#read();
  }
  async flush() {}
  drainErrors() {
    return [];
  }
}
