// Promises an answer that never comes.
export default function (pi: any) {
  pi.registerTool({
    name: "never",
    label: "Never",
    description: "Never answers",
    parameters: { type: "object", properties: {} },
    execute: () => new Promise(() => {}),
  });
  pi.registerCommand("bad", { handler: () => new Promise(() => {}) });
}
