// Types of the package. Messages, entries and events have the shapes of the TypeScript pi.

export type ThinkingLevel = "off" | "minimal" | "low" | "medium" | "high" | "xhigh" | "max";
export type QueueMode = "all" | "one-at-a-time";
export type PromptDisposition = "started" | "queued" | "handled";
export type QueuedInputDisposition = "queued" | "handled";

export interface TextContent {
  type: "text";
  text: string;
}

export interface ImageContent {
  type: "image";
  data: string;
  mimeType: string;
}

export interface Model {
  provider: string;
  id: string;
  name?: string;
  api?: string;
  baseUrl?: string;
  reasoning: boolean;
  input?: string[];
  contextWindow: number;
  maxTokens?: number;
  [field: string]: unknown;
}

export interface AgentMessage {
  role: string;
  content?: string | Array<Record<string, any>>;
  timestamp?: number;
  [field: string]: any;
}

export interface AgentSessionEvent {
  type: string;
  [field: string]: any;
}

export type AgentSessionEventListener = (event: any) => void;

export interface ContextUsage {
  tokens: number | null;
  contextWindow: number;
  percent: number | null;
}

export interface SessionStats {
  sessionFile: string | undefined;
  sessionId: string;
  userMessages: number;
  assistantMessages: number;
  toolCalls: number;
  toolResults: number;
  totalMessages: number;
  tokens: { input: number; output: number; cacheRead: number; cacheWrite: number; total: number };
  cost: number;
  contextUsage?: ContextUsage;
}

export interface BashResult {
  output: string;
  exitCode: number | undefined;
  cancelled: boolean;
  truncated: boolean;
  fullOutputPath?: string;
}

export interface CompactionResult {
  summary: string;
  firstKeptEntryId: string;
  tokensBefore: number;
  details?: unknown;
  [field: string]: unknown;
}

export interface AgentToolResult {
  content: Array<TextContent | ImageContent>;
  details?: any;
  isError?: boolean;
  terminate?: boolean;
}

export interface ToolDefinition {
  name: string;
  label?: string;
  description: string;
  parameters: any;
  promptSnippet?: string;
  promptGuidelines?: string[];
  executionMode?: "parallel" | "sequential";
  prepareArguments?(args: any): any;
  execute(
    toolCallId: string,
    args: any,
    signal: AbortSignal | undefined,
    onUpdate: ((partial: AgentToolResult) => void) | undefined,
    context: any,
  ): Promise<AgentToolResult> | AgentToolResult;
}

export interface PromptOptions {
  images?: ImageContent[];
  streamingBehavior?: "steer" | "followUp";
  preflightResult?: (disposition: PromptDisposition) => void;
}

export interface ExtensionUi {
  select?(title: string, options: string[], dialog?: { timeout?: number }): Promise<string | undefined>;
  confirm?(title: string, message: string, dialog?: { timeout?: number }): Promise<boolean>;
  input?(title: string, placeholder?: string, dialog?: { timeout?: number }): Promise<string | undefined>;
  editor?(title: string, prefill?: string): Promise<string | undefined>;
  notify?(message: string, type?: "info" | "warning" | "error"): void;
  setStatus?(key: string, text: string | undefined): void;
  setWidget?(key: string, lines: string[] | undefined, options?: { placement?: string }): void;
  setTitle?(title: string): void;
  setEditorText?(text: string): void;
}

export interface SlashCommandInfo {
  name: string;
  description?: string;
  source: "extension" | "prompt" | "skill";
  sourceInfo?: { path: string; [field: string]: unknown };
}

/** A session in a pi process. */
export class AgentSession {
  private constructor();
  readonly sessionManager: SessionManager;
  readonly settingsManager: SettingsManager;
  readonly modelRegistry: ModelRegistry;
  readonly modelRuntime: ModelRegistry;
  readonly resourceLoader: ResourceLoader;
  readonly agent: any;
  readonly extensionRunner: any;
  readonly state: any;
  readonly messages: AgentMessage[];
  readonly model: Model | undefined;
  readonly thinkingLevel: ThinkingLevel;
  readonly isStreaming: boolean;
  readonly isIdle: boolean;
  readonly isCompacting: boolean;
  readonly isRetrying: boolean;
  readonly retryAttempt: number;
  readonly isBashRunning: boolean;
  readonly sessionFile: string | undefined;
  readonly sessionId: string;
  readonly sessionName: string | undefined;
  readonly steeringMode: QueueMode;
  readonly followUpMode: QueueMode;
  readonly autoCompactionEnabled: boolean;
  readonly autoRetryEnabled: boolean;
  readonly pendingMessageCount: number;
  readonly scopedModels: ReadonlyArray<{ model: Model; thinkingLevel?: ThinkingLevel }>;
  readonly systemPrompt: string;
  readonly promptTemplates: ReadonlyArray<{ name: string; description?: string; filePath?: string }>;
  subscribe(listener: AgentSessionEventListener): () => void;
  /** Resolves when the run has ended. */
  prompt(text: string, options?: PromptOptions): Promise<void>;
  steer(text: string, images?: ImageContent[]): Promise<QueuedInputDisposition>;
  followUp(text: string, images?: ImageContent[]): Promise<QueuedInputDisposition>;
  sendUserMessage(content: string | Array<TextContent | ImageContent>, options?: { deliverAs?: "steer" | "followUp" }): Promise<void>;
  abort(): Promise<void>;
  waitForIdle(): Promise<void>;
  clearQueue(): { steering: string[]; followUp: string[] };
  getSteeringMessages(): readonly string[];
  getFollowUpMessages(): readonly string[];
  getCommands(): SlashCommandInfo[];
  getSessionStats(): SessionStats;
  getContextUsage(): ContextUsage | undefined;
  getLastAssistantText(): string | undefined;
  getUserMessagesForForking(): Array<{ entryId: string; text: string }>;
  setModel(model: Pick<Model, "provider" | "id">): Promise<void>;
  cycleModel(direction?: "forward"): Promise<{ model: Model; thinkingLevel: ThinkingLevel; isScoped: boolean } | undefined>;
  setThinkingLevel(level: ThinkingLevel): Promise<void>;
  cycleThinkingLevel(): ThinkingLevel | undefined;
  getAvailableThinkingLevels(): ThinkingLevel[];
  supportsThinking(): boolean;
  setSteeringMode(mode: QueueMode): Promise<void>;
  setFollowUpMode(mode: QueueMode): Promise<void>;
  setAutoCompactionEnabled(enabled: boolean): Promise<void>;
  setAutoRetryEnabled(enabled: boolean): Promise<void>;
  abortRetry(): Promise<void>;
  setSessionName(name: string): Promise<void>;
  getAllTools(): Array<{ name: string; description: string; [field: string]: any }>;
  getActiveToolNames(): string[];
  getToolDefinition(name: string): any;
  setActiveToolsByName(names: string[]): Promise<void>;
  compact(customInstructions?: string): Promise<CompactionResult>;
  abortCompaction(): Promise<void>;
  navigateTree(
    entryId: string,
    options?: { summarize?: boolean; customInstructions?: string; label?: string },
  ): Promise<{ cancelled: boolean; editorText?: string }>;
  newSession(options?: { parentSession?: string }): Promise<{ cancelled: boolean }>;
  switchSession(sessionPath: string): Promise<{ cancelled: boolean }>;
  fork(entryId: string): Promise<{ cancelled: boolean; selectedText: string }>;
  clone(): Promise<{ cancelled: boolean }>;
  exportToHtml(outputPath?: string): Promise<string>;
  exportToJsonl(outputPath?: string): string;
  executeBash(command: string, onChunk?: (chunk: string) => void, options?: { excludeFromContext?: boolean }): Promise<BashResult>;
  abortBash(): Promise<void>;
  bindExtensions(bindings: { uiContext?: ExtensionUi; onError?: (error: any) => void; [field: string]: any }): Promise<void>;
  dispose(): void;
  [Symbol.asyncDispose](): Promise<void>;
}

export interface ResourceLoader {
  getSystemPrompt?(): string | undefined;
  getAppendSystemPrompt?(): string[];
  getSkills?(): { skills: any[]; diagnostics: any[] };
  getPrompts?(): { prompts: any[]; diagnostics: any[] };
  getAgentsFiles?(): { agentsFiles: Array<{ path: string; content: string }> };
  reload?(): Promise<void>;
  [field: string]: any;
}

export interface DefaultResourceLoaderOptions {
  cwd?: string;
  agentDir?: string;
  settingsManager?: SettingsManager;
  additionalExtensionPaths?: string[];
  additionalSkillPaths?: string[];
  additionalPromptTemplatePaths?: string[];
  additionalThemePaths?: string[];
  noExtensions?: boolean;
  noSkills?: boolean;
  noPromptTemplates?: boolean;
  noThemes?: boolean;
  noContextFiles?: boolean;
  systemPrompt?: string;
  appendSystemPrompt?: string | string[];
  systemPromptOverride?: (base: string | undefined) => string | undefined;
  appendSystemPromptOverride?: (base: string[]) => string[];
  [field: string]: any;
}

export class DefaultResourceLoader implements ResourceLoader {
  constructor(options?: DefaultResourceLoaderOptions);
  reload(): Promise<void>;
  extendResources(paths: { skillPaths?: any[]; promptPaths?: any[]; themePaths?: any[] }): void;
  getSystemPrompt(): string | undefined;
  getAppendSystemPrompt(): string[];
  getSkills(): { skills: any[]; diagnostics: any[] };
  getPrompts(): { prompts: any[]; diagnostics: any[] };
  getThemes(): { themes: any[]; diagnostics: any[] };
  getExtensions(): { extensions: any[]; errors: any[]; runtime: any };
  getAgentsFiles(): { agentsFiles: Array<{ path: string; content: string }> };
}

export interface CreateAgentSessionOptions {
  cwd?: string;
  agentDir?: string;
  model?: Pick<Model, "provider" | "id">;
  thinkingLevel?: ThinkingLevel;
  scopedModels?: Array<{ model: Pick<Model, "provider" | "id">; thinkingLevel?: ThinkingLevel }>;
  tools?: Array<string | ToolDefinition>;
  noTools?: "all" | "builtin";
  excludeTools?: string[];
  customTools?: ToolDefinition[];
  resourceLoader?: ResourceLoader;
  sessionManager?: SessionManager;
  settingsManager?: SettingsManager;
  modelRuntime?: ModelRuntime;
  modelRegistry?: ModelRegistry;
  authStorage?: AuthStorage;
  [field: string]: any;
}

export interface CreateAgentSessionResult {
  session: AgentSession;
  extensionsResult: { extensions: any[]; errors: any[]; runtime: any };
  modelFallbackMessage?: string;
}

export function createAgentSession(options?: CreateAgentSessionOptions): Promise<CreateAgentSessionResult>;
export function createAgentSessionServices(options: { cwd: string; agentDir?: string; [field: string]: any }): Promise<any>;
export function createAgentSessionFromServices(options: { services: any; sessionManager: SessionManager; [field: string]: any }): Promise<CreateAgentSessionResult>;
export function createAgentSessionRuntime(
  create: (options: any) => Promise<any>,
  options: { cwd: string; agentDir: string; sessionManager: SessionManager },
): Promise<AgentSessionRuntime>;

export class AgentSessionRuntime {
  readonly session: AgentSession;
  readonly services: any;
  readonly cwd: string;
  readonly diagnostics: readonly any[];
  readonly modelFallbackMessage: string | undefined;
  setRebindSession(rebind?: (session: AgentSession) => Promise<void>): void;
  setBeforeSessionInvalidate(callback?: () => void): void;
  newSession(options?: any): Promise<{ cancelled: boolean }>;
  switchSession(sessionPath: string, options?: any): Promise<{ cancelled: boolean }>;
  fork(entryId: string, options?: { position?: "before" | "at" }): Promise<{ cancelled: boolean; selectedText?: string }>;
  importFromJsonl(path: string, cwdOverride?: string): Promise<{ cancelled: boolean }>;
  dispose(): Promise<void>;
}

export interface RpcClientOptions {
  /** The binary, or a script that starts it. */
  cliPath?: string;
  cwd?: string;
  env?: Record<string, string>;
  provider?: string;
  model?: string;
  args?: string[];
}

export interface RpcSessionState {
  model?: Model;
  thinkingLevel: ThinkingLevel;
  isStreaming: boolean;
  isCompacting: boolean;
  steeringMode: QueueMode;
  followUpMode: QueueMode;
  sessionFile?: string;
  sessionId: string;
  sessionName?: string;
  autoCompactionEnabled: boolean;
  messageCount: number;
  pendingMessageCount: number;
}

/** A pi process in RPC mode. */
export class RpcClient {
  constructor(options?: RpcClientOptions);
  start(): Promise<void>;
  stop(): Promise<void>;
  onEvent(listener: (event: any) => void): () => void;
  getStderr(): string;
  prompt(message: string, images?: ImageContent[], streamingBehavior?: "steer" | "followUp"): Promise<PromptDisposition>;
  steer(message: string, images?: ImageContent[]): Promise<QueuedInputDisposition>;
  followUp(message: string, images?: ImageContent[]): Promise<QueuedInputDisposition>;
  abort(): Promise<void>;
  clearQueue(): Promise<{ steering: string[]; followUp: string[] }>;
  newSession(parentSession?: string): Promise<{ cancelled: boolean }>;
  getState(): Promise<RpcSessionState>;
  setModel(provider: string, modelId: string): Promise<Model>;
  cycleModel(): Promise<{ model: Model; thinkingLevel: ThinkingLevel; isScoped: boolean } | null>;
  getAvailableModels(): Promise<Model[]>;
  setThinkingLevel(level: ThinkingLevel): Promise<void>;
  cycleThinkingLevel(): Promise<{ level: ThinkingLevel } | null>;
  getAvailableThinkingLevels(): Promise<ThinkingLevel[]>;
  setSteeringMode(mode: QueueMode): Promise<void>;
  setFollowUpMode(mode: QueueMode): Promise<void>;
  compact(customInstructions?: string): Promise<CompactionResult>;
  setAutoCompaction(enabled: boolean): Promise<void>;
  setAutoRetry(enabled: boolean): Promise<void>;
  abortRetry(): Promise<void>;
  bash(command: string, options?: { excludeFromContext?: boolean }): Promise<BashResult>;
  abortBash(): Promise<void>;
  getSessionStats(): Promise<SessionStats>;
  exportHtml(outputPath?: string): Promise<{ path: string }>;
  switchSession(sessionPath: string): Promise<{ cancelled: boolean }>;
  fork(entryId: string): Promise<{ text: string; cancelled: boolean }>;
  clone(): Promise<{ cancelled: boolean }>;
  getForkMessages(): Promise<Array<{ entryId: string; text: string }>>;
  getEntries(since?: string): Promise<{ entries: SessionEntry[]; leafId: string | null }>;
  getTree(): Promise<{ tree: SessionTreeNode[]; leafId: string | null }>;
  getLastAssistantText(): Promise<string | null>;
  setSessionName(name: string): Promise<void>;
  getMessages(): Promise<AgentMessage[]>;
  getCommands(): Promise<SlashCommandInfo[]>;
  /** Registers tools that this program implements; replaces earlier ones. */
  registerTools(tools: ToolDefinition[]): Promise<void>;
  waitForIdle(timeout?: number): Promise<void>;
  collectEvents(timeout?: number): Promise<any[]>;
  promptAndWait(message: string, images?: ImageContent[], timeout?: number): Promise<any[]>;
}

export interface SessionHeader {
  type: "session";
  version?: number;
  id: string;
  timestamp: string;
  cwd: string;
  parentSession?: string;
}

export interface SessionEntry {
  type: string;
  id: string;
  parentId: string | null;
  timestamp: string;
  [field: string]: any;
}

export type FileEntry = SessionHeader | SessionEntry;

export interface SessionTreeNode {
  entry: SessionEntry;
  children: SessionTreeNode[];
  label?: string;
  labelTimestamp?: string;
}

export interface SessionInfo {
  path: string;
  id: string;
  cwd: string;
  name?: string;
  parentSessionPath?: string;
  created: Date;
  modified: Date;
  messageCount: number;
  firstMessage: string;
  allMessagesText: string;
}

export interface SessionContext {
  messages: AgentMessage[];
  thinkingLevel: string;
  model: { provider: string; modelId: string } | null;
}

export interface SessionProjection extends SessionContext {
  entries: Array<{ sourceEntry: SessionEntry; messages: AgentMessage[] }>;
}

export interface NewSessionOptions {
  id?: string;
  parentSession?: string;
}

/** A session file, or the entries of a running session. */
export class SessionManager {
  private constructor();
  static create(cwd: string, sessionDir?: string, options?: NewSessionOptions): SessionManager;
  static open(path: string, sessionDir?: string, cwdOverride?: string): SessionManager;
  static continueRecent(cwd: string, sessionDir?: string): SessionManager;
  static inMemory(cwd?: string, options?: NewSessionOptions, entries?: FileEntry[]): SessionManager;
  static forkFrom(sourcePath: string, targetCwd: string, sessionDir?: string, options?: NewSessionOptions): SessionManager;
  static findById(cwd: string, id: string, sessionDir?: string): string | undefined;
  static list(cwd: string, sessionDir?: string, onProgress?: (loaded: number, total: number) => void, signal?: AbortSignal): Promise<SessionInfo[]>;
  static listAll(sessionDir?: string | ((loaded: number, total: number) => void), ...rest: any[]): Promise<SessionInfo[]>;
  newSession(options?: NewSessionOptions): string | undefined;
  setSessionFile(file: string): void;
  isPersisted(): boolean;
  getCwd(): string;
  getSessionDir(): string;
  usesDefaultSessionDir(): boolean;
  getSessionId(): string;
  getSessionFile(): string | undefined;
  getHeader(): SessionHeader;
  getEntryCount(): number;
  getEntries(): SessionEntry[];
  getEntry(id: string): SessionEntry | undefined;
  getLeafId(): string | null;
  getLeafEntry(): SessionEntry | undefined;
  getChildren(parentId: string): SessionEntry[];
  getLabel(id: string): string | undefined;
  getSessionName(): string | undefined;
  getBranch(fromId?: string): SessionEntry[];
  getTree(): SessionTreeNode[];
  buildContextEntries(): SessionEntry[];
  buildSessionProjection(): SessionProjection;
  buildSessionContext(): SessionContext;
  buildContext(): SessionContext;
  appendMessage(message: AgentMessage): string;
  appendThinkingLevelChange(level: string): string;
  appendModelChange(provider: string, modelId: string): string;
  appendCompaction(summary: string, firstKeptEntryId: string | null, tokensBefore: number, details?: unknown, fromHook?: boolean, usage?: unknown): string;
  appendCustomEntry(customType: string, data?: unknown): string;
  appendCustomMessageEntry(customType: string, content: any, display: boolean, details?: unknown): string;
  appendSessionInfo(name: string): string;
  appendContextEdit(targetId: string, replacement: any): string;
  appendLabelChange(targetId: string, label: string | undefined): string;
  branch(id: string): void;
  resetLeaf(): void;
  branchWithSummary(id: string | null, summary: string, details?: unknown, fromHook?: boolean, usage?: unknown): string;
  createBranchedSession(leafId: string): string | undefined;
}

export class SettingsManager {
  static create(cwd?: string, agentDir?: string, options?: { projectTrusted?: boolean }): SettingsManager;
  static inMemory(settings?: Record<string, any>, options?: { projectTrusted?: boolean }): SettingsManager;
  getSettings(): Record<string, any>;
  getGlobalSettings(): Record<string, any>;
  getProjectSettings(): Record<string, any>;
  applyOverrides(overrides: Record<string, any>): void;
  reload(): Promise<void>;
  flush(): Promise<void>;
  [method: string]: any;
}

export class AuthStorage {
  static create(authPath?: string): AuthStorage;
  static inMemory(data?: Record<string, any>): AuthStorage;
  setRuntimeApiKey(provider: string, key: string): void;
  removeRuntimeApiKey(provider: string): void;
  set(provider: string, credential: any): void;
  remove(provider: string): void;
  get(provider: string): any;
  has(provider: string): boolean;
  hasAuth(provider: string): boolean;
  list(): string[];
  getAll(): Record<string, any>;
  getApiKey(provider: string): Promise<string | undefined>;
  reload(): void;
}

export class ModelRegistry {
  static create(authStorage?: AuthStorage, modelsPath?: string): ModelRegistry;
  static inMemory(authStorage?: AuthStorage): ModelRegistry;
  readonly authStorage: AuthStorage;
  getAll(): Model[];
  getAvailable(): Model[];
  find(provider: string, modelId: string): Model | undefined;
  refresh(): Promise<any>;
  hasConfiguredAuth(model: Pick<Model, "provider" | "id">): boolean;
  isUsingOAuth(model: Pick<Model, "provider" | "id">): boolean;
  [method: string]: any;
}

export class ModelRuntime extends ModelRegistry {
  static create(options?: any): any;
  setRuntimeApiKey(provider: string, key: string): void;
}

/** Something that only works inside the process of the agent; the message states what to do instead. */
export class UnsupportedError extends Error {
  readonly code: "ERR_PI_UNSUPPORTED";
}

export interface TruncationResult {
  content: string;
  truncated: boolean;
  truncatedBy: "lines" | "bytes" | null;
  totalLines: number;
  totalBytes: number;
  outputLines: number;
  outputBytes: number;
  lastLinePartial: boolean;
  firstLineExceedsLimit: boolean;
  maxLines: number;
  maxBytes: number;
}

type ToolFactory = (cwd?: string, options?: any) => ToolDefinition;

export const VERSION: string;
export const CONFIG_DIR_NAME: string;
export const CURRENT_SESSION_VERSION: 3;
export const DEFAULT_MAX_LINES: number;
export const DEFAULT_MAX_BYTES: number;
export const DEFAULT_COMPACTION_SETTINGS: { enabled: boolean; reserveTokens: number; keepRecentTokens: number };
export const createReadTool: ToolFactory;
export const createBashTool: ToolFactory;
export const createEditTool: ToolFactory;
export const createWriteTool: ToolFactory;
export const createGrepTool: ToolFactory;
export const createFindTool: ToolFactory;
export const createLsTool: ToolFactory;
export const createPowerShellTool: ToolFactory;
export const createReadToolDefinition: ToolFactory;
export const createBashToolDefinition: ToolFactory;
export const createEditToolDefinition: ToolFactory;
export const createWriteToolDefinition: ToolFactory;
export const createGrepToolDefinition: ToolFactory;
export const createFindToolDefinition: ToolFactory;
export const createLsToolDefinition: ToolFactory;
export const createPowerShellToolDefinition: ToolFactory;
export const readTool: ToolDefinition;
export const bashTool: ToolDefinition;
export const editTool: ToolDefinition;
export const writeTool: ToolDefinition;
export const grepTool: ToolDefinition;
export const findTool: ToolDefinition;
export const lsTool: ToolDefinition;
export const codingTools: ToolDefinition[];
export const readOnlyTools: ToolDefinition[];

export function createCodingTools(cwd: string, options?: any): ToolDefinition[];
export function createReadOnlyTools(cwd: string, options?: any): ToolDefinition[];
export function createAllTools(cwd: string, options?: any): Record<string, ToolDefinition>;
export function createLocalBashOperations(options?: { shellPath?: string }): { exec(command: string, cwd: string, options: any): Promise<{ exitCode: number | null }> };
export function defineTool<T extends ToolDefinition>(tool: T): T;
export function withFileMutationQueue<T>(path: string, work: () => Promise<T>): Promise<T>;
export function findBinary(env?: Record<string, string | undefined>): string;
export function getAgentDir(): string;
export function getDefaultSessionDir(cwd: string, agentDir?: string): string;
export function getPackageDir(): string;
export function getReadmePath(): string;
export function main(args?: string[]): Promise<void>;
export function readStoredCredential(provider: string, authPath?: string): any;
export function loadProjectContextFiles(options?: { cwd?: string; agentDir?: string }): Array<{ path: string; content: string }>;
export function loadSkills(options?: any): { skills: any[]; diagnostics: any[] };
export function loadSkillsFromDir(options: any): { skills: any[]; diagnostics: any[] };
export function parseSessionEntries(content: string): FileEntry[];
export function migrateSessionEntries(entries: FileEntry[]): void;
export function loadEntriesFromFile(file: string): FileEntry[];
export function findMostRecentSession(sessionDir: string, cwd?: string): string | null;
export function getLatestCompactionEntry(entries: SessionEntry[]): SessionEntry | null;
export function sessionEntryToContextMessages(entry: SessionEntry): AgentMessage[];
export function buildContextEntries(entries: SessionEntry[], leafId?: string | null, byId?: Map<string, SessionEntry>): SessionEntry[];
export function buildSessionProjection(entries: SessionEntry[], leafId?: string | null, byId?: Map<string, SessionEntry>): SessionProjection;
export function buildSessionContext(entries: SessionEntry[], leafId?: string | null, byId?: Map<string, SessionEntry>): SessionContext;
export function truncateHead(content: string, options?: { maxLines?: number; maxBytes?: number }): TruncationResult;
export function truncateTail(content: string, options?: { maxLines?: number; maxBytes?: number }): TruncationResult;
export function truncateLine(line: string, maxChars?: number): { text: string; wasTruncated: boolean };
export function formatSize(bytes: number): string;
export function parseFrontmatter<T = Record<string, any>>(content: string): { frontmatter: T; body: string };
export function stripFrontmatter(content: string): string;
export function parseSkillBlock(text: string): { name: string; location: string; content: string; userMessage: string | undefined } | null;
export function calculateContextTokens(usage: any): number;
export function estimateTokens(message: AgentMessage): number;
export function shouldCompact(contextTokens: number, contextWindow: number, settings: { enabled: boolean; reserveTokens: number }): boolean;
export function getLastAssistantUsage(entries: SessionEntry[]): any;
export function createEventBus(): { emit(channel: string, data: unknown): void; on(channel: string, listener: (data: unknown) => void): () => void; clear(): void };
export function createSyntheticSourceInfo(path: string, options?: any): any;
export function isToolCallEventType(name: string, event: any): boolean;
export function isBashToolResult(event: any): boolean;
export function isPowerShellToolResult(event: any): boolean;
export function isReadToolResult(event: any): boolean;
export function isEditToolResult(event: any): boolean;
export function isWriteToolResult(event: any): boolean;
export function isGrepToolResult(event: any): boolean;
export function isFindToolResult(event: any): boolean;
export function isLsToolResult(event: any): boolean;

// These throw an UnsupportedError.
export const ExtensionRunner: any;
export const createExtensionRuntime: any;
export const discoverAndLoadExtensions: any;
export const wrapRegisteredTool: any;
export const wrapRegisteredTools: any;
export const createCodemodeExtension: any;
export const createMcpExtension: any;
export const createToolSearchExtension: any;
export const InteractiveMode: any;
export const runPrintMode: any;
export const runRpcMode: any;
export const compact: any;
export const generateSummary: any;
export const generateBranchSummary: any;
export const DefaultPackageManager: any;
export const ProjectTrustStore: any;
