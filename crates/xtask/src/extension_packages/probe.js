// Writes down what is registered once the session has begun, where PROBE_RESULT says.
import { writeFileSync } from "node:fs";

export default function (pi) {
  pi.on("session_start", (_event, ctx) => {
    const tools = pi.getAllTools().map((tool) => tool.name);
    const commands = pi.getCommands().filter((command) => command.source === "extension").map((command) => command.name);
    const providers = [...new Set(ctx.modelRegistry.getAll().map((model) => model.provider))];
    writeFileSync(process.env.PROBE_RESULT, JSON.stringify({ tools, commands, providers }));
  });
}
