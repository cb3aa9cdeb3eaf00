// Registers one of each, as a typical extension does.
import { basename } from "node:path";

export default function (pi: any) {
  pi.registerCommand("where", {
    description: "Show the working directory",
    handler: async (_args: string, ctx: any) => ctx.ui.notify(basename(process.cwd()), "info"),
  });
  pi.on("session_start", (_event: any, ctx: any) => ctx.ui.setStatus("where", basename(process.cwd())));
  pi.on("tool_call", () => undefined);
}
