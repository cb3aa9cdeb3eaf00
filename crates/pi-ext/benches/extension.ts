import type { ExtensionAPI, ExtensionContext } from "@earendil-works/pi-coding-agent";
import { truncateToWidth } from "@earendil-works/pi-tui";
import { Type } from "typebox";
import * as path from "node:path";

interface Item {
  name: string;
  state: "open" | "done";
}

const items: Item[] = Array.from({ length: 49 }, (_, index) => ({
  name: `entry ${index + 1} of the list, with a name long enough to be read`,
  state: index % 3 === 0 ? "done" : "open",
}));

class Listing {
  private readonly title: string;
  public selected: number = 0;

  constructor(title: string) {
    this.title = title;
  }

  handleInput(data: string): void {
    if (data === "j") this.selected = (this.selected + 1) % items.length;
    if (data === "k") this.selected = (this.selected + items.length - 1) % items.length;
  }

  render(width: number): string[] {
    const rows = items.map((item, index) => {
      const mark = index === this.selected ? ">" : " ";
      const text = `${mark} ${item.state === "done" ? "[x]" : "[ ]"} ${item.name}`;
      return text.length > width ? text.slice(0, width) : text;
    });
    return [this.title, ...rows];
  }

  invalidate(): void {}
}

export default function (pi: ExtensionAPI): void {
  pi.registerTool({
    name: "items",
    label: "Items",
    description: "Lists and changes the items.",
    parameters: Type.Object({
      action: Type.String({ description: "list, add or toggle" }),
      name: Type.Optional(Type.String()),
      limit: Type.Optional(Type.Number()),
    }),
    async execute(_id, params) {
      const chosen = items.slice(0, params.limit ?? items.length);
      return { content: [{ type: "text", text: chosen.map((item) => item.name).join("\n") }], details: { chosen } };
    },
  });

  pi.registerCommand("items", {
    description: "Shows the items",
    handler: async (args: string, ctx: ExtensionContext) => {
      ctx.ui.notify(truncateToWidth(args, 20));
    },
  });

  pi.on("session_start", (_event, ctx) => {
    ctx.ui.setWidget("items", () => new Listing("Items"));
  });

  pi.on("tool_call", async (event) => {
    if (event.toolName !== "bash") return undefined;
    const command = String((event.input as { command?: unknown }).command ?? "");
    const directory = path.basename(command.split(" ").at(-1) ?? "");
    return directory === "src" ? { block: true, reason: `${directory} must not be read` } : undefined;
  });
}
