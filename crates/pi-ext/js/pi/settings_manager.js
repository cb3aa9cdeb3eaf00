// Settings for extensions. Setters save to the settings file of the user, those for a project to that of the project.
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { call } from "pi:host";
import { CONFIG_DIR_NAME, getAgentDir } from "pi:pi/paths";
import { DEFAULT_COMPACTION_SETTINGS } from "pi:pi/summaries";

const DEFAULTS = {
  transport: "auto",
  sessionShareDestination: "auto",
  compaction: DEFAULT_COMPACTION_SETTINGS,
  retry: { enabled: true, maxRetries: 3, baseDelayMs: 2000, maxAgentDelayMs: 60000, provider: { maxRetryDelayMs: 60000 } },
  branchSummary: { reserveTokens: 16384, skipPrompt: false },
  steeringMode: "one-at-a-time",
  followUpMode: "one-at-a-time",
  doubleEscapeAction: "tree",
  treeFilterMode: "default",
  hideThinkingBlock: false,
  showCacheMissNotices: false,
  quietStartup: false,
  defaultProjectTrust: "ask",
  collapseChangelog: false,
  enableInstallTelemetry: true,
  enableAnalytics: false,
  enableSkillCommands: true,
  terminal: { showImages: true, imageWidthCells: 60, clearOnShrink: false, showTerminalProgress: false },
  images: { autoResize: true, blockImages: false },
  editorPaddingX: 0,
  outputPad: 1,
  autocompleteMaxVisible: 5,
  markdown: { codeBlockIndent: "  ", mermaid: "streaming" },
  warnings: {},
  cacheWarming: "streaming",
  tuiMode: "fullscreen",
  fullscreenExitOutput: "transcript",
  fullscreenScrollbar: "auto",
  fullscreenCopyOnSelect: true,
  fullscreenWheelScrollLines: "auto",
  httpIdleTimeoutMs: 300000,
};
const DEFAULT_TOOLS = ["read", "bash", "edit", "write"];
const isObject = (value) => value !== null && typeof value === "object" && !Array.isArray(value);

function merge(base, overrides) {
  const result = { ...base };
  for (const [name, value] of Object.entries(overrides ?? {})) {
    result[name] = isObject(value) && isObject(base?.[name]) ? merge(base[name], value) : value;
  }
  return result;
}

// Names of accessors that differ from the path in the settings file.
const PATHS = {
  ThemeSetting: "theme",
  CompactionEnabled: "compaction.enabled",
  RetryEnabled: "retry.enabled",
  BranchSummarySettings: "branchSummary",
  BranchSummarySkipPrompt: "branchSummary.skipPrompt",
  AllModelThinkingLevels: "modelThinkingLevels",
  CacheWarmingMode: "cacheWarming",
  ShowImages: "terminal.showImages",
  ImageWidthCells: "terminal.imageWidthCells",
  ShowTerminalProgress: "terminal.showTerminalProgress",
  ClearOnShrink: "terminal.clearOnShrink",
  ImageAutoResize: "images.autoResize",
  BlockImages: "images.blockImages",
  CodeBlockIndent: "markdown.codeBlockIndent",
  MermaidRenderingMode: "markdown.mermaid",
  ExtensionPaths: "extensions",
  SkillPaths: "skills",
  PromptTemplatePaths: "prompts",
  ThemePaths: "themes",
};
const pathOf = (name) => PATHS[name] ?? name[0].toLowerCase() + name.slice(1);

// Values other than these count as the default.
const ALLOWED = {
  sessionShareDestination: ["auto", "gist", "radius"],
  quietStartup: [false, true, "header"],
  defaultProjectTrust: ["ask", "always", "never"],
  treeFilterMode: ["default", "no-tools", "user-only", "labeled-only", "all"],
  tuiMode: ["fullscreen", "regular"],
  fullscreenExitOutput: ["transcript", "resume-hint"],
  fullscreenScrollbar: ["auto", "always", "hidden"],
  cacheWarming: ["off", "streaming", "idle"],
  "markdown.mermaid": ["streaming", "final", "off"],
  outputPad: [0, 1],
};
// Ranges of numbers.
const RANGES = {
  "terminal.imageWidthCells": [1, Infinity],
  fullscreenWheelScrollLines: [1, 100],
  editorPaddingX: [0, 3],
  autocompleteMaxVisible: [3, 20],
};
const LISTS = ["packages", "extensions", "skills", "prompts", "themes"];

const at = (settings, path) => path.split(".").reduce((value, key) => value?.[key], settings);
const limited = (value, [least, most]) => Math.max(least, Math.min(most, Math.floor(value)));
// Returns settings that contain only one value.
const only = (path, value) => path.split(".").reduceRight((nested, key) => ({ [key]: nested }), value);

function checked(path, value) {
  const fallback = at(DEFAULTS, path);
  if (path in ALLOWED) return ALLOWED[path].includes(value) ? value : fallback;
  if (path in RANGES) return Number.isFinite(value) ? limited(value, RANGES[path]) : fallback;
  if (LISTS.includes(path)) return [...(value ?? [])];
  return value ?? fallback;
}

function tokenCount(name, value) {
  if (value === undefined || (Number.isSafeInteger(value) && value >= 0)) return value;
  throw new Error(`invalid setting ${name}: ${String(value)}; use a whole number of at least 0`);
}

function timeout(name, value) {
  if (value === undefined) return at(DEFAULTS, name);
  if (value === "disabled") return 0;
  const milliseconds = typeof value === "string" && value.trim() !== "" ? Number(value) : value;
  if (Number.isFinite(milliseconds) && milliseconds >= 0) return Math.floor(milliseconds);
  throw new Error(`invalid setting ${name}: ${String(value)}`);
}

// Applies `+name` and `-name` entries to the plain ones, or to the default tools.
function selectTools(entries) {
  const isChange = (entry) => /^[+-]/.test(entry);
  const plain = entries.filter((entry) => !isChange(entry));
  const tools = new Set(plain.length > 0 || entries.length === 0 ? plain : DEFAULT_TOOLS);
  for (const entry of entries.filter(isChange)) entry.startsWith("+") ? tools.add(entry.slice(1)) : tools.delete(entry.slice(1));
  return [...tools];
}

// Returns the values with null for undefined, which removes a setting.
const toPatch = (values) => JSON.parse(JSON.stringify(values, (_name, value) => (value === undefined ? null : value)));

// The settings in files, by scope.
class FileStorage {
  constructor(cwd, agentDir) {
    this.directories = { cwd, agentDir };
    this.paths = { global: resolve(agentDir, "settings.json"), project: resolve(cwd, CONFIG_DIR_NAME, "settings.json") };
  }
  read() {
    return call("utility.loadSettings", this.directories);
  }
  scope(name) {
    try {
      return JSON.parse(readFileSync(this.paths[name], "utf8"));
    } catch {
      return {};
    }
  }
  // Changes what is in the file now: other programs may have changed it.
  change(name, values) {
    call("utility.changeSettings", { file: this.paths[name], changes: toPatch(values) });
  }
}

class MemoryStorage {
  constructor(settings) {
    this.scopes = { global: settings, project: {} };
  }
  read() {
    return merge(this.scopes.global, this.scopes.project);
  }
  scope(name) {
    return structuredClone(this.scopes[name]);
  }
  change(name, values) {
    this.scopes[name] = merge(this.scopes[name], values);
  }
}

export class SettingsManager {
  #storage;
  #settings = {};
  #overrides = {};
  #errors = [];
  #isTrusted = true;

  constructor(storage) {
    this.#storage = storage;
    this.#settings = storage.read();
    // Provides a getter and a setter method for every setting.
    return new Proxy(this, {
      get(target, name) {
        const own = Reflect.get(target, name, target);
        if (own !== undefined || typeof name !== "string") return typeof own === "function" ? own.bind(target) : own;
        if (/^get[A-Z]/.test(name)) return () => target.value(pathOf(name.slice(3)));
        const setter = /^set(Project(?=.*(Packages|Paths)$))?([A-Z].*)/.exec(name);
        if (setter) return (value) => target.#set(pathOf(setter[3]), value, setter[1] ? "project" : "global");
        return undefined;
      },
    });
  }
  static create(cwd, agentDir = getAgentDir()) {
    return new SettingsManager(new FileStorage(cwd, agentDir));
  }
  static inMemory(settings = {}) {
    return new SettingsManager(new MemoryStorage(settings));
  }
  static fromStorage() {
    return SettingsManager.inMemory();
  }
  #raw(path) {
    return at(merge(this.#settings, this.#overrides), path);
  }
  #set(path, value, scope) {
    const isNumber = path in RANGES && Number.isFinite(value);
    this.#save(only(path, isNumber ? limited(value, RANGES[path]) : value), scope);
  }
  #save(values, scope = "global") {
    this.#settings = merge(this.#settings, values);
    try {
      this.#storage.change(scope, values);
    } catch (error) {
      this.#errors.push({ scope, error });
    }
  }
  value(path) {
    const value = this.#raw(path);
    return isObject(value) ? merge(at(DEFAULTS, path), value) : checked(path, value);
  }
  getSettings() {
    return structuredClone(merge(this.#settings, this.#overrides));
  }
  getGlobalSettings() {
    return this.#storage.scope("global");
  }
  getProjectSettings() {
    return this.#storage.scope("project");
  }
  isProjectTrusted() {
    return this.#isTrusted;
  }
  setProjectTrusted(trusted) {
    this.#isTrusted = trusted;
  }
  getTheme() {
    const theme = this.getThemeSetting();
    return theme?.includes("/") ? undefined : theme;
  }
  getThemeSetting() {
    const theme = this.#raw("theme");
    return typeof theme === "string" ? theme : undefined;
  }
  setDefaultModelAndProvider(defaultProvider, defaultModel) {
    this.#save({ defaultProvider, defaultModel });
  }
  getAllModelThinkingLevels() {
    return { ...this.#raw("modelThinkingLevels") };
  }
  getModelThinkingLevel(provider, modelId) {
    return this.getAllModelThinkingLevels()[`${provider}/${modelId}`];
  }
  setModelThinkingLevel(provider, modelId, level) {
    this.#save({ modelThinkingLevels: { [`${provider}/${modelId}`]: level } });
  }
  removeModelThinkingLevel(provider, modelId) {
    this.setModelThinkingLevel(provider, modelId, undefined);
  }
  getExtensionChangelogVersion(key) {
    return this.#raw("extensionChangelogVersions")?.[key];
  }
  setExtensionChangelogVersion(key, version) {
    this.#save({ extensionChangelogVersions: { [key]: version } });
  }
  // Returns a token limit: that of the model, the general one, or the default.
  #compactionTokens(field, model) {
    const general = tokenCount(`compaction.${field}`, this.#raw(`compaction.${field}`));
    const overrides = this.#raw("compaction.modelOverrides")?.[`${model?.provider}/${model?.id}`];
    return tokenCount(`compaction.modelOverrides.${field}`, overrides?.[field]) ?? general ?? DEFAULT_COMPACTION_SETTINGS[field];
  }
  getCompactionReserveTokens(model) {
    return this.#compactionTokens("reserveTokens", model);
  }
  getCompactionKeepRecentTokens(model) {
    return this.#compactionTokens("keepRecentTokens", model);
  }
  getCompactionSettings(model) {
    return {
      enabled: this.value("compaction.enabled"),
      reserveTokens: this.getCompactionReserveTokens(model),
      keepRecentTokens: this.getCompactionKeepRecentTokens(model),
    };
  }
  getRetrySettings() {
    const { enabled, maxRetries, baseDelayMs, maxAgentDelayMs } = this.value("retry") ?? DEFAULTS.retry;
    return { enabled, maxRetries, baseDelayMs, maxAgentDelayMs };
  }
  getProviderRetrySettings() {
    const { timeoutMs, maxRetries, maxRetryDelayMs } = merge(DEFAULTS.retry.provider, this.#raw("retry.provider"));
    return { timeoutMs, maxRetries, maxRetryDelayMs };
  }
  getHttpIdleTimeoutMs() {
    return timeout("httpIdleTimeoutMs", this.#raw("httpIdleTimeoutMs"));
  }
  setHttpIdleTimeoutMs(milliseconds) {
    this.#save({ httpIdleTimeoutMs: timeout("httpIdleTimeoutMs", milliseconds) });
  }
  getWebSocketConnectTimeoutMs() {
    return timeout("websocketConnectTimeoutMs", this.#raw("websocketConnectTimeoutMs"));
  }
  getExternalEditorCommand() {
    const command = this.#raw("externalEditor");
    if (typeof command === "string" && command.trim() !== "") return command;
    const { env, platform } = globalThis.process;
    return env.VISUAL || env.EDITOR || (platform === "win32" ? "notepad" : "nano");
  }
  getShowHardwareCursor() {
    return this.#raw("showHardwareCursor") ?? globalThis.process.env.PI_HARDWARE_CURSOR === "1";
  }
  getClearOnShrink() {
    return this.#raw("terminal.clearOnShrink") ?? globalThis.process.env.PI_CLEAR_ON_SHRINK === "1";
  }
  getTerminalCapabilityOverrides() {
    const { images, trueColor, hyperlinks } = this.#raw("terminal") ?? {};
    return {
      ...(["kitty", "iterm2"].includes(images) ? { images } : images === false ? { images: null } : {}),
      ...(typeof trueColor === "boolean" ? { trueColor } : {}),
      ...(typeof hyperlinks === "boolean" ? { hyperlinks } : {}),
    };
  }
  getDefaultTools() {
    const tools = this.#raw("defaultTools");
    if (tools === undefined) return undefined;
    return selectTools(Array.isArray(tools) ? tools.filter((tool) => typeof tool === "string") : []);
  }
  getOrCreateDeviceId() {
    const known = this.#raw("deviceId");
    if (known) return known;
    const deviceId = globalThis.crypto.randomUUID();
    this.#save({ deviceId });
    return deviceId;
  }
  applyOverrides(overrides) {
    this.#overrides = merge(this.#overrides, overrides);
  }
  async reload() {
    this.#settings = this.#storage.read();
    this.#overrides = {};
  }
  async flush() {}
  drainErrors() {
    return this.#errors.splice(0);
  }
}
