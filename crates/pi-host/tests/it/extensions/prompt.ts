import { writeFileSync } from "node:fs";
import { join } from "node:path";

export default function (pi: any) {
  pi.on("before_agent_start", (event: any, ctx: any) => {
    const options = event.systemPromptOptions;
    const seen = { tools: options.selectedTools, files: options.contextFiles.map((file: any) => file.content), snippet: options.toolSnippets.read };
    writeFileSync(join(ctx.cwd, "results.json"), JSON.stringify(seen));
    options.contextFiles[0].content = "Use spaces.";
    options.sections.mine = "own words";
  });
}
