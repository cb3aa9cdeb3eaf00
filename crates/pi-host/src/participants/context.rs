//! What a request to a model contains.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use pi_core::HookError;
use pi_http::{HeaderOverrides, ResponseHead};
use pi_protocol::{Model, SharedMessage};
use pi_providers::RequestHooks;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::{Participants, ready};

/// Changes requests to models; the transcript is not affected.
pub trait ContextHook: Send + Sync {
    /// Changes the messages of one request; the transcript is not modified.
    fn context<'a>(
        &'a self,
        messages: Vec<SharedMessage>,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<Vec<SharedMessage>, HookError>> {
        let _ = cancel;
        ready(Ok(messages))
    }

    /// Returns hooks that inspect requests and responses on the wire.
    fn request_hooks(&self) -> Option<Arc<dyn RequestHooks>> {
        None
    }
}

impl Participants {
    /// Every hook changes the messages of the hook before it; the first error ends the chain.
    pub(crate) async fn context(
        &self,
        messages: Vec<SharedMessage>,
        cancel: &CancellationToken,
    ) -> Result<Vec<SharedMessage>, HookError> {
        let mut messages = messages;
        for hook in &self.context {
            messages = hook.context(messages, cancel).await?;
        }
        Ok(messages)
    }

    /// Returns hooks that call all request hooks in order; `None` if there are none.
    pub(crate) fn request_hooks(&self) -> Option<Arc<dyn RequestHooks>> {
        let hooks = self.context.iter().filter_map(|hook| hook.request_hooks());
        let mut hooks: Vec<_> = hooks.collect();
        match hooks.len() {
            0 | 1 => hooks.pop(),
            _ => Some(Arc::new(RequestHookList(hooks))),
        }
    }
}

/// Calls request hooks in order.
struct RequestHookList(Vec<Arc<dyn RequestHooks>>);

impl RequestHooks for RequestHookList {
    fn on_payload<'a>(&'a self, payload: Value, model: &'a Model) -> BoxFuture<'a, Value> {
        Box::pin(async move {
            let mut payload = payload;
            for hooks in &self.0 {
                payload = hooks.on_payload(payload, model).await;
            }
            payload
        })
    }

    fn on_headers<'a>(
        &'a self,
        headers: HeaderOverrides,
        model: &'a Model,
    ) -> BoxFuture<'a, HeaderOverrides> {
        Box::pin(async move {
            let mut headers = headers;
            for hooks in &self.0 {
                headers = hooks.on_headers(headers, model).await;
            }
            headers
        })
    }

    fn on_response<'a>(
        &'a self,
        response: &'a ResponseHead,
        model: &'a Model,
    ) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            for hooks in &self.0 {
                hooks.on_response(response, model).await;
            }
        })
    }

    fn wants_stream_events(&self) -> bool {
        self.0.iter().any(|hooks| hooks.wants_stream_events())
    }

    fn on_stream_event<'a>(&'a self, event: Value, model: &'a Model) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            for hooks in &self.0 {
                if hooks.wants_stream_events() {
                    hooks.on_stream_event(event.clone(), model).await;
                }
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use pi_protocol::{AgentMessage, Message, UserMessage};
    use pretty_assertions::assert_eq;
    use serde_json::json;

    use super::*;

    fn user(text: &str) -> AgentMessage {
        let content = text.into();
        AgentMessage::from(Message::from(UserMessage {
            content,
            ..UserMessage::default()
        }))
    }

    /// Appends its name to every part of a request; fails without a name.
    struct AppendName(&'static str);

    impl ContextHook for AppendName {
        fn context<'a>(
            &'a self,
            mut messages: Vec<SharedMessage>,
            _cancel: &'a CancellationToken,
        ) -> BoxFuture<'a, Result<Vec<SharedMessage>, HookError>> {
            if self.0.is_empty() {
                return ready(Err(HookError::new("no name")));
            }
            messages.push(Arc::new(user(self.0)));
            ready(Ok(messages))
        }

        fn request_hooks(&self) -> Option<Arc<dyn RequestHooks>> {
            (!self.0.is_empty()).then(|| Arc::new(NamedRequests(self.0)) as _)
        }
    }

    struct NamedRequests(&'static str);

    impl RequestHooks for NamedRequests {
        fn on_payload<'a>(&'a self, payload: Value, _model: &'a Model) -> BoxFuture<'a, Value> {
            ready(json!(format!("{}{}", payload.as_str().unwrap(), self.0)))
        }

        fn on_headers<'a>(
            &'a self,
            mut headers: HeaderOverrides,
            _model: &'a Model,
        ) -> BoxFuture<'a, HeaderOverrides> {
            headers.insert("name".to_owned(), Some(self.0.to_owned()));
            ready(headers)
        }
    }

    fn participants(names: &[&'static str]) -> Participants {
        let hooks = names.iter().map(|name| Arc::new(AppendName(name)));
        hooks
            .fold(
                Participants::builder(),
                crate::participants::ParticipantsBuilder::context,
            )
            .build()
    }

    #[tokio::test]
    async fn every_hook_changes_the_messages_of_the_one_before() {
        let cancel = CancellationToken::new();
        let messages = participants(&["a", "b"]).context(Vec::new(), &cancel).await;
        let texts = messages.unwrap();
        let texts: Vec<Value> = texts
            .iter()
            .map(|message| json!(message)["content"].take())
            .collect();
        assert_eq!(texts, ["a", "b"]);
        let failed = participants(&["a", "", "b"])
            .context(Vec::new(), &cancel)
            .await;
        assert!(failed.is_err());
    }

    #[tokio::test]
    async fn request_hooks_are_called_in_order() {
        assert!(participants(&[""]).request_hooks().is_none());
        let model = Model::unknown();
        for (names, payload, header) in [
            (&["a", ""][..], "xa", "a"),
            (&["a", "", "b"][..], "xab", "b"),
        ] {
            let hooks = participants(names).request_hooks().unwrap();
            assert_eq!(hooks.on_payload(json!("x"), &model).await, payload);
            let headers = hooks.on_headers(HeaderOverrides::new(), &model).await;
            assert_eq!(headers["name"].as_deref(), Some(header));
        }
    }
}
