// The program's own tools as values: for an extension to run, change or put in the place of the original.
import { call } from "pi:host";
import { isAbsolute, relative, resolve } from "node:path";
import { fileHandlers, fileOperationsOf, shellHandlers } from "pi:pi/tool_operations";
import { truncateHead } from "pi:pi/truncate";
import { perform } from "pi:pi/work";

const SHELLS = ["bash", "powershell"];
const FIND_LIMIT = 1000;

// What a hook of an extension makes of a command before it runs.
function spawned(cwd, args, { commandPrefix, spawnHook }) {
  const command = commandPrefix ? `${commandPrefix}\n${args.command}` : args.command;
  if (!spawnHook) return { cwd, args: { ...args, command } };
  const context = spawnHook({ command, cwd, env: { ...process.env } });
  return { cwd: context.cwd, args: { ...args, command: context.command }, env: context.env };
}

async function runShell(name, cwd, options, callId, args, signal, onUpdate) {
  const prepared = spawned(cwd, args, options);
  const handlers = options.operations ? shellHandlers(options.operations) : {};
  const how = { hasProcesses: Boolean(options.operations), shellPath: options.shellPath, env: prepared.env };
  return perform("builtin.run", { name, cwd: prepared.cwd, callId, arguments: prepared.args, ...how }, { ...handlers, update: onUpdate }, signal);
}

async function runOnFiles(name, cwd, options, callId, args, signal, onUpdate) {
  const operations = fileOperationsOf(options.operations);
  const handlers = operations.length > 0 ? fileHandlers(options.operations) : {};
  const how = { operations, resizeImages: options.autoResizeImages };
  return perform("builtin.run", { name, cwd, callId, arguments: args, ...how }, { ...handlers, update: onUpdate }, signal);
}

// Finds files where an extension brings its own search.
async function findThrough(operations, cwd, { pattern, path = ".", limit = FIND_LIMIT }) {
  const folder = resolve(cwd, path);
  if (!(await operations.exists(folder))) throw new Error(`Path not found: ${folder}`);
  const found = await operations.glob(pattern, folder, { ignore: ["**/node_modules/**", "**/.git/**"], limit });
  if (found.length === 0) return { content: [{ type: "text", text: "No files found matching pattern" }], details: undefined };
  const shown = found.slice(0, limit).map((file) => (isAbsolute(file) ? relative(folder, file) : file));
  const { content, truncated, ...truncation } = truncateHead(shown.join("\n"), { maxLines: Number.MAX_SAFE_INTEGER });
  const isFull = found.length >= limit;
  const text = isFull ? `${content}\n\n[${limit} results are shown, the most that were asked for]` : content;
  const details = { ...(truncated && { truncation: { content, truncated, ...truncation } }), ...(isFull && { resultLimitReached: limit }) };
  return { content: [{ type: "text", text }], details: truncated || isFull ? details : undefined };
}

function runner(name, cwd, options) {
  if (SHELLS.includes(name)) return (...call) => runShell(name, cwd, options, ...call);
  if (name === "find" && options.operations?.glob) return (_callId, args) => findThrough(options.operations, cwd, args);
  return (...call) => runOnFiles(name, cwd, options, ...call);
}

// Makes the definition of a tool.
export function createDefinition(name, cwd, options = {}) {
  const { promptSnippet, promptGuidelines, ...described } = call("builtin.describe", { name });
  const run = runner(name, cwd, options);
  return {
    ...described,
    promptSnippet,
    promptGuidelines,
    prepareArguments: (args) => call("builtin.prepare", { name, arguments: args ?? {} }),
    execute: (callId, args, signal, onUpdate) => run(callId, args, signal, onUpdate),
  };
}

// Makes a tool as an agent runs it.
export function createTool(name, cwd, options) {
  const { promptSnippet, promptGuidelines, ...tool } = createDefinition(name, cwd, options);
  return tool;
}

// Runs commands on this machine, for extensions that run them by themselves.
export function createLocalOperations(shell, options = {}) {
  return {
    async exec(command, cwd, { onData, signal, timeout, env } = {}) {
      const output = (data) => void onData?.(Buffer.from(data, "base64"));
      const run = { command, cwd, timeout, env: env ?? { ...process.env }, shell, shellPath: options.shellPath };
      return perform("builtin.shell", run, { output }, signal);
    },
  };
}
