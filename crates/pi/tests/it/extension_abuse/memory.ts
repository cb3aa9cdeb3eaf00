// Allocates memory without bound.
export default function (pi: any) {
  pi.registerCommand("bad", {
    handler: async () => {
      const all = [];
      for (;;) all.push(new Uint8Array(64 * 1024 * 1024).fill(1));
    },
  });
}
