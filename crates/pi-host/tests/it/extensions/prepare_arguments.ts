import { Type } from "typebox";
import { writeFileSync } from "node:fs";
import { join } from "node:path";

export default function (pi: any) {
  pi.registerTool({
    name: "count",
    label: "Count",
    description: "Counts",
    parameters: Type.Object({ to: Type.Number() }),
    prepareArguments: (args: any) => (args.to === "three" ? { to: 3 } : args),
    execute: async (_id: string, args: any, _signal: any, _update: any, ctx: any) => {
      writeFileSync(join(ctx.cwd, "results.json"), JSON.stringify(args));
      return { content: [], details: {} };
    },
  });
}
