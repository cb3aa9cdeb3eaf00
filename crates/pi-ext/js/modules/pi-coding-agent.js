// `@earendil-works/pi-coding-agent`: what extensions use of the program itself.
import { homedir } from "node:os";
import { join } from "node:path";
import { call } from "pi:host";
import { createDefinition, createLocalOperations, createTool } from "pi:pi/builtin_tools";
import { createEventBus } from "pi:pi/event_bus";
import { Theme } from "pi:pi/theme";
import { DEFAULT_MAX_BYTES, DEFAULT_MAX_LINES, formatSize, truncateHead, truncateLine, truncateTail } from "pi:pi/truncate";
import { parseFrontmatter, stripFrontmatter } from "pi:pi/front_matter";
import { withFileMutationQueue } from "pi:pi/file_queue";

export { createEventBus, Theme };
export { getMarkdownTheme, getSelectListTheme, getSettingsListTheme } from "pi:pi/theme";
export { BorderedLoader } from "pi:tui/bordered_loader";
export { CustomEditor } from "pi:tui/custom_editor";
export { DynamicBorder } from "pi:tui/dynamic_border";
export { keyHint, keyText, rawKeyHint } from "pi:tui/key_hints";
export { highlightCode } from "pi:tui/syntax";
export { DEFAULT_MAX_BYTES, DEFAULT_MAX_LINES, formatSize, truncateHead, truncateLine, truncateTail };
export { parseFrontmatter, stripFrontmatter, withFileMutationQueue };

export const VERSION = "0.87.1";
export const CONFIG_DIR_NAME = ".pi";
export const CURRENT_SESSION_VERSION = 3;
export const DEFAULT_COMPACTION_SETTINGS = { enabled: true, reserveTokens: 16384, keepRecentTokens: 20000 };

export function getAgentDir() {
  return process.env.PI_CODING_AGENT_DIR ?? join(homedir(), CONFIG_DIR_NAME, "agent");
}

export const createBashTool = (cwd, options) => createTool("bash", cwd, options);
export const createEditTool = (cwd, options) => createTool("edit", cwd, options);
export const createFindTool = (cwd, options) => createTool("find", cwd, options);
export const createGrepTool = (cwd, options) => createTool("grep", cwd, options);
export const createLsTool = (cwd, options) => createTool("ls", cwd, options);
export const createPowerShellTool = (cwd, options) => createTool("powershell", cwd, options);
export const createReadTool = (cwd, options) => createTool("read", cwd, options);
export const createWriteTool = (cwd, options) => createTool("write", cwd, options);
export const createBashToolDefinition = (cwd, options) => createDefinition("bash", cwd, options);
export const createEditToolDefinition = (cwd, options) => createDefinition("edit", cwd, options);
export const createFindToolDefinition = (cwd, options) => createDefinition("find", cwd, options);
export const createGrepToolDefinition = (cwd, options) => createDefinition("grep", cwd, options);
export const createLsToolDefinition = (cwd, options) => createDefinition("ls", cwd, options);
export const createPowerShellToolDefinition = (cwd, options) => createDefinition("powershell", cwd, options);
export const createReadToolDefinition = (cwd, options) => createDefinition("read", cwd, options);
export const createWriteToolDefinition = (cwd, options) => createDefinition("write", cwd, options);
export const createLocalBashOperations = (options) => createLocalOperations("bash", options);
export const createLocalPowerShellOperations = (options) => createLocalOperations("powershell", options);

const several = (names, cwd, options) => names.map((name) => createTool(name, cwd, options?.[name]));
export const createCodingTools = (cwd, options) => several(["read", "bash", "edit", "write"], cwd, options);
export const createReadOnlyTools = (cwd, options) => several(["read", "grep", "find", "ls"], cwd, options);

export function defineTool(tool) {
  return tool;
}

export function convertToLlm(messages) {
  return call("messages.toModel", { messages });
}
export function serializeConversation(messages) {
  return call("messages.serialize", { messages });
}

export function isToolCallEventType(name, event) {
  return event.toolName === name;
}
const isResultOf = (name) => (event) => event.toolName === name;
export const isBashToolResult = isResultOf("bash");
export const isEditToolResult = isResultOf("edit");
export const isFindToolResult = isResultOf("find");
export const isGrepToolResult = isResultOf("grep");
export const isLsToolResult = isResultOf("ls");
export const isPowerShellToolResult = isResultOf("powershell");
export const isReadToolResult = isResultOf("read");
export const isWriteToolResult = isResultOf("write");

const LANGUAGES = {
  ts: "typescript", tsx: "typescript", js: "javascript", jsx: "javascript", mjs: "javascript", cjs: "javascript", py: "python", rb: "ruby",
  rs: "rust", go: "go", java: "java", kt: "kotlin", swift: "swift", c: "c", h: "c", cpp: "cpp", hpp: "cpp", cs: "csharp", php: "php",
  sh: "bash", bash: "bash", zsh: "bash", sql: "sql", html: "html", css: "css", scss: "scss", json: "json", yaml: "yaml", yml: "yaml",
  toml: "toml", xml: "xml", md: "markdown", lua: "lua",
};
export function getLanguageFromPath(path) {
  return LANGUAGES[path.split(".").pop()?.toLowerCase()];
}
