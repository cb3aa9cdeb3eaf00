// Resources of an extension-run agent: skills, prompt templates, context files, system prompts.
import { call } from "pi:host";
import { getAgentDir } from "pi:pi/paths";

const NOTHING = { skills: [], prompts: [], agentsFiles: [], systemPrompt: undefined, appendSystemPrompt: [], diagnostics: [] };

export class DefaultResourceLoader {
  #options;
  #found = NOTHING;

  constructor(options = {}) {
    this.#options = options;
  }
  // Loads all resources. Before the first call there are none.
  async reload() {
    const { cwd = process.cwd(), agentDir = getAgentDir(), systemPrompt, appendSystemPrompt } = this.#options;
    const { additionalSkillPaths = [], additionalPromptTemplatePaths = [], noSkills, noPromptTemplates, noContextFiles } = this.#options;
    this.#found = call("utility.loadResources", {
      cwd,
      agentDir,
      systemPrompt,
      appendSystemPrompt: [appendSystemPrompt ?? []].flat(),
      skills: additionalSkillPaths,
      promptTemplates: additionalPromptTemplatePaths,
      noSkills: Boolean(noSkills),
      noPromptTemplates: Boolean(noPromptTemplates),
      noContextFiles: Boolean(noContextFiles),
    });
  }
  #changed(name, value) {
    const change = this.#options[`${name}Override`];
    return change ? change(value) : value;
  }
  getExtensions() {
    return { extensions: [], errors: [] };
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

// Returns the context files of a project.
export function loadProjectContextFiles({ cwd, agentDir } = {}) {
  return call("utility.loadResources", { cwd, agentDir, noSkills: true, noPromptTemplates: true }).agentsFiles;
}
