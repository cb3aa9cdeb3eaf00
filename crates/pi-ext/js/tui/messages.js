// Conversation messages as components.
import { getMarkdownTheme, theme } from "pi:pi/theme";
import { Box } from "pi:tui/box";
import { Container } from "pi:tui/container";
import { BUILD, foldable, IS_EXPANDED } from "pi:tui/foldable";
import { keyText } from "pi:tui/key_hints";
import { Markdown } from "pi:tui/markdown";
import { MouseRegion } from "pi:tui/mouse_region";
import { Spacer } from "pi:tui/spacer";
import { Text } from "pi:tui/text";

const color = (name) => (text) => theme.fg(name, text);
const background = (name) => (text) => theme.bg(name, text);
const textOf = (content) => (typeof content === "string" ? content : content.filter(({ type }) => type === "text").map(({ text }) => text).join("\n"));

// Chains the Markdown transformers of extensions. A transformer that throws or returns no text changes nothing.
// `stored` has the ID and timestamp of a message of the session file.
function transformer(messageType, isStreaming, transformers, stored) {
  if (transformers.length === 0) return undefined;
  return (text, availableWidth) => {
    let markdown = text;
    for (const transform of transformers) {
      try {
        const changed = transform(markdown, { messageType, isStreaming, availableWidth, ...stored });
        if (typeof changed === "string") markdown = changed;
      } catch {}
    }
    return markdown;
  };
}

// Adds a click handler to a component.
function clickable(component, onClick) {
  return new MouseRegion(component, (event) => {
    if (event.type !== "click" || event.button !== "left") return undefined;
    onClick();
    return { handled: true };
  });
}

export class UserMessageComponent extends Container {
  #text;
  #markdown;
  #pad;
  #transformers;
  #stored;

  constructor(text, markdownTheme = getMarkdownTheme(), outputPad = 1, markdownTransformers = [], messageId = undefined, timestamp = undefined) {
    super();
    this.#text = text;
    this.#markdown = markdownTheme;
    this.#transformers = markdownTransformers;
    this.#stored = { messageId, timestamp };
    this.setOutputPad(outputPad);
  }
  setOutputPad(padding) {
    this.#pad = padding;
    this.clear();
    const box = new Box(this.#pad, 1, background("userMessageBg"));
    const options = { preserveOrderedListMarkers: true, preserveBackslashEscapes: true, transform: transformer("user", false, this.#transformers, this.#stored) };
    box.addChild(new Markdown(this.#text, 0, 0, this.#markdown, { color: color("userMessageText") }, options));
    this.addChild(box);
  }
}

// Returns the error text of a response that did not complete normally.
function problemOf({ stopReason, errorMessage, content }) {
  if (stopReason === "length") return "The response was truncated at the model's output limit.";
  // Tool calls show their own status.
  if (content.some(({ type }) => type === "toolCall")) return undefined;
  if (stopReason === "aborted") return errorMessage && errorMessage !== "Request was aborted" ? errorMessage : "Aborted";
  return stopReason === "error" ? `Error: ${errorMessage || "unknown"}` : undefined;
}

// Converts content blocks to parts. Consecutive thinking blocks are merged.
function partsOf(content) {
  const parts = [];
  for (const block of content) {
    const text = (block.type === "text" ? block.text : block.type === "thinking" ? block.thinking : "").trim();
    const last = parts.at(-1);
    if (block.type === "thinking" && last?.type === "thinking") last.text = [last.text, text].filter(Boolean).join("\n\n");
    else parts.push({ type: block.type, text });
  }
  return parts.filter(({ text }) => text !== "");
}

export class AssistantMessageComponent extends Container {
  #message;
  #hides;
  #markdown;
  #label;
  #pad;
  #transformers;
  #stored;
  #isStreaming = false;
  // Thinking blocks that were shown or hidden individually.
  #changed = new Map();

  constructor(message, hideThinkingBlock = false, markdownTheme = getMarkdownTheme(), hiddenThinkingLabel = "Thinking...", outputPad = 1, markdownTransformers = [], messageId = undefined, timestamp = undefined) {
    super();
    this.#hides = hideThinkingBlock;
    this.#markdown = markdownTheme;
    this.#label = hiddenThinkingLabel;
    this.#pad = outputPad;
    this.#transformers = markdownTransformers;
    this.#stored = { messageId, timestamp };
    if (message) this.updateContent(message);
  }
  updateContent(message, isStreaming = this.#isStreaming) {
    this.#message = message;
    this.#isStreaming = isStreaming;
    this.#build();
  }
  setHideThinkingBlock(hide) {
    this.#hides = hide;
    this.#changed.clear();
    this.#build();
  }
  setHiddenThinkingLabel(label) {
    this.#label = label;
    this.#build();
  }
  setOutputPad(padding) {
    this.#pad = padding;
    this.#build();
  }
  invalidate() {
    super.invalidate();
    this.#build();
  }
  #build() {
    this.clear();
    if (!this.#message) return;
    const parts = partsOf(this.#message.content);
    if (parts.length > 0) this.addChild(new Spacer(1));
    let thinkingIndex = 0;
    parts.forEach(({ type, text }, index) => {
      if (type === "text") {
        this.addChild(new Markdown(text, this.#pad, 0, this.#markdown, undefined, { transform: transformer("assistant", this.#isStreaming, this.#transformers, this.#stored) }));
        return;
      }
      this.addChild(this.#renderThinking(text, thinkingIndex++));
      if (index < parts.length - 1) this.addChild(new Spacer(1));
    });
    const problem = problemOf(this.#message);
    if (!problem) return;
    this.addChild(new Spacer(1));
    this.addChild(new Text(theme.fg("error", problem), this.#pad, 0));
  }
  #renderThinking(text, index) {
    const isHidden = this.#changed.get(index) ?? this.#hides;
    const options = { transform: transformer("assistant-thinking", this.#isStreaming, this.#transformers, this.#stored) };
    const shown = isHidden
      ? new Text(theme.italic(theme.fg("thinkingText", this.#label)), this.#pad, 0)
      : new Markdown(text, this.#pad, 0, this.#markdown, { color: color("thinkingText"), italic: true }, options);
    return clickable(shown, () => {
      this.#changed.set(index, !isHidden);
      this.#build();
    });
  }
}

const label = (name) => new Text(theme.fg("customMessageLabel", theme.bold(`[${name}]`)), 0, 0);

export class CustomMessageComponent extends foldable(Container) {
  #message;
  #renderer;
  #markdown;
  #pad;

  constructor(message, customRenderer = undefined, markdownTheme = getMarkdownTheme(), outputPad = 1) {
    super();
    this.#message = message;
    this.#renderer = customRenderer;
    this.#markdown = markdownTheme;
    this.#pad = outputPad;
    this[BUILD]();
  }
  setOutputPad(padding) {
    this.#pad = padding;
    this[BUILD]();
  }
  #renderCustom() {
    try {
      return this.#renderer?.(this.#message, { expanded: this[IS_EXPANDED], outputPad: this.#pad }, theme);
    } catch {
      // Fall back to the default rendering.
      return undefined;
    }
  }
  [BUILD]() {
    this.clear();
    this.addChild(new Spacer(1));
    const rendered = this.#renderCustom();
    if (rendered) return this.addChild(rendered);
    const box = new Box(1, 1, background("customMessageBg"));
    box.addChild(label(this.#message.customType));
    box.addChild(new Spacer(1));
    box.addChild(new Markdown(textOf(this.#message.content), 0, 0, this.#markdown, { color: color("customMessageText") }));
    this.addChild(box);
  }
}

// A summary line that expands to the full text.
class CollapsedMessage extends foldable(Box) {
  #name;
  #line;
  #text;
  #markdown;

  constructor(name, line, text, markdownTheme) {
    super(1, 1, background("customMessageBg"));
    this.#name = name;
    this.#line = line;
    this.#text = text;
    this.#markdown = markdownTheme;
    this[BUILD]();
  }
  [BUILD]() {
    this.clear();
    const content = new Container();
    content.addChild(label(this.#name));
    content.addChild(new Spacer(1));
    if (this[IS_EXPANDED]) {
      content.addChild(new Markdown(this.#text, 0, 0, this.#markdown, { color: color("customMessageText") }));
    } else {
      const hint = `${theme.fg("dim", keyText("app.tools.expand"))}${theme.fg("customMessageText", " to expand)")}`;
      content.addChild(new Text(`${theme.fg("customMessageText", `${this.#line} (`)}${hint}`, 0, 0));
    }
    this.addChild(clickable(content, () => this.setExpanded(!this[IS_EXPANDED])));
  }
}

export class CompactionSummaryMessageComponent extends CollapsedMessage {
  constructor(message, markdownTheme = getMarkdownTheme()) {
    const line = `Compacted from ${message.tokensBefore.toLocaleString()} tokens`;
    super("compaction", line, `**${line}**\n\n${message.summary}`, markdownTheme);
  }
}

export class BranchSummaryMessageComponent extends CollapsedMessage {
  constructor(message, markdownTheme = getMarkdownTheme()) {
    super("branch", "Branch summary", `**Branch summary**\n\n${message.summary}`, markdownTheme);
  }
}

export class SkillInvocationMessageComponent extends CollapsedMessage {
  constructor(skillBlock, markdownTheme = getMarkdownTheme()) {
    super("skill", skillBlock.name, `**${skillBlock.name}**\n\n${skillBlock.content}`, markdownTheme);
  }
}
