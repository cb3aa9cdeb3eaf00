// Throws in a timer callback.
export default function (pi: any) {
  pi.registerCommand("bad", {
    handler: async () => {
      setTimeout(() => {
        throw new TypeError("thrown in a timer");
      }, 1);
    },
  });
}
