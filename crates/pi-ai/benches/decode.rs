//! How long an answer of many small deltas takes from bytes to events, per delta. The time per
//! delta must not grow with the answer.

#![expect(
    clippy::unwrap_used,
    reason = "a set-up that fails must stop the bench"
)]

use divan::counter::ItemsCount;
use divan::{Bencher, black_box};
use pi_ai::{Model, api, bench_support};
use serde_json::json;

/// What a TLS record or a read from the socket brings at once.
const PIECE_SIZE: usize = 16 * 1024;

/// The APIs whose answers come as server-sent events of vendor JSON.
const APIS: [&str; 5] = [
    api::ANTHROPIC_MESSAGES,
    api::OPENAI_COMPLETIONS,
    api::OPENAI_RESPONSES,
    api::GOOGLE_GENERATIVE_AI,
    api::MISTRAL_CONVERSATIONS,
];

fn main() {
    divan::main();
}

fn model(api: &str) -> Model {
    let record = json!({"id": "m", "name": "m", "api": api, "provider": "p", "baseUrl": "",
        "reasoning": false, "input": ["text"], "cost": {"input": 3, "output": 15},
        "contextWindow": 200_000, "maxTokens": 8192});
    serde_json::from_value(record).unwrap()
}

/// What opens the answer, and one delta of it, in the words of each service.
fn events(api: &str) -> (&'static str, &'static str) {
    match api {
        api::ANTHROPIC_MESSAGES => (
            "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"m\",\
             \"usage\":{\"input_tokens\":1,\"output_tokens\":1}}}\n\n\
             event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\
             \"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n",
            "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\
             \"delta\":{\"type\":\"text_delta\",\"text\":\"some words \"}}\n\n",
        ),
        api::OPENAI_RESPONSES => (
            "data: {\"type\":\"response.output_item.added\",\"output_index\":0,\"item\":{\"type\":\
             \"message\",\"id\":\"i\",\"role\":\"assistant\",\"content\":[]}}\n\n\
             data: {\"type\":\"response.content_part.added\",\"output_index\":0,\"item_id\":\"i\",\
             \"content_index\":0,\"part\":{\"type\":\"output_text\",\"text\":\"\"}}\n\n",
            "data: {\"type\":\"response.output_text.delta\",\"sequence_number\":7,\"item_id\":\"i\",\
             \"output_index\":0,\"content_index\":0,\"delta\":\"some words \"}\n\n",
        ),
        api::GOOGLE_GENERATIVE_AI => (
            "",
            "data: {\"candidates\":[{\"content\":{\"role\":\"model\",\"parts\":[{\"text\":\
             \"some words \"}]},\"index\":0}],\"usageMetadata\":{\"promptTokenCount\":1}}\n\n",
        ),
        _ => (
            "",
            "data: {\"id\":\"c\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"m\",\
             \"choices\":[{\"index\":0,\"delta\":{\"content\":\"some words \"},\
             \"finish_reason\":null}]}\n\n",
        ),
    }
}

#[divan::bench(args = APIS, consts = [2_000, 20_000])]
fn answers<const DELTAS: usize>(bencher: Bencher<'_, '_>, api: &str) {
    let (opening, delta) = events(api);
    let body = (opening.to_owned() + &delta.repeat(DELTAS)).into_bytes();
    let model = model(api);
    let told = bench_support::decode_response(&model, &body, PIECE_SIZE).unwrap();
    assert!(told >= DELTAS, "{api}: every delta is an event, not {told}");
    bencher
        .counter(ItemsCount::new(DELTAS))
        .bench_local(|| bench_support::decode_response(&model, black_box(&body), PIECE_SIZE));
}

/// The parser alone, with every event cut in several places, so that none can be handed out
/// without a copy.
#[divan::bench(args = [2_000, 20_000])]
fn server_sent_events_in_small_pieces(bencher: Bencher<'_, '_>, deltas: usize) {
    let body = events(api::ANTHROPIC_MESSAGES)
        .1
        .repeat(deltas)
        .into_bytes();
    bencher
        .counter(ItemsCount::new(deltas))
        .bench_local(|| bench_support::parse_events(black_box(&body), 50));
}
