import {
  createBashTool, createCodingTools, createEditTool, createFindTool, createLocalBashOperations, createLsTool, createReadTool, createWriteTool,
} from "@earendil-works/pi-coding-agent";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const textOf = (result: any) => result.content[0].text;

export default function (pi: any) {
  pi.registerCommand("go", {
    handler: async (_args: string, ctx: any) => {
      const results: any = {};
      const attempt = async (name: string, run: () => Promise<unknown>) => {
        try {
          results[name] = (await run()) ?? null;
        } catch (error: any) {
          results[name] = `failed: ${error.message}`;
        }
      };
      const file = join(ctx.cwd, "f.txt");
      writeFileSync(file, "hello\nworld\n");
      const missing = Object.assign(new Error("no"), { code: "ENOENT" });
      await attempt("read", async () => textOf(await createReadTool(ctx.cwd).execute("1", { path: "f.txt" })));
      await attempt("read elsewhere", async () =>
        textOf(await createReadTool("/remote", { operations: { readFile: async (path: string) => Buffer.from(`at ${path}`), access: async () => {} } }).execute("1", { path: "x" })));
      await attempt("read nothing", () =>
        createReadTool("/remote", { operations: { readFile: async () => Buffer.from(""), access: async () => Promise.reject(missing) } }).execute("1", { path: "x" }));
      await attempt("bash", async () => textOf(await createBashTool(ctx.cwd).execute("1", { command: "echo hi" })));
      await attempt("bash with a hook", async () =>
        textOf(await createBashTool(ctx.cwd, { spawnHook: (spawn: any) => ({ ...spawn, env: { ...spawn.env, WORD: "hooked" } }) }).execute("1", { command: "echo $WORD" })));
      await attempt("bash elsewhere", async () =>
        textOf(await createBashTool(ctx.cwd, { operations: { exec: async (command: string, _cwd: string, { onData }: any) => (onData(Buffer.from(`ran ${command}`)), { exitCode: 0 }) } }).execute("1", { command: "ls" })));
      const controller = new AbortController();
      const asleep = createBashTool(ctx.cwd).execute("1", { command: "sleep 60" }, controller.signal);
      controller.abort();
      await attempt("bash aborted", () => asleep);
      await attempt("ls elsewhere", async () =>
        textOf(await createLsTool(ctx.cwd, { operations: { exists: () => true, stat: (path: string) => ({ isDirectory: () => !path.endsWith(".txt") }), readdir: () => ["b.txt", "dir"] } }).execute("1", {})));
      await attempt("find elsewhere", async () =>
        textOf(await createFindTool("/far", { operations: { exists: () => true, glob: (pattern: string, folder: string) => [`${folder}/a.${pattern}`] } }).execute("1", { pattern: "md" })));
      await attempt("edit", async () => (await createEditTool(ctx.cwd).execute("1", { path: "f.txt", edits: [{ oldText: "world", newText: "moon" }] })).details.diff);
      const written: any = {};
      await attempt("write elsewhere", async () => {
        await createWriteTool("/far", { operations: { writeFile: async (path: string, content: string) => void (written[path] = content), mkdir: async () => {} } }).execute("1", { path: "a/b.txt", content: "c" });
        return written;
      });
      await attempt("local", async () => {
        let output = "";
        const { exitCode } = await createLocalBashOperations().exec("echo out; exit 4", ctx.cwd, { onData: (data: Buffer) => (output += data) });
        return [output, exitCode];
      });
      await attempt("names", async () => createCodingTools(ctx.cwd).map((tool: any) => tool.name));
      await attempt("file", async () => readFileSync(file, "utf8"));
      writeFileSync(join(ctx.cwd, "results.json"), JSON.stringify(results));
    },
  });
  pi.on("user_bash", (event: any) =>
    event.command === "remote"
      ? { operations: { exec: async (command: string, _cwd: string, { onData }: any) => (onData(Buffer.from(`far away ${command}`)), { exitCode: 7 }) } }
      : undefined);
}
