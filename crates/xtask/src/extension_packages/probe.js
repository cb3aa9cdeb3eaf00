// Adds a command that activates every tool and writes the registrations to the file PROBE_RESULT.
import { writeFileSync } from "node:fs";

export default function (pi) {
  pi.registerCommand("probe-registrations", {
    description: "Write the registrations to PROBE_RESULT",
    handler: async (_args, ctx) => {
      const tools = pi.getAllTools().map(({ name, description, parameters }) => ({ name, description, parameters }));
      const commands = pi
        .getCommands()
        .filter((command) => command.source === "extension")
        .map(({ name, description }) => ({ name, description }));
      const providers = [...new Set(ctx.modelRegistry.getAll().map((model) => model.provider))];
      const active = pi.getActiveTools();
      writeFileSync(process.env.PROBE_RESULT, JSON.stringify({ tools, commands, providers, active }));
      pi.setActiveTools(tools.map((tool) => tool.name));
    },
  });
}
