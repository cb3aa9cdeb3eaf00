// Adapts file and shell operations of an extension for the built-in tools.
import { call } from "pi:host";

const toText = (data) => Buffer.from(data).toString("base64");

const FILE_OPERATIONS = ["readFile", "writeFile", "access", "mkdir", "exists", "stat", "isDirectory", "readdir"];

// Lists the file operations that an extension implements.
export function fileOperationsOf(operations) {
  return FILE_OPERATIONS.filter((name) => typeof operations?.[name] === "function");
}

// Returns callbacks for the program that use an extension's file operations.
export function fileHandlers(operations) {
  return {
    readFile: async ({ path }) => toText(await operations.readFile(path)),
    writeFile: async ({ path, content }) => void (await operations.writeFile(path, content)),
    access: async ({ path }) => void (await operations.access(path)),
    mkdir: async ({ path }) => void (await operations.mkdir(path)),
    exists: async ({ path }) => Boolean(await operations.exists(path)),
    isDirectory: async ({ path }) => {
      if (operations.isDirectory) return Boolean(await operations.isDirectory(path));
      return Boolean((await operations.stat(path)).isDirectory());
    },
    readdir: async ({ path }) => [...(await operations.readdir(path))].map((entry) => (typeof entry === "string" ? entry : entry.name)),
  };
}

// Returns callbacks for the program that use an extension's shell operations.
export function shellHandlers(operations) {
  return {
    async exec({ command, cwd, timeout, env }, signal, signalId) {
      const onData = (data) => void call("job.output", { signalId, data: toText(data) });
      const { exitCode } = await operations.exec(command, cwd, { onData, signal, timeout: timeout ?? undefined, env });
      return { exitCode };
    },
  };
}
