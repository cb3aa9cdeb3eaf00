// Allocates a gigabyte at once.
export default function (pi: any) {
  pi.registerCommand("bad", { handler: async () => new Uint8Array(1024 * 1024 * 1024).fill(1) });
}
