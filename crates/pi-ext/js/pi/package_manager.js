// Installs and lists packages, with the commands of pi.
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { homedir } from "node:os";
import { join, resolve } from "node:path";
import { call, programFile } from "pi:host";
import { getAgentDir } from "pi:pi/paths";
import { SettingsManager } from "pi:pi/settings_manager";

const sourceOf = (entry) => (typeof entry === "string" ? entry : entry.source);

export class DefaultPackageManager {
  #cwd;
  #agentDir;
  #settings;
  #onProgress;

  constructor({ cwd = process.cwd(), agentDir = getAgentDir(), settingsManager } = {}) {
    this.#cwd = cwd;
    this.#agentDir = agentDir;
    this.#settings = settingsManager ?? SettingsManager.create(cwd, agentDir);
  }
  setProgressCallback(callback) {
    this.#onProgress = callback;
  }
  async #run(action, source, options = {}) {
    const args = [action, ...(source ? [source] : []), ...(options.local ? ["-l"] : [])];
    const report = (type, message) => this.#onProgress?.({ type, action, source: source ?? "", message });
    report("start");
    await new Promise((done, fail) => {
      const env = { ...process.env, PI_CODING_AGENT_DIR: this.#agentDir };
      execFile(programFile(), args, { cwd: this.#cwd, env, maxBuffer: Infinity }, (error, _, errors) => {
        if (!error) return done();
        report("error", errors.trim());
        fail(new Error(errors.trim() || error.message));
      });
    });
    await this.#settings.reload?.();
    report("complete");
  }
  install(source, options) {
    return this.#run("install", source, options);
  }
  installAndPersist(source, options) {
    return this.#run("install", source, options);
  }
  remove(source, options) {
    return this.#run("remove", source, options);
  }
  removeAndPersist(source, options) {
    return this.#run("remove", source, options);
  }
  update(source) {
    return this.#run("update", source);
  }
  #change(local, change) {
    const settings = local ? this.#settings.getProjectSettings() : this.#settings.getGlobalSettings();
    const packages = settings.packages ?? [];
    const changed = change(packages);
    if (changed.length === packages.length) return false;
    local ? this.#settings.setProjectPackages(changed) : this.#settings.setPackages(changed);
    return true;
  }
  addSourceToSettings(source, { local } = {}) {
    return this.#change(local, (packages) => (packages.some((entry) => sourceOf(entry) === source) ? packages : [...packages, source]));
  }
  removeSourceFromSettings(source, { local } = {}) {
    return this.#change(local, (packages) => packages.filter((entry) => sourceOf(entry) !== source));
  }
  listConfiguredPackages() {
    const list = (settings, scope) => (settings.packages ?? []).map((entry) => {
      const source = sourceOf(entry);
      return { source, scope, filtered: typeof entry === "object", installedPath: this.getInstalledPath(source, scope) };
    });
    return [...list(this.#settings.getGlobalSettings(), "user"), ...list(this.#settings.getProjectSettings(), "project")];
  }
  getInstalledPath(source, scope) {
    const base = scope === "project" ? join(this.#cwd, ".pi") : this.#agentDir;
    const [kind, ...rest] = source.split(":");
    const name = rest.join(":");
    const path = kind === "npm"
      ? join(base, "npm", "node_modules", name.replace(/(.)@[^@/]*$/, "$1"))
      : kind === "git" || /^(https?|ssh|git)$/.test(kind)
        ? join(base, "git", source.replace(/^git:/, "").replace(/^[a-z]+:\/\//, "").replace(/^[^@/]+@/, "").replace(":", "/").replace(/@[^@/]*$/, "").replace(/\.git$/, ""))
        : resolve(base, source.replace(/^~(?=\/|$)/, homedir()));
    return existsSync(path) ? path : undefined;
  }
  // Lists the resources of packages and settings.
  async resolve() {
    const load = (options) => call("utility.loadResources", { cwd: this.#cwd, agentDir: this.#agentDir, noContextFiles: true, ...options });
    const found = { extensions: new Map(), skills: new Map(), prompts: new Map() };
    const add = (resources, metadata) => {
      const paths = { extensions: resources.extensions, skills: resources.skills.map((it) => it.filePath), prompts: resources.prompts.map((it) => it.filePath) };
      for (const [kind, list] of Object.entries(paths)) for (const path of list) found[kind].set(path, { path, enabled: true, metadata });
    };
    add(load({ noExtensions: false }), { source: "auto", scope: "user", origin: "top-level" });
    for (const { source, scope, filtered, installedPath } of this.listConfiguredPackages()) {
      if (installedPath && !filtered) add(load({ extensions: [installedPath], noExtensions: true, noSkills: true, noPromptTemplates: true }), { source, scope, origin: "package", baseDir: installedPath });
    }
    const list = (kind) => [...found[kind].values()];
    return { extensions: list("extensions"), skills: list("skills"), prompts: list("prompts"), themes: [] };
  }
  async resolveExtensionSources(sources) {
    const { extensions } = call("utility.loadResources", { cwd: this.#cwd, agentDir: this.#agentDir, extensions: sources, noContextFiles: true });
    return { extensions: extensions.map((path) => ({ path, enabled: true, metadata: { source: "cli", scope: "temporary", origin: "top-level" } })), skills: [], prompts: [], themes: [] };
  }
  async checkForAvailableUpdates() {
    return [];
  }
}
