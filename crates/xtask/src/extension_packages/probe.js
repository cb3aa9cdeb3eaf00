// Writes the registered tools, commands and providers to the file PROBE_RESULT at session start.
import { writeFileSync } from "node:fs";

export default function (pi) {
  pi.on("session_start", (_event, ctx) => {
    const tools = pi.getAllTools().map((tool) => tool.name);
    const commands = pi.getCommands().filter((command) => command.source === "extension").map((command) => command.name);
    const providers = [...new Set(ctx.modelRegistry.getAll().map((model) => model.provider))];
    writeFileSync(process.env.PROBE_RESULT, JSON.stringify({ tools, commands, providers }));
  });
}
