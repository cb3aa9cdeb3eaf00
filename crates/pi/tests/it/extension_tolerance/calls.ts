// Makes calls with arguments that the types do not allow, and records which of them succeed.
import { writeFileSync } from "node:fs";
import { join } from "node:path";

const cases: [string, (pi: any, ctx: any) => unknown][] = [
  ["sendMessage without customType", (pi) => pi.sendMessage({ content: "x", display: true })],
  ["sendMessage without content", (pi) => pi.sendMessage({ customType: "t", display: false })],
  ["sendMessage without display", (pi) => pi.sendMessage({ customType: "t", content: "x" })],
  ["sendMessage with a number as content", (pi) => pi.sendMessage({ customType: "t", content: 42, display: true })],
  ["sendMessage with null content", (pi) => pi.sendMessage({ customType: "t", content: null, display: true })],
  ["sendMessage with a numeric text block", (pi) => pi.sendMessage({ customType: "t", content: [{ type: "text", text: 42 }], display: true })],
  ["sendMessage with an unknown block", (pi) => pi.sendMessage({ customType: "t", content: [{ type: "widget", x: 1 }], display: true })],
  ["sendMessage with a string display", (pi) => pi.sendMessage({ customType: "t", content: "x", display: "yes" })],
  ["sendMessage with a numeric customType", (pi) => pi.sendMessage({ customType: 7, content: "x", display: true })],
  ["sendMessage with null options", (pi) => pi.sendMessage({ customType: "t", content: "x", display: true }, null)],
  ["sendMessage with unknown deliverAs", (pi) => pi.sendMessage({ customType: "t", content: "x", display: true }, { deliverAs: "later" })],
  ["sendMessage with extra members", (pi) => pi.sendMessage({ customType: "t", content: "x", display: true, extra: 1 })],
  ["sendMessage with details as text", (pi) => pi.sendMessage({ customType: "t", content: "x", display: true, details: "d" })],
  ["appendEntry without data", (pi) => pi.appendEntry("e")],
  ["appendEntry with a function in data", (pi) => pi.appendEntry("e", { f() {}, a: 1 })],
  ["appendEntry with a number as type", (pi) => pi.appendEntry(5, { a: 1 })],
  ["appendEntry with NaN", (pi) => pi.appendEntry("e", { a: NaN })],
  ["appendEntry with a date", (pi) => pi.appendEntry("e", { at: new Date(0) })],
  ["appendEntry with a map", (pi) => pi.appendEntry("e", new Map([["a", 1]]))],
  ["appendEntry with undefined members", (pi) => pi.appendEntry("e", { a: undefined, b: [undefined] })],
  ["setSessionName with a number", (pi) => pi.setSessionName(42)],
  ["setSessionName with an empty name", (pi) => pi.setSessionName("")],
  ["setLabel with an unknown entry", (pi) => pi.setLabel("nope", "x")],
  ["setLabel with a numeric label", (pi, ctx) => pi.setLabel(ctx.sessionManager.getLeafId(), 5)],
  ["getFlag with an unknown name", (pi) => pi.getFlag("nope")],
  ["getFlag with undefined", (pi) => pi.getFlag(undefined)],
  ["registerCommand without description", (pi) => pi.registerCommand("s1", { handler() {} })],
  ["registerCommand without handler", (pi) => pi.registerCommand("s2", {})],
  ["registerCommand with a numeric description", (pi) => pi.registerCommand("s3", { description: 5, handler() {} })],
  ["registerTool without label", (pi) => pi.registerTool({ name: "s1", description: "d", parameters: { type: "object", properties: {} }, execute() {} })],
  ["registerTool without description", (pi) => pi.registerTool({ name: "s2", label: "l", parameters: { type: "object", properties: {} }, execute() {} })],
  ["registerTool without parameters", (pi) => pi.registerTool({ name: "s3", label: "l", description: "d", execute() {} })],
  ["registerTool with parameters without type", (pi) => pi.registerTool({ name: "s4", label: "l", description: "d", parameters: { properties: {} }, execute() {} })],
  ["registerTool with a numeric description", (pi) => pi.registerTool({ name: "s5", label: "l", description: 5, parameters: { type: "object", properties: {} }, execute() {} })],
  ["registerTool with guidelines as text", (pi) => pi.registerTool({ name: "s6", label: "l", description: "d", promptGuidelines: "one", parameters: { type: "object", properties: {} }, execute() {} })],
  ["registerTool with null members", (pi) => pi.registerTool({ name: "s7", label: null, description: "d", promptSnippet: null, promptGuidelines: null, executionMode: null, parameters: { type: "object", properties: {} }, execute() {} })],
  ["registerTool with an unknown executionMode", (pi) => pi.registerTool({ name: "s8", label: "l", description: "d", executionMode: "whenever", parameters: { type: "object", properties: {} }, execute() {} })],
  ["registerShortcut without description", (pi) => pi.registerShortcut("ctrl+shift+9", { handler() {} })],
  ["registerFlag without type", (pi) => pi.registerFlag("s-flag", { description: "d" })],
  ["registerFlag with an unknown type", (pi) => pi.registerFlag("s-flag2", { type: "number", default: 4 })],
  ["on with an unknown event", (pi) => void pi.on("no_such_event", () => {})],
  ["setActiveTools with unknown names", (pi) => pi.setActiveTools(["read", "nope"])],
  ["setActiveTools with duplicates", (pi) => pi.setActiveTools(["read", "read", "bash"])],
  ["setThinkingLevel with an unknown level", (pi) => pi.setThinkingLevel("extreme")],
  ["events.emit without data", (pi) => pi.events.emit("c")],
  ["events.on twice", (pi) => { const f = () => {}; pi.events.on("c", f); pi.events.on("c", f); }],
  ["exec without arguments", async (pi) => (await pi.exec("true")).code],
  ["exec with numeric arguments", async (pi) => (await pi.exec("echo", [1, 2])).stdout.trim()],
  ["exec of a missing program", async (pi) => (await pi.exec("no-such-program-x", [])).code],
  ["notify with a number", (_pi, ctx) => ctx.ui.notify(5, "info")],
  ["notify with an unknown type", (_pi, ctx) => ctx.ui.notify("x", "loud")],
  ["notify without arguments", (_pi, ctx) => ctx.ui.notify()],
  ["notify with an object", (_pi, ctx) => ctx.ui.notify({ a: 1 })],
  ["setStatus with a number", (_pi, ctx) => ctx.ui.setStatus("k", 5)],
  ["setStatus with null", (_pi, ctx) => ctx.ui.setStatus("k", null)],
  ["setWidget with a string", (_pi, ctx) => ctx.ui.setWidget("k", "text")],
  ["setWidget with numbers", (_pi, ctx) => ctx.ui.setWidget("k", [1, 2])],
  ["setWidget with null", (_pi, ctx) => ctx.ui.setWidget("k", null)],
  ["setTitle with a number", (_pi, ctx) => ctx.ui.setTitle(5)],
  ["setEditorText with a number", (_pi, ctx) => ctx.ui.setEditorText(5)],
  ["setWorkingMessage with null", (_pi, ctx) => ctx.ui.setWorkingMessage(null)],
  ["getContextUsage", (_pi, ctx) => typeof ctx.getContextUsage()],
  ["getEntry with undefined", (_pi, ctx) => ctx.sessionManager.getEntry(undefined) ?? "none"],
  ["getBranch with an unknown ID", (_pi, ctx) => ctx.sessionManager.getBranch("nope").length],
  ["getLabel with undefined", (_pi, ctx) => ctx.sessionManager.getLabel(undefined) ?? "none"],
  ["getChildren with an unknown ID", (_pi, ctx) => ctx.sessionManager.getChildren("nope").length],
  ["find with undefined", (_pi, ctx) => ctx.modelRegistry.find(undefined, undefined) ?? "none"],
  ["setModel with an unknown model", async (pi) => pi.setModel({ provider: "nope", id: "nope" })],
  ["select with objects", async (_pi, ctx) => (await ctx.ui.select("t", [{ label: "a", value: 1 }, { label: "b", value: 2 }], { timeout: 50 })) ?? "none"],
  ["select with numbers", async (_pi, ctx) => (await ctx.ui.select("t", [1, 2], { timeout: 50 })) ?? "none"],
  ["select without options", async (_pi, ctx) => (await ctx.ui.select("t", [], { timeout: 50 })) ?? "none"],
  ["select with a numeric title", async (_pi, ctx) => (await ctx.ui.select(5, ["a"], { timeout: 50 })) ?? "none"],
  ["confirm without message", async (_pi, ctx) => await ctx.ui.confirm("t", undefined, { timeout: 50 })],
  ["confirm with numbers", async (_pi, ctx) => await ctx.ui.confirm(1, 2, { timeout: 50 })],
  ["input with a numeric placeholder", async (_pi, ctx) => (await ctx.ui.input("t", 5, { timeout: 50 })) ?? "none"],
  ["sendMessage with a boolean as content", (pi) => pi.sendMessage({ customType: "t", content: true, display: true })],
  ["appendEntry without arguments", (pi) => pi.appendEntry()],
  ["appendEntry with text as data", (pi) => pi.appendEntry("e", "text")],
  ["setLabel without label", (pi, ctx) => pi.setLabel(ctx.sessionManager.getLeafId())],
  ["registerFlag without members", (pi) => pi.registerFlag("s-flag3", {})],
  ["registerCommand with an empty name", (pi) => pi.registerCommand("", { handler() {} })],
  ["setActiveTools with numbers", (pi) => pi.setActiveTools([1, "read"])],
  ["setActiveTools with an empty list", (pi) => pi.setActiveTools([])],
  ["setThinkingLevel with undefined", (pi) => pi.setThinkingLevel(undefined)],
  ["events.emit with a number as name", (pi) => pi.events.emit(5, {})],
  ["exec with undefined members", async (pi) => (await pi.exec("true", [], { cwd: undefined, timeout: undefined, signal: undefined })).code],
  ["exec of an empty name", async (pi) => (await pi.exec("", [])).code],
  ["setFooter with null", (_pi, ctx) => ctx.ui.setFooter(null)],
  ["setHeader with null", (_pi, ctx) => ctx.ui.setHeader(null)],
  ["setHiddenThinkingLabel with a number", (_pi, ctx) => ctx.ui.setHiddenThinkingLabel(5)],
  ["pasteToEditor with a number", (_pi, ctx) => ctx.ui.pasteToEditor(5)],
  ["setTheme with an unknown name", (_pi, ctx) => ctx.ui.setTheme("nope")?.success ?? "none"],
  ["setToolsExpanded with text", (_pi, ctx) => ctx.ui.setToolsExpanded("yes")],
  ["getBranch with null", (_pi, ctx) => typeof ctx.sessionManager.getBranch(null).length],
  ["editor with numbers", async (_pi, ctx) => (await ctx.ui.editor(1, 2)) ?? "none"],
  ["setModel with undefined", async (pi) => pi.setModel(undefined)],
  ["input with a text timeout", async (_pi, ctx) => (await ctx.ui.input("t", "p", { timeout: "50" })) ?? "none"],
];

export default function (pi: any) {
  pi.on("session_start", async (_event: any, ctx: any) => {
    const observed: Record<string, unknown> = {};
    for (const [name, run] of cases) {
      try {
        observed[name] = (await run(pi, ctx)) ?? "done";
      } catch {
        observed[name] = { thrown: true };
      }
    }
    writeFileSync(join(ctx.cwd, "sloppy.json"), JSON.stringify(observed));
  });
  pi.on("agent_end", (_event: any, ctx: any) => {
    const custom = ctx.sessionManager.getEntries().filter((entry: any) => entry.type.startsWith("custom"));
    writeFileSync(join(ctx.cwd, "entries.json"), JSON.stringify(custom.map(({ type, customType, content, data, display, details }: any) => ({ type, customType, content, data, display, details }))));
  });
}
