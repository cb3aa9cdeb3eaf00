// Returns promises that never settle.
export default function (pi: any) {
  pi.registerTool({
    name: "never",
    label: "Never",
    description: "Never returns",
    parameters: { type: "object", properties: {} },
    execute: () => new Promise(() => {}),
  });
  pi.registerCommand("bad", { handler: () => new Promise(() => {}) });
}
