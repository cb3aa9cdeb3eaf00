// Skills: instruction files that a model reads when a task needs them.
import { resolve } from "node:path";
import { call } from "pi:host";

function load(lookup) {
  const { skills, diagnostics } = call("utility.loadResources", { noPromptTemplates: true, noContextFiles: true, ...lookup });
  return { skills, diagnostics };
}

export function loadSkills({ cwd, agentDir, skillPaths = [], includeDefaults = true }) {
  return load({ cwd, agentDir, skills: skillPaths, noSkills: !includeDefaults });
}
export function loadSkillsFromDir({ dir }) {
  return load({ skills: [resolve(dir)], noSkills: true });
}

const ESCAPES = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&apos;" };
const escaped = (text) => String(text).replace(/[&<>"']/g, (character) => ESCAPES[character]);

// Lists skills for a system prompt.
export function formatSkillsForPrompt(skills, fileReadTool = "read") {
  const listed = skills.filter((skill) => !skill.disableModelInvocation);
  if (listed.length === 0) return "";
  const entries = listed.map(
    ({ name, description, filePath }) =>
      `  <skill>\n    <name>${escaped(name)}</name>\n    <description>${escaped(description)}</description>\n    <location>${escaped(filePath)}</location>\n  </skill>`,
  );
  const how = fileReadTool === "read" ? "with the read tool" : "with bash";
  const head = `Skills are instructions for particular tasks. When a task matches a description, read the skill's file ${how} first; relative paths in it are relative to the directory of the file.`;
  return `\n\n${head}\n\n<available_skills>\n${entries.join("\n")}\n</available_skills>`;
}

// Parses a message that starts with a skill invoked by the user.
export function parseSkillBlock(text) {
  const parts = /^<skill name="([^"]+)" location="([^"]+)">\n([\s\S]*?)\n<\/skill>(?:\n\n([\s\S]+))?$/.exec(text);
  if (!parts) return null;
  const [, name, location, content, rest] = parts;
  return { name, location, content, userMessage: rest?.trim() || undefined };
}
