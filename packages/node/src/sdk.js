// createAgentSession and the runtime functions of newer programs.

import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { AgentSession } from "./agent-session.js";
import { findBinary } from "./binary.js";
import { AuthStorage, ModelRegistry, ModelRuntime } from "./models.js";
import { expandHome, getAgentDir } from "./paths.js";
import { DefaultResourceLoader, loaderFlags, refuseFactories } from "./resources.js";
import { SessionManager } from "./session-manager.js";
import { SettingsManager } from "./settings.js";
import { BUILTIN } from "./tools.js";
import { UnsupportedError } from "./unsupported-error.js";

/** Longer texts do not fit into an argument on every system. */
const ARGUMENT_LIMIT = 30_000;

function modelFlags({ model, thinkingLevel, scopedModels }) {
  const flags = [];
  if (model) flags.push("--provider", model.provider, "--model", model.id);
  if (thinkingLevel) flags.push("--thinking", thinkingLevel);
  if (scopedModels?.length > 0) {
    const patterns = scopedModels.map((it) => `${it.model.provider}/${it.model.id}${it.thinkingLevel ? `:${it.thinkingLevel}` : ""}`);
    flags.push("--models", patterns.join(","));
  }
  return flags;
}

/** Splits the tools into names for the agent and tools that this program runs. */
function splitTools({ tools, customTools = [] }) {
  const custom = customTools.filter((tool) => !tool[BUILTIN]);
  if (!tools) return { custom };
  const objects = tools.filter((tool) => typeof tool !== "string");
  const own = objects.filter((tool) => !tool[BUILTIN]);
  const names = tools.map((tool) => (typeof tool === "string" ? tool : tool.name));
  // Older programs pass tools as objects, in addition to customTools.
  if (objects.length > 0) names.push(...custom.map((tool) => tool.name));
  return { names, custom: [...custom, ...own] };
}

function toolFlags({ names, noTools, excludeTools }) {
  const flags = [];
  if (noTools === "all") flags.push("--no-tools");
  if (noTools === "builtin") flags.push("--no-builtin-tools");
  if (names?.length === 0) flags.push("--no-tools");
  if (names?.length > 0) flags.push("--tools", [...new Set(names)].join(","));
  if (excludeTools?.length > 0) flags.push("--exclude-tools", excludeTools.join(","));
  return flags;
}

function sessionFlags(manager, temporary) {
  const id = manager.getSessionId();
  if (!manager.isPersisted()) {
    if (manager.getEntryCount() === 0) return ["--no-session", "--session-id", id];
    const file = join(temporary(), `${id}.jsonl`);
    writeFileSync(file, manager._records().map((record) => `${JSON.stringify(record)}\n`).join(""), { mode: 0o600 });
    return ["--session", file];
  }
  manager._flush();
  if (!manager._isNew() || manager._isExplicit()) return ["--session", manager.getSessionFile()];
  const directory = manager.usesDefaultSessionDir() ? [] : ["--session-dir", manager.getSessionDir()];
  return [...directory, "--session-id", id];
}

/** Moves values that are too long for an argument into files. */
function shorten(flags, temporary) {
  return flags.map((value, at) => {
    if (value.length <= ARGUMENT_LIMIT || !/system-prompt$/.test(flags[at - 1] ?? "")) return value;
    const file = join(temporary(), `prompt-${at}.md`);
    writeFileSync(file, value, { mode: 0o600 });
    return file;
  });
}

/** Creates a session in a new pi process. */
export async function createAgentSession(options = {}) {
  for (const name of ["extensions", "hooks", "preloadedExtensions"]) {
    if (options[name]?.length > 0) refuseFactories();
  }
  if (options.agent) throw new UnsupportedError("The option agent", "Omit it; the session has its own.");
  const manager = options.sessionManager;
  const cwd = resolve(options.cwd ?? manager?.getCwd() ?? process.cwd());
  const agentDir = options.agentDir ? resolve(expandHome(options.agentDir)) : getAgentDir();
  const sessionManager = manager ?? SessionManager.create(cwd);
  const settingsManager = options.settingsManager ?? SettingsManager.create(cwd, agentDir);
  const modelRegistry = options.modelRuntime ?? options.modelRegistry ?? new ModelRegistry({ cwd }, options.authStorage);
  const authStorage = options.authStorage ?? modelRegistry.authStorage;
  const resourceLoader = options.resourceLoader ?? new DefaultResourceLoader({ cwd, agentDir });
  let directory;
  const temporary = () => (directory ??= mkdtempSync(join(tmpdir(), "pi-node-")));
  const cleanup = () => directory && rmSync(directory, { recursive: true, force: true });

  const { names, custom } = splitTools(options);
  const flags = [
    "--mode",
    "rpc",
    ...sessionFlags(sessionManager, temporary),
    ...modelFlags(options),
    ...toolFlags({ ...options, names }),
    ...loaderFlags(resourceLoader, temporary),
    ...(options.systemPrompt ? ["--system-prompt", String(options.systemPrompt)] : []),
  ];
  const env = { ...process.env, PI_CODING_AGENT_DIR: agentDir, ...authStorage?._environment?.() };
  const settings = settingsManager._runSettings?.();
  if (settings) env.PI_SETTINGS = JSON.stringify(settings);
  const launch = { command: findBinary(env), args: shorten(flags, temporary), cwd, env };
  if (!existsSync(cwd)) throw new Error(`The working directory does not exist: ${cwd}`);
  const parts = { launch, sessionManager, settingsManager, modelRegistry, resourceLoader, customTools: custom, cleanup };
  const session = new AgentSession({ ...parts, scopedModels: options.scopedModels });
  try {
    await session._start();
  } catch (error) {
    session.dispose();
    throw error;
  }
  const wanted = options.model;
  const got = session.model;
  const isOther = wanted && got && (wanted.provider !== got.provider || wanted.id !== got.id);
  const modelFallbackMessage = isOther ? `Could not use ${wanted.provider}/${wanted.id}; using ${got.provider}/${got.id}` : undefined;
  return { session, extensionsResult: { extensions: [], errors: [], runtime: {} }, modelFallbackMessage };
}

/** Collects what the sessions of a directory share. */
export async function createAgentSessionServices(options) {
  const cwd = resolve(options.cwd);
  const agentDir = options.agentDir ?? getAgentDir();
  const settingsManager = options.settingsManager ?? SettingsManager.create(cwd, agentDir);
  const modelRuntime = options.modelRuntime ?? (await ModelRuntime.create({ agentDir }));
  const resourceLoader = new DefaultResourceLoader({ ...options.resourceLoaderOptions, cwd, agentDir, settingsManager });
  await resourceLoader.reload(options.resourceLoaderReloadOptions);
  const services = { cwd, agentDir, settingsManager, modelRuntime, resourceLoader, diagnostics: [] };
  return { ...services, modelRegistry: modelRuntime, authStorage: modelRuntime.authStorage ?? AuthStorage.create() };
}

export async function createAgentSessionFromServices({ services, ...options }) {
  const { cwd, agentDir, settingsManager, modelRuntime, resourceLoader } = services;
  return createAgentSession({ cwd, agentDir, settingsManager, modelRuntime, resourceLoader, ...options });
}

/** A session that can be replaced by another one. */
export class AgentSessionRuntime {
  #current;
  #create;
  #rebind;
  #beforeInvalidate;

  constructor(current, create) {
    this.#current = current;
    this.#create = create;
  }

  get session() {
    return this.#current.session;
  }

  get services() {
    return this.#current.services;
  }

  get cwd() {
    return this.services.cwd;
  }

  get diagnostics() {
    return this.#current.diagnostics ?? [];
  }

  get modelFallbackMessage() {
    return this.#current.modelFallbackMessage;
  }

  setRebindSession(rebind) {
    this.#rebind = rebind;
  }

  setBeforeSessionInvalidate(callback) {
    this.#beforeInvalidate = callback;
  }

  async #replace(sessionManager, reason, options = {}) {
    const previousSessionFile = this.session.sessionFile;
    const { cwd, agentDir } = this.services;
    this.#beforeInvalidate?.();
    this.session.dispose();
    await this.session._stopped;
    const sessionStartEvent = { type: "session_start", reason, previousSessionFile };
    this.#current = await this.#create({ cwd: sessionManager.getCwd() ?? cwd, agentDir, sessionManager, sessionStartEvent });
    await this.#rebind?.(this.session);
    await options.withSession?.({ session: this.session, sessionManager: this.session.sessionManager });
    return { cancelled: false };
  }

  async newSession(options = {}) {
    const manager = this.session.sessionManager;
    const { parentSession } = options;
    const next = manager.isPersisted()
      ? SessionManager.create(this.cwd, manager.getSessionDir(), { parentSession })
      : SessionManager.inMemory(this.cwd, { parentSession });
    await options.setup?.(next);
    return this.#replace(next, "new", options);
  }

  async switchSession(path, options = {}) {
    return this.#replace(SessionManager.open(path, undefined, options.cwdOverride), "resume", options);
  }

  async fork(entryId, options = {}) {
    const { sessionManager } = this.session;
    const entry = sessionManager.getEntry(entryId);
    if (!entry) throw new Error("Invalid entry ID for forking");
    const selected = options.position === "at" ? entry.id : entry.parentId;
    const text = this.session.getUserMessagesForForking().find((it) => it.entryId === entryId)?.text;
    const records = sessionManager._records();
    const parentSession = sessionManager.getSessionFile();
    const next = parentSession
      ? SessionManager.create(this.cwd, sessionManager.getSessionDir(), { parentSession })
      : SessionManager.inMemory(this.cwd);
    if (selected) {
      const source = SessionManager.inMemory(this.cwd, {}, structuredClone(records));
      for (const it of source.getBranch(selected)) if (it.type !== "label") next._append(it);
      next._flush();
    }
    const result = await this.#replace(next, "fork", options);
    return { ...result, selectedText: text };
  }

  async importFromJsonl(path, cwdOverride) {
    return this.#replace(SessionManager.forkFrom(path, cwdOverride ?? this.cwd), "resume");
  }

  async dispose() {
    this.#beforeInvalidate?.();
    this.session.dispose();
    await this.session._stopped;
  }
}

export async function createAgentSessionRuntime(create, options) {
  return new AgentSessionRuntime(await create(options), create);
}
