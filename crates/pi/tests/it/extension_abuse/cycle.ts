// Part of an import cycle.
import { second } from "./cycle_other.ts";

export const first = () => "first";

export default function (pi: any) {
  pi.registerCommand("bad", {
    handler: async (_args: string, ctx: any) => ctx.ui.notify(second()),
  });
}
