// Extension-run agents that can switch sessions: their services and session replacement.
import { createAgentSession } from "pi:pi/agent_session";
import { ModelRuntime } from "pi:pi/model_runtime";
import { getAgentDir } from "pi:pi/paths";
import { DefaultResourceLoader } from "pi:pi/resource_loader";
import { SessionManager } from "pi:pi/session_manager";
import { SettingsManager } from "pi:pi/settings_manager";

// Creates the services of a working directory.
export async function createAgentSessionServices({ cwd, agentDir = getAgentDir(), settingsManager, modelRuntime, resourceLoaderOptions, resourceLoaderReloadOptions }) {
  const settings = settingsManager ?? SettingsManager.create(cwd, agentDir);
  const resourceLoader = new DefaultResourceLoader({ ...resourceLoaderOptions, cwd, agentDir, settingsManager: settings });
  await resourceLoader.reload(resourceLoaderReloadOptions);
  return { cwd, agentDir, modelRuntime: modelRuntime ?? (await ModelRuntime.create()), settingsManager: settings, resourceLoader, diagnostics: [] };
}

// Creates an agent session from existing services.
export function createAgentSessionFromServices({ services, ...options }) {
  const { cwd, agentDir, modelRuntime, settingsManager, resourceLoader } = services;
  return createAgentSession({ ...options, cwd, agentDir, modelRuntime, settingsManager, resourceLoader });
}

export class AgentSessionRuntime {
  #session;
  #services;
  #create;
  #diagnostics;
  #fallback;
  #rebind;
  #beforeInvalidate;

  constructor(session, services, create, diagnostics = [], modelFallbackMessage = undefined) {
    this.#session = session;
    this.#services = services;
    this.#create = create;
    this.#diagnostics = diagnostics;
    this.#fallback = modelFallbackMessage;
  }
  get session() {
    return this.#session;
  }
  get services() {
    return this.#services;
  }
  get cwd() {
    return this.#services.cwd;
  }
  get diagnostics() {
    return this.#diagnostics;
  }
  get modelFallbackMessage() {
    return this.#fallback;
  }
  setRebindSession(rebind) {
    this.#rebind = rebind;
  }
  setBeforeSessionInvalidate(before) {
    this.#beforeInvalidate = before;
  }

  // Replaces the current session.
  async #replace(sessionManager, reason, cwd, withSession) {
    const previousSessionFile = this.#session.sessionFile;
    this.#beforeInvalidate?.();
    await this.#session.dispose();
    const { agentDir } = this.#services;
    const created = await this.#create({ cwd: cwd ?? this.cwd, agentDir, sessionManager, sessionStartEvent: { type: "session_start", reason, previousSessionFile } });
    this.#session = created.session;
    this.#services = created.services;
    this.#diagnostics = created.diagnostics;
    this.#fallback = created.modelFallbackMessage;
    await this.#rebind?.(this.#session);
    await withSession?.({ session: this.#session, sendUserMessage: (content, options) => this.#session.sendUserMessage(content, options) });
    return { cancelled: false };
  }
  get #sessionDir() {
    return this.#session.sessionManager?.getSessionDir?.();
  }
  newSession({ setup, withSession, parentSession } = {}) {
    const manager = this.#session.sessionFile === undefined ? SessionManager.inMemory(this.cwd) : SessionManager.create(this.cwd, this.#sessionDir, { parentSession });
    return Promise.resolve(setup?.(manager)).then(() => this.#replace(manager, "new", undefined, withSession));
  }
  switchSession(path, { cwdOverride, withSession } = {}) {
    return this.#replace(SessionManager.open(path, this.#sessionDir, cwdOverride), "resume", cwdOverride, withSession);
  }
  // Continues in a copy of the session, either before a user message or after an entry.
  async fork(entryId, { position = "before", withSession } = {}) {
    const { sessionFile } = this.#session;
    if (sessionFile === undefined) throw new Error("cannot fork an in-memory session");
    const manager = SessionManager.open(sessionFile, this.#sessionDir);
    const entry = manager.getEntry(entryId);
    const content = entry?.type === "message" && entry.message.role === "user" ? entry.message.content : undefined;
    if (!entry || (position === "before" && content === undefined)) throw new Error(`cannot fork at entry ${entryId}`);
    const leaf = position === "at" ? entryId : entry.parentId;
    if (leaf) manager.createBranchedSession(leaf);
    else manager.newSession({ parentSession: sessionFile });
    const text = typeof content === "string" ? content : (content ?? []).filter(({ type }) => type === "text").map(({ text: part }) => part).join("");
    const result = await this.#replace(manager, "fork", undefined, withSession);
    return position === "before" ? { ...result, selectedText: text } : result;
  }
  importFromJsonl(path, cwdOverride) {
    return this.switchSession(path, { cwdOverride });
  }
  dispose() {
    this.#beforeInvalidate?.();
    return this.#session.dispose();
  }
}

// Creates an agent whose session can be replaced. `create` is called for every session.
export async function createAgentSessionRuntime(create, options) {
  const { session, services, diagnostics, modelFallbackMessage } = await create(options);
  return new AgentSessionRuntime(session, services, create, diagnostics, modelFallbackMessage);
}
