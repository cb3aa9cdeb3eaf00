// Tools: the names of the built-in ones, and read, bash, edit and write over operations of a program.

import { spawn } from "node:child_process";
import { access, mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname, isAbsolute, resolve } from "node:path";
import { expandHome } from "./paths.js";
import { DEFAULT_MAX_BYTES, DEFAULT_MAX_LINES, formatSize, truncateHead, truncateTail } from "./text.js";
import { UnsupportedError } from "./unsupported-error.js";

/** Marks tools that the agent has. */
export const BUILTIN = Symbol.for("pi.builtin-tool");

const string = (description) => ({ type: "string", description });
const number = (description) => ({ type: "number", description });
const object = (required, properties) => ({ type: "object", properties, required });

const DECLARATIONS = {
  read: {
    description: `Read a text file. Output is limited to ${DEFAULT_MAX_LINES} lines or ${formatSize(DEFAULT_MAX_BYTES)}; use offset and limit for the rest.`,
    parameters: object(["path"], {
      path: string("Path of the file, relative or absolute"),
      offset: number("First line to read, starting at 1"),
      limit: number("Maximum number of lines"),
    }),
  },
  bash: {
    description: `Run a shell command in the working directory. Returns the end of stdout and stderr, at most ${DEFAULT_MAX_LINES} lines or ${formatSize(DEFAULT_MAX_BYTES)}.`,
    parameters: object(["command"], {
      command: string("Command to run"),
      timeout: number("Timeout in seconds; none by default"),
    }),
  },
  edit: {
    description: "Replace exact text in a file. Each oldText must occur exactly once.",
    parameters: object(["path", "edits"], {
      path: string("Path of the file, relative or absolute"),
      edits: {
        type: "array",
        items: object(["oldText", "newText"], {
          oldText: string("Text to replace; unique in the file"),
          newText: string("Replacement"),
        }),
      },
    }),
  },
  write: {
    description: "Write a file. Creates directories as needed and overwrites an existing file.",
    parameters: object(["path", "content"], {
      path: string("Path of the file, relative or absolute"),
      content: string("Content of the file"),
    }),
  },
  grep: { description: "Search file contents.", parameters: object(["pattern"], { pattern: string("Pattern") }) },
  find: { description: "Find files by name.", parameters: object(["pattern"], { pattern: string("Pattern") }) },
  ls: { description: "List a directory.", parameters: object([], { path: string("Directory") }) },
  powershell: { description: "Run a PowerShell command.", parameters: object(["command"], { command: string("Command") }) },
};

const text = (content, details) => ({ content: [{ type: "text", text: content }], details });

function absolute(cwd, path) {
  const expanded = expandHome(path.replace(/^@/, ""));
  return isAbsolute(expanded) ? expanded : resolve(cwd, expanded);
}

async function runRead(cwd, operations, { path, offset, limit }) {
  const file = absolute(cwd, path);
  await operations.access(file);
  const mimeType = await operations.detectImageMimeType?.(file);
  const data = await operations.readFile(file);
  if (mimeType) {
    const image = { type: "image", data: Buffer.from(data).toString("base64"), mimeType };
    return { content: [{ type: "text", text: `Read image file [${mimeType}]` }, image] };
  }
  const lines = Buffer.from(data).toString("utf8").split("\n");
  const first = Math.max(0, (offset ?? 1) - 1);
  if (first >= lines.length) throw new Error(`Offset ${offset} is beyond end of file (${lines.length} lines total)`);
  const last = limit === undefined ? lines.length : Math.min(first + limit, lines.length);
  const truncation = truncateHead(lines.slice(first, last).join("\n"));
  const shown = first + truncation.outputLines;
  const note = shown < lines.length ? `\n\n[Showing lines ${first + 1}-${shown} of ${lines.length}. Use offset=${shown + 1} to continue.]` : "";
  return text(truncation.content + note, truncation.truncated ? { truncation } : undefined);
}

async function runBash(cwd, options, { command, timeout }, signal, onUpdate) {
  const { operations, commandPrefix } = options;
  let output = "";
  const onData = (chunk) => {
    output += chunk.toString("utf8");
    const partial = truncateTail(output);
    onUpdate?.(text(partial.content, partial.truncated ? { truncation: partial } : undefined));
  };
  const full = commandPrefix ? `${commandPrefix}\n${command}` : command;
  const execution = { onData, signal, timeout, env: options.env };
  let failure;
  let exitCode = null;
  try {
    ({ exitCode } = await operations.exec(full, cwd, execution));
  } catch (error) {
    failure = error;
  }
  const truncation = truncateTail(output);
  const shown = truncation.content;
  const append = (note) => (shown ? `${shown}\n\n${note}` : note);
  if (failure?.message === "aborted" || signal?.aborted) throw new Error(append("Command aborted"));
  if (failure?.message?.startsWith("timeout:")) throw new Error(append(`Command timed out after ${timeout} seconds`));
  if (failure) throw failure;
  if (exitCode !== 0 && exitCode !== null) throw new Error(append(`Command exited with code ${exitCode}`));
  return text(shown || "(no output)", truncation.truncated ? { truncation } : undefined);
}

async function runEdit(cwd, operations, { path, edits }) {
  const file = absolute(cwd, path);
  let content = Buffer.from(await operations.readFile(file)).toString("utf8");
  for (const { oldText, newText } of edits) {
    const count = content.split(oldText).length - 1;
    if (count === 0) throw new Error(`Could not find the exact text in ${path}. Read the file again and copy the text exactly.`);
    if (count > 1) throw new Error(`Found ${count} occurrences of the text in ${path}. Add context to make it unique.`);
    const at = content.indexOf(oldText);
    content = content.slice(0, at) + newText + content.slice(at + oldText.length);
  }
  await operations.writeFile(file, content);
  return text(`Successfully replaced ${edits.length} block(s) in ${path}.`);
}

async function runWrite(cwd, operations, { path, content }) {
  const file = absolute(cwd, path);
  await operations.mkdir(dirname(file));
  await operations.writeFile(file, content);
  return text(`Successfully wrote ${Buffer.byteLength(content)} bytes to ${path}`);
}

const localFiles = {
  access: (path) => access(path),
  readFile: (path) => readFile(path),
  writeFile: (path, content) => writeFile(path, content),
  mkdir: (path) => mkdir(path, { recursive: true }),
};

/** Runs commands on this machine. */
export function createLocalBashOperations(options = {}) {
  return {
    exec(command, cwd, { onData, signal, timeout, env }) {
      return new Promise((resolve, reject) => {
        const child = spawn(options.shellPath ?? "bash", ["-c", command], {
          cwd,
          env: env ?? process.env,
          detached: process.platform !== "win32",
          stdio: ["ignore", "pipe", "pipe"],
        });
        const kill = () => {
          try {
            process.kill(process.platform === "win32" ? child.pid : -child.pid, "SIGKILL");
          } catch {
            // It has ended.
          }
        };
        let timedOut = false;
        const timer = timeout && setTimeout(() => {
          timedOut = true;
          kill();
        }, timeout * 1000);
        signal?.addEventListener("abort", kill, { once: true });
        if (signal?.aborted) kill();
        child.stdout.on("data", onData);
        child.stderr.on("data", onData);
        const end = () => {
          clearTimeout(timer);
          signal?.removeEventListener("abort", kill);
        };
        child.on("error", (error) => {
          end();
          reject(error);
        });
        child.on("close", (exitCode) => {
          end();
          if (timedOut) reject(new Error(`timeout:${timeout}`));
          else if (signal?.aborted) reject(new Error("aborted"));
          else resolve({ exitCode });
        });
      });
    },
  };
}

/** Creates the definition of a tool. Without `operations` it stands for the built-in one. */
function definition(name, cwd, options = {}) {
  const { operations } = options;
  const base = { name, label: name, ...DECLARATIONS[name] };
  if (!operations) {
    const execute = () => {
      throw new UnsupportedError(`Calling the built-in tool ${name}`, "Prompt a session, or pass `operations`.");
    };
    return { ...base, [BUILTIN]: true, execute };
  }
  const files = { ...localFiles, ...operations };
  switch (name) {
    case "read":
      return { ...base, execute: (_id, args) => runRead(cwd, files, args) };
    case "bash":
      return { ...base, execute: (_id, args, signal, onUpdate) => runBash(cwd, options, args, signal, onUpdate) };
    case "edit":
      return { ...base, execute: (_id, args) => runEdit(cwd, files, args) };
    case "write":
      return { ...base, execute: (_id, args) => runWrite(cwd, files, args) };
    default:
      throw new UnsupportedError(`operations for ${name}`, "Write a tool with defineTool and pass it in customTools.");
  }
}

const creator = (name) => (cwd = process.cwd(), options) => definition(name, cwd, options);

export const createReadToolDefinition = creator("read");
export const createBashToolDefinition = creator("bash");
export const createEditToolDefinition = creator("edit");
export const createWriteToolDefinition = creator("write");
export const createGrepToolDefinition = creator("grep");
export const createFindToolDefinition = creator("find");
export const createLsToolDefinition = creator("ls");
export const createPowerShellToolDefinition = creator("powershell");
export const createReadTool = createReadToolDefinition;
export const createBashTool = createBashToolDefinition;
export const createEditTool = createEditToolDefinition;
export const createWriteTool = createWriteToolDefinition;
export const createGrepTool = createGrepToolDefinition;
export const createFindTool = createFindToolDefinition;
export const createLsTool = createLsToolDefinition;
export const createPowerShellTool = createPowerShellToolDefinition;

const CODING = ["read", "bash", "edit", "write"];
const READ_ONLY = ["read", "grep", "find", "ls"];
const all = (names) => (cwd, options = {}) => names.map((name) => definition(name, cwd, options[name]));

export const createCodingTools = all(CODING);
export const createReadOnlyTools = all(READ_ONLY);
export const createAllTools = (cwd, options = {}) => {
  const tools = all([...CODING, "grep", "find", "ls"])(cwd, options);
  return Object.fromEntries(tools.map((tool) => [tool.name, tool]));
};

export const readTool = createReadTool();
export const bashTool = createBashTool();
export const editTool = createEditTool();
export const writeTool = createWriteTool();
export const grepTool = createGrepTool();
export const findTool = createFindTool();
export const lsTool = createLsTool();
export const codingTools = [readTool, bashTool, editTool, writeTool];
export const readOnlyTools = [readTool, grepTool, findTool, lsTool];

/** Returns the tool unchanged; for type inference. */
export function defineTool(tool) {
  return tool;
}

const queues = new Map();

/** Runs changes of the same file one after the other. */
export async function withFileMutationQueue(path, work) {
  const key = resolve(path);
  const earlier = queues.get(key) ?? Promise.resolve();
  const running = earlier.catch(() => {}).then(work);
  queues.set(key, running);
  try {
    return await running;
  } finally {
    if (queues.get(key) === running) queues.delete(key);
  }
}
