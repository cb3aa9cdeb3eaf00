// Never yields.
export default function (pi: any) {
  pi.registerCommand("bad", {
    handler: async () => {
      for (;;) {}
    },
  });
}
