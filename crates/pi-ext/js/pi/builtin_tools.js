// Built-in tools as objects that an extension can run, wrap or replace.
import { call } from "pi:host";
import { isAbsolute, relative, resolve } from "node:path";
import { fileHandlers, fileOperationsOf, shellHandlers } from "pi:pi/tool_operations";
import { truncateHead } from "pi:pi/truncate";
import { requestWithCallbacks } from "pi:pi/callbacks";

const SHELLS = ["bash", "powershell"];
const FIND_LIMIT = 1000;

// Applies the command prefix and the spawn hook of an extension.
function applySpawnHook(cwd, args, { commandPrefix, spawnHook }) {
  const command = commandPrefix ? `${commandPrefix}\n${args.command}` : args.command;
  if (!spawnHook) return { cwd, args: { ...args, command } };
  const context = spawnHook({ command, cwd, env: { ...process.env } });
  return { cwd: context.cwd, args: { ...args, command: context.command }, env: context.env };
}

async function runShell(name, cwd, options, callId, args, signal, onUpdate) {
  const prepared = applySpawnHook(cwd, args, options);
  const handlers = options.operations ? shellHandlers(options.operations) : {};
  const extra = { hasProcesses: Boolean(options.operations), shellPath: options.shellPath, env: prepared.env };
  return requestWithCallbacks("builtin.run", { name, cwd: prepared.cwd, callId, arguments: prepared.args, ...extra }, { ...handlers, update: onUpdate }, signal);
}

async function runOnFiles(name, cwd, options, callId, args, signal, onUpdate) {
  const operations = fileOperationsOf(options.operations);
  const handlers = operations.length > 0 ? fileHandlers(options.operations) : {};
  const extra = { operations, resizeImages: options.autoResizeImages };
  return requestWithCallbacks("builtin.run", { name, cwd, callId, arguments: args, ...extra }, { ...handlers, update: onUpdate }, signal);
}

// Implements `find` with the file operations of an extension.
async function findWithOperations(operations, cwd, { pattern, path = ".", limit = FIND_LIMIT }) {
  const directory = resolve(cwd, path);
  if (!(await operations.exists(directory))) throw new Error(`Path not found: ${directory}`);
  const found = await operations.glob(pattern, directory, { ignore: ["**/node_modules/**", "**/.git/**"], limit });
  if (found.length === 0) return { content: [{ type: "text", text: "No files found matching pattern" }], details: undefined };
  const shown = found.slice(0, limit).map((file) => (isAbsolute(file) ? relative(directory, file) : file));
  const { content, truncated, ...truncation } = truncateHead(shown.join("\n"), { maxLines: Number.MAX_SAFE_INTEGER });
  const isFull = found.length >= limit;
  const text = isFull ? `${content}\n\n[${limit} results limit reached]` : content;
  const details = { ...(truncated && { truncation: { content, truncated, ...truncation } }), ...(isFull && { resultLimitReached: limit }) };
  return { content: [{ type: "text", text }], details: truncated || isFull ? details : undefined };
}

function runner(name, cwd, options) {
  if (SHELLS.includes(name)) return (...call) => runShell(name, cwd, options, ...call);
  if (name === "find" && options.operations?.glob) return (_callId, args) => findWithOperations(options.operations, cwd, args);
  return (...call) => runOnFiles(name, cwd, options, ...call);
}

// Creates a tool definition for `registerTool`.
export function createDefinition(name, cwd, options = {}) {
  const { promptSnippet, promptGuidelines, ...described } = call("builtin.describe", { name });
  const run = runner(name, cwd, options);
  return {
    ...described,
    promptSnippet,
    promptGuidelines,
    prepareArguments: (args) => call("builtin.prepareArguments", { name, arguments: args ?? {} }),
    execute: (callId, args, signal, onUpdate) => run(callId, args, signal, onUpdate),
  };
}

// Creates a tool for an agent, without prompt fields.
export function createTool(name, cwd, options) {
  const { promptSnippet, promptGuidelines, ...tool } = createDefinition(name, cwd, options);
  return tool;
}

// Shell operations that run commands on this machine.
export function createLocalOperations(shell, options = {}) {
  return {
    async exec(command, cwd, { onData, signal, timeout, env } = {}) {
      const output = (data) => void onData?.(Buffer.from(data, "base64"));
      const run = { command, cwd, timeout, env: env ?? { ...process.env }, shell, shellPath: options.shellPath };
      return requestWithCallbacks("builtin.runShell", run, { output }, signal);
    },
  };
}
