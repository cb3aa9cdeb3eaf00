// Trust decisions about projects, by directory. The decision about the nearest ancestor applies.
import { existsSync, readFileSync, realpathSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { call } from "pi:host";
import { CONFIG_DIR_NAME, getAgentDir } from "pi:pi/paths";

const RESOURCES = ["settings.json", "mcp.json", "extensions", "skills", "prompts", "themes", "SYSTEM.md", "APPEND_SYSTEM.md"];

function canonical(path) {
  const absolute = resolve(path);
  try {
    return realpathSync(absolute);
  } catch {
    return absolute;
  }
}

// A directory and its ancestors.
function ancestors(path) {
  const list = [canonical(path)];
  while (dirname(list.at(-1)) !== list.at(-1)) list.push(dirname(list.at(-1)));
  return list;
}

// Whether a project has resources that only a trusted project may load.
export function hasTrustRequiringProjectResources(cwd) {
  const config = join(canonical(cwd), CONFIG_DIR_NAME);
  const userSkills = join(canonical(globalThis.process.env.HOME || homedir()), ".agents", "skills");
  const skills = ancestors(cwd).map((path) => join(path, ".agents", "skills"));
  return RESOURCES.some((name) => existsSync(join(config, name))) || skills.some((path) => path !== userSkills && existsSync(path));
}

export class ProjectTrustStore {
  constructor(agentDir = getAgentDir()) {
    this.trustPath = join(resolve(agentDir), "trust.json");
  }
  #read() {
    if (!existsSync(this.trustPath)) return {};
    const decisions = JSON.parse(readFileSync(this.trustPath, "utf8"));
    const isDecision = (value) => value === null || typeof value === "boolean";
    if (decisions === null || typeof decisions !== "object" || !Object.values(decisions).every(isDecision)) {
      throw new Error(`invalid trust decisions in ${this.trustPath}: use true, false or null for each directory`);
    }
    return decisions;
  }
  get(cwd) {
    return this.getEntry(cwd)?.decision ?? null;
  }
  getEntry(cwd) {
    const decisions = this.#read();
    const path = ancestors(cwd).find((candidate) => typeof decisions[candidate] === "boolean");
    return path === undefined ? null : { path, decision: decisions[path] };
  }
  set(cwd, decision) {
    this.setMany([{ path: cwd, decision }]);
  }
  setMany(changes) {
    const decisions = changes.map(({ path, decision }) => ({ path: canonical(path), decision }));
    call("utility.saveTrust", { agentDir: dirname(this.trustPath), decisions });
  }
}
