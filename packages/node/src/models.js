// Models and credentials: what a program asks about, and the API keys it brings.

import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { findBinary } from "./binary.js";
import { getAgentDir } from "./paths.js";
import { UnsupportedError } from "./unsupported-error.js";

/** The environment variable with the API key of a provider, where it is not `<PROVIDER>_API_KEY`. */
const KEY_VARIABLES = {
  azure: "AZURE_OPENAI_API_KEY",
  google: "GEMINI_API_KEY",
  "google-vertex": "GOOGLE_CLOUD_API_KEY",
  "vercel-ai-gateway": "AI_GATEWAY_API_KEY",
  moonshotai: "MOONSHOT_API_KEY",
  "moonshotai-cn": "MOONSHOT_API_KEY",
  "opencode-go": "OPENCODE_API_KEY",
  "kimi-coding": "KIMI_API_KEY",
  huggingface: "HF_TOKEN",
  "github-copilot": "COPILOT_GITHUB_TOKEN",
  "cloudflare-workers-ai": "CLOUDFLARE_API_KEY",
  "cloudflare-ai-gateway": "CLOUDFLARE_API_KEY",
  "qwen-token-plan-individual": "QWEN_TOKEN_PLAN_API_KEY",
};

function keyVariable(provider) {
  return KEY_VARIABLES[provider] ?? `${provider.toUpperCase().replaceAll("-", "_")}_API_KEY`;
}

/** Returns the credential that pi has stored for a provider. */
export function readStoredCredential(provider, authPath = join(getAgentDir(), "auth.json")) {
  return readCredentials(authPath)[provider];
}

function readCredentials(path) {
  try {
    return existsSync(path) ? JSON.parse(readFileSync(path, "utf8")) : {};
  } catch {
    return {};
  }
}

export class AuthStorage {
  #path;
  #data;
  #runtimeKeys = new Map();

  constructor(path, data) {
    this.#path = path;
    this.#data = data;
  }

  static create(authPath = join(getAgentDir(), "auth.json")) {
    return new AuthStorage(authPath);
  }

  static inMemory(data = {}) {
    return new AuthStorage(undefined, structuredClone(data));
  }

  #read() {
    return this.#data ?? readCredentials(this.#path);
  }

  reload() {}

  /** Uses an API key for this run; it is passed to the agent in its environment. */
  setRuntimeApiKey(provider, key) {
    this.#runtimeKeys.set(provider, key);
  }

  removeRuntimeApiKey(provider) {
    this.#runtimeKeys.delete(provider);
  }

  /** Stores a credential in memory. Files of pi are changed by `pi login` only. */
  set(provider, credential) {
    if (!this.#data) this.#refuse();
    this.#data[provider] = credential;
  }

  remove(provider) {
    if (!this.#data) this.#refuse();
    delete this.#data[provider];
  }

  logout(provider) {
    this.remove(provider);
  }

  #refuse() {
    throw new UnsupportedError("Changing stored credentials", "Run `pi login`, or use setRuntimeApiKey for this run.");
  }

  get(provider) {
    return this.#read()[provider];
  }

  has(provider) {
    return this.#read()[provider] !== undefined;
  }

  hasAuth(provider) {
    return this.#runtimeKeys.has(provider) || this.has(provider) || Boolean(process.env[keyVariable(provider)]);
  }

  list() {
    return Object.keys(this.#read());
  }

  getAll() {
    return structuredClone(this.#read());
  }

  async getApiKey(provider) {
    const stored = this.#read()[provider];
    const storedKey = stored?.type === "api_key" ? stored.key : stored?.access;
    return this.#runtimeKeys.get(provider) ?? storedKey ?? process.env[keyVariable(provider)];
  }

  /** Returns the environment variables that carry the keys of this program to the agent. */
  _environment() {
    const env = {};
    for (const [provider, credential] of Object.entries(this.#data ?? {})) {
      if (credential.type === "api_key") env[keyVariable(provider)] = credential.key;
    }
    for (const [provider, key] of this.#runtimeKeys) env[keyVariable(provider)] = key;
    return env;
  }
}

/** Sends commands to a short-lived process and returns the data of their responses. */
export function querySync(commands, { cwd, env = process.env, args = [] } = {}) {
  const input = commands.map((command, id) => `${JSON.stringify({ id, ...command })}\n`).join("");
  const flags = ["--mode", "rpc", "--no-session", "--no-mcp", ...args];
  const options = { cwd, env, input, encoding: "utf8", maxBuffer: 256 * 1024 * 1024 };
  const result = spawnSync(findBinary(env), flags, options);
  if (result.error) throw result.error;
  const data = [];
  for (const line of result.stdout.split("\n")) {
    if (!line.startsWith("{")) continue;
    const record = JSON.parse(line);
    if (record.type === "response" && record.success) data[record.id] = record.data;
  }
  if (data.length === 0) throw new Error(`pi did not respond: ${result.stderr.trim()}`);
  return data;
}

/** The models of pi. The list is read from the agent when it is first needed. */
export class ModelRegistry {
  #models;
  #options;
  authStorage;

  constructor(options = {}, authStorage = AuthStorage.create()) {
    this.#options = options;
    this.authStorage = authStorage;
  }

  static create(authStorage) {
    return new ModelRegistry({}, authStorage);
  }

  static inMemory(authStorage) {
    return new ModelRegistry({}, authStorage);
  }

  _setModels(models) {
    this.#models = models;
  }

  #load() {
    if (this.#models) return this.#models;
    const env = { ...process.env, ...this.#options.env, ...this.authStorage?._environment?.() };
    const [data] = querySync([{ type: "get_available_models" }], { cwd: this.#options.cwd, env, args: ["--no-extensions"] });
    this.#models = data?.models ?? [];
    return this.#models;
  }

  /** Reads the list again when it is next needed. */
  async refresh() {
    this.#models = undefined;
    return {};
  }

  getError() {
    return undefined;
  }

  getAll() {
    return [...this.#load()];
  }

  getAvailable() {
    return [...this.#load()];
  }

  find(provider, modelId) {
    return this.#load().find((model) => model.provider === provider && model.id === modelId);
  }

  getModel(provider, modelId) {
    return this.find(provider, modelId);
  }

  getModels(provider) {
    return this.#load().filter((model) => provider === undefined || model.provider === provider);
  }

  hasConfiguredAuth(model) {
    return this.find(model.provider, model.id) !== undefined;
  }

  isUsingOAuth(model) {
    return this.authStorage?.get?.(model.provider)?.type === "oauth";
  }

  getApiKeyForProvider(provider) {
    return this.authStorage.getApiKey(provider);
  }

  getProviderDisplayName(provider) {
    return provider;
  }

  registerProvider() {
    throw new UnsupportedError("registerProvider", "Declare the provider in models.json, or in an extension file.");
  }

  unregisterProvider() {}
}

/** The model access of newer programs; the same list. */
export class ModelRuntime extends ModelRegistry {
  static async create(options = {}) {
    const { agentDir, authStorage } = options;
    const env = agentDir ? { PI_CODING_AGENT_DIR: agentDir } : {};
    return new ModelRuntime({ env }, authStorage ?? AuthStorage.create());
  }

  setRuntimeApiKey(provider, key) {
    this.authStorage.setRuntimeApiKey(provider, key);
    void this.refresh();
  }
}
