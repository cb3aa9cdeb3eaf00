// Agent on top of the agent loop: keeps the conversation, queues messages during a run and notifies listeners.
import { agentLoop, agentLoopContinue } from "pi:pi/agent_loop";
import { streamModel } from "pi:pi/model_streams";

const asMessages = (input, images = []) => {
  if (typeof input !== "string") return Array.isArray(input) ? input : [input];
  return [{ role: "user", content: [{ type: "text", text: input }, ...images], timestamp: Date.now() }];
};

export class Agent {
  #state;
  #options;
  #listeners = new Set();
  #steering = [];
  #followUp = [];
  #controller;
  #running;

  constructor(options = {}) {
    this.#options = options;
    this.#state = {
      systemPrompt: "", thinkingLevel: "off", tools: [], messages: [], isStreaming: false, streamingMessage: undefined,
      pendingToolCalls: new Set(), errorMessage: undefined, ...options.initialState,
    };
    this.steeringMode = options.steeringMode ?? "one-at-a-time";
    this.followUpMode = options.followUpMode ?? "one-at-a-time";
    this.sessionId = options.sessionId;
  }
  get state() {
    return this.#state;
  }
  get signal() {
    return this.#controller?.signal;
  }
  subscribe(listener) {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }
  steer(message) {
    this.#steering.push(message);
  }
  followUp(message) {
    this.#followUp.push(message);
  }
  clearSteeringQueue() {
    this.#steering = [];
  }
  clearFollowUpQueue() {
    this.#followUp = [];
  }
  clearAllQueues() {
    this.clearSteeringQueue();
    this.clearFollowUpQueue();
  }
  hasQueuedMessages() {
    return this.#steering.length > 0 || this.#followUp.length > 0;
  }
  setSystemPrompt(text) {
    this.#state.systemPrompt = text;
  }
  setModel(model) {
    this.#state.model = model;
  }
  setThinkingLevel(level) {
    this.#state.thinkingLevel = level;
  }
  setTools(tools) {
    this.#state.tools = tools;
  }
  replaceMessages(messages) {
    this.#state.messages = [...messages];
  }
  appendMessage(message) {
    this.#state.messages = [...this.#state.messages, message];
  }
  clearMessages() {
    this.#state.messages = [];
  }
  abort() {
    this.#controller?.abort();
  }
  async waitForIdle() {
    await this.#running;
  }
  reset() {
    this.clearAllQueues();
    Object.assign(this.#state, { messages: [], isStreaming: false, streamingMessage: undefined, errorMessage: undefined });
    this.#state.pendingToolCalls = new Set();
  }
  prompt(input, images) {
    return this.#run((context, config, signal, stream) => agentLoop(asMessages(input, images), context, config, signal, stream));
  }
  continue() {
    return this.#run((context, config, signal, stream) => agentLoopContinue(context, config, signal, stream));
  }

  #drain(queue, mode) {
    return mode === "all" ? queue.splice(0) : queue.splice(0, 1);
  }
  #run(start) {
    if (this.#running) throw new Error("the agent is already running; queue the message with steer or followUp, or wait for it to finish");
    if (!this.#state.model) throw new Error("the agent has no model");
    this.#running = this.#runLoop(start).finally(() => (this.#running = undefined));
    return this.#running;
  }
  async #runLoop(start) {
    const state = this.#state;
    const { streamFn = streamModel, initialState, ...hooks } = this.#options;
    this.#controller = new AbortController();
    Object.assign(state, { isStreaming: true, errorMessage: undefined });
    const config = {
      ...hooks,
      model: state.model,
      reasoning: state.thinkingLevel === "off" ? undefined : state.thinkingLevel,
      sessionId: this.sessionId,
      getSteeringMessages: async () => this.#drain(this.#steering, this.steeringMode),
      getFollowUpMessages: async () => this.#drain(this.#followUp, this.followUpMode),
    };
    const context = { systemPrompt: state.systemPrompt, messages: state.messages, tools: state.tools };
    try {
      for await (const event of start(context, config, this.#controller.signal, streamFn)) await this.#handleEvent(event);
    } finally {
      Object.assign(state, { isStreaming: false, streamingMessage: undefined });
      state.pendingToolCalls = new Set();
    }
  }
  async #handleEvent(event) {
    const state = this.#state;
    if (event.type === "message_start" || event.type === "message_update") state.streamingMessage = event.message;
    if (event.type === "message_end") {
      state.streamingMessage = undefined;
      state.messages = [...state.messages, event.message];
      if (event.message.errorMessage) state.errorMessage = event.message.errorMessage;
    }
    if (event.type === "tool_execution_start") state.pendingToolCalls.add(event.toolCallId);
    if (event.type === "tool_execution_end") state.pendingToolCalls.delete(event.toolCallId);
    for (const listener of [...this.#listeners]) await listener(event, this.#controller.signal);
  }
}
