// Push-based async iterable streams with a final result.
export class EventStream {
  #waiting = [];
  #events = [];
  #isDone = false;
  #isComplete;
  #resultOf;
  #resolve;
  #result;

  constructor(isComplete, resultOf) {
    this.#isComplete = isComplete;
    this.#resultOf = resultOf;
    this.#result = new Promise((resolve) => (this.#resolve = resolve));
  }

  push(event) {
    if (this.#isDone) return;
    if (this.#isComplete(event)) {
      this.#isDone = true;
      this.#resolve(this.#resultOf(event));
    }
    const waiting = this.#waiting.shift();
    if (waiting) waiting({ value: event, done: false });
    else this.#events.push(event);
  }

  end(result) {
    this.#isDone = true;
    if (result !== undefined) this.#resolve(result);
    for (const waiting of this.#waiting.splice(0)) waiting({ value: undefined, done: true });
  }

  async *[Symbol.asyncIterator]() {
    for (;;) {
      if (this.#events.length > 0) yield this.#events.shift();
      else if (this.#isDone) return;
      else {
        const { value, done } = await new Promise((resolve) => this.#waiting.push(resolve));
        if (done) return;
        yield value;
      }
    }
  }

  result() {
    return this.#result;
  }
}

// The event stream of an assistant message.
export class AssistantMessageEventStream extends EventStream {
  constructor() {
    super(
      (event) => event.type === "done" || event.type === "error",
      (event) => (event.type === "done" ? event.message : event.error),
    );
  }
}
