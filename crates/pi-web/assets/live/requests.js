// Questions of a session: dialogs of extensions and approvals of tool calls. They are shown above the composer, so
// that the transcript stays readable; the first answer of any client wins.

import { asText, element } from "../shared/element.js";
import { renderCall } from "../shared/entry.js";
import { markdown } from "../shared/markdown.js";
import { plainText } from "../shared/terminal_text.js";
import { answerRequest } from "./api.js";
import { failure } from "./notify.js";

export class RequestPanel {
  /** @param {HTMLElement} root */
  constructor(root) {
    this.root = root;
    /** @type {Map<string, HTMLElement>} */
    this.cards = new Map();
  }

  /** Shows the open requests of a session. Cards that are shown already keep what was typed. */
  show(session) {
    for (const [id, card] of this.cards) {
      if (session?.requests.has(id) && this.sessionId === session.id) continue;
      card.remove();
      this.cards.delete(id);
    }
    this.sessionId = session?.id;
    for (const [id, request] of session?.requests ?? []) {
      if (this.cards.has(id)) continue;
      const card = this.build(session.id, request);
      this.cards.set(id, card);
      this.root.append(card);
      if (!document.activeElement || document.activeElement === document.body || this.root.contains(document.activeElement)) card.querySelector("input, textarea, button")?.focus();
    }
    this.root.hidden = this.cards.size === 0;
  }

  build(sessionId, request) {
    const answer = async (value) => {
      for (const control of card.querySelectorAll("button, input, textarea")) control.disabled = true;
      try {
        await answerRequest(sessionId, request.id, value);
      } catch (error) {
        if (error.status !== 404 && error.status !== 409) {
          failure(error);
          for (const control of card.querySelectorAll("button, input, textarea")) control.disabled = false;
          return;
        }
      }
      card.remove();
      this.cards.delete(request.id);
      this.root.hidden = this.cards.size === 0;
    };
    const title = request.method === "approval" ? `Allow ${asText(request.toolName)}?` : plainText(asText(request.title));
    const build = Object.hasOwn(FORMS, request.method) ? FORMS[request.method] : FORMS.unknown;
    const card = element("form", { class: `request ${request.method}`, role: "group", "aria-label": title, submit: (event) => event.preventDefault() },
      element("h3", null, title), build(request, answer));
    card.addEventListener("keydown", (event) => {
      if (event.key !== "Escape") return;
      event.stopPropagation();
      answer(request.method === "approval" ? { type: "deny" } : { type: "cancelled" });
    });
    return card;
  }
}

const button = (text, click, style) => element("button", { type: "button", class: style, click }, text);

const actions = (...buttons) => element("div", { class: "request-actions" }, buttons);

/** @type {Record<string, (request: any, answer: (value: any) => void) => any>} */
const FORMS = {
  confirm: (request, answer) => [
    request.message && markdown(asText(request.message)),
    actions(button("No", () => answer({ type: "confirmed", confirmed: false })), button("Yes", () => answer({ type: "confirmed", confirmed: true }), "primary")),
  ],
  select: (request, answer) => [
    element("div", { class: "options" }, (Array.isArray(request.options) ? request.options : []).map((option) => button(asText(option), () => answer({ type: "value", value: option }), "option"))),
    actions(button("Cancel", () => answer({ type: "cancelled" }))),
  ],
  input: (request, answer) => {
    const input = element("input", { type: "text", placeholder: request.placeholder, "aria-label": asText(request.title), autocomplete: "off" });
    input.addEventListener("keydown", (event) => { if (event.key === "Enter") answer({ type: "value", value: input.value }); });
    return [input, actions(button("Cancel", () => answer({ type: "cancelled" })), button("OK", () => answer({ type: "value", value: input.value }), "primary"))];
  },
  editor: (request, answer) => {
    const text = element("textarea", { rows: 8, "aria-label": asText(request.title) });
    text.value = asText(request.prefill);
    return [text, actions(button("Cancel", () => answer({ type: "cancelled" })), button("Save", () => answer({ type: "value", value: text.value }), "primary"))];
  },
  approval: (request, answer) => {
    const reason = element("input", { type: "text", placeholder: "Reason for the model, if you deny it", "aria-label": "Reason", autocomplete: "off" });
    return [
      request.reason && element("p", { class: "note" }, plainText(asText(request.reason))),
      renderCall({ id: request.call, name: request.toolName, arguments: request.args }, undefined, undefined, { isRunning: true }),
      reason,
      actions(button("Deny", () => answer({ type: "deny", reason: reason.value || undefined })), button("Allow in this session", () => answer({ type: "allow_for_session" })), button("Allow", () => answer({ type: "allow" }), "primary")),
    ];
  },
  unknown: (request, answer) => [element("p", { class: "note" }, `This page has no dialog of type ${asText(request.method)}. Answer it in the terminal.`), actions(button("Cancel", () => answer({ type: "cancelled" })))],
};
