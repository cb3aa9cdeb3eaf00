// Reloads while timers, watchers, sockets and child processes are open.
import { watch } from "node:fs";
import { createServer } from "node:net";
import { spawn } from "node:child_process";

export default function (pi: any) {
  const data = new Array(20000).fill("memory");
  pi.on("session_start", () => {
    setInterval(() => data.length, 10);
    watch(process.cwd(), () => {});
    createServer(() => {}).listen(0, "127.0.0.1");
    spawn("cat", { stdio: "pipe" });
  });
  pi.registerCommand("again", { handler: async (_args: string, ctx: any) => ctx.reload() });
}
