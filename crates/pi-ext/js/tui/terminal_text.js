// Small functions for terminal programs: program status, paging in lists, cursors and control characters.
import process from "node:process";

const STATUS_APP = /^[\w.+-]{1,32}$/;
const STATUS_MESSAGE_BYTES = 2048;

export function replaceControlCharacters(text) {
  return text.replace(/[\u0000-\u001f\u007f-\u009f]+/g, " ");
}

// Cuts text to a number of UTF-8 bytes, between characters.
function cutToBytes(text, limit) {
  let bytes = 0;
  let cut = "";
  for (const character of text) {
    bytes += new TextEncoder().encode(character).length;
    if (bytes > limit) break;
    cut += character;
  }
  return cut;
}

// Returns the sequence that reports the status of a program to the terminal (OSC 7501).
export function formatProgramStatus({ state, app, kind, message }) {
  const fields = [`state=${state}`];
  if (app !== undefined && STATUS_APP.test(app)) fields.push(`app=${app}`);
  if (state === "blocked" && kind) fields.push(`kind=${kind}`);
  const shown = cutToBytes(replaceControlCharacters(message ?? "").trim(), STATUS_MESSAGE_BYTES);
  if (shown) fields.push(`msg=${Buffer.from(shown, "utf8").toString("base64")}`);
  return `\u001b]7501;${fields.join(":")}\u001b\\`;
}

// Returns the selected index after a page key, or nothing for other keys.
export function getSelectPageIndex(keybindings, data, selectedIndex, itemCount, pageSize) {
  const isUp = keybindings.matches(data, "tui.select.pageUp");
  if (!isUp && !keybindings.matches(data, "tui.select.pageDown")) return undefined;
  return Math.max(0, Math.min(itemCount - 1, selectedIndex + (isUp ? -pageSize : pageSize)));
}

export function isAppleTerminalSession() {
  return process.platform === "darwin" && process.env.TERM_PROGRAM === "Apple_Terminal";
}

// Draws a cursor over text.
export function renderFakeCursor(text) {
  return `\u001b[7m${text}\u001b[27m`;
}

// Images are converted by the program; a transcoder is accepted and not needed.
export function setImageTranscoder() {}
