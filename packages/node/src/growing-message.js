// Rebuilds a message from its deltas, for listeners that read the message so far.

export class GrowingMessage {
  #message = null;
  #json = new Map();

  start(message) {
    this.#message = message.role === "assistant" ? structuredClone(message) : null;
    this.#json.clear();
  }

  get message() {
    return this.#message;
  }

  /** Applies an update and returns the message so far. */
  update(event) {
    this.#message ??= { role: "assistant", content: [], timestamp: Date.now() };
    const { content } = this.#message;
    const at = event.contentIndex;
    switch (event.type) {
      case "text_start":
        content[at] = { type: "text", text: "" };
        break;
      case "text_delta":
        (content[at] ??= { type: "text", text: "" }).text += event.delta;
        break;
      case "text_end":
        content[at] = { ...content[at], type: "text", text: event.content };
        break;
      case "thinking_start":
        content[at] = { type: "thinking", thinking: "" };
        break;
      case "thinking_delta":
        (content[at] ??= { type: "thinking", thinking: "" }).thinking += event.delta;
        break;
      case "thinking_end":
        content[at] = { ...content[at], type: "thinking", thinking: event.content };
        break;
      case "toolcall_start":
        content[at] = { type: "toolCall", id: event.id, name: event.toolName, arguments: {} };
        this.#json.set(at, "");
        break;
      case "toolcall_delta":
        this.#json.set(at, (this.#json.get(at) ?? "") + event.delta);
        break;
      case "toolcall_end":
        if (event.toolCall) content[at] = event.toolCall;
        else this.#finishCall(at);
        break;
    }
    return this.#message;
  }

  #finishCall(at) {
    try {
      this.#message.content[at].arguments = JSON.parse(this.#json.get(at) || "{}");
    } catch {
      // The complete message follows with message_end.
    }
  }
}
