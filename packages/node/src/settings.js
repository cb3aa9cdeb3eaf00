// SettingsManager: reads the settings files, and carries settings of a program to the agent.

import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { CONFIG_DIR_NAME, getAgentDir } from "./paths.js";

const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value);

function merge(base, over) {
  const merged = { ...base };
  for (const [key, value] of Object.entries(over ?? {})) {
    if (value === undefined) continue;
    merged[key] = isObject(merged[key]) && isObject(value) ? merge(merged[key], value) : value;
  }
  return merged;
}

function read(path, errors, scope) {
  if (!existsSync(path)) return {};
  try {
    return JSON.parse(readFileSync(path, "utf8"));
  } catch (error) {
    errors.push({ scope, path, error });
    return {};
  }
}

/** Getters of one setting: method suffix, path in the settings, default. */
const SETTINGS = [
  ["DefaultProvider", ["defaultProvider"]],
  ["DefaultModel", ["defaultModel"]],
  ["DefaultThinkingLevel", ["defaultThinkingLevel"]],
  ["SteeringMode", ["steeringMode"], "one-at-a-time"],
  ["FollowUpMode", ["followUpMode"], "one-at-a-time"],
  ["Theme", ["theme"]],
  ["SessionDir", ["sessionDir"]],
  ["CompactionEnabled", ["compaction", "enabled"], true],
  ["RetryEnabled", ["retry", "enabled"], true],
  ["HideThinkingBlock", ["hideThinkingBlock"], false],
  ["ShellPath", ["shellPath"]],
  ["ShellCommandPrefix", ["shellCommandPrefix"]],
  ["QuietStartup", ["quietStartup"], false],
  ["Packages", ["packages"], []],
  ["ExtensionPaths", ["extensions"], []],
  ["SkillPaths", ["skills"], []],
  ["PromptTemplatePaths", ["prompts"], []],
  ["ThemePaths", ["themes"], []],
  ["EnableSkillCommands", ["enableSkillCommands"], true],
  ["EnabledModels", ["enabledModels"]],
  ["DefaultTools", ["defaultTools"]],
  ["ThinkingBudgets", ["thinkingBudgets"]],
  ["BlockImages", ["images", "blockImages"], false],
  ["ImageAutoResize", ["images", "autoResize"], true],
  ["Transport", ["transport"], "auto"],
  ["DefaultProjectTrust", ["defaultProjectTrust"], "ask"],
];

export class SettingsManager {
  #files;
  #global = {};
  #project = {};
  #overrides = {};
  #inMemory;
  #projectTrusted;
  #errors = [];

  constructor({ cwd, agentDir, settings, projectTrusted = true }) {
    this.#inMemory = settings;
    this.#projectTrusted = projectTrusted;
    if (!settings) {
      this.#files = { global: join(agentDir, "settings.json"), project: join(cwd, CONFIG_DIR_NAME, "settings.json") };
      this.#read();
    }
  }

  static create(cwd = process.cwd(), agentDir = getAgentDir(), options = {}) {
    return new SettingsManager({ cwd, agentDir, ...options });
  }

  static inMemory(settings = {}, options = {}) {
    return new SettingsManager({ settings: structuredClone(settings), ...options });
  }

  #read() {
    this.#global = read(this.#files.global, this.#errors, "global");
    this.#project = this.#projectTrusted ? read(this.#files.project, this.#errors, "project") : {};
  }

  getSettings() {
    return merge(merge(this.#inMemory ?? this.#global, this.#project), this.#overrides);
  }

  getGlobalSettings() {
    return structuredClone(this.#inMemory ?? this.#global);
  }

  getProjectSettings() {
    return structuredClone(this.#project);
  }

  isProjectTrusted() {
    return this.#projectTrusted;
  }

  setProjectTrusted(trusted) {
    this.#projectTrusted = trusted;
    if (this.#files) this.#read();
  }

  /** Settings for this run; they are not saved. */
  applyOverrides(overrides) {
    this.#overrides = merge(this.#overrides, overrides);
  }

  async reload() {
    if (this.#files) this.#read();
  }

  async flush() {}

  drainErrors() {
    return this.#errors.splice(0);
  }

  getCompactionSettings() {
    return merge({ enabled: true, reserveTokens: 16384, keepRecentTokens: 20000 }, this.getSettings().compaction);
  }

  getRetrySettings() {
    return merge({ enabled: true, maxRetries: 3, baseDelayMs: 2000 }, this.getSettings().retry);
  }

  setDefaultModelAndProvider(provider, modelId) {
    this.#set(["defaultProvider"], provider);
    this.#set(["defaultModel"], modelId);
  }

  /** Returns what the agent must know in addition to the files. */
  _runSettings() {
    const settings = this.#inMemory ? merge(this.#inMemory, this.#overrides) : this.#overrides;
    return Object.keys(settings).length > 0 ? settings : undefined;
  }

  _get(path, fallback) {
    let value = this.getSettings();
    for (const key of path) value = value?.[key];
    return value ?? fallback;
  }

  #set(path, value) {
    const target = this.#inMemory ?? this.#global;
    let object = target;
    for (const key of path.slice(0, -1)) object = object[key] ??= {};
    object[path.at(-1)] = value;
    if (!this.#files) return;
    mkdirSync(dirname(this.#files.global), { recursive: true });
    const temporary = `${this.#files.global}.${process.pid}.tmp`;
    writeFileSync(temporary, `${JSON.stringify(target, null, 2)}\n`);
    renameSync(temporary, this.#files.global);
  }

  _set(path, value) {
    this.#set(path, value);
  }
}

for (const [name, path, fallback] of SETTINGS) {
  SettingsManager.prototype[`get${name}`] = function () {
    return this._get(path, fallback);
  };
  SettingsManager.prototype[`set${name}`] = function (value) {
    this._set(path, value);
  };
}
