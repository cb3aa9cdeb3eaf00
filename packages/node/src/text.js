// Small functions that programs import next to the session.

export const DEFAULT_MAX_LINES = 2000;
export const DEFAULT_MAX_BYTES = 50 * 1024;
export const DEFAULT_COMPACTION_SETTINGS = { enabled: true, reserveTokens: 16384, keepRecentTokens: 20000 };

/** Formats a size in bytes: 512B, 1.5KB, 2.0MB. */
export function formatSize(bytes) {
  if (bytes < 1024) return `${bytes}B`;
  if (bytes < 1024 * 1024) return `${(bytes / 1024).toFixed(1)}KB`;
  return `${(bytes / (1024 * 1024)).toFixed(1)}MB`;
}

const size = (text) => Buffer.byteLength(text, "utf8");

function describe(content, lines, options, kept, truncatedBy, extra = {}) {
  const maxLines = options.maxLines ?? DEFAULT_MAX_LINES;
  const maxBytes = options.maxBytes ?? DEFAULT_MAX_BYTES;
  const text = kept.join("\n");
  return {
    content: text,
    truncated: truncatedBy !== null,
    truncatedBy,
    totalLines: lines.length,
    totalBytes: size(content),
    outputLines: kept.length,
    outputBytes: size(text),
    lastLinePartial: false,
    firstLineExceedsLimit: false,
    maxLines,
    maxBytes,
    ...extra,
  };
}

/** Keeps the first lines that fit. */
export function truncateHead(content, options = {}) {
  const { maxLines = DEFAULT_MAX_LINES, maxBytes = DEFAULT_MAX_BYTES } = options;
  const lines = content.split("\n");
  if (lines.length <= maxLines && size(content) <= maxBytes) return describe(content, lines, options, lines, null);
  const kept = [];
  let bytes = 0;
  for (const line of lines) {
    if (kept.length >= maxLines) return describe(content, lines, options, kept, "lines");
    bytes += size(line) + (kept.length > 0 ? 1 : 0);
    if (bytes > maxBytes) return describe(content, lines, options, kept, "bytes", { firstLineExceedsLimit: kept.length === 0 });
    kept.push(line);
  }
  return describe(content, lines, options, kept, "bytes");
}

/** Keeps the last lines that fit. */
export function truncateTail(content, options = {}) {
  const { maxLines = DEFAULT_MAX_LINES, maxBytes = DEFAULT_MAX_BYTES } = options;
  const lines = content.split("\n");
  if (lines.length <= maxLines && size(content) <= maxBytes) return describe(content, lines, options, lines, null);
  const kept = [];
  let bytes = 0;
  for (const line of lines.toReversed()) {
    if (kept.length >= maxLines) return describe(content, lines, options, kept.reverse(), "lines");
    bytes += size(line) + (kept.length > 0 ? 1 : 0);
    if (bytes > maxBytes) {
      if (kept.length > 0) return describe(content, lines, options, kept.reverse(), "bytes");
      const tail = Buffer.from(line, "utf8").subarray(-maxBytes).toString("utf8").replace(/^\uFFFD+/, "");
      return describe(content, lines, options, [tail], "bytes", { lastLinePartial: true });
    }
    kept.push(line);
  }
  return describe(content, lines, options, kept.reverse(), "bytes");
}

/** Shortens one line. */
export function truncateLine(line, maxChars = 500) {
  if (line.length <= maxChars) return { text: line, wasTruncated: false };
  return { text: `${line.slice(0, maxChars)}... [truncated]`, wasTruncated: true };
}

/** Reads the scalar fields and lists of a YAML front matter. */
export function parseFrontmatter(content) {
  const text = content.replace(/\r\n?/g, "\n");
  const match = /^---\n([\s\S]*?)\n---(?:\n|$)/.exec(text);
  if (!match) return { frontmatter: {}, body: text };
  const frontmatter = {};
  let list;
  for (const line of match[1].split("\n")) {
    const item = /^\s+-\s+(.*)$/.exec(line);
    if (item && list) {
      list.push(scalar(item[1]));
      continue;
    }
    const field = /^([A-Za-z0-9_-]+):\s*(.*)$/.exec(line);
    if (!field) continue;
    list = field[2] === "" ? [] : undefined;
    frontmatter[field[1]] = list ?? scalar(field[2]);
  }
  return { frontmatter, body: text.slice(match[0].length).trim() };
}

function scalar(text) {
  const value = text.trim();
  if (/^".*"$/.test(value) || /^'.*'$/.test(value)) return value.slice(1, -1);
  if (value === "true" || value === "false") return value === "true";
  return /^-?\d+(\.\d+)?$/.test(value) ? Number(value) : value;
}

export function stripFrontmatter(content) {
  return parseFrontmatter(content).body;
}

/** Returns the parts of a message that a skill command has expanded to. */
export function parseSkillBlock(text) {
  const match = /^<skill name="([^"]+)" location="([^"]+)">\n([\s\S]*?)\n<\/skill>(?:\n\n([\s\S]+))?$/.exec(text);
  if (!match) return null;
  return { name: match[1], location: match[2], content: match[3], userMessage: match[4]?.trim() || undefined };
}

/** Returns the tokens that a usage report counts as context. */
export function calculateContextTokens(usage) {
  return usage.totalTokens || usage.input + usage.output + usage.cacheRead + usage.cacheWrite;
}

/** Estimates the tokens of a message: four characters each, 1200 for an image. */
export function estimateTokens(message) {
  const blocks = typeof message.content === "string" ? [{ type: "text", text: message.content }] : (message.content ?? []);
  let characters = (message.summary ?? "").length + (message.command ?? "").length + (message.output ?? "").length;
  for (const block of blocks) {
    if (block.type === "image") characters += 4800;
    characters += (block.text ?? block.thinking ?? "").length + (block.name ?? "").length;
    if (block.arguments) characters += JSON.stringify(block.arguments).length;
  }
  return Math.ceil(characters / 4);
}

export function shouldCompact(contextTokens, contextWindow, settings) {
  return settings.enabled && contextTokens > contextWindow - settings.reserveTokens;
}

/** Returns the usage of the last response that has one. */
export function getLastAssistantUsage(entries) {
  const isUsable = (message) => message?.role === "assistant" && !["error", "aborted"].includes(message.stopReason) && message.usage;
  return entries.findLast((entry) => isUsable(entry.message))?.message.usage;
}

/** An event bus between parts of a program. */
export function createEventBus() {
  const listeners = new Map();
  return {
    emit(channel, data) {
      for (const listener of [...(listeners.get(channel) ?? [])]) {
        try {
          const result = listener(data);
          result?.catch?.((error) => console.error(`Event handler error (${channel}):`, error));
        } catch (error) {
          console.error(`Event handler error (${channel}):`, error);
        }
      }
    },
    on(channel, listener) {
      if (!listeners.has(channel)) listeners.set(channel, new Set());
      listeners.get(channel).add(listener);
      return () => listeners.get(channel)?.delete(listener);
    },
    clear() {
      listeners.clear();
    },
  };
}

export const isToolCallEventType = (name, event) => event.toolName === name;
const isResultOf = (name) => (event) => event.toolName === name;
export const isBashToolResult = isResultOf("bash");
export const isPowerShellToolResult = isResultOf("powershell");
export const isReadToolResult = isResultOf("read");
export const isEditToolResult = isResultOf("edit");
export const isWriteToolResult = isResultOf("write");
export const isGrepToolResult = isResultOf("grep");
export const isFindToolResult = isResultOf("find");
export const isLsToolResult = isResultOf("ls");

export function createSyntheticSourceInfo(path, options = {}) {
  return { path, source: options.source ?? "local", scope: options.scope ?? "temporary", origin: options.origin ?? "top-level", ...options };
}
