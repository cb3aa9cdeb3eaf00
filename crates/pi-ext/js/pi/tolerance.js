// Accepts what extensions pass although the types do not allow it. Values are converted, never dropped.
const isPresent = (value) => value !== undefined && value !== null;

// Returns a value as text; undefined and null stay undefined.
export function textOf(value) {
  return isPresent(value) ? String(value) : undefined;
}

// Returns what stands for an option of a dialog.
function labelOf(option) {
  if (typeof option !== "object" || option === null) return String(option);
  return textOf(option.label ?? option.name ?? option.value) ?? JSON.stringify(option);
}

// Asks with the labels of options and returns the chosen option itself.
export async function choose(options, ask) {
  const list = Array.isArray(options) ? options : [...(options ?? [])];
  const labels = list.map(labelOf);
  const chosen = await ask(labels);
  const index = labels.indexOf(chosen);
  return index < 0 ? chosen : list[index];
}

// Text blocks have texts; other blocks stay as they are.
function blockOf(block) {
  return block?.type === "text" && typeof block.text !== "string" ? { ...block, text: textOf(block.text) ?? "" } : block;
}

export function contentOf(content) {
  if (Array.isArray(content)) return content.map(blockOf);
  return textOf(content) ?? content;
}

export function customMessageOf(message) {
  const { customType, content, display } = message ?? {};
  return { ...message, customType: textOf(customType) ?? "", content: contentOf(content), display: isPresent(display) ? Boolean(display) : display };
}

// The parameters of a tool are an object schema, also without its type.
export function parametersOf(parameters) {
  const isSchema = typeof parameters === "object" && parameters !== null;
  return isSchema && parameters.type === undefined ? { type: "object", ...parameters } : parameters;
}

export function linesOf(lines) {
  if (!isPresent(lines)) return undefined;
  return Array.isArray(lines) ? lines.map(String) : [String(lines)];
}
