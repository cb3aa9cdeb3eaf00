//! Decoding a response of many small deltas from bytes to events. The time per delta must not grow
//! with the length of the response.

#![expect(clippy::unwrap_used, reason = "a failed setup must stop the benchmark")]

use divan::counter::ItemsCount;
use divan::{Bencher, black_box};
use pi_protocol::{Model, api};
use pi_providers::bench_support;
use serde_json::json;

/// Typical size of a TLS record or socket read.
const CHUNK_SIZE: usize = 16 * 1024;

/// APIs that stream vendor JSON as server-sent events.
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

/// The opening events and one delta of each API.
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
fn responses<const DELTAS: usize>(bencher: Bencher<'_, '_>, api: &str) {
    let (opening, delta) = events(api);
    let body = (opening.to_owned() + &delta.repeat(DELTAS)).into_bytes();
    let model = model(api);
    let events = bench_support::decode_response(&model, &body, CHUNK_SIZE).unwrap();
    assert!(
        events >= DELTAS,
        "{api}: {events} events for {DELTAS} deltas"
    );
    bencher
        .counter(ItemsCount::new(DELTAS))
        .bench_local(|| bench_support::decode_response(&model, black_box(&body), CHUNK_SIZE));
}

/// The parser alone, with every event split across chunks, so that each one is copied.
#[divan::bench(args = [2_000, 20_000])]
fn server_sent_events_in_small_chunks(bencher: Bencher<'_, '_>, deltas: usize) {
    let body = events(api::ANTHROPIC_MESSAGES)
        .1
        .repeat(deltas)
        .into_bytes();
    bencher
        .counter(ItemsCount::new(deltas))
        .bench_local(|| bench_support::parse_events(black_box(&body), 50));
}
