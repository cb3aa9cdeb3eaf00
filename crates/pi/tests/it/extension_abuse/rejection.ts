// Leaves a promise rejection unhandled.
export default function (pi: any) {
  pi.registerCommand("bad", {
    handler: async () => {
      void Promise.reject(new Error("rejected without a handler"));
    },
  });
}
