// Never yields after an await.
export default function (pi: any) {
  pi.registerCommand("bad", {
    handler: async () => {
      await new Promise((resolve) => setTimeout(resolve, 1));
      for (;;) {}
    },
  });
}
