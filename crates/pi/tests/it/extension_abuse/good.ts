// A well-behaved extension that must keep working.
export default function (pi: any) {
  pi.registerCommand("good", { handler: async (args: string, ctx: any) => ctx.ui.notify(`good ${args}`) });
  pi.registerTool({
    name: "good_tool",
    label: "Good",
    description: "Echoes a word",
    parameters: { type: "object", properties: { word: { type: "string" } }, required: ["word"] },
    execute: async (_id: string, { word }: { word: string }) => ({ content: [{ type: "text", text: `echo ${word}` }], details: {} }),
  });
}
