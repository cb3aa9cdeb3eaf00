// Never gives the thread back.
export default function (pi: any) {
  pi.registerCommand("bad", {
    handler: async () => {
      for (;;) {}
    },
  });
}
