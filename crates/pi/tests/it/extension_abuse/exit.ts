// Wants to end the program in every way there is.
export default function (pi: any) {
  pi.registerCommand("bad", {
    handler: async (_args: string, ctx: any) => {
      const refused = [() => process.exit(3), () => process.abort(), () => process.kill(process.pid), () => process.kill(process.pid, "SIGKILL"), () => (process as any).reallyExit(1)].filter((attempt) => {
        try {
          attempt();
          return false;
        } catch {
          return true;
        }
      });
      ctx.ui.notify(`refused ${refused.length}`);
      process.exit(4);
    },
  });
}
