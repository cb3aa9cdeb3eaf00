//! Image models: the tool `image` in print mode, RPC and the terminal, extensions of both generations, and the catalog, which
//! is not parsed without need.

use pi_test_support::ScriptedReply;
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::harness::{TestContext, text_reply, tool_call_reply};
#[cfg(target_os = "linux")]
use crate::terminal::Terminal;

pub(crate) const PIXEL: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

/// 100,000 by 100,000 pixels in a few bytes.
const BOMB: &str = "iVBORw0KGgoAAAANSUhEUgABhqAAAYagCAIAAAAnMJyfAAAAEUlEQVR4nGNgGAWjYBQMdwAAA+gAAbOm00YAAAAASUVORK5CYII=";

const ON: [&str; 2] = ["-e", "builtin:image"];

/// The response of an `openai-images` server.
pub(crate) fn image_reply(data: &str) -> ScriptedReply {
    let body =
        json!({"data": [{"b64_json": data}], "usage": {"input_tokens": 12, "output_tokens": 1000}});
    ScriptedReply::full(
        200,
        &[("content-type", "application/json")],
        body.to_string(),
    )
}

pub(crate) fn image_call(arguments: &Value) -> ScriptedReply {
    tool_call_reply("image", arguments)
}

/// Defines the model `studio/brush` at the server of a context.
pub(crate) fn define_image_model(context: &TestContext) {
    let base = format!("{}/studio", context.server.url());
    let file = context.home.read("agent/models.json");
    let mut models: Value = serde_json::from_str(&file).unwrap();
    models["providers"]["studio"] = json!({"baseUrl": base, "apiKey": "studio-key"});
    context.home.write("agent/models.json", models.to_string());
    let brush = json!({
        "id": "brush", "input": ["text", "image"], "costPerImage": 0.5,
        "cost": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0},
    });
    let definitions = json!({"providers": {"studio": {"models": [brush]}}});
    context
        .home
        .write("agent/image-models.json", definitions.to_string());
}

async fn context(replies: impl IntoIterator<Item = ScriptedReply>) -> TestContext {
    let context = TestContext::new(replies).await;
    define_image_model(&context);
    context
}

fn tool_results(request: &Value) -> Vec<String> {
    let messages = request["messages"].as_array().unwrap().iter();
    let results = messages.filter(|message| message["role"] == "tool");
    results
        .map(|message| message["content"].to_string())
        .collect()
}

#[tokio::test]
async fn the_tool_exists_only_on_request_and_no_catalog_is_parsed() {
    for (arguments, exists) in [
        (&["-p", "go"][..], false),
        (&[ON[0], ON[1], "-p", "go"], true),
    ] {
        let context = context([text_reply("done")]).await;
        let log = context.home.path().join("pi.log");
        let mut command = context.command(arguments);
        command.env("PI_LOG", &log).env("PI_LOG_LEVEL", "debug");
        assert!(command.output().await.unwrap().status.success());
        let request = context.server.requests()[0].json();
        assert_eq!(request["tools"].to_string().contains("\"image\""), exists);
        let log = std::fs::read_to_string(log).unwrap();
        assert!(log.contains("request started"), "{log}");
        assert!(!log.contains("models that do not chat parsed"), "{log}");
    }
}

#[tokio::test]
async fn pictures_replace_no_file_and_their_cost_is_stored() {
    let context = context([
        image_call(&json!({"prompt": "a fox"})),
        image_reply(PIXEL),
        image_call(
            &json!({"prompt": "make it blue", "input": ["image-1.png"], "path": "art/fox.png"}),
        ),
        image_reply(PIXEL),
        image_call(&json!({"prompt": "again", "path": "art/fox.png"})),
        image_call(&json!({"prompt": "again"})),
        image_reply(PIXEL),
        text_reply("Wrote image-1.png."),
    ])
    .await;
    let run = context.run(&[ON[0], ON[1], "-p", "draw"]).await;
    assert_eq!(run.stdout, "Wrote image-1.png.\n", "{run:?}");
    for file in ["image-1.png", "image-2.png", "art/fox.png"] {
        let written = std::fs::read(context.project_dir().join(file)).unwrap();
        assert!(written.starts_with(b"\x89PNG"), "{file}");
    }
    let requests = context.server.requests();
    let targets: Vec<&str> = requests
        .iter()
        .map(|request| request.target.as_str())
        .collect();
    assert_eq!(
        (targets[1], targets[3]),
        ("/studio/images/generations", "/studio/images/edits")
    );
    assert_eq!(
        requests[1].header("authorization"),
        Some("Bearer studio-key")
    );
    let results = tool_results(&requests[7].json());
    let expected = [
        "Wrote image-1.png (image/png, 70 bytes) with studio/brush",
        "Wrote art/fox.png",
        "art/fox.png exists",
        "Wrote image-2.png",
    ];
    for (result, expected) in results.iter().zip(expected) {
        assert!(result.contains(expected), "{result}");
    }
    assert_eq!(results.len(), 4);
    assert!(requests[2].json().to_string().contains("data:image/png"));
    let costs = context.session_records().into_iter().filter_map(|record| {
        let message = &record["message"];
        (message["role"] == "toolResult").then(|| message["usage"]["cost"]["total"].as_f64())
    });
    let costs: Vec<Option<f64>> = costs.collect();
    assert_eq!(costs, [Some(0.5), Some(0.5), None, Some(0.5)]);
}

#[tokio::test]
async fn hostile_pictures_are_not_written() {
    let html = "PGh0bWw+";
    let context = context([
        image_call(&json!({"prompt": "a bomb"})),
        image_reply(BOMB),
        image_call(&json!({"prompt": "a page"})),
        image_reply(html),
        image_call(&json!({"prompt": "x", "input": ["../agent/models.json"]})),
        image_call(&json!({"prompt": "x", "path": ""})),
        text_reply("done"),
    ])
    .await;
    context.run(&[ON[0], ON[1], "-p", "draw"]).await;
    let requests = context.server.requests();
    let results = tool_results(&requests.last().unwrap().json());
    let expected = [
        "too many pixels",
        "not PNG, JPEG, WebP or GIF",
        "it is not an image",
        "exists",
    ];
    for (result, expected) in results.iter().zip(expected) {
        assert!(result.contains(expected), "{result}");
    }
    assert_eq!(results.len(), 4);
    let files: Vec<_> = std::fs::read_dir(context.project_dir())
        .unwrap()
        .map(|it| it.unwrap().file_name())
        .collect();
    assert_eq!(files, [".keep"]);
}

#[tokio::test]
async fn the_model_is_that_of_the_setting() {
    let context = context([image_call(&json!({"prompt": "x"})), text_reply("done")]).await;
    context.home.write(
        "agent/settings.json",
        json!({"images": {"model": "studio/none"}}).to_string(),
    );
    context.run(&[ON[0], ON[1], "-p", "draw"]).await;
    let results = tool_results(&context.server.requests()[1].json());
    assert!(
        results[0].contains("images.model names studio/none, which is no image model"),
        "{results:?}"
    );
    let context = self::context([image_call(&json!({"prompt": "x"})), text_reply("done")]).await;
    context.home.write("agent/image-models.json", "{");
    context.run(&[ON[0], ON[1], "-p", "draw"]).await;
    let results = tool_results(&context.server.requests()[1].json());
    assert!(
        results[0].contains("No image model is available")
            && results[0].contains("cannot read image models"),
        "{results:?}"
    );
}

#[tokio::test]
async fn clients_receive_the_picture() {
    let context = context([
        image_call(&json!({"prompt": "a fox"})),
        image_reply(PIXEL),
        text_reply("done"),
    ])
    .await;
    let run = context.run(&[ON[0], ON[1], "--mode", "json", "draw"]).await;
    let records = run.records();
    let end = records
        .iter()
        .find(|record| record["type"] == "tool_execution_end")
        .unwrap();
    let parts = &end["result"]["content"];
    assert_eq!(
        (&parts[1]["type"], &parts[1]["mimeType"]),
        (&json!("image"), &json!("image/png"))
    );
    assert_eq!(end["result"]["details"]["images"][0]["path"], "image-1.png");
}

#[cfg(target_os = "linux")]
#[tokio::test(flavor = "multi_thread")]
async fn the_terminal_shows_the_picture_and_the_cost() {
    let context = context([
        image_call(&json!({"prompt": "a fox"})),
        image_reply(PIXEL),
        text_reply("Here is a fox."),
    ])
    .await;
    let terminal = Terminal::start_with(
        &context,
        &ON,
        &[("KITTY_WINDOW_ID", "1"), ("TERM", "xterm-kitty")],
    );
    terminal.wait("alpha");
    terminal.submit("draw");
    terminal.wait("Here is a fox.");
    terminal.wait_written("\x1b_G");
    terminal.submit("/session");
    terminal.wait("0.5");
    terminal.quit();
}

const EXTENSION_087: &str = r"
import { writeFileSync } from 'node:fs';
import { createImagesModels, createImagesProvider, generateImages, getImageModel, getImageModels, getImageProviders, registerImagesApiProvider } from '@earendil-works/pi-ai';
import { builtinImagesModels } from '@earendil-works/pi-ai/providers/all';
export default function (pi) {
  pi.registerCommand('paint', { handler: async (_args, ctx) => {
    const input = [{ type: 'text', text: 'a fox' }];
    const model = getImageModel('studio', 'brush');
    const direct = await generateImages(model, { input });
    const models = builtinImagesModels();
    const built = await models.generateImages(models.getModel('studio', 'brush'), { input });
    registerImagesApiProvider({ api: 'own', generateImages: async (model) => ({ model: model.id, output: [], stopReason: 'stop' }) });
    const own = await generateImages({ api: 'own', id: 'o' }, { input });
    const shop = createImagesModels();
    shop.setProvider(createImagesProvider({ id: 'shop', models: [{ id: 'm', provider: 'shop' }], api: { generateImages: async (_m, _c, options) => ({ key: options.apiKey }) } }));
    const key = await shop.generateImages(shop.getModel('shop', 'm'), { input }, { apiKey: 'k' });
    const unknown = await shop.generateImages({ provider: 'nope' }, { input });
    const mismatch = await generateImages({ api: 'none' }, { input }).catch((error) => error.message);
    writeFileSync(ctx.cwd + '/old.png', Buffer.from(direct.output[0].data, 'base64'));
    writeFileSync(ctx.cwd + '/facts.json', JSON.stringify({
      same: built.output[0].data === direct.output[0].data, own: own.model, key: key.key, unknown: unknown.errorMessage, mismatch,
      providers: getImageProviders().includes('openrouter'), count: getImageModels('openrouter').length, cost: direct.usage.cost.total,
    }));
  } });
}
";

const EXTENSION_1_5: &str = r"
import { writeFileSync } from 'node:fs';
export default function (pi) {
  pi.registerCommand('paint', { handler: async (_args, ctx) => {
    const painter = ctx.modelRegistry.findOfType('image', 'studio', 'brush');
    const result = await ctx.modelRegistry.generateImages(painter, { input: [{ type: 'text', text: 'a fox' }] });
    writeFileSync(ctx.cwd + '/new.png', Buffer.from(result.output[0].data, 'base64'));
  } });
}
";

#[tokio::test]
async fn extensions_of_both_generations_write_the_same_file() {
    let context = context([image_reply(PIXEL), image_reply(PIXEL), image_reply(PIXEL)]).await;
    for (name, source) in [("old.ts", EXTENSION_087), ("new.ts", EXTENSION_1_5)] {
        let extension = context.home.write(name, source);
        let run = context
            .run(&["-e", &extension.to_string_lossy(), "-p", "/paint"])
            .await;
        assert_eq!(run.stderr, "");
    }
    let read = |name: &str| std::fs::read(context.project_dir().join(name)).unwrap();
    assert_eq!(read("old.png"), read("new.png"));
    let facts: Value = serde_json::from_slice(&read("facts.json")).unwrap();
    assert_eq!(
        facts,
        json!({
            "same": true, "own": "o", "key": "k", "unknown": "Unknown provider: nope", "mismatch": "No API provider registered for api: none",
            "providers": true, "count": 64, "cost": 0.5,
        })
    );
    let bodies: Vec<Value> = context
        .server
        .requests()
        .iter()
        .map(pi_test_support::RecordedRequest::json)
        .collect();
    assert_eq!(bodies[0], bodies[2]);
}
