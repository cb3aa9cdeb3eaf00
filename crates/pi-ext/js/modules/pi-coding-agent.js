// `@earendil-works/pi-coding-agent`: the API of pi for extensions.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { createDefinition, createLocalOperations, createTool } from "pi:pi/builtin_tools";
import { createEventBus } from "pi:pi/event_bus";
import { getAgentDir } from "pi:pi/paths";
import { Theme } from "pi:pi/theme";
import { Text } from "pi:tui/text";
import { DEFAULT_MAX_BYTES, DEFAULT_MAX_LINES, formatSize, truncateHead, truncateLine, truncateTail } from "pi:pi/truncate";
import { parseFrontmatter, stripFrontmatter } from "pi:pi/front_matter";
import { withFileMutationQueue } from "pi:pi/file_queue";

export { createEventBus, Theme };
export { getMarkdownTheme, getSelectListTheme, getSettingsListTheme } from "pi:pi/theme";
export { BorderedLoader } from "pi:tui/bordered_loader";
export { CustomEditor } from "pi:tui/custom_editor";
export {
  ExtensionEditorComponent,
  ExtensionInputComponent,
  ExtensionSelectorComponent,
  ShowImagesSelectorComponent,
  ThemeSelectorComponent,
  ThinkingSelectorComponent,
  UserMessageSelectorComponent,
} from "pi:tui/dialogs";
export { DynamicBorder } from "pi:tui/dynamic_border";
export { BashExecutionComponent, ToolExecutionComponent } from "pi:tui/executions";
export { keyHint, keyText, rawKeyHint } from "pi:tui/key_hints";
export {
  AssistantMessageComponent,
  BranchSummaryMessageComponent,
  CompactionSummaryMessageComponent,
  CustomMessageComponent,
  SkillInvocationMessageComponent,
  UserMessageComponent,
} from "pi:tui/messages";
export { highlightCode } from "pi:tui/syntax";
export { DEFAULT_MAX_BYTES, DEFAULT_MAX_LINES, formatSize, truncateHead, truncateLine, truncateTail };
export { parseFrontmatter, stripFrontmatter, withFileMutationQueue };
export {
  AgentSessionRuntime,
  createAgentSessionFromServices,
  createAgentSessionRuntime,
  createAgentSessionServices,
} from "pi:pi/agent_runtime";
export { AgentExtensionRunner as ExtensionRunner, AgentSession, createAgentSession } from "pi:pi/agent_session";
export { copyToClipboard } from "pi:pi/clipboard";
export { ModelRegistry } from "pi:pi/model_registry";
export { ModelRuntime } from "pi:pi/model_runtime";
export { convertToPng, detectSupportedImageMimeTypeFromFile, formatDimensionNote, resizeImage } from "pi:pi/images";
export { CONFIG_DIR_NAME, getAgentDir, getDocsPath, getExamplesPath, getPackageDir, getPowerShellConfig, getReadmePath, getShellConfig } from "pi:pi/paths";
export { resolveCliModel, resolveModelScopeWithDiagnostics } from "pi:pi/model_reference";
export { createExtensionRuntime, DefaultResourceLoader, discoverAndLoadExtensions, loadProjectContextFiles } from "pi:pi/resource_loader";
export { DefaultPackageManager } from "pi:pi/package_manager";
export { RpcClient } from "pi:pi/rpc_client";
export {
  buildContextEntries,
  buildSessionContext,
  buildSessionProjection,
  findCutPoint,
  findTurnStartIndex,
  getLatestCompactionEntry,
  migrateSessionEntries,
  parseSessionEntries,
  sessionEntryToContextMessages,
  SessionManager,
} from "pi:pi/session_manager";
export { SettingsManager } from "pi:pi/settings_manager";
export { hasTrustRequiringProjectResources, ProjectTrustStore } from "pi:pi/trust";
export { formatSkillsForPrompt, loadSkills, loadSkillsFromDir, parseSkillBlock } from "pi:pi/skills";
export {
  calculateContextTokens,
  collectEntriesForBranchSummary,
  compact,
  convertToLlm,
  DEFAULT_COMPACTION_SETTINGS,
  estimateTokens,
  generateBranchSummary,
  generateSummary,
  generateSummaryWithUsage,
  getLastAssistantUsage,
  serializeConversation,
  shouldCompact,
} from "pi:pi/summaries";
export { VERSION } from "pi:pi/version";
export { generateDiffString, generateUnifiedPatch, renderDiff } from "pi:pi/diff";

// The type of the entries with the state of virtual models.
export const VIRTUAL_MODEL_STATE_ENTRY = "pi.virtual-model-state";
export const CURRENT_SESSION_VERSION = 3;

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

const createTools = (names, cwd, options) => names.map((name) => createTool(name, cwd, options?.[name]));
export const createCodingTools = (cwd, options) => createTools(["read", "bash", "edit", "write"], cwd, options);
export const createReadOnlyTools = (cwd, options) => createTools(["read", "grep", "find", "ls"], cwd, options);

export function defineTool(tool) {
  return tool;
}

export function createSyntheticSourceInfo(path, { source, scope = "temporary", origin = "top-level", baseDir } = {}) {
  return { path, source, scope, origin, baseDir };
}

// Returns the stored credential of a provider, or undefined if there is none.
export function readStoredCredential(provider, path = join(getAgentDir(), "auth.json")) {
  try {
    return JSON.parse(readFileSync(path, "utf8"))[provider];
  } catch {
    return undefined;
  }
}

// Returns the last lines of a text after wrapping to a width.
export function truncateToVisualLines(text, maxVisualLines, width, paddingX = 0) {
  const lines = text ? new Text(text, paddingX, 0).render(width) : [];
  const skippedCount = Math.max(0, lines.length - maxVisualLines);
  return { visualLines: skippedCount > 0 ? lines.slice(-maxVisualLines) : lines, skippedCount };
}

// Nothing to initialize: the program owns the theme.
export function initTheme() {}

export function wrapRegisteredTool({ definition }, runner) {
  const context = () => runner?.createContext?.();
  return { ...definition, execute: (id, args, signal, onUpdate) => definition.execute(id, args, signal, onUpdate, context()) };
}
export function wrapRegisteredTools(tools, runner) {
  return tools.map((tool) => wrapRegisteredTool(tool, runner));
}

export function isToolCallEventType(name, event) {
  return event.toolName === name;
}
// The range of lines that a call of `read` shows, such as `:5-9`.
export function formatReadLineRange(offset, limit) {
  const number = (value, fallback) => (value === undefined || value === null ? fallback : Number.isFinite(Number(value)) ? Number(value) : NaN);
  const [start, count] = [number(offset, 1), number(limit, 0)];
  if ((offset ?? limit) == null || Number.isNaN(start) || Number.isNaN(count)) return "";
  return limit == null ? `:${start}` : `:${start}-${start + count - 1}`;
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
