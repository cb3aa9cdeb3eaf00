// Forgets a promise that fails.
export default function (pi: any) {
  pi.registerCommand("bad", {
    handler: async () => {
      void Promise.reject(new Error("nobody looks"));
    },
  });
}
