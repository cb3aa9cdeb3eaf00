// A provider that reports its stream events and refreshes models of several types.
import { writeFileSync } from "node:fs";

const free = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 };
const chat = (id: string) => ({ id, name: id, reasoning: false, input: ["text"], cost: free, contextWindow: 1000, maxTokens: 100 });

export default function (pi: any) {
  const seen: any[] = [];
  pi.registerProvider("own", {
    baseUrl: "https://own.example",
    apiKey: "k",
    api: "own-api",
    models: [chat("first"), { id: "old", name: "Old", type: "image", input: ["text"], output: ["image"], cost: free }],
    streamSimple: async function* (model: any, _context: any, options: any) {
      const usage = { input: 1, output: 1, cacheRead: 0, cacheWrite: 0, totalTokens: 2, cost: { ...free, total: 0 } };
      const content = [{ type: "text", text: "own answer" }];
      const message = { role: "assistant", content, api: model.api, provider: model.provider, model: model.id, usage, stopReason: "stop", timestamp: 1 };
      await options.onProviderStreamEvent({ step: 1 });
      yield { type: "start", partial: message };
      yield { type: "text_start", contentIndex: 0, partial: message };
      yield { type: "text_delta", contentIndex: 0, delta: "own answer", partial: message };
      yield { type: "text_end", contentIndex: 0, content: "own answer", partial: message };
      await options.onProviderStreamEvent({ step: 2 });
      yield { type: "done", reason: "stop", message };
    },
    refreshModels: async () => [chat("first"), chat("second"), { id: "new", name: "New", type: "image", input: ["text"], output: ["image"], cost: free }],
  });
  pi.on("provider_stream_event", ({ provider, api, model, data }: any, ctx: any) => {
    seen.push([provider, api, typeof model === "string" ? model : model?.id, data]);
    writeFileSync(`${ctx.cwd}/results.json`, JSON.stringify(seen));
  });
  pi.registerCommand("types", {
    handler: async (_args: string, ctx: any) => {
      const list = (type: string) => ctx.modelRegistry.getModelsOfType(type, "own").map(({ id, baseUrl }: any) => `${id} ${baseUrl}`);
      await ctx.modelRegistry.refresh();
      writeFileSync(`${ctx.cwd}/results.json`, JSON.stringify({ chat: list("chat"), image: list("image") }));
    },
  });
}
