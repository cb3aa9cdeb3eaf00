// Never gives the thread back, after it has waited.
export default function (pi: any) {
  pi.registerCommand("bad", {
    handler: async () => {
      await new Promise((resolve) => setTimeout(resolve, 1));
      for (;;) {}
    },
  });
}
