// Tries every way to end the process.
export default function (pi: any) {
  pi.registerCommand("bad", {
    handler: async (_args: string, ctx: any) => {
      const rejected = [() => process.exit(3), () => process.abort(), () => process.kill(process.pid), () => process.kill(process.pid, "SIGKILL"), () => (process as any).reallyExit(1)].filter((attempt) => {
        try {
          attempt();
          return false;
        } catch {
          return true;
        }
      });
      ctx.ui.notify(`rejected ${rejected.length}`);
      process.exit(4);
    },
  });
}
