// An agent of an extension that can go on with another session: the services it is made of, and what replaces it.
import { createAgentSession } from "pi:pi/agent_session";
import { ModelRuntime } from "pi:pi/model_runtime";
import { getAgentDir } from "pi:pi/places";
import { DefaultResourceLoader } from "pi:pi/resource_loader";
import { SessionManager } from "pi:pi/session_manager";
import { SettingsManager } from "pi:pi/settings_manager";

// Makes what belongs to a directory.
export async function createAgentSessionServices({ cwd, agentDir = getAgentDir(), settingsManager, modelRuntime, resourceLoaderOptions, resourceLoaderReloadOptions }) {
  const settings = settingsManager ?? SettingsManager.create(cwd, agentDir);
  const resourceLoader = new DefaultResourceLoader({ ...resourceLoaderOptions, cwd, agentDir, settingsManager: settings });
  await resourceLoader.reload(resourceLoaderReloadOptions);
  return { cwd, agentDir, modelRuntime: modelRuntime ?? (await ModelRuntime.create()), settingsManager: settings, resourceLoader, diagnostics: [] };
}

// Starts an agent with them.
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

  // Puts another session in the place of this one.
  async #replace(sessionManager, reason, cwd, withSession) {
    const previousSessionFile = this.#session.sessionFile;
    this.#beforeInvalidate?.();
    await this.#session.dispose();
    const { agentDir } = this.#services;
    const made = await this.#create({ cwd: cwd ?? this.cwd, agentDir, sessionManager, sessionStartEvent: { type: "session_start", reason, previousSessionFile } });
    this.#session = made.session;
    this.#services = made.services;
    this.#diagnostics = made.diagnostics;
    this.#fallback = made.modelFallbackMessage;
    await this.#rebind?.(this.#session);
    await withSession?.({ session: this.#session, sendUserMessage: (content, options) => this.#session.sendUserMessage(content, options) });
    return { cancelled: false };
  }
  get #folder() {
    return this.#session.sessionManager?.getSessionDir?.();
  }
  newSession({ setup, withSession, parentSession } = {}) {
    const manager = this.#session.sessionFile === undefined ? SessionManager.inMemory(this.cwd) : SessionManager.create(this.cwd, this.#folder, { parentSession });
    return Promise.resolve(setup?.(manager)).then(() => this.#replace(manager, "new", undefined, withSession));
  }
  switchSession(path, { cwdOverride, withSession } = {}) {
    return this.#replace(SessionManager.open(path, this.#folder, cwdOverride), "resume", cwdOverride, withSession);
  }
  // Goes on in a copy: before what the user said, or behind an entry.
  async fork(entryId, { position = "before", withSession } = {}) {
    const { sessionFile } = this.#session;
    if (sessionFile === undefined) throw new Error("a session that is kept in memory cannot be forked");
    const manager = SessionManager.open(sessionFile, this.#folder);
    const entry = manager.getEntry(entryId);
    const said = entry?.type === "message" && entry.message.role === "user" ? entry.message.content : undefined;
    if (!entry || (position === "before" && said === undefined)) throw new Error(`${entryId} is no entry to fork at`);
    const leaf = position === "at" ? entryId : entry.parentId;
    if (leaf) manager.createBranchedSession(leaf);
    else manager.newSession({ parentSession: sessionFile });
    const text = typeof said === "string" ? said : (said ?? []).filter(({ type }) => type === "text").map(({ text: part }) => part).join("");
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

// Starts an agent whose session can be replaced; `create` makes one.
export async function createAgentSessionRuntime(create, options) {
  const { session, services, diagnostics, modelFallbackMessage } = await create(options);
  return new AgentSessionRuntime(session, services, create, diagnostics, modelFallbackMessage);
}
