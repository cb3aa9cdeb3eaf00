// Tool calls and user shell commands as components.
import { convertToPng } from "pi:pi/images";
import { theme } from "pi:pi/theme";
import { Box } from "pi:tui/box";
import { getCapabilities } from "pi:tui/capabilities";
import { Container } from "pi:tui/container";
import { DynamicBorder } from "pi:tui/dynamic_border";
import { BUILD, foldable, IS_EXPANDED } from "pi:tui/foldable";
import { Image } from "pi:tui/image";
import { keyHint, keyText } from "pi:tui/key_hints";
import { Loader } from "pi:tui/loader";
import { stripTerminalSequences } from "pi:tui/measure";
import { MouseRegion } from "pi:tui/mouse_region";
import { Spacer } from "pi:tui/spacer";
import { Text } from "pi:tui/text";

// Number of lines shown while collapsed.
const TOOL_LINES = 10;
const SHELL_LINES = 20;

const more = (count) => `${theme.fg("muted", `... ${count} more lines (`)}${keyHint("app.tools.expand", "to expand")}${theme.fg("muted", ")")}`;
const titleOf = (name) => theme.fg("toolTitle", theme.bold(name));

export class ToolExecutionComponent extends foldable(Container) {
  #name;
  #callId;
  #args;
  #tool;
  #tui;
  #cwd;
  #showsImages;
  #imageWidth;
  #isPartial = true;
  #hasStarted = false;
  #hasAllArgs = false;
  #result;
  #state = {};
  #rendered = {};
  // Converted images by their original data.
  #converted = new Map();

  constructor(toolName, toolCallId, args, options = {}, toolDefinition = undefined, tui = undefined, cwd = process.cwd()) {
    super();
    this.#name = toolName;
    this.#callId = toolCallId;
    this.#args = args;
    this.#tool = toolDefinition;
    this.#tui = tui;
    this.#cwd = cwd;
    this.#showsImages = options?.showImages ?? true;
    this.#imageWidth = options?.imageWidthCells ?? 60;
    this[BUILD]();
  }
  updateArgs(args) {
    this.#args = args;
    this[BUILD]();
  }
  markExecutionStarted() {
    this.#hasStarted = true;
    this.#changed();
  }
  setArgsComplete() {
    this.#hasAllArgs = true;
    this.#changed();
  }
  updateResult(result, isPartial = false) {
    this.#result = result;
    this.#isPartial = isPartial;
    this[BUILD]();
    if (getCapabilities().images === "kitty") for (const image of this.#images()) this.#convert(image);
  }
  setShowImages(show) {
    this.#showsImages = show;
    this[BUILD]();
  }
  setImageWidthCells(width) {
    this.#imageWidth = Math.max(1, Math.floor(width));
    this[BUILD]();
  }
  #changed() {
    this[BUILD]();
    this.#tui?.requestRender();
  }

  #images() {
    return (this.#result?.content ?? []).filter(({ type, data, mimeType }) => type === "image" && data && mimeType);
  }
  #convert({ data, mimeType }) {
    if (mimeType === "image/png" || this.#converted.has(data)) return;
    this.#converted.set(data, undefined);
    convertToPng(data, mimeType).then((converted) => {
      this.#converted.set(data, converted ?? undefined);
      this.#changed();
    });
  }
  #text() {
    const text = (this.#result?.content ?? []).filter(({ type }) => type === "text").map(({ text: blockText }) => blockText ?? "").join("\n");
    const hidden = this.#showsImages && getCapabilities().images ? [] : this.#images().map(({ mimeType }) => `[Image: ${mimeType}]`);
    return stripTerminalSequences([text, ...hidden].filter(Boolean).join("\n")).replace(/\r/g, "");
  }
  #context(lastComponent) {
    return {
      args: this.#args,
      toolCallId: this.#callId,
      invalidate: () => {
        this.invalidate();
        this.#tui?.requestRender();
      },
      lastComponent,
      state: this.#state,
      cwd: this.#cwd,
      executionStarted: this.#hasStarted,
      argsComplete: this.#hasAllArgs,
      isPartial: this.#isPartial,
      expanded: this[IS_EXPANDED],
      showImages: this.#showsImages,
      isError: this.#result?.isError ?? false,
    };
  }
  // Renders a slot with the tool's renderer. Falls back to the default if there is none or it fails.
  #renderSlot(slot, render, fallback) {
    let component;
    try {
      component = render?.(this.#context(this.#rendered[slot]));
    } catch {
      // Use the fallback.
    }
    this.#rendered[slot] = component;
    return component ?? fallback();
  }
  #plainResult() {
    const lines = this.#text().split("\n");
    if (lines.length === 1 && lines[0] === "") return undefined;
    const shown = this[IS_EXPANDED] ? lines : lines.slice(0, TOOL_LINES);
    const text = shown.map((line) => theme.fg("toolOutput", line)).join("\n");
    return new Text(shown.length < lines.length ? `${text}\n${more(lines.length - shown.length)}` : text, 0, 0);
  }
  #plainCall() {
    // For unknown tools, show the arguments.
    const args = this.#tool ? undefined : JSON.stringify(this.#args, null, 2);
    return new Text(args ? `${titleOf(this.#name)}\n\n${args}` : titleOf(this.#name), 0, 0);
  }
  #region(component) {
    return new MouseRegion(component, (event) => {
      if (!this.#result || event.type !== "click" || event.button !== "left") return undefined;
      this.setExpanded(!this[IS_EXPANDED]);
      return { handled: true };
    });
  }
  [BUILD]() {
    this.clear();
    const background = this.#isPartial ? "toolPendingBg" : this.#result?.isError ? "toolErrorBg" : "toolSuccessBg";
    const frame = this.#tool?.renderShell === "self" ? new Container() : new Box(1, 1, (text) => theme.bg(background, text));
    const { renderCall, renderResult } = this.#tool ?? {};
    const callPart = this.#renderSlot("call", renderCall && ((context) => renderCall(this.#args, theme, context)), () => this.#plainCall());
    frame.addChild(this.#region(callPart));
    if (this.#result) {
      const { content, details } = this.#result;
      const options = { expanded: this[IS_EXPANDED], isPartial: this.#isPartial };
      const resultPart = this.#renderSlot("result", renderResult && ((context) => renderResult({ content, details }, options, theme, context)), () => this.#plainResult());
      if (resultPart) frame.addChild(this.#region(resultPart));
    }
    this.addChild(new Spacer(1));
    this.addChild(frame);
    const { images } = getCapabilities();
    if (!images || !this.#showsImages) return;
    for (const image of this.#images()) {
      const { data, mimeType } = this.#converted.get(image.data) ?? image;
      if (images === "kitty" && mimeType !== "image/png") continue;
      this.addChild(new Spacer(1));
      this.addChild(new Image(data, mimeType, { fallbackColor: (text) => theme.fg("toolOutput", text) }, { maxWidthCells: this.#imageWidth }));
    }
  }
}

export class BashExecutionComponent extends foldable(Container) {
  #command;
  #color;
  #lines = [""];
  #loader;
  #content = new Container();
  #outcome;

  constructor(command, tui, excludeFromContext = false) {
    super();
    this.#command = command;
    this.#color = excludeFromContext ? "dim" : "bashMode";
    const line = () => new DynamicBorder((text) => theme.fg(this.#color, text));
    this.#loader = new Loader(tui, (text) => theme.fg(this.#color, text), (text) => theme.fg("muted", text), `Running... (${keyText("tui.select.cancel")} to cancel)`);
    for (const part of [new Spacer(1), line(), this.#content, line()]) this.addChild(part);
    this[BUILD]();
  }
  getCommand() {
    return this.#command;
  }
  getOutput() {
    return this.#lines.join("\n");
  }
  appendOutput(chunk) {
    const [first, ...rest] = stripTerminalSequences(chunk).replace(/\r\n?/g, "\n").split("\n");
    this.#lines[this.#lines.length - 1] += first;
    this.#lines.push(...rest);
    this[BUILD]();
  }
  setComplete(exitCode, cancelled, truncationResult, fullOutputPath) {
    this.#outcome = { exitCode, cancelled, path: truncationResult?.truncated ? fullOutputPath : undefined };
    this.#loader.stop();
    this[BUILD]();
  }
  [BUILD]() {
    this.#content.clear();
    this.#content.addChild(new Text(theme.fg(this.#color, theme.bold(`$ ${this.#command}`)), 1, 0));
    const lines = this.getOutput() === "" ? [] : this.#lines;
    const shown = this[IS_EXPANDED] ? lines : lines.slice(-SHELL_LINES);
    if (shown.length > 0) this.#content.addChild(new Text(`\n${shown.map((line) => theme.fg("muted", line)).join("\n")}`, 1, 0));
    if (!this.#outcome) return this.#content.addChild(this.#loader);
    const { exitCode, cancelled, path } = this.#outcome;
    const notes = [];
    if (shown.length < lines.length) notes.push(more(lines.length - shown.length));
    if (cancelled) notes.push(theme.fg("warning", "(cancelled)"));
    else if (exitCode) notes.push(theme.fg("error", `(exit ${exitCode})`));
    if (path) notes.push(theme.fg("warning", `Full output: ${path}`));
    if (notes.length > 0) this.#content.addChild(new Text(`\n${notes.join("\n")}`, 1, 0));
  }
}
