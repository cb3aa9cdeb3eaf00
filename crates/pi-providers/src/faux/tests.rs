//! Scripted responses as seen by a client.

use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use insta::assert_snapshot;
use pi_env::Env;
use pi_protocol::{
    AssistantMessage, AssistantMessageEvent, CacheRetention, DeferredHandle, ErrorClass, Message,
    ProviderError, StopReason, UserMessage,
};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use super::*;
use crate::options::StreamOptions;
use crate::wire::testing::{NOW, lines};

fn user(text: &str) -> Message {
    UserMessage {
        content: text.into(),
        ..UserMessage::default()
    }
    .into()
}

fn request(faux: &FauxProvider, messages: Vec<Message>, options: StreamOptions) -> ModelRequest {
    ModelRequest {
        model: Arc::new(faux.model()),
        messages: messages.into(),
        options,
        env: Env::fixed::<&str, &str>([]).with_clock(|| NOW),
    }
}

fn send(faux: &FauxProvider) -> AssistantStream {
    faux.stream(request(faux, vec![user("hi")], StreamOptions::default()))
}

async fn respond(faux: &FauxProvider) -> Arc<AssistantMessage> {
    send(faux).result().await
}

async fn events(stream: AssistantStream) -> Vec<Value> {
    stream
        .map(|event| serde_json::to_value(event).unwrap())
        .collect()
        .await
}

#[tokio::test]
async fn response_streams_block_by_block() {
    let faux = FauxProvider::new().with_chunk_size(8..=8);
    faux.push(
        FauxResponse::thinking("hm")
            .then_text("a text of some length")
            .then_tool_call("bash", json!({"command": "ls"}))
            .response_id("r1"),
    );
    assert_snapshot!(lines(&events(send(&faux)).await), @r#"
    {"type":"start"}
    {"type":"thinking_start","contentIndex":0}
    {"type":"thinking_delta","contentIndex":0,"delta":"hm"}
    {"type":"thinking_end","contentIndex":0,"content":"hm"}
    {"type":"text_start","contentIndex":1}
    {"type":"text_delta","contentIndex":1,"delta":"a text o"}
    {"type":"text_delta","contentIndex":1,"delta":"f some l"}
    {"type":"text_delta","contentIndex":1,"delta":"ength"}
    {"type":"text_end","contentIndex":1,"content":"a text of some length"}
    {"type":"toolcall_start","contentIndex":2,"id":"faux_1_2","toolName":"bash"}
    {"type":"toolcall_delta","contentIndex":2,"delta":"{\"comman"}
    {"type":"toolcall_delta","contentIndex":2,"delta":"d\":\"ls\"}"}
    {"type":"toolcall_end","contentIndex":2,"toolCall":{"type":"toolCall","id":"faux_1_2","name":"bash","arguments":{"command":"ls"}}}
    {"type":"done","reason":"toolUse","message":{"content":[{"type":"thinking","thinking":"hm"},{"type":"text","text":"a text of some length"},{"type":"toolCall","id":"faux_1_2","name":"bash","arguments":{"command":"ls"}}],"api":"faux","provider":"faux","model":"faux-1","responseId":"r1","usage":{"input":2,"output":12,"cacheRead":0,"cacheWrite":0,"totalTokens":14,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0,"totalFromProvider":false}},"stopReason":"toolUse","timestamp":1700000000000}}
    "#);
}

#[tokio::test]
async fn script_is_played_in_order_and_requests_are_recorded() {
    let faux = FauxProvider::new();
    faux.push("one");
    faux.extend([FauxResponse::text("two").stop(StopReason::Length)]);
    assert_eq!(faux.pending(), 2);
    assert_eq!(respond(&faux).await.text(), "one");
    let second = respond(&faux).await;
    assert_eq!(
        (second.text().as_str(), second.stop_reason),
        ("two", StopReason::Length)
    );
    assert_eq!((faux.pending(), faux.call_count()), (0, 2));
    assert_eq!(faux.requests()[1].messages.as_ref(), [user("hi")]);

    let beyond = respond(&faux).await;
    assert_eq!(beyond.stop_reason, StopReason::Error);
    assert_eq!(
        beyond.error_message.as_deref(),
        Some("The faux provider has no scripted response for call 3")
    );
    faux.push("dropped");
    faux.set_script([FauxResponse::text("three")]);
    assert_eq!(respond(&faux).await.text(), "three");
}

#[tokio::test]
async fn factories_receive_the_request() {
    let faux = FauxProvider::new();
    faux.push(FauxResponse::from_fn(|call| {
        let count = call.request.messages.len();
        FauxResponse::text(format!("{} {count} {}", call.number, call.request.model.id))
    }));
    faux.push(FauxResponse::from_async_fn(|call| async move {
        tokio::task::yield_now().await;
        FauxResponse::text(format!("{:?}", call.request.options.temperature))
    }));
    assert_eq!(respond(&faux).await.text(), "1 1 faux-1");
    let options = StreamOptions {
        temperature: Some(0.5),
        ..StreamOptions::default()
    };
    let stream = faux.stream(request(&faux, vec![], options));
    assert_eq!(stream.result().await.text(), "Some(0.5)");
}

#[tokio::test]
async fn chunk_sizes_are_random_within_bounds_and_repeatable() {
    let text = "füñf ".repeat(40);
    let deltas = async |seed| {
        let faux = FauxProvider::new().with_seed(seed).with_chunk_size(2..=7);
        faux.push(FauxResponse::text(&text));
        let deltas: Vec<String> = send(&faux)
            .filter_map(|event| async {
                match event {
                    AssistantMessageEvent::TextDelta { delta, .. } => Some(delta),
                    _ => None,
                }
            })
            .collect()
            .await;
        assert_eq!(deltas.concat(), text);
        deltas
    };
    let first = deltas(1).await;
    let sizes: Vec<usize> = first.iter().map(|delta| delta.chars().count()).collect();
    let (_, full_chunks) = sizes.split_last().unwrap();
    assert!(
        full_chunks.iter().all(|size| (2..=7).contains(size)),
        "{sizes:?}"
    );
    assert!(
        full_chunks.iter().any(|size| *size != full_chunks[0]),
        "{sizes:?}"
    );
    assert_eq!(first, deltas(1).await);
    assert_ne!(first, deltas(2).await);
}

#[tokio::test(start_paused = true)]
async fn speed_limit_spreads_the_response_over_time() {
    let faux = FauxProvider::new()
        .with_chunk_size(4..=4)
        .with_tokens_per_second(10.0);
    faux.push(FauxResponse::text("x".repeat(40)));
    let started = tokio::time::Instant::now();
    respond(&faux).await;
    assert_eq!(started.elapsed(), Duration::from_secs(1));
}

#[tokio::test]
async fn prompt_cache_is_per_session() {
    let faux = FauxProvider::new().with_fallback(|_| FauxResponse::text("12345"));
    let usage = async |messages: Vec<Message>, session: Option<&str>, retention| {
        let options = StreamOptions {
            session_id: session.map(str::to_owned),
            cache_retention: retention,
            ..StreamOptions::default()
        };
        let message = faux
            .stream(request(&faux, messages, options))
            .result()
            .await;
        let usage = &message.usage;
        [
            usage.input,
            usage.output,
            usage.cache_read,
            usage.cache_write,
            usage.total_tokens,
        ]
    };
    // "user:" and 35 characters are ten tokens.
    let first = vec![user(&"a".repeat(35))];
    let mut longer = first.clone();
    longer.push(user(&"b".repeat(33)));
    assert_eq!(usage(first.clone(), None, None).await, [10, 2, 0, 0, 12]);
    assert_eq!(
        usage(first.clone(), Some("s"), None).await,
        [10, 2, 0, 10, 22]
    );
    assert_eq!(
        usage(longer.clone(), Some("s"), None).await,
        [10, 2, 10, 10, 32]
    );
    assert_eq!(
        usage(longer.clone(), Some("other"), None).await,
        [20, 2, 0, 20, 42]
    );
    let none = Some(CacheRetention::None);
    assert_eq!(usage(longer, Some("s"), none).await, [20, 2, 0, 0, 22]);
}

#[tokio::test]
async fn failures_end_the_stream_where_they_occur() {
    let refused = ProviderError::auth("no key");
    let cases = [
        (
            FauxResponse::error(refused.clone()),
            vec!["error"],
            "no key",
        ),
        (
            FauxResponse::started().then_fail(refused),
            vec!["start", "error"],
            "no key",
        ),
        (
            FauxResponse::text("par").then_disconnect(),
            vec!["start", "text_start", "text_delta", "error"],
            "The connection was lost",
        ),
        (
            FauxResponse::text("all").stop(StopReason::Error),
            vec!["start", "text_start", "text_delta", "text_end", "error"],
            "The scripted response ends in an error",
        ),
    ];
    for (fault, kinds, message) in cases {
        let faux = FauxProvider::new();
        faux.push(fault);
        let events = events(send(&faux)).await;
        let emitted: Vec<&str> = events
            .iter()
            .map(|event| event["type"].as_str().unwrap())
            .collect();
        assert_eq!(emitted, kinds);
        assert_eq!(events.last().unwrap()["error"]["errorMessage"], message);
    }
}

#[tokio::test]
async fn canceled_request_ends_in_aborted_with_partial_content() {
    let faux = FauxProvider::new();
    let gate = FauxGate::new();
    faux.push(
        FauxResponse::text("partial")
            .wait_for(&gate)
            .then_text("never"),
    );
    faux.push(FauxResponse::stall());
    for expected in ["partial", ""] {
        let options = StreamOptions::default();
        let cancel = options.cancel.clone();
        let mut stream = faux.stream(request(&faux, vec![user("hi")], options));
        if expected.is_empty() {
            cancel.cancel();
        } else {
            while !gate.is_reached() {
                tokio::select! {
                    event = stream.next() => assert!(event.is_some()),
                    () = gate.reached() => {}
                }
            }
            cancel.cancel();
        }
        let message = stream.result().await;
        assert_eq!(message.stop_reason, StopReason::Aborted);
        assert_eq!(message.text(), expected);
    }
}

#[tokio::test]
async fn gate_blocks_the_response_until_it_is_opened() {
    let faux = FauxProvider::new();
    let gate = FauxGate::new();
    faux.push(FauxResponse::after(&gate).then_text("late"));
    let (message, ()) = tokio::join!(respond(&faux), async {
        gate.reached().await;
        gate.open();
    });
    assert_eq!(message.text(), "late");
}

#[tokio::test]
async fn response_can_be_deferred() {
    let faux = FauxProvider::new();
    let handle = DeferredHandle {
        id: "later".into(),
        ..DeferredHandle::default()
    };
    faux.push(FauxResponse::deferred(handle.clone()));
    let message = respond(&faux).await;
    assert_eq!(message.stop_reason, StopReason::Deferred);
    assert_eq!(message.deferred.as_ref(), Some(&handle));
}

#[tokio::test]
async fn refusal_keeps_its_error_class() {
    let faux = FauxProvider::new();
    faux.push(FauxResponse::error(ProviderError::new(
        ErrorClass::Overloaded,
        "busy",
    )));
    let event = send(&faux).next().await.unwrap();
    let AssistantMessageEvent::Error { cause, .. } = event else {
        panic!("{event:?}");
    };
    assert_eq!(cause.unwrap().class, ErrorClass::Overloaded);
}

#[tokio::test]
async fn echo_model_repeats_the_last_message() {
    let faux = FauxProvider::echo();
    let model = faux.model();
    assert_eq!(
        (model.provider.as_str(), model.id.as_str()),
        ("faux", "echo")
    );
    let messages = vec![user("first"), user("say this")];
    let message = faux
        .stream(request(&faux, messages, StreamOptions::default()))
        .result()
        .await;
    assert!(message.text().starts_with("You said: say this\n"));
    assert_eq!(message.stop_reason, StopReason::Stop);
}
