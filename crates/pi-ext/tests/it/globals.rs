//! Global objects available to extensions.

use pretty_assertions::assert_eq;
use serde_json::json;

use crate::support::{EngineEnv, evaluate};

#[tokio::test]
async fn all_globals_are_defined() {
    let names = "Event EventTarget CustomEvent AbortController AbortSignal DOMException TextEncoder \
        TextDecoder atob btoa URL URLSearchParams ReadableStream WritableStream TransformStream \
        TextDecoderStream TextEncoderStream ByteLengthQueuingStrategy CountQueuingStrategy Blob File \
        FormData fetch Headers Request Response crypto structuredClone performance Intl Buffer process \
        WebSocket WebAssembly global console setTimeout setInterval setImmediate clearTimeout \
        clearInterval clearImmediate queueMicrotask";
    let body = format!(
        "return {:?}.split(/ +/).filter((name) => globalThis[name] === undefined);",
        names.split_whitespace().collect::<Vec<_>>().join(" ")
    );
    assert_eq!(evaluate(&body).await, json!([]));
}

#[tokio::test]
async fn timers_fire_in_order_and_can_be_stopped() {
    let value = evaluate(
        "const seen: unknown[] = [];\n\
         setTimeout((x: string) => seen.push(x), 20, 'late');\n\
         setImmediate(() => seen.push('immediate'));\n\
         const gone = setTimeout(() => seen.push('never'), 5); clearTimeout(gone);\n\
         queueMicrotask(() => seen.push('micro')); process.nextTick(() => seen.push('tick'));\n\
         let n = 0;\n\
         await new Promise<void>((done) => { const i = setInterval(() => { if (++n === 3) { clearInterval(i); done(); } }, 1); });\n\
         await new Promise((done) => setTimeout(done, 30));\n\
         return [seen, n, typeof setTimeout(() => {}, 1).unref];",
    )
    .await;
    assert_eq!(
        value,
        json!([["micro", "tick", "immediate", "late"], 3, "function"])
    );
}

#[tokio::test]
async fn a_timer_that_node_cannot_count_fires_at_once() {
    let value = evaluate(
        "const warnings: string[] = [];\n\
         process.emitWarning = (message: any, name: any) => { warnings.push(`${name}: ${message}`.split('\\n')[0]); };\n\
         await new Promise((done) => setTimeout(done, 2 ** 31));\n\
         const waits = setTimeout(() => warnings.push('too early'), 2 ** 31 - 1);\n\
         await new Promise((done) => setTimeout(done, 5));\n\
         clearTimeout(waits);\n\
         return warnings;",
    )
    .await;
    assert_eq!(
        value,
        json!(["TimeoutOverflowWarning: 2147483648 does not fit into a 32-bit signed integer."])
    );
}

#[tokio::test]
async fn text_and_bytes() {
    let value = evaluate(
        "const bytes = new TextEncoder().encode('hé😀');\n\
         const decoder = new TextDecoder();\n\
         let parts = ''; for (const b of bytes) parts += decoder.decode(Uint8Array.of(b), { stream: true });\n\
         let bad; try { new TextDecoder('utf-8', { fatal: true }).decode(Uint8Array.of(255)); } catch (e: any) { bad = e.name; }\n\
         return [bytes.length, parts + decoder.decode(), bad, btoa('hello'), atob('aGVsbG8='),\n\
           new TextDecoder('utf-16le').decode(Uint8Array.of(104, 0, 105, 0)), new TextEncoder().encode('\\ud83d').length];",
    )
    .await;
    assert_eq!(
        value,
        json!([7, "hé😀", "TypeError", "aGVsbG8=", "hello", "hi", 3])
    );
}

#[tokio::test]
async fn urls() {
    let value = evaluate(
        "const url = new URL('../b?x=1&y=a+b#h', 'https://user:pw@example.com:8080/a/c');\n\
         url.searchParams.append('z', 'ü&'); url.pathname = '/new path'; url.port = '443';\n\
         const params = new URLSearchParams({ q: '1 2', r: 'x' }); params.sort(); params.delete('r');\n\
         let bad; try { new URL('nope'); } catch (e: any) { bad = [e.name, e.code, e.message]; }\n\
         return [url.href, url.host, url.searchParams.get('y'), String(params), [...params], bad, URL.canParse('a:b'), JSON.stringify({ url })];",
    )
    .await;
    assert_eq!(
        value,
        json!([
            "https://user:pw@example.com/new%20path?x=1&y=a+b&z=%C3%BC%26#h",
            "example.com",
            "a b",
            "q=1+2",
            [["q", "1 2"]],
            ["TypeError", "ERR_INVALID_URL", "Invalid URL"],
            true,
            "{\"url\":\"https://user:pw@example.com/new%20path?x=1&y=a+b&z=%C3%BC%26#h\"}"
        ])
    );
}

#[tokio::test]
async fn abort_signals_and_events() {
    let value = evaluate(
        "const c = new AbortController(); const seen: string[] = [];\n\
         const any = AbortSignal.any([c.signal, AbortSignal.timeout(100000)]);\n\
         any.addEventListener('abort', () => seen.push('any'), { once: true }); c.signal.onabort = () => seen.push('own');\n\
         c.abort(); c.abort('again');\n\
         const t = AbortSignal.timeout(5); await new Promise((done) => t.addEventListener('abort', done));\n\
         const target = new EventTarget(); let got; target.addEventListener('x', (e: any) => { got = e.detail; });\n\
         target.dispatchEvent(new CustomEvent('x', { detail: 9 }));\n\
         let thrown; try { any.throwIfAborted(); } catch (e: any) { thrown = e.name; }\n\
         return [seen, any.aborted, c.signal.reason.name, t.reason.name, got, thrown, AbortSignal.abort('r').reason];",
    )
    .await;
    assert_eq!(
        value,
        json!([
            ["any", "own"],
            true,
            "AbortError",
            "TimeoutError",
            9,
            "AbortError",
            "r"
        ])
    );
}

#[tokio::test]
async fn structured_clone_copies_supported_types() {
    let value = evaluate(
        "const a: any = { d: new Date(5), m: new Map([[1, new Set([2])]]), b: new Uint8Array([1, 2]), e: new TypeError('x'), n: [1, , 3] };\n\
         a.self = a; const b = structuredClone(a); let bad; try { structuredClone({ f() {} }); } catch (e: any) { bad = e.name; }\n\
         return [b !== a, b.self === b, b.d.getTime(), b.m.get(1).has(2), [...b.b], b.e instanceof TypeError, b.e.message, 1 in b.n, bad];",
    )
    .await;
    assert_eq!(
        value,
        json!([
            true,
            true,
            5,
            true,
            [1, 2],
            true,
            "x",
            false,
            "DataCloneError"
        ])
    );
}

#[tokio::test]
async fn streams() {
    let value = evaluate(
        "const source = new ReadableStream({ start(c) { c.enqueue('a'); c.enqueue('b'); c.close(); } });\n\
         const upper = new TransformStream({ transform(x, c) { c.enqueue(x.toUpperCase()); }, flush(c) { c.enqueue('!'); } });\n\
         const all = []; for await (const x of source.pipeThrough(upper)) all.push(x);\n\
         const [one, two] = ReadableStream.from([1, 2]).tee();\n\
         const read = async (s: any) => { const out = []; for await (const x of s) out.push(x); return out; };\n\
         const both = await Promise.all([read(one), read(two)]);\n\
         let failed; try { await read(new ReadableStream({ pull() { throw new Error('pull'); } })); } catch (e: any) { failed = e.message; }\n\
         const text = await new Response(new Blob(['x', 'yz']).stream()).text();\n\
         return [all, both, failed, text];",
    )
    .await;
    assert_eq!(
        value,
        json!([["A", "B", "!"], [[1, 2], [1, 2]], "pull", "xyz"])
    );
}

#[tokio::test]
async fn randomness_and_digests() {
    let value = evaluate(
        "const digest = Buffer.from(await crypto.subtle.digest('SHA-256', new TextEncoder().encode('abc'))).toString('hex');\n\
         const key = await crypto.subtle.importKey('raw', new TextEncoder().encode('Jefe'), { name: 'HMAC', hash: 'SHA-256' }, false, ['sign']);\n\
         const mac = Buffer.from(await crypto.subtle.sign('HMAC', key, new TextEncoder().encode('what do ya want for nothing?'))).toString('hex');\n\
         return [digest.slice(0, 8), mac.slice(0, 8), /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/.test(crypto.randomUUID()),\n\
           crypto.getRandomValues(new Uint32Array(4)).some((x) => x > 0)];",
    )
    .await;
    assert_eq!(value, json!(["ba7816bf", "5bdcc146", true, true]));
}

#[tokio::test]
async fn numbers_dates_and_segments_in_english() {
    let value = evaluate(
        "const date = new Date(Date.UTC(2024, 2, 5, 14, 7, 9));\n\
         return [(1234567.891).toLocaleString(), (0.256).toLocaleString('en-US', { style: 'percent' }),\n\
           (1234.5).toLocaleString('en-US', { style: 'currency', currency: 'USD' }), (1234567).toLocaleString('en', { notation: 'compact' }),\n\
           date.toLocaleTimeString('en-US', { timeZone: 'UTC' }), date.toLocaleDateString('en-US', { timeZone: 'UTC', month: 'short', day: 'numeric', year: 'numeric' }),\n\
           date.toLocaleString('en-US', { timeZone: 'UTC' }), date.toLocaleTimeString('en-GB', { timeZone: 'UTC', hour: '2-digit', minute: '2-digit' }),\n\
           [...new Intl.Segmenter().segment('é👨‍👩‍👧🇩🇪a')].map((s) => s.segment), ['b', 'a', 'C', 'ä'].sort((a, b) => a.localeCompare(b)),\n\
           ['x10', 'x9'].sort(new Intl.Collator('en', { numeric: true }).compare), new Intl.NumberFormat('en', { maximumFractionDigits: 1 }).format(2.55)];",
    )
    .await;
    assert_eq!(
        value,
        json!([
            "1,234,567.891",
            "26%",
            "$1,234.50",
            "1.2M",
            "2:07:09 PM",
            "Mar 5, 2024",
            "3/5/2024, 2:07:09 PM",
            "14:07",
            ["é", "👨‍👩‍👧", "🇩🇪", "a"],
            ["a", "ä", "b", "C"],
            ["x9", "x10"],
            "2.5"
        ])
    );
}

#[tokio::test]
async fn process_exposes_the_configured_values() {
    let env = EngineEnv::new(&[(
        "main.ts",
        "export function run() {\n  process.stdout.write('half '); process.stdout.write('line\\n'); process.env.NEW = 'x';\n\
           let exit; try { process.exit(1); } catch (e: any) { exit = e.message; }\n\
           return [process.cwd(), process.env.GREETING, process.env.NEW, process.argv.slice(1), process.execPath, process.pid > 0,\n\
             process.platform.length > 0, process.hrtime.bigint() > 0n, process.versions.node.split('.').length, exit];\n}",
    )]);
    let value = env.call("main.ts", "run").await.unwrap();
    assert_eq!(
        value,
        json!([
            env.root,
            "hello",
            "x",
            ["/usr/bin/pi", "--print"],
            "/usr/bin/pi",
            true,
            true,
            true,
            3,
            "process.exit() is not available to extensions: it would terminate pi"
        ])
    );
    assert_eq!(env.printed(), ["half line"]);
}

#[tokio::test]
async fn fetch_streams_and_aborts() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let server = tokio::spawn(async move {
        use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            tokio::spawn(async move {
                let mut request = Vec::new();
                let mut buffer = [0; 4096];
                while !request.windows(4).any(|window| window == b"\r\n\r\n") {
                    let count = stream.read(&mut buffer).await.unwrap();
                    if count == 0 {
                        return;
                    }
                    request.extend_from_slice(&buffer[..count]);
                }
                let request = String::from_utf8_lossy(&request).into_owned();
                let reply = match request.split(' ').nth(1).unwrap_or_default() {
                    "/json" => "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-type: application/json\r\ncontent-length: 7\r\nx-a: 1\r\n\r\n{\"a\":1}".to_owned(),
                    "/moved" => "HTTP/1.1 302 Found\r\nconnection: close\r\nlocation: /json\r\ncontent-length: 0\r\n\r\n".to_owned(),
                    "/echo" => {
                        let head = request.to_lowercase();
                        let has_type = head.contains("content-type: application/x-www-form-urlencoded");
                        let body = request.split("\r\n\r\n").nth(1).unwrap_or_default();
                        let text = format!("{has_type} {body}");
                        format!("HTTP/1.1 201 Created\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{text}", text.len())
                    }
                    // One chunk, then the connection stays open.
                    _ => "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nfirst\r\n".to_owned(),
                };
                stream.write_all(reply.as_bytes()).await.unwrap();
                if reply.contains("connection: close") {
                    return;
                }
                while stream.read(&mut buffer).await.unwrap_or(0) > 0 {}
            });
        }
    });
    let body = format!(
        "const base = 'http://{address}';\n\
         const json = await fetch(base + '/json'); const moved = await fetch(base + '/moved');\n\
         const manual = await fetch(base + '/moved', {{ redirect: 'manual' }});\n\
         const echo = await fetch(new Request(base + '/echo', {{ method: 'POST', body: new URLSearchParams({{ k: 'v w' }}) }}));\n\
         const abort = new AbortController(); const slow = await fetch(base + '/slow', {{ signal: abort.signal }});\n\
         const reader = slow.body!.getReader(); const first = new TextDecoder().decode((await reader.read()).value);\n\
         const next = reader.read(); setTimeout(() => abort.abort(), 5);\n\
         let stopped; try {{ await next; }} catch (e: any) {{ stopped = e.name; }}\n\
         let refused; try {{ await fetch('http://127.0.0.1:1/'); }} catch (e: any) {{ refused = [e.name, e.message, e.cause.code]; }}\n\
         let timeout; try {{ await (await fetch(base + '/slow', {{ signal: AbortSignal.timeout(20) }})).text(); }} catch (e: any) {{ timeout = e.name; }}\n\
         return [json.ok, json.headers.get('X-A'), await json.json(), moved.redirected, moved.url.endsWith('/json'), manual.status,\n\
           echo.status, await echo.text(), first, stopped, refused, timeout, await (await fetch('data:text/plain;base64,aGk=')).text()];"
    );
    assert_eq!(
        evaluate(&body).await,
        json!([
            true, "1", { "a": 1 }, true, true, 302, 201, "true k=v+w", "first", "AbortError",
            ["TypeError", "fetch failed", "ECONNREFUSED"], "TimeoutError", "hi"
        ])
    );
    server.abort();
}
