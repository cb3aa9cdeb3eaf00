// Resource loaders: what a program says about skills, templates, extensions and prompts becomes flags of the agent.

import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { querySync } from "./models.js";
import { getAgentDir } from "./paths.js";
import { parseFrontmatter } from "./text.js";
import { UnsupportedError } from "./unsupported-error.js";

const CONTEXT_FILES = ["AGENTS.md", "AGENTS.MD", "CLAUDE.md", "CLAUDE.MD"];

/** Returns AGENTS.md or CLAUDE.md of the agent directory, and of the working directory and its parents. */
export function loadProjectContextFiles({ cwd = process.cwd(), agentDir = getAgentDir() } = {}) {
  const directories = [];
  for (let directory = resolve(cwd); ; directory = dirname(directory)) {
    directories.unshift(directory);
    if (dirname(directory) === directory) break;
  }
  const files = [];
  for (const directory of new Set([agentDir, ...directories])) {
    const path = CONTEXT_FILES.map((name) => join(directory, name)).find((it) => existsSync(it));
    if (path) files.push({ path, content: readFileSync(path, "utf8") });
  }
  return files;
}

function readSkill(filePath) {
  const { frontmatter } = parseFrontmatter(readFileSync(filePath, "utf8"));
  const baseDir = dirname(filePath);
  const name = frontmatter.name ?? basename(baseDir);
  const disableModelInvocation = frontmatter["disable-model-invocation"] === true;
  return { name, description: String(frontmatter.description ?? ""), filePath, baseDir, source: "path", disableModelInvocation };
}

/** Returns the skills below a directory. */
export function loadSkillsFromDir(options) {
  const root = typeof options === "string" ? options : options.dir;
  const skills = [];
  const visit = (directory) => {
    if (!existsSync(directory)) return;
    const file = join(directory, "SKILL.md");
    if (existsSync(file)) {
      skills.push(readSkill(file));
      return;
    }
    for (const entry of readdirSync(directory, { withFileTypes: true })) {
      if (entry.isDirectory() && !entry.name.startsWith(".") && entry.name !== "node_modules") visit(join(directory, entry.name));
    }
  };
  visit(root);
  return { skills: skills.filter((skill) => skill.description), diagnostics: [] };
}

/** Returns the skills of the agent directory, of the project and of further paths. */
export function loadSkills(options = {}) {
  const { cwd = process.cwd(), agentDir = getAgentDir(), skillPaths = [] } = options;
  const roots = [join(agentDir, "skills"), join(cwd, ".pi", "skills"), ...skillPaths];
  const skills = new Map();
  for (const skill of roots.flatMap((dir) => loadSkillsFromDir({ dir }).skills)) {
    if (!skills.has(skill.name)) skills.set(skill.name, skill);
  }
  return { skills: [...skills.values()], diagnostics: [] };
}

export class DefaultResourceLoader {
  #options;
  #commands;

  constructor(options = {}) {
    this.#options = { cwd: process.cwd(), agentDir: getAgentDir(), ...options };
    if (options.extensionFactories?.length > 0) refuseFactories();
    // A function without parameters does not depend on the extensions that the agent finds.
    if (options.extensionsOverride?.length > 0) {
      throw new UnsupportedError("extensionsOverride", "Use noExtensions and additionalExtensionPaths.");
    }
  }

  /** Reads skills, templates and commands from the agent when they are next needed. */
  async reload() {
    this.#commands = undefined;
  }

  extendResources(paths) {
    const options = this.#options;
    const add = (name, list = []) => {
      options[name] = [...(options[name] ?? []), ...list.map((it) => it.path ?? it)];
    };
    add("additionalSkillPaths", paths.skillPaths);
    add("additionalPromptTemplatePaths", paths.promptPaths);
    add("additionalThemePaths", paths.themePaths);
  }

  _setCommands(commands) {
    this.#commands = commands;
  }

  #list(source) {
    if (!this.#commands) {
      const { cwd, agentDir } = this.#options;
      const env = { ...process.env, PI_CODING_AGENT_DIR: agentDir };
      const [data] = querySync([{ type: "get_commands" }], { cwd, env, args: this.#pathFlags() });
      this.#commands = data?.commands ?? [];
    }
    return this.#commands.filter((command) => command.source === source);
  }

  getSkills() {
    const skills = this.#list("skill").map(({ name, description, sourceInfo }) => ({
      name: name.replace(/^skill:/, ""),
      description,
      filePath: sourceInfo?.path,
      baseDir: sourceInfo?.path ? dirname(sourceInfo.path) : undefined,
      sourceInfo,
    }));
    const found = { skills, diagnostics: [] };
    return this.#options.skillsOverride?.(found) ?? found;
  }

  getPrompts() {
    const prompts = this.#list("prompt").map(({ name, description, sourceInfo }) => ({
      name,
      description,
      filePath: sourceInfo?.path,
      sourceInfo,
      get content() {
        return sourceInfo?.path && existsSync(sourceInfo.path) ? parseFrontmatter(readFileSync(sourceInfo.path, "utf8")).body : "";
      },
    }));
    const found = { prompts, diagnostics: [] };
    return this.#options.promptsOverride?.(found) ?? found;
  }

  /** The extensions run in the agent: none is in this process. */
  getExtensions() {
    return { extensions: [], errors: [], runtime: {} };
  }

  getThemes() {
    return { themes: [], diagnostics: [] };
  }

  getAgentsFiles() {
    const found = { agentsFiles: this.#options.noContextFiles ? [] : loadProjectContextFiles(this.#options) };
    return this.#options.agentsFilesOverride?.(found) ?? found;
  }

  getSystemPrompt() {
    const { systemPrompt, systemPromptOverride } = this.#options;
    return systemPromptOverride ? systemPromptOverride(systemPrompt) : systemPrompt;
  }

  getSystemPromptSource() {
    return undefined;
  }

  getAppendSystemPrompt() {
    const { appendSystemPrompt, appendSystemPromptOverride } = this.#options;
    const list = appendSystemPrompt === undefined ? [] : [appendSystemPrompt].flat();
    return appendSystemPromptOverride ? appendSystemPromptOverride(list) : list;
  }

  getAppendSystemPromptSources() {
    return [];
  }

  /** Returns the flags for resources without the functions that change them. */
  #pathFlags() {
    const options = this.#options;
    const flags = [];
    const add = (isSet, flag) => isSet && flags.push(flag);
    const each = (list, flag) => (list ?? []).forEach((value) => flags.push(flag, value));
    add(options.noExtensions || options.extensionsOverride, "--no-extensions");
    each(options.additionalExtensionPaths, "--extension");
    add(options.noSkills, "--no-skills");
    each(options.additionalSkillPaths, "--skill");
    add(options.noPromptTemplates, "--no-prompt-templates");
    each(options.additionalPromptTemplatePaths, "--prompt-template");
    add(options.noThemes, "--no-themes");
    add(options.noContextFiles, "--no-context-files");
    return flags;
  }

  /** Returns the flags that make the agent load the same resources. `temporary` returns a directory for texts. */
  _flags(temporary) {
    const { skillsOverride, promptsOverride, agentsFilesOverride } = this.#options;
    const flags = this.#pathFlags();
    if (skillsOverride) flags.push(...listFlags("--no-skills", "--skill", this.getSkills().skills, temporary));
    if (promptsOverride) flags.push(...listFlags("--no-prompt-templates", "--prompt-template", this.getPrompts().prompts, temporary));
    const files = agentsFilesOverride ? this.getAgentsFiles().agentsFiles : [];
    if (agentsFilesOverride) flags.push("--no-context-files");
    return [...flags, ...promptFlags(this, files)];
  }
}

/** Returns the flags for a complete list of skills or templates. Those without a file are written to one. */
function listFlags(none, flag, resources, temporary) {
  const flags = [none];
  for (const { name, description = "", content = "", filePath } of resources) {
    if (filePath && existsSync(filePath)) {
      flags.push(flag, filePath);
      continue;
    }
    const directory = join(temporary(), flag.slice(2), name);
    mkdirSync(directory, { recursive: true });
    const file = join(directory, flag === "--skill" ? "SKILL.md" : `${name}.md`);
    const head = flag === "--skill" ? `name: ${name}\n` : "";
    writeFileSync(file, `---\n${head}description: ${JSON.stringify(description)}\n---\n${content}\n`);
    flags.push(flag, file);
  }
  return flags;
}

/** Returns the flags for the system prompt of any loader. */
function promptFlags(loader, files = []) {
  const flags = [];
  const systemPrompt = loader.getSystemPrompt?.();
  if (systemPrompt !== undefined) flags.push("--system-prompt", systemPrompt);
  for (const text of loader.getAppendSystemPrompt?.() ?? []) flags.push("--append-system-prompt", text);
  for (const file of files) flags.push("--append-system-prompt", `# ${file.path}\n\n${file.content}`);
  return flags;
}

/** Returns the flags for a loader of a program. */
export function loaderFlags(loader, temporary) {
  if (!loader) return [];
  if (typeof loader._flags === "function") return loader._flags(temporary);
  // A program wraps the default loader: the agent finds the same resources, and those that have a file are added.
  const flags = promptFlags(loader);
  for (const skill of loader.getSkills?.().skills ?? []) {
    if (skill.filePath && existsSync(skill.filePath)) flags.push("--skill", skill.filePath);
  }
  for (const prompt of loader.getPrompts?.().prompts ?? []) {
    if (prompt.filePath && existsSync(prompt.filePath)) flags.push("--prompt-template", prompt.filePath);
  }
  return flags;
}

/** Throws the error for extensions that are functions of the program. */
export function refuseFactories() {
  throw new UnsupportedError(
    "extensionFactories",
    "Move the extension to a file and pass its path in additionalExtensionPaths, or pass tools in customTools.",
  );
}
