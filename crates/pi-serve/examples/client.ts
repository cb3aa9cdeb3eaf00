// Starts a session of `pi serve --web`, sends a prompt and prints the answer.
//
//   node client.js http://127.0.0.1:4141 TOKEN "Run the tests"

declare const process: { argv: string[] };

const [url, token, prompt] = process.argv.slice(2);

const headers = {
  Authorization: `Bearer ${token}`,
  "Content-Type": "application/json",
  "X-Pi": "1",
};

async function call(method: string, path: string, body?: unknown): Promise<Response> {
  const content = body === undefined ? undefined : JSON.stringify(body);
  const response = await fetch(url + path, { method, headers, body: content });
  if (!response.ok) {
    const problem = (await response.json()) as { detail: string };
    throw new Error(problem.detail);
  }
  return response;
}

interface SessionEvent {
  type: string;
  message?: { role: string; content: { type: string; text?: string }[] };
}

/** The events of a session; the first one is a snapshot. */
async function* events(session: string): AsyncGenerator<SessionEvent> {
  const response = await call("GET", `/v1/sessions/${session}/events`);
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  try {
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      text += value;
      for (let end = text.indexOf("\n\n"); end >= 0; end = text.indexOf("\n\n")) {
        const data = text.slice(0, end).match(/^data: (.*)$/m);
        text = text.slice(end + 2);
        if (data) yield JSON.parse(data[1]) as SessionEvent;
      }
    }
  } finally {
    await reader.cancel();
  }
}

const opened = (await (await call("POST", "/v1/sessions", {})).json()) as { session: string };
for await (const event of events(opened.session)) {
  if (event.type === "snapshot") {
    await call("POST", `/v1/sessions/${opened.session}/commands`, { type: "prompt", message: prompt });
  }
  if (event.type === "message_end" && event.message?.role === "assistant") {
    console.log(event.message.content.map((block) => block.text ?? "").join(""));
  }
  if (event.type === "agent_settled") break;
}
