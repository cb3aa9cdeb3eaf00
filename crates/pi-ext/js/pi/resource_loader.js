// Resources of an extension-run agent: skills, prompt templates, context files, system prompts.
import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { call } from "pi:host";
import { getAgentDir } from "pi:pi/paths";
import { Extension, factoryOf, runFactory } from "pi:pi/registry";
import { createLoadingScope } from "pi:pi/scope";

const NOTHING = { skills: [], prompts: [], agentsFiles: [], extensions: [], systemPrompt: undefined, appendSystemPrompt: [], diagnostics: [] };

// The state that extensions share while they load.
export function createExtensionRuntime() {
  const notStarted = () => {
    throw new Error("Extension runtime not initialized. Action methods cannot be called during extension loading.");
  };
  const actions = ["sendMessage", "sendUserMessage", "appendEntry", "setSessionName", "getSessionName", "setLabel", "getActiveTools", "getAllTools", "setActiveTools", "refreshTools", "getCommands", "setModel", "getThinkingLevel", "setThinkingLevel", "getSettings"];
  return {
    ...Object.fromEntries(actions.map((name) => [name, notStarted])),
    flagValues: new Map(),
    pendingProviderRegistrations: [],
    pendingNativeProviderRegistrations: [],
    pendingVirtualModelRegistrations: [],
    assertActive() {},
    invalidate() {},
  };
}

// Runs the factories of an agent's extensions. Those of files are loaded once per process.
async function loadExtensions(paths, factories) {
  const loaded = { extensions: [], errors: [], runtime: createExtensionRuntime() };
  const scope = createLoadingScope();
  const load = async (path, findFactory) => {
    try {
      const extension = new Extension(path, scope);
      extension.runtime = loaded.runtime;
      await runFactory(extension, await findFactory());
      loaded.extensions.push(extension);
    } catch (error) {
      loaded.errors.push({ path, error: error instanceof Error ? error.message : String(error) });
    }
  };
  for (const path of paths) await load(path, () => factoryOf(path));
  for (const [index, input] of factories.entries()) {
    const isNamed = typeof input !== "function";
    await load(`<inline:${isNamed ? input.name : index + 1}>`, () => (isNamed ? input.factory : input));
  }
  return loaded;
}

export class DefaultResourceLoader {
  #options;
  #found = NOTHING;
  #extensions = { extensions: [], errors: [], runtime: createExtensionRuntime() };

  constructor(options = {}) {
    this.#options = options;
    // Set by extensions that want new instances of their modules.
    this.loaded = false;
  }
  // Loads all resources. Before the first call there are none.
  async reload() {
    const { cwd = process.cwd(), agentDir = getAgentDir(), systemPrompt, appendSystemPrompt } = this.#options;
    const { additionalExtensionPaths = [], extensionFactories = [], noExtensions } = this.#options;
    const { additionalSkillPaths = [], additionalPromptTemplatePaths = [], noSkills, noPromptTemplates, noContextFiles } = this.#options;
    this.#found = call("utility.loadResources", {
      cwd,
      agentDir,
      systemPrompt,
      appendSystemPrompt: [appendSystemPrompt ?? []].flat(),
      extensions: additionalExtensionPaths,
      noExtensions: Boolean(noExtensions),
      skills: additionalSkillPaths,
      promptTemplates: additionalPromptTemplatePaths,
      noSkills: Boolean(noSkills),
      noPromptTemplates: Boolean(noPromptTemplates),
      noContextFiles: Boolean(noContextFiles),
    });
    this.#extensions = await loadExtensions(this.#found.extensions, extensionFactories);
    this.loaded = true;
  }
  #changed(name, value) {
    const change = this.#options[`${name}Override`];
    return change ? change(value) : value;
  }
  getExtensions() {
    return this.#changed("extensions", this.#extensions);
  }
  getSkills() {
    return this.#changed("skills", { skills: this.#found.skills, diagnostics: this.#found.diagnostics });
  }
  getPrompts() {
    return this.#changed("prompts", { prompts: this.#found.prompts, diagnostics: [] });
  }
  getThemes() {
    return { themes: [], diagnostics: [] };
  }
  getAgentsFiles() {
    return this.#changed("agentsFiles", { agentsFiles: this.#found.agentsFiles });
  }
  getSystemPrompt() {
    return this.#changed("systemPrompt", this.#found.systemPrompt ?? undefined);
  }
  getAppendSystemPrompt() {
    return this.#changed("appendSystemPrompt", this.#found.appendSystemPrompt);
  }
  extendResources() {}
}

// Loads the extensions of a project and those at more paths.
export async function discoverAndLoadExtensions(configuredPaths = [], cwd = process.cwd(), agentDir = getAgentDir()) {
  const { extensions } = call("utility.loadResources", { cwd, agentDir, extensions: configuredPaths, noExtensions: false, noContextFiles: true });
  const loaded = await loadExtensions(extensions, []);
  const missing = configuredPaths.map((path) => resolve(cwd, path)).filter((path) => !existsSync(path));
  loaded.errors.push(...missing.map((path) => ({ path, error: `Extension path does not exist: ${path}` })));
  return loaded;
}

// Returns the context files of a project.
export function loadProjectContextFiles({ cwd, agentDir } = {}) {
  return call("utility.loadResources", { cwd, agentDir, noSkills: true, noPromptTemplates: true }).agentsFiles;
}
