// Registers a command name that the other extension uses.
export default function (pi: any) {
  pi.registerCommand("good", { handler: async (_args: string, ctx: any) => ctx.ui.notify("the other good") });
}
