// The names that programs import from the TypeScript pi, over the native binary.

import { readFileSync } from "node:fs";

export { AgentSession } from "./src/agent-session.js";
export { findBinary } from "./src/binary.js";
export { main } from "./src/launch.js";
export { AuthStorage, ModelRegistry, ModelRuntime, readStoredCredential } from "./src/models.js";
export { CONFIG_DIR_NAME, getAgentDir, getDefaultSessionDir, getPackageDir, getReadmePath } from "./src/paths.js";
export { DefaultResourceLoader, loadProjectContextFiles, loadSkills, loadSkillsFromDir } from "./src/resources.js";
export { RpcClient } from "./src/rpc-client.js";
export {
  AgentSessionRuntime,
  createAgentSession,
  createAgentSessionFromServices,
  createAgentSessionRuntime,
  createAgentSessionServices,
} from "./src/sdk.js";
export {
  buildContextEntries,
  buildSessionContext,
  buildSessionProjection,
  CURRENT_SESSION_VERSION,
  getLatestCompactionEntry,
  migrateSessionEntries,
  parseSessionEntries,
  sessionEntryToContextMessages,
} from "./src/session-entries.js";
export { findMostRecentSession, loadEntriesFromFile, SessionManager } from "./src/session-manager.js";
export { SettingsManager } from "./src/settings.js";
export * from "./src/text.js";
export {
  bashTool,
  codingTools,
  createAllTools,
  createBashTool,
  createBashToolDefinition,
  createCodingTools,
  createEditTool,
  createEditToolDefinition,
  createFindTool,
  createFindToolDefinition,
  createGrepTool,
  createGrepToolDefinition,
  createLocalBashOperations,
  createLsTool,
  createLsToolDefinition,
  createPowerShellTool,
  createPowerShellToolDefinition,
  createReadOnlyTools,
  createReadTool,
  createReadToolDefinition,
  createWriteTool,
  createWriteToolDefinition,
  defineTool,
  editTool,
  findTool,
  grepTool,
  lsTool,
  readOnlyTools,
  readTool,
  withFileMutationQueue,
  writeTool,
} from "./src/tools.js";
export * from "./src/unsupported.js";
export { UnsupportedError } from "./src/unsupported-error.js";

/** The version of the TypeScript pi that this package follows. */
export const VERSION = JSON.parse(readFileSync(new URL("./package.json", import.meta.url), "utf8")).version;
