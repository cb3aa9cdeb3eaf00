//! `undici` on the embedded engine. The real package needs WebAssembly, so the embedded one is
//! built on `fetch`.

use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::support::write;
use pi_ext::{EngineOptions, ExtensionManager};

const EXTENSION: &str = r#"
import { Agent, Pool, errors, fetch, getGlobalDispatcher, interceptors, request, setGlobalDispatcher } from "undici";
import undici from "undici";
import http from "node:http";

export default function (pi: any) {
    pi.on("input", async () => {
        const server = http.createServer(async (request, response) => {
            let body = "";
            for await (const chunk of request) body += chunk;
            if (request.url === "/moved") return void response.writeHead(302, { Location: "/" }).end();
            if (request.url === "/slow") return;
            response.setHeader("Set-Cookie", ["a=1", "b=2"]);
            response.end(JSON.stringify([request.method, request.url, request.headers["x-mine"], body]));
        });
        await new Promise((resolve) => server.listen(0, "127.0.0.1", () => resolve(null)));
        const origin = `http://127.0.0.1:${server.address().port}`;
        const agent = new Agent({ keepAliveTimeout: 10 });
        setGlobalDispatcher(agent);
        const { statusCode, headers, body } = await request(`${origin}/path`, { method: "POST", query: { q: "1" }, headers: ["x-mine", "yes"], body: "text", dispatcher: agent });
        const moved = await request(`${origin}/moved`);
        await moved.body.dump();
        const pooled = await new Pool(origin).request({ path: "/pool", method: "GET" });
        const fetched = await fetch(`${origin}/fetch`, { dispatcher: agent } as any);
        let late;
        await request(`${origin}/slow`, { headersTimeout: 20 }).catch((error) => (late = [error.code, error instanceof errors.HeadersTimeoutError]));
        let named;
        try { interceptors.redirect(); } catch (error: any) { named = error.message; }
        let chunks = "";
        for await (const chunk of (await request(`${origin}/stream`)).body) chunks += chunk;
        server.close();
        const text = JSON.stringify({
            sent: [statusCode, headers["set-cookie"], await body.json()],
            moved: [moved.statusCode, moved.headers.location],
            pooled: (await pooled.body.json())[1],
            fetched: (await fetched.json())[1],
            late, named, chunks: JSON.parse(chunks)[1],
            same: undici.request === request && getGlobalDispatcher() === agent,
        });
        return { action: "transform", text };
    });
}
"#;

/// A host that fails the test on any fault or error.
struct StrictHost;

impl pi_ext::EngineHost for StrictHost {
    fn console(&self, _: pi_ext::ConsoleLine) {}

    fn fault(&self, fault: pi_ext::ExtensionFault) {
        panic!("{}", fault.message);
    }

    fn call(
        &self,
        _: Option<&str>,
        method: &str,
        arguments: serde_json::Value,
    ) -> Result<serde_json::Value, pi_ext::HostError> {
        assert_ne!(method, "program.reportError", "{arguments}");
        Ok(serde_json::Value::Null)
    }
}

#[tokio::test]
async fn requests_agents_and_errors_of_undici_work() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().canonicalize().unwrap().join("main.ts");
    write(&path, EXTENSION);
    let extensions = ExtensionManager::new(EngineOptions::new(std::sync::Arc::new(StrictHost)));
    extensions.load(&path).await.unwrap();
    let event = json!({ "type": "input", "text": "" });
    let result = extensions
        .hook_dispatch(1, 0, event)
        .run(None, &Value::Null)
        .await
        .unwrap();
    let output: serde_json::Value = serde_json::from_str(result["text"].as_str().unwrap()).unwrap();
    assert_eq!(
        output,
        json!({
            "sent": [200, ["a=1", "b=2"], ["POST", "/path?q=1", "yes", "text"]],
            "moved": [302, "/"],
            "pooled": "/pool",
            "fetched": "/fetch",
            "late": ["UND_ERR_HEADERS_TIMEOUT", true],
            "named": "undici.interceptors.redirect is not available to extensions",
            "chunks": "/stream",
            "same": true,
        })
    );
}
