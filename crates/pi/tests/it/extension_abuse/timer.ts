// Throws where nobody waits.
export default function (pi: any) {
  pi.registerCommand("bad", {
    handler: async () => {
      setTimeout(() => {
        throw new TypeError("late and loud");
      }, 1);
    },
  });
}
