import { complete, streamSimple } from "@earendil-works/pi-ai";
import { compact } from "@earendil-works/pi-coding-agent";
import { writeFileSync } from "node:fs";
import { join } from "node:path";

export default function (pi: any) {
  pi.registerCommand("go", {
    handler: async (_args: string, ctx: any) => {
      const model = ctx.model;
      const user = (content: string) => ({ role: "user", content, timestamp: 0 });
      const answer = await complete(model, { systemPrompt: "Be brief", messages: [user("one")] }, { apiKey: "k" });
      const stream = ctx.modelRegistry.streamSimple(model, { messages: [user("two")] });
      const types = new Set<string>();
      let streamed = "";
      let partial = "";
      for await (const event of stream) {
        if (event.type === "text_delta") streamed += event.delta;
        else types.add(event.type);
        if (event.partial) partial = event.partial.content[0]?.text ?? "";
      }
      const preparation = { messagesToSummarize: [user("hello")], turnPrefixMessages: [], isSplitTurn: false, firstKeptEntryId: "x", tokensBefore: 5, settings: { reserveTokens: 1000 } };
      const compacted = await compact(preparation as any, model, undefined);
      const found = ctx.modelRegistry.find("faux", "thinks");
      writeFileSync(
        join(ctx.cwd, "results.json"),
        JSON.stringify({
          complete: [answer.content[0].text, answer.stopReason],
          streamed,
          types: [...types],
          partial,
          found: `${found.provider}/${found.id}`,
          auth: await ctx.modelRegistry.getApiKeyAndHeaders(model),
          compacted: compacted.summary,
          same: typeof streamSimple,
        }),
      );
    },
  });
}
