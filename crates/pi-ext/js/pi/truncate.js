// Truncates long output for models at line boundaries.
export const DEFAULT_MAX_LINES = 2000;
export const DEFAULT_MAX_BYTES = 50 * 1024;
export const GREP_MAX_LINE_LENGTH = 500;

const encoder = () => new TextEncoder();
const bytesOf = (text) => encoder().encode(text).length;

export function formatSize(bytes) {
  if (bytes < 1024) return `${bytes}B`;
  if (bytes < 1024 * 1024) return `${(bytes / 1024).toFixed(1)}KB`;
  return `${(bytes / (1024 * 1024)).toFixed(1)}MB`;
}

function linesOf(content) {
  if (content === "") return [];
  const lines = content.split("\n");
  if (content.endsWith("\n")) lines.pop();
  return lines;
}

function truncationResult(content, kept, lines, limits, more) {
  const outputLines = kept.length;
  const text = more.text ?? kept.join("\n");
  return {
    content: text,
    truncated: more.truncatedBy !== null,
    truncatedBy: more.truncatedBy,
    totalLines: lines.length,
    totalBytes: bytesOf(content),
    outputLines,
    outputBytes: bytesOf(text),
    lastLinePartial: more.lastLinePartial ?? false,
    firstLineExceedsLimit: more.firstLineExceedsLimit ?? false,
    maxLines: limits.maxLines,
    maxBytes: limits.maxBytes,
  };
}

function limitsOf(options = {}) {
  return { maxLines: options.maxLines ?? DEFAULT_MAX_LINES, maxBytes: options.maxBytes ?? DEFAULT_MAX_BYTES };
}

// Keeps the first lines.
export function truncateHead(content, options) {
  const limits = limitsOf(options);
  const lines = linesOf(content);
  if (lines.length <= limits.maxLines && bytesOf(content) <= limits.maxBytes) {
    return truncationResult(content, lines, lines, limits, { truncatedBy: null, text: content });
  }
  if (bytesOf(lines[0]) > limits.maxBytes) {
    return truncationResult(content, [], lines, limits, { truncatedBy: "bytes", firstLineExceedsLimit: true });
  }
  const kept = [];
  let bytes = 0;
  let truncatedBy = "lines";
  for (const line of lines.slice(0, limits.maxLines)) {
    const size = bytesOf(line) + (kept.length > 0 ? 1 : 0);
    if (bytes + size > limits.maxBytes) {
      truncatedBy = "bytes";
      break;
    }
    bytes += size;
    kept.push(line);
  }
  return truncationResult(content, kept, lines, limits, { truncatedBy });
}

// Keeps the last lines, or the end of the last line if it alone is too long.
export function truncateTail(content, options) {
  const limits = limitsOf(options);
  const lines = linesOf(content);
  if (lines.length <= limits.maxLines && bytesOf(content) <= limits.maxBytes) {
    return truncationResult(content, lines, lines, limits, { truncatedBy: null, text: content });
  }
  const kept = [];
  let bytes = 0;
  let truncatedBy = "lines";
  let lastLinePartial = false;
  for (let index = lines.length - 1; index >= 0 && kept.length < limits.maxLines; index--) {
    const size = bytesOf(lines[index]) + (kept.length > 0 ? 1 : 0);
    if (bytes + size > limits.maxBytes) {
      truncatedBy = "bytes";
      if (kept.length === 0) {
        kept.unshift(endOf(lines[index], limits.maxBytes));
        lastLinePartial = true;
      }
      break;
    }
    bytes += size;
    kept.unshift(lines[index]);
  }
  return truncationResult(content, kept, lines, limits, { truncatedBy, lastLinePartial });
}

function endOf(text, maxBytes) {
  const bytes = encoder().encode(text);
  let start = Math.max(0, bytes.length - maxBytes);
  // Do not start inside a character.
  while (start < bytes.length && (bytes[start] & 0xc0) === 0x80) start++;
  return new TextDecoder().decode(bytes.slice(start));
}

// Truncates a single line.
export function truncateLine(line, maxChars = GREP_MAX_LINE_LENGTH) {
  if (line.length <= maxChars) return { text: line, wasTruncated: false };
  return { text: `${line.slice(0, maxChars)}... [truncated]`, wasTruncated: true };
}
