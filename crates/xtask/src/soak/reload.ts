// Opens a timer and a file watcher at every start; /again reloads all extensions.
import { watch } from "node:fs";

export default function (pi: any) {
  const kept = new Array(20000).fill("memory");
  pi.on("session_start", () => {
    setInterval(() => kept.length, 50);
    watch(process.cwd(), () => {});
  });
  pi.registerCommand("again", { handler: async (_args: string, ctx: any) => ctx.reload() });
}
