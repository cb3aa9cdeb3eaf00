// The composer: text with completion, images, and what to do with it: prompt, steer, follow up, run, stop.

import { asText, element } from "../shared/element.js";
import { request, sendCommand } from "./api.js";
import { Completion } from "./completion.js";
import { icon } from "./icons.js";
import { failure, notice } from "./notify.js";

/** Image types that models accept. */
const IMAGE_TYPES = new Set(["image/png", "image/jpeg", "image/gif", "image/webp"]);

/** Largest image that is attached, in bytes; the server accepts bodies up to 32 MB. */
const MAX_IMAGE_BYTES = 15 << 20;

/** Commands of the page, in addition to those of the session. */
const PAGE_COMMANDS = [
  ["compact", "Summarize the conversation to free context"],
  ["new", "Start a new session in this directory"],
  ["name", "Name this session"],
  ["model", "Choose a model"],
  ["thinking", "Choose a thinking level"],
  ["tree", "Show all branches"],
  ["clone", "Continue in a copy of this session"],
];

const draftKey = (session) => `pi-draft-${session}`;

export class Composer {
  /**
   * @param {HTMLFormElement} form
   * @param {{ session: () => import("./session_state.js").LiveSession | undefined, command: (name: string, argument: string) => void, sent: () => void }} page
   */
  constructor(form, page) {
    this.form = form;
    this.page = page;
    const find = (id) => /** @type {any} */ (form.querySelector(`#${id}`));
    /** @type {HTMLTextAreaElement} */
    this.field = find("prompt");
    this.attachments = find("attachments");
    this.queue = find("queue");
    this.send = find("send");
    this.followUp = find("follow-up");
    this.stop = find("stop");
    /** @type {{ data: string, mimeType: string }[]} */
    this.images = [];
    this.completion = new Completion(this.field, find("suggestions"), { commands: () => this.commands(), files: (query) => this.files(query) });
    this.field.addEventListener("input", () => this.onInput());
    this.field.addEventListener("keydown", (event) => this.onKey(event));
    this.field.addEventListener("paste", (event) => this.onPaste(event));
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.submit("steer");
    });
    this.followUp.addEventListener("click", () => this.submit("followUp"));
    this.stop.addEventListener("click", () => this.abort());
    const file = find("image-file");
    find("attach").addEventListener("click", () => file.click());
    file.addEventListener("change", () => {
      this.attach(file.files);
      file.value = "";
    });
    const area = /** @type {HTMLElement} */ (document.getElementById("main"));
    area.addEventListener("dragover", (event) => {
      event.preventDefault();
      area.classList.add("dropping");
    });
    area.addEventListener("dragleave", (event) => { if (event.target === area || event.relatedTarget === null) area.classList.remove("dropping"); });
    area.addEventListener("drop", (event) => {
      event.preventDefault();
      area.classList.remove("dropping");
      this.attach(event.dataTransfer?.files ?? []);
    });
  }

  /** Shows the draft of a session. */
  open(sessionId) {
    this.sessionId = sessionId;
    this.known = undefined;
    this.field.value = localStorage.getItem(draftKey(sessionId)) ?? "";
    this.images = [];
    this.renderImages();
    this.onInput();
    this.completion.hide();
    if (!matchMedia("(pointer: coarse)").matches) this.field.focus();
  }

  /** Shows what a session does: buttons and queue. */
  update() {
    const session = this.page.session();
    const isBusy = session !== undefined && (session.isRunning || session.isCompacting || session.shell !== undefined);
    this.stop.hidden = !isBusy;
    this.followUp.hidden = session?.isRunning !== true || this.isEmpty();
    const label = session?.isRunning ? "Steer: deliver after the current tool calls" : "Send";
    this.send.title = label;
    this.send.setAttribute("aria-label", label);
    this.send.disabled = session === undefined || this.isEmpty();
    this.field.placeholder = session?.isRunning ? "Steer, or queue a follow-up" : matchMedia("(max-width: 720px)").matches ? "Ask for a change" : "Ask for a change, / for commands, @ for files";
    const { steering = [], followUp = [] } = session?.queue ?? {};
    const rows = [...steering.map((text) => ["steer", text]), ...followUp.map((text) => ["follow-up", text])];
    this.queue.hidden = rows.length === 0;
    this.queue.replaceChildren(...rows.map(([kind, text]) => element("div", { class: "queued" }, element("span", { class: "queued-kind" }, kind), element("span", { class: "queued-text" }, asText(text)))));
    if (rows.length > 0) this.queue.append(element("button", { type: "button", class: "quiet", click: () => this.unqueue() }, "Edit queued messages"));
  }

  isEmpty() {
    return this.field.value.trim() === "" && this.images.length === 0;
  }

  setText(text) {
    this.field.value = text;
    this.onInput();
    this.field.focus();
    this.field.setSelectionRange(text.length, text.length);
  }

  onInput() {
    if (this.sessionId !== undefined) {
      if (this.field.value === "") localStorage.removeItem(draftKey(this.sessionId));
      else localStorage.setItem(draftKey(this.sessionId), this.field.value);
    }
    this.field.style.height = "auto";
    this.field.style.height = `${this.field.scrollHeight}px`;
    this.form.classList.toggle("shell", /^!/.test(this.field.value));
    this.update();
    this.completion.update();
  }

  onKey(event) {
    if (event.isComposing) return;
    if (this.completion.key(event)) {
      event.preventDefault();
      return;
    }
    if (event.key === "Enter" && !event.shiftKey) {
      // On a phone, Enter starts a new line; the button sends.
      if (matchMedia("(pointer: coarse)").matches && !event.ctrlKey && !event.metaKey) return;
      event.preventDefault();
      this.submit(event.altKey ? "followUp" : "steer");
    } else if (event.key === "Escape") this.abort();
    else if (event.key === "ArrowUp" && this.field.value === "") this.recall(event);
  }

  /** Puts the last prompt into the empty composer. */
  recall(event) {
    const session = this.page.session();
    const last = session?.nodes.findLast((node) => node.kind === "user");
    if (session === undefined || last === undefined) return;
    event.preventDefault();
    const { content } = session.entry(/** @type {number} */ (session.byId.get(last.id))).message ?? {};
    this.setText(typeof content === "string" ? content : (content ?? []).filter((block) => block?.type === "text").map((block) => asText(block.text)).join("\n"));
  }

  onPaste(event) {
    const files = [...(event.clipboardData?.files ?? [])];
    if (files.length === 0) return;
    event.preventDefault();
    this.attach(files);
  }

  async attach(files) {
    for (const file of files) {
      if (!IMAGE_TYPES.has(file.type)) notice(`${file.name || "This file"} is not an image that models accept: use PNG, JPEG, GIF or WebP.`, "warning");
      else if (file.size > MAX_IMAGE_BYTES) notice(`${file.name || "The image"} is larger than ${MAX_IMAGE_BYTES >> 20} MB.`, "warning");
      else this.images.push({ data: await base64(file), mimeType: file.type });
    }
    this.renderImages();
    this.update();
  }

  renderImages() {
    this.attachments.hidden = this.images.length === 0;
    this.attachments.replaceChildren(...this.images.map((image, at) => element("span", { class: "attachment" },
      element("img", { src: `data:${image.mimeType};base64,${image.data}`, alt: `Image ${at + 1}` }),
      element("button", { type: "button", title: "Remove image", "aria-label": `Remove image ${at + 1}`, click: () => { this.images.splice(at, 1); this.renderImages(); this.update(); } }, icon("close")))));
  }

  /** Sends what was written. While a run is active it is steered, or the message waits for its end. */
  async submit(delivery) {
    const session = this.page.session();
    if (session === undefined || this.isEmpty()) return;
    const text = this.field.value.trim();
    const images = this.images.map((image) => ({ type: "image", ...image }));
    const local = /^\/(\w+)(?:\s+([^]*))?$/.exec(text);
    if (local && PAGE_COMMANDS.some(([name]) => name === local[1])) {
      this.clear();
      this.page.command(local[1], local[2] ?? "");
      return;
    }
    const shell = /^(!{1,2})([^!][^]*)$/.exec(text);
    this.clear();
    this.page.sent();
    try {
      if (shell) {
        session.apply({ type: "bash_execution_start", command: shell[2].trim() });
        await sendCommand(session.id, { type: "bash", command: shell[2].trim(), excludeFromContext: shell[1] === "!!" });
      } else await sendCommand(session.id, { type: "prompt", message: text, images: images.length > 0 ? images : undefined, streamingBehavior: delivery });
    } catch (error) {
      failure(error);
      // Nothing that was written is lost.
      if (this.isEmpty() && this.sessionId === session.id) {
        this.images = images.map(({ data, mimeType }) => ({ data, mimeType }));
        this.setText(text);
        this.renderImages();
      }
    } finally {
      if (shell) session.apply({ type: "bash_execution_end" });
      this.update();
      if (shell) this.page.sent();
    }
  }

  clear() {
    this.field.value = "";
    this.images = [];
    this.renderImages();
    this.onInput();
  }

  async abort() {
    const session = this.page.session();
    if (session === undefined || this.stop.hidden) return;
    this.stop.disabled = true;
    try {
      // As in the terminal: what waits is edited instead of sent with the next prompt.
      const { steering = [], followUp = [] } = session.queue ?? {};
      if (session.isRunning && steering.length + followUp.length > 0) await this.unqueue();
      await sendCommand(session.id, { type: session.shell && !session.isRunning ? "abort_bash" : "abort" });
    } catch (error) {
      failure(error);
    } finally {
      this.stop.disabled = false;
    }
  }

  /** Takes the queued messages back into the composer. */
  async unqueue() {
    const session = this.page.session();
    if (session === undefined) return;
    try {
      const { steering, followUp } = await sendCommand(session.id, { type: "clear_queue" });
      this.setText([...steering, ...followUp, this.field.value].filter(Boolean).join("\n\n"));
    } catch (error) {
      failure(error);
    }
  }

  async commands() {
    const session = this.page.session();
    if (session === undefined) return [];
    this.known ??= sendCommand(session.id, { type: "get_commands" }).then(({ commands }) => commands, () => []);
    const page = PAGE_COMMANDS.map(([name, detail]) => ({ text: `/${name}`, title: `/${name}`, detail }));
    const own = (await this.known).map((command) => ({ text: `/${asText(command.name)}`, title: `/${asText(command.name)}`, detail: asText(command.description) }));
    return [...own, ...page];
  }

  async files(query) {
    const session = this.page.session();
    if (session === undefined) return [];
    const answer = await request("GET", `/v1/files?${new URLSearchParams({ cwd: asText(session.facts.cwd), q: query })}`);
    return (answer.files ?? []).map((file) => {
      const path = asText(file.path ?? file);
      return { text: /\s/.test(path) ? `@"${path}"` : `@${path}`, title: path.split("/").filter(Boolean).at(-1) ?? path, detail: path };
    });
  }
}

/** Reads a file as base64. */
function base64(file) {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.addEventListener("load", () => resolve(asText(reader.result).replace(/^[^,]*,/, "")));
    reader.addEventListener("error", () => reject(reader.error));
    reader.readAsDataURL(file);
  });
}
