// Dialogs that choose: model, thinking level, and any list with a search field.

import { asText, element, formatCount } from "../shared/element.js";
import { sendCommand } from "./api.js";

/**
 * @typedef {object} Choice
 * @property {any} value
 * @property {string} title
 * @property {string} [detail]
 * @property {boolean} [isCurrent]
 */

/** Maximum number of rows; more are found by typing. */
const MAX_ROWS = 200;

/**
 * Lets the user choose from a list. Resolves to the value, or to undefined if the dialog was closed.
 * @param {string} title
 * @param {Choice[]} choices
 * @param {{ hasSearch?: boolean }} [options]
 * @returns {Promise<any>}
 */
export function pick(title, choices, { hasSearch = choices.length > 8 } = {}) {
  const dialog = /** @type {HTMLDialogElement} */ (document.getElementById("picker"));
  const list = element("div", { class: "choices", role: "listbox", id: "choices", "aria-label": title });
  const search = element("input", { type: "search", placeholder: "Filter", "aria-label": "Filter", "aria-controls": "choices", autocomplete: "off", spellcheck: "false", class: hasSearch ? undefined : "visually-hidden" });
  return new Promise((resolve) => {
    let marked = Math.max(0, choices.findIndex((choice) => choice.isCurrent));
    /** @type {Choice[]} */
    let shown = choices;
    let result;
    const choose = (choice) => {
      result = choice?.value;
      dialog.close();
    };
    const render = () => {
      list.replaceChildren(...shown.slice(0, MAX_ROWS).map((choice, at) => element("button", {
        type: "button", role: "option", tabindex: "-1", class: `choice${at === marked ? " marked-choice" : ""}`, "aria-selected": String(at === marked), click: () => choose(choice),
      }, element("span", { class: "choice-mark", "aria-hidden": "true" }, choice.isCurrent ? "✓" : ""), element("span", { class: "choice-title" }, choice.title), choice.detail && element("span", { class: "choice-detail" }, choice.detail))));
      if (shown.length === 0) list.append(element("p", { class: "note" }, "Nothing found"));
      list.children[marked]?.scrollIntoView({ block: "nearest" });
    };
    const filter = () => {
      const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
      shown = choices.filter((choice) => words.every((word) => `${choice.title} ${choice.detail ?? ""}`.toLowerCase().includes(word)));
      marked = 0;
      render();
    };
    search.addEventListener("input", filter);
    dialog.replaceChildren(element("h2", null, title), search, list);
    const onKey = (event) => {
      const step = { ArrowDown: 1, ArrowUp: -1, PageDown: 8, PageUp: -8 }[event.key];
      if (step !== undefined) {
        event.preventDefault();
        marked = Math.max(0, Math.min(Math.min(shown.length, MAX_ROWS) - 1, marked + step));
        render();
      } else if (event.key === "Enter") {
        event.preventDefault();
        choose(shown[marked]);
      }
    };
    const onClose = () => {
      dialog.removeEventListener("keydown", onKey);
      resolve(result);
    };
    dialog.addEventListener("keydown", onKey);
    dialog.addEventListener("close", onClose, { once: true });
    render();
    dialog.showModal();
    search.focus();
    list.children[marked]?.scrollIntoView({ block: "nearest" });
  });
}

/** Asks for a line of text. Resolves to undefined if the dialog was closed. */
export function ask(title, { value = "", placeholder = "", action = "OK", options = /** @type {string[]} */ ([]) } = {}) {
  const dialog = /** @type {HTMLDialogElement} */ (document.getElementById("picker"));
  return new Promise((resolve) => {
    let result;
    const input = element("input", { type: "text", value, placeholder, "aria-label": title, autocomplete: "off", list: options.length > 0 ? "ask-options" : undefined });
    const form = element("form", { method: "dialog", submit: () => { result = input.value; } }, element("h2", null, title), input,
      options.length > 0 && element("datalist", { id: "ask-options" }, options.map((option) => element("option", { value: option }))),
      element("div", { class: "dialog-actions" }, element("button", { type: "button", click: () => dialog.close() }, "Cancel"), element("button", { type: "submit", class: "primary" }, action)));
    dialog.replaceChildren(form);
    dialog.addEventListener("close", () => resolve(result), { once: true });
    dialog.showModal();
    input.select();
  });
}

function modelDetail(model) {
  const facts = [asText(model.provider)];
  if (model.contextWindow) facts.push(`${formatCount(model.contextWindow)} context`);
  if (model.cost?.input || model.cost?.output) facts.push(`$${model.cost.input} in, $${model.cost.output} out`);
  if (model.reasoning) facts.push("thinking");
  return facts.join(" · ");
}

/** Lets the user choose a model. Returns the new one, or undefined. */
export async function pickModel(sessionId, current) {
  const { models } = await sendCommand(sessionId, { type: "get_available_models" });
  const choices = models.map((model) => ({
    value: model, title: asText(model.name || model.id), detail: modelDetail(model), isCurrent: model.id === current?.id && model.provider === current?.provider,
  }));
  const model = await pick("Model", choices, { hasSearch: true });
  if (model === undefined) return undefined;
  return (await sendCommand(sessionId, { type: "set_model", provider: model.provider, modelId: model.id })) ?? model;
}

/** Lets the user choose a thinking level. Returns the new one, or undefined. */
export async function pickThinking(sessionId, current) {
  const { levels } = await sendCommand(sessionId, { type: "get_available_thinking_levels" });
  const level = await pick("Thinking level", levels.map((name) => ({ value: name, title: asText(name), isCurrent: name === current })));
  if (level !== undefined) await sendCommand(sessionId, { type: "set_thinking_level", level });
  return level;
}
